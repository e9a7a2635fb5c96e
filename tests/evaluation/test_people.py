"""People of a study: who comes in, by which link and code, and what they agree to."""

from datetime import timedelta

import pytest
from django.utils import timezone

from eqstudio.access import is_guest
from eqstudio.errors import Conflict, InvalidInput, NotFound
from eqstudio.models import Event, User
from evaluation.models import Participant, PersonalDetails
from evaluation.services import response_record, sitting_open, trial_next
from evaluation.services.invitations import invitation_open, invitation_revoke, invitation_token, invitations_create
from evaluation.services.joining import person_join, person_resume
from evaluation.services.participants import (
    consent_record,
    eligibility_answer,
    headphones_fail,
    sitting_settle,
)
from tests.evaluation.factories import heard_all, speecheq_study
from tests.evaluation.people import answer_all, join, protocol

pytestmark = pytest.mark.django_db
NOW = timezone.now


@pytest.fixture
def study():
    return speecheq_study(items=4)


def test_a_guest_gets_a_row_a_code_and_no_role(study):
    joined = join(study)

    participant = Participant.objects.get()
    assert is_guest(joined.user)
    assert not joined.user.has_usable_password()
    assert (participant.respondent.user, participant.respondent.name) == (joined.user, "Person 1")
    assert len(participant.code) == 14
    assert Event.objects.filter(verb="study_join", entity_uid=study.uid).count() == 1


@pytest.mark.parametrize("spoil", ["revoke", "expire", "use_up", "close"])
def test_a_link_that_takes_nobody_says_why_and_makes_nobody(study, spoil):
    link = invitations_create(study=study, max_uses=2, expires_at=NOW() + timedelta(days=1))[0]
    if spoil == "revoke":
        invitation_revoke(invitation=link)
    elif spoil == "close":
        study.is_open = False
        study.save(update_fields=["is_open"])
    elif spoil == "use_up":
        for _ in range(2):
            join(study, invitation=link)
    people = User.objects.count()

    with pytest.raises(Conflict):
        person_join(
            invitation=invitation_open(token=invitation_token(link)),
            user=None,
            crowd={},
            language="en",
            now=NOW() + timedelta(days=2 if spoil == "expire" else 0),
        )

    assert User.objects.count() == people


@pytest.mark.parametrize("token", ["nonsense", "", "a.b", "23456789abcdefgh.forged"])
def test_a_forged_link_is_not_found(study, token):
    with pytest.raises(NotFound):
        invitation_open(token=token)


def test_a_personal_link_brings_its_person_back(study):
    link = invitations_create(study=study)[0]

    first, again = join(study, invitation=link), join(study, invitation=link)

    assert (again.user, again.sitting, again.fresh) == (first.user, first.sitting, False)
    assert Participant.objects.count() == 1


def test_a_link_for_many_makes_a_person_each_time(study):
    link = invitations_create(study=study, max_uses=3)[0]

    assert len({join(study, invitation=link).user for _ in range(3)}) == 3


def test_the_platforms_person_is_never_twice_in_a_study_and_their_name_is_in_the_guarded_table_only(study):
    link = invitations_create(study=study, max_uses=5, parameters={"person": "PROLIFIC_PID"})[0]
    crowd = {"person": "5f0c1d2e3a4b5c6d7e8f9a0b", "session": "s1"}
    join(study, invitation=link, crowd=crowd)

    with pytest.raises(Conflict, match="already"):
        join(study, invitation=link, crowd=crowd)

    assert PersonalDetails.objects.get().crowd == crowd
    assert Participant.objects.filter(identity__contains=crowd["person"]).count() == 0
    assert link.participants.count() == 1
    link.refresh_from_db()
    assert link.uses == 1
    other = join(speecheq_study(items=1), crowd=crowd)
    assert other.fresh


def test_somebody_with_an_account_takes_part_as_who_they_are_once(study, alice):
    link = invitations_create(study=study, max_uses=5)[0]

    first, again = (join(study, invitation=link, user=alice) for _ in range(2))

    assert (first.user, again.user, again.fresh) == (alice, alice, False)
    assert first.sitting == sitting_open(study=study, user=alice)


def test_a_guest_comes_back_by_their_code_however_it_is_typed(study):
    joined = join(study)
    code = Participant.objects.get().code

    for typed in (code, code.upper(), code.replace("-", " "), f" {code.replace('-', '')} "):
        assert person_resume(code=typed).sitting == joined.sitting


