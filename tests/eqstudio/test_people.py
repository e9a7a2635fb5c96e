"""People: invitations, roles, accounts, what is shown to whom."""

import pytest
from django.urls import reverse
from rest_framework.authtoken.models import Token

from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.home import PersonCount, person_counts
from eqstudio.models import Event, User
from eqstudio.services import (
    person_activation_set,
    person_invite,
    person_roles_set,
    person_update,
    token_remove,
    token_renew,
)
from tests.eqstudio.factories import UserFactory

pytestmark = pytest.mark.django_db


def test_a_person_who_does_not_exist_is_not_found(client, ada):
    client.force_login(ada)

    assert client.get(reverse("person", args=["nobody"])).status_code == 404


def test_an_invitation_gives_roles_and_a_link_that_works_once(client, ada, new_browser):
    client.force_login(ada)
    given = {
        "username": "mia",
        "name": "Mia",
        "email": "mia@example.org",
        "language": "zh-hans",
        "roles": ["annotator"],
    }
    page = client.post(reverse("person_new"), given)
    mia = User.objects.get(username="mia")
    link = page.context["link"]

    assert (mia.display_name, mia.language, mia.has_usable_password()) == ("Mia", "zh-hans", False)
    assert [group.name for group in mia.groups.all()] == ["annotator"]
    assert page["Cache-Control"] == "max-age=0, no-cache, no-store, must-revalidate, private"
    assert Event.objects.get(verb="person invited").detail == {"username": "mia", "roles": ["annotator"]}

    somebody = new_browser()
    form = somebody.get(link, follow=True)
    done = somebody.post(
        form.request["PATH_INFO"], {"password1": "tomorrow-at-noon", "password2": "tomorrow-at-noon"}, follow=True
    )
    assert done.status_code == 200
    mia.refresh_from_db()
    assert mia.check_password("tomorrow-at-noon")
    again = new_browser().get(link, follow=True)
    assert again.context["token_fail"] is True


@pytest.fixture
def new_browser():
    from django.test import Client

    return Client


def test_a_wrong_invitation_comes_back_with_what_was_typed(client, ada):
    client.force_login(ada)
    given = {"username": "ADA", "name": "Another Ada", "language": "en", "roles": ["annotator"]}
    page = client.post(reverse("person_new"), given)

    assert page.status_code == 422
    assert "There is already somebody called ADA here." in page.content.decode()
    assert 'value="Another Ada"' in page.content.decode()
    assert User.objects.filter(display_name="Another Ada").count() == 0


def test_a_lost_password_needs_only_a_new_link(client, ada, alice):
    client.force_login(ada)
    page = client.post(reverse("person_link", args=[alice.uid]))

    assert "/accounts/password/reset/key/" in page.context["link"]
    assert Event.objects.get(verb="sign-in link made").entity_uid == alice.uid


def test_an_admin_changes_roles_and_name(client, ada, alice):
    client.force_login(ada)
    given = {"name": "Alice M.", "email": "", "language": "zh-hans", "roles": ["annotator", "researcher"]}
    response = client.post(reverse("person", args=[alice.uid]), given)

    alice.refresh_from_db()
    assert response["Location"] == reverse("people")
    assert (alice.display_name, alice.language) == ("Alice M.", "zh-hans")
    assert sorted(alice.groups.values_list("name", flat=True)) == ["annotator", "researcher"]
    assert Event.objects.get(verb="roles set").detail == {"before": ["annotator"], "after": ["annotator", "researcher"]}


def test_the_last_admin_stays(client, ada):
    client.force_login(ada)
    page = client.post(reverse("person", args=[ada.uid]), {"name": "Ada", "language": "en", "roles": ["researcher"]})

    assert page.status_code == 422
    assert "Ada is the only admin." in page.content.decode()
    with pytest.raises(Conflict):
        person_activation_set(person=ada, active=False)


def test_whoever_was_made_on_the_command_line_is_an_admin_among_the_others(ada):
    root = User.objects.create_superuser(username="root")
    person_activation_set(person=ada, active=False)

    with pytest.raises(Conflict):
        person_activation_set(person=root, active=False)
    person_activation_set(person=ada, active=True)
    person_activation_set(person=root, active=False)
    with pytest.raises(Conflict):
        person_roles_set(person=ada, roles=[])


def test_nobody_gives_their_account_the_e_mail_address_of_another(client, alice):
    UserFactory(email="boss@example.org")
    client.force_login(alice)
    for action in ("action_add", "action_primary"):
        response = client.post("/accounts/email/", {"email": "boss@example.org", action: ""})
        assert (response.status_code, response["Location"]) == (302, reverse("me"))

    alice.refresh_from_db()
    assert alice.email != "boss@example.org"


def test_one_of_two_admins_may_go(ada):
    second = UserFactory(role="admin")

    person_roles_set(person=second, roles=[])

    assert list(second.groups.all()) == []


def test_switching_an_account_off_ends_its_session_and_keeps_its_work(client, ada, alice):
    client.force_login(alice)
    assert client.get("/me/").status_code == 200

    person_activation_set(person=alice, active=False, actor=ada)

    assert client.get("/me/").status_code == 302
    assert User.objects.get(pk=alice.pk).is_active is False
    person_activation_set(person=alice, active=False, actor=ada)
    assert Event.objects.filter(verb="account switched off").count() == 1


