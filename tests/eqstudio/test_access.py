"""Who may do what, as tables."""

import pytest

from eqstudio.access import (
    can_administer,
    can_annotate,
    can_curate,
    can_sit_exam,
    object_for,
    role_names,
)
from eqstudio.errors import Forbidden, NotFound
from eqstudio.models import Event, User
from tests.eqstudio.factories import UserFactory

PREDICATES = [can_annotate, can_curate, can_administer, can_sit_exam]
TABLE = {
    "annotator": [True, False, False, True],
    "researcher": [False, True, False, True],
    "admin": [False, True, True, True],
    None: [False, False, False, False],
}


@pytest.mark.django_db
@pytest.mark.parametrize("role", TABLE)
def test_predicates_hold_for_each_role(role):
    person = UserFactory(role=role)

    assert [predicate(person) for predicate in PREDICATES] == TABLE[role]


@pytest.mark.django_db
def test_a_person_switched_off_may_do_nothing():
    person = UserFactory(role="admin", is_active=False)

    assert [predicate(person) for predicate in PREDICATES] == [False, False, False, False]


@pytest.mark.django_db
def test_a_superuser_is_an_admin():
    assert role_names(UserFactory(is_superuser=True)) == frozenset({"admin"})


@pytest.mark.django_db
def test_roles_are_read_once_per_request(ada, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert [can_administer(ada), can_curate(ada), can_annotate(ada)] == [True, True, False]


def test_anonymous_may_do_nothing(rf):
    from django.contrib.auth.models import AnonymousUser

    assert [predicate(AnonymousUser()) for predicate in PREDICATES] == [False, False, False, False]


@pytest.mark.django_db
def test_object_for_hides_from_outsiders_and_forbids_the_wrong_role(ada, alice, otto):
    people = User.objects.all()
    rules = {"may_know": can_sit_exam, "may_do": can_administer}

    assert object_for(ada, people, uid=alice.uid, **rules) == alice
    with pytest.raises(Forbidden):
        object_for(alice, people, uid=ada.uid, **rules)
    with pytest.raises(NotFound):
        object_for(otto, people, uid=ada.uid, **rules)
    with pytest.raises(NotFound):
        object_for(ada, people, uid="nobody", **rules)


@pytest.mark.django_db
def test_events_are_facts(ada):
    event = Event.objects.create(actor=ada, verb="tested", entity="user", entity_uid=ada.uid)

    with pytest.raises(TypeError):
        event.save()
    with pytest.raises(TypeError):
        event.delete()


@pytest.mark.django_db
def test_facts_cannot_be_changed_or_removed_many_at_once(ada):
    event = Event.objects.create(actor=ada, verb="tested", entity="user", entity_uid=ada.uid)

    for act in (
        lambda: Event.objects.update(verb="changed"),
        lambda: ada.events.filter(pk=event.pk).update(verb="changed"),
        lambda: Event.objects.bulk_update([event], ["verb"]),
        lambda: Event.objects.all().delete(),
    ):
        with pytest.raises(TypeError):
            act()
    assert Event.objects.get().verb == "tested"