def test_wrong_codes_and_codes_of_accounts_are_answered_the_same(study, alice):
    join(study, user=alice)
    mine = Participant.objects.get().code

    said = set()
    for code in (mine, "2222-3333-4444", "", "x" * 500):
        with pytest.raises(NotFound) as raised:
            person_resume(code=code)
        said.add(raised.value.message)

    assert len(said) == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"count": 0}, "count"),
        ({"max_uses": 0}, "max_uses"),
        ({"expires_at": NOW() - timedelta(days=1)}, "expires_at"),
        ({"parameters": {"colour": "x"}}, "parameters"),
        ({"codes": {"won": "x"}}, "codes"),
        ({"return_url": "javascript:alert(1)"}, "return_url"),
        ({"return_url": "http://example.org/{code}"}, "return_url"),
    ],
)
def test_an_invitation_that_makes_no_sense_names_the_field(study, wrong, field):
    with pytest.raises(InvalidInput) as raised:
        invitations_create(study=study, **wrong)

    assert raised.value.field == field


# Consent and outcomes


def test_consent_is_kept_with_version_and_text(study):
    protocol(study, recruitment={"consent": {"version": "2", "text": {"en": "Do you agree?"}, "ethics": ""}})
    join(study)
    participant = Participant.objects.get()

    given = consent_record(participant=participant, agreed=True, language="en")

    assert (given.version, given.language, given.agreed) == ("2", "en", True)
    assert len(given.text_hash) == 64
    assert participant.outcome == ""


def test_without_consent_nothing_is_asked_and_nothing_taken(study):
    joined = join(study)
    record = trial_next(sitting=joined.sitting)
    protocol(study, recruitment={"consent": {"version": "2", "text": {"en": "Do you agree?"}, "ethics": ""}})
    given = {"trial": record, "raw": '{"answer": "A"}', "heard": heard_all(record)}

    with pytest.raises(Conflict, match="before you have agreed"):
        trial_next(sitting=joined.sitting)
    with pytest.raises(Conflict, match="before you have agreed"):
        response_record(**given)
    consent_record(participant=Participant.objects.get(), agreed=True, language="en")
    assert response_record(**given).trial == record
    assert trial_next(sitting=joined.sitting) is not None


def test_consent_names_the_language_of_the_text_that_was_read_and_not_of_the_page(study):
    protocol(study, recruitment={"consent": {"version": "2", "text": {"en": "Do you agree?"}, "ethics": ""}})
    join(study)

    given = consent_record(participant=Participant.objects.get(), agreed=True, language="zh")

    assert given.language == "en"


def test_who_does_not_consent_is_withdrawn_and_gets_the_code_for_it(study):
    link = invitations_create(study=study, codes={"withdrawn": "GOODBYE"})[0]
    join(study, invitation=link)
    participant = Participant.objects.get()

    consent_record(participant=participant, agreed=False, language="en")

    participant.refresh_from_db()
    assert (participant.outcome, participant.reason) == ("withdrawn", "no_consent")
    assert participant.completion_codes.get().code == "GOODBYE"


def test_who_is_not_eligible_is_screened_out(study):
    join(study)

    participant = eligibility_answer(participant=Participant.objects.get(), eligible=False, language="en")

    assert participant.outcome == "screened_out"
    assert participant.completion_codes.get().outcome == "screened_out"


@pytest.mark.parametrize(("wanted", "outcome", "let_on"), [("required", "screened_out", False), ("asked", "", True)])
def test_failed_headphone_checks_screen_out_only_where_headphones_are_required(study, wanted, outcome, let_on):
    protocol(study, execution={"headphones": wanted})
    join(study)
    participant = Participant.objects.get()

    for tries in (1, 2):
        headphones_fail(participant=participant, tries=tries)
        assert (participant.outcome, participant.headphones_at) == ("", None)
    headphones_fail(participant=participant, tries=3)

    assert participant.outcome == outcome
    assert (participant.headphones_at is not None) == let_on


def test_a_complete_sitting_gets_one_code_and_the_first_outcome_stands(study):
    joined = join(study)
    answer_all(joined.sitting)

    codes = {sitting_settle(sitting=joined.sitting).completion_codes.get().code for _ in range(2)}

    assert len(codes) == 1
    assert Participant.objects.get().outcome == "complete"