def test_switching_on_and_off_by_the_page(client, ada, alice):
    client.force_login(ada)
    client.post(reverse("person_activation", args=[alice.uid]), {"active": "no"})
    assert User.objects.get(pk=alice.pk).is_active is False
    client.post(reverse("person_activation", args=[alice.uid]), {"active": "yes"})
    assert User.objects.get(pk=alice.pk).is_active is True


def test_services_name_what_is_wrong(ada):
    with pytest.raises(InvalidInput) as unknown:
        person_invite(username="x", roles=["king"])
    assert unknown.value.message == "Unknown role king. Known: annotator, researcher, admin."
    person_invite(username="x", email="x@example.org")
    with pytest.raises(InvalidInput) as taken:
        person_invite(username="y", email="X@example.org")
    assert taken.value.field == "email"
    with pytest.raises(InvalidInput):
        person_update(person=ada, name="Ada", email="x@example.org")


def test_an_update_that_changes_nothing_leaves_no_event(ada):
    person_update(person=ada, name="Ada", language="en")

    assert Event.objects.count() == 0


def test_my_settings_change_name_and_language(client, alice):
    client.force_login(alice)
    response = client.post("/me/", {"name": "Ali", "language": "zh-hans"})

    alice.refresh_from_db()
    assert (response.status_code, alice.display_name, alice.language) == (302, "Ali", "zh-hans")
    assert client.post("/me/", {"name": "Ali", "language": "tlh"}).status_code == 422


def test_an_api_token_is_shown_once_and_ended(client, alice):
    client.force_login(alice)
    page = client.post(reverse("me_token"), {"action": "renew"}).content.decode()
    token = Token.objects.get(user=alice)

    assert token.key in page
    assert token.key not in client.get("/me/").content.decode()
    client.post(reverse("me_token"), {"action": "end"})
    assert Token.objects.filter(user=alice).exists() is False
    assert token.key not in str(list(Event.objects.values_list("detail", flat=True)))


def test_a_new_token_ends_the_old_one(alice):
    first = token_renew(person=alice)
    second = token_renew(person=alice)

    assert first != second
    assert [token.key for token in Token.objects.all()] == [second]
    token_remove(person=alice)
    token_remove(person=alice)
    assert Event.objects.filter(verb="API access ended").count() == 1


@pytest.mark.parametrize("count", [1, 3])
def test_the_list_of_people_is_constant_in_queries(client, ada, count, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(person_counts, "_names", ["tests.eqstudio.test_people:no_counts"])
    for _ in range(count):
        UserFactory(role="annotator")
    client.force_login(ada)
    client.get(reverse("people"))

    with django_assert_num_queries(6):
        response = client.get(reverse("people"))
    assert len(response.context["rows"]) == count + 1


def no_counts(people):
    return [PersonCount("Judgements", {people[0]: 7})]


def test_the_list_of_people_is_filtered_by_role_and_name(client, ada, alice, rita):
    client.force_login(ada)

    def listed(**query):
        return [row["person"].username for row in client.get(reverse("people"), query).context["rows"]]

    assert listed() == ["ada", "alice", "rita"]
    assert listed(role="annotator") == ["alice"]
    assert listed(q="rit") == ["rita"]
    assert listed(q="zzz") == []


@pytest.mark.parametrize("count", [1, 3])
def test_events_are_constant_in_queries(client, ada, count, django_assert_num_queries):
    for number in range(count):
        event_record(actor=UserFactory(), verb=f"did {number}", entity=ada)
    client.force_login(ada)
    client.get(reverse("events"))

    with django_assert_num_queries(6):
        response = client.get(reverse("events"))
    assert len(response.context["page_obj"]) == count


def test_events_are_filtered_and_paged(client, ada, alice):
    for number in range(60):
        event_record(actor=ada if number % 2 else alice, verb="did", entity=ada)
    client.force_login(ada)

    assert client.get(reverse("events"), {"actor": "alice"}).context["page_obj"].paginator.count == 30
    assert client.get(reverse("events"), {"entity": "nothing"}).context["page_obj"].paginator.count == 0
    assert len(client.get(reverse("events"), {"page": 2}).context["page_obj"]) == 10


def test_the_detail_of_an_event_may_have_any_name(client, ada):
    event_record(actor=ada, verb="froze", entity=ada, items=5, keys="x")
    client.force_login(ada)

    page = client.get(reverse("events")).content.decode()

    assert '<span class="muted">items</span> 5' in page


def test_an_admin_names_skills_and_a_person_says_what_they_speak(client, ada, alice):
    client.force_login(ada)
    known = {"name": "Alice", "language": "en", "roles": ["annotator"]}
    refused = client.post(reverse("person", args=[alice.uid]), {**known, "skills": "<script>"})
    client.post(reverse("person", args=[alice.uid]), {**known, "skills": "Actor， clinic, actor", "speaks": ["zh"]})
    alice.refresh_from_db()
    named = (alice.skills, alice.speaks)
    client.force_login(alice)
    client.post(reverse("me"), {"name": "Alice", "language": "en", "speaks": ["en", "zh"], "skills": "admin"})

    alice.refresh_from_db()
    assert refused.status_code == 422
    assert named == (["actor", "clinic"], ["zh"])
    assert (alice.skills, alice.speaks) == (["actor", "clinic"], ["en", "zh"])
    assert "actor, clinic" in client.get(reverse("me")).content.decode()
