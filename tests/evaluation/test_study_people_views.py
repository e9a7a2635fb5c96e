"""The researcher's pages about the people of a study: funnel, payment, invitations, special items, rules as counts."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from evaluation.models import Part, Participant
from evaluation.services import protocol_lock, study_create
from evaluation.services.invitations import invitations_create
from evaluation.services.participants import details_store
from tests.annotation.factories import lease, round_with
from tests.eqstudio.factories import annotator
from tests.evaluation.factories import sit_through, speecheq_study, split_of
from tests.evaluation.people import answer_all, join, protocol, specials
from tests.generation.factories import speecheq_dialogue

pytestmark = pytest.mark.django_db
JSON = {"HTTP_ACCEPT": "application/json"}


@pytest.fixture
def study(db):
    return speecheq_study(items=2)


def test_people_page_shows_counts_only_until_it_is_unblinded(client, study, rita):
    protocol(study, analysis={"exclusions": [{"rule": "incomplete", "threshold": None}]})
    protocol_lock(study=study)
    answer_all(join(study).sitting, stop=1)
    client.force_login(rita)
    address = reverse("study_people", args=[study.uid])

    before = client.get(address).content.decode()
    client.post(reverse("study_unblind", args=[study.uid]))
    after = client.get(address).content.decode()

    flag = '<span class="chip warn">not all items answered'
    assert ("1 person is left out" in before, flag in before, "Results with and without" in before) == (
        True,
        False,
        False,
    )
    assert (flag in after, "Results with and without" in after) == (True, True)


def test_unblinding_an_unlocked_study_is_refused(client, study, rita):
    client.force_login(rita)

    assert client.post(reverse("study_unblind", args=[study.uid]), **JSON).status_code == 409


def test_platform_names_are_in_the_payment_list_of_admins_only(client, study, rita, ada):
    link = invitations_create(study=study, max_uses=5, parameters={"person": "PROLIFIC_PID"})[0]
    join(study, invitation=link, crowd={"person": "5f0c1d2e"})
    address = reverse("study_people_csv", args=[study.uid])

    lists = []
    for user in (rita, ada):
        client.force_login(user)
        lists.append(client.get(address).content.decode())

    assert ["5f0c1d2e" in one for one in lists] == [False, True]
    assert all(Participant.objects.get().code in one for one in lists)


def test_an_admin_withdraws_a_person_on_request_and_a_researcher_does_not(client, study, rita, ada):
    join(study)
    one = Participant.objects.get()
    address = reverse("participant_withdraw", args=[study.uid, one.uid])
    client.force_login(rita)
    assert client.post(address).status_code == 403
    client.force_login(ada)

    assert client.post(address).status_code == 302

    one.refresh_from_db()
    assert (one.outcome, one.reason) == ("withdrawn", "request")


def test_invitations_are_made_listed_downloaded_and_taken_back(client, study, rita):
    client.force_login(rita)
    address = reverse("invitations", args=[study.uid])

    client.post(address, {"label": "wave 1", "count": 2, "max_uses": 1, "days": 7})
    html = client.get(address).content.decode()
    table = client.get(reverse("invitations_csv", args=[study.uid])).content.decode().splitlines()
    first = study.invitations.first()
    client.post(reverse("invitation_revoke", args=[study.uid, first.uid]))

    assert (html.count("/join/"), len(table)) == (2, 3)
    assert [one.label for one in study.invitations.all()] == ["wave 1 1", "wave 1 2"]
    assert "taken back" in client.get(address).content.decode()


def test_a_wrong_invitation_keeps_what_was_entered(client, study, rita):
    client.force_login(rita)

    answer = client.post(
        reverse("invitations", args=[study.uid]),
        {"label": "wave 1", "count": 1, "max_uses": 1, "days": 7, "return_url": "ftp://x"},
    )

    assert answer.status_code == 422
    assert 'value="ftp://x"' in answer.content.decode()
    assert study.invitations.count() == 0


def test_a_platform_link_needs_a_name_for_the_person_and_a_code_for_each_outcome(client, study, rita):
    client.force_login(rita)
    address = reverse("invitations", args=[study.uid])
    sent = {"count": 1, "max_uses": 5, "days": 7, "crowd": "on", "name_study": "STUDY_ID"}

    nameless = client.post(address, {**sent, "name_person": ""})
    same = client.post(address, {**sent, "name_person": "PID", "code_complete": "C0DE", "code_screened_out": " c0de"})

    assert (nameless.status_code, same.status_code, study.invitations.count()) == (422, 422, 0)
    assert list(nameless.context["form"].errors) == ["name_person"]
    assert list(same.context["form"].errors) == ["code_screened_out"]
    assert client.post(address, {**sent, "name_person": "PID", "code_complete": "C0DE"}).status_code == 302


def test_special_items_are_chosen_on_their_page(client, study, rita):
    client.force_login(rita)
    dialogue = speecheq_dialogue()
    address = reverse("study_specials", args=[study.uid])

    assert dialogue.uid in client.get(address).content.decode()
    assert client.post(address, {"practice": "", "attention": dialogue.uid}).status_code == 302
    refused = client.post(address, {"practice": study.split.items.first().dialogue.uid, "attention": ""})

    assert refused.status_code == 422
    assert study.specials.get().dialogue == dialogue


def test_special_items_are_shown_and_not_changed_once_the_protocol_is_locked(client, study, rita):
    client.force_login(rita)
    chosen = specials(study, Part.PRACTICE, 1)[0]
    other = speecheq_dialogue()
    protocol_lock(study=study)
    address = reverse("study_specials", args=[study.uid])

    html = client.get(address).content.decode()
    refused = client.post(address, {"practice": other.uid, "attention": ""})

    assert (chosen.uid in html, other.uid in html, "Save the choice" in html) == (True, False, False)
    assert refused.status_code == 409
    assert study.specials.get().dialogue == chosen


def test_what_people_told_is_shown_as_counts(client, study, rita):
    protocol(study, recruitment={"demographics": ["age_band", "hobby"]})
    link = invitations_create(study=study, max_uses=20)[0]
    for _ in range(6):
        participant = Participant.objects.get(respondent=join(study, invitation=link).sitting.respondent)
        details_store(participant=participant, answers={"age_band": "25-34", "hobby": "chess"})
    client.force_login(rita)

    html = client.get(reverse("study_people", args=[study.uid])).content.decode()

    assert "25-34" in html
    assert "chess" not in html


def test_people_page_is_constant_in_queries(client, study, rita, django_assert_max_num_queries):
    link = invitations_create(study=study, max_uses=20)[0]
    client.force_login(rita)
    address = reverse("study_people", args=[study.uid])
    counts = []
    for people in (1, 3):
        while Participant.objects.count() < people:
            answer_all(join(study, invitation=link).sitting)
        with django_assert_max_num_queries(200) as counted:
            client.get(address)
        counts.append(len(counted))

    assert counts[0] == counts[1]


def test_who_had_met_items_before_is_marked(client, rita):
    mine = annotator()
    round_ = round_with(items=1)
    lease(round_, mine, timezone.now() - timedelta(hours=1))
    study = study_create(name="met", split=split_of([round_.items.get().dialogue]))
    sit_through(study, user=mine)
    client.force_login(rita)

    assert "had met 1 item before" in client.get(reverse("study_people", args=[study.uid])).content.decode()
