"""Many people at once: threads race for leases and submits on the default database, SQLite or PostgreSQL."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, connections
from django.db.models import Count, Q
from django.utils import timezone

from annotation.models import Assignment, Judgement, Round
from annotation.selectors import live_judgements
from annotation.services import (
    assignment_extend,
    assignment_next,
    assignment_release,
    assignments_expire,
    items_drifted,
    items_recount,
    round_top_up,
)
from eqstudio.errors import Conflict
from eqstudio.models import User
from tests.annotation.factories import lease, round_with, submit
from tests.eqstudio.factories import annotator
from tests.generation.factories import speecheq_dialogue

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*calls):
    """Run every call in its own thread, all let go together; return results in order, exceptions as values."""
    barrier = threading.Barrier(len(calls))
    results = [None] * len(calls)

    def run(place, call):
        try:
            barrier.wait(timeout=30)
            results[place] = call()
        except Exception as error:  # noqa: BLE001 -- handed to the test, which looks at it
            results[place] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(place, call)) for place, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    return results


@pytest.fixture(autouse=True)
def on_a_file():
    """A shared in-memory SQLite locks whole tables without waiting, which the studio never runs on."""
    if connection.vendor == "sqlite" and "mode=memory" in str(connection.settings_dict["NAME"]):
        pytest.fail("the tests' SQLite must be a file: set TEST NAME")


def test_racing_people_never_hold_more_slots_than_asked_for():
    made = round_with(items=3, people_per_item=2)
    people = [annotator() for _ in range(10)]

    results = at_once(
        *[
            lambda person=person: assignment_next(
                round=Round.objects.get(pk=made.pk), annotator=person, now=timezone.now()
            )
            for person in people
        ]
    )

    got = [found for found in results if isinstance(found, Assignment)]
    assert [found for found in results if isinstance(found, BaseException)] == []
    assert len(got) == 6
    held = made.items.annotate(taken=Count("assignments", filter=Q(assignments__state__in=Assignment.HOLDING)))
    assert list(held.values_list("taken", flat=True)) == [2, 2, 2]


def test_two_tabs_of_one_person_get_one_lease():
    made, person = round_with(items=4), annotator()

    results = at_once(
        *[
            lambda: assignment_next(
                round=Round.objects.get(pk=made.pk), annotator=User.objects.get(pk=person.pk), now=timezone.now()
            )
            for _ in range(4)
        ]
    )

    assert len({found.pk for found in results}) == 1
    assert Assignment.objects.count() == 1


def test_a_request_sent_four_times_stores_one_judgement():
    found = lease(round_with())

    results = at_once(*[lambda: submit(Assignment.objects.get(pk=found.pk), client_key="once") for _ in range(4)])

    assert {result.pk for result in results} == {Judgement.objects.get().pk}


def test_two_different_submits_of_one_lease_store_one():
    found = lease(round_with())

    results = at_once(*[lambda: submit(Assignment.objects.get(pk=found.pk)) for _ in range(2)])

    assert sorted(type(result).__name__ for result in results) == ["Conflict", "Judgement"]
    assert Judgement.objects.count() == 1
    assert isinstance(next(result for result in results if not isinstance(result, Judgement)), Conflict)


def test_the_last_judgements_arriving_together_close_the_item_once():
    made = round_with(people_per_item=3)
    leases = [lease(made) for _ in range(3)]

    results = at_once(*[lambda found=found: submit(Assignment.objects.get(pk=found.pk)) for found in leases])

    assert [type(result).__name__ for result in results] == ["Judgement"] * 3
    item = made.items.get()
    assert (item.outcome, item.dialogue.state) == ("kept", "kept")


def test_a_late_answer_racing_a_new_one_leaves_one_that_counts():
    made, now = round_with(people_per_item=1, agree_needed=1), timezone.now()
    old = lease(made, now=now)
    Assignment.objects.filter(pk=old.pk).update(lease_until=now)
    assignments_expire(now=now)
    new = lease(made, now=now)

    results = at_once(*[lambda found=found: submit(Assignment.objects.get(pk=found.pk)) for found in (old, new)])

    assert [type(result).__name__ for result in results] == ["Judgement"] * 2
    assert live_judgements(round=made).count() == 1


def test_a_busy_afternoon_gives_every_item_exactly_what_was_asked_for():
    made = round_with(items=5, people_per_item=2)
    people = [annotator() for _ in range(6)]

    def work(person):
        done = 0
        while (
            found := assignment_next(round=Round.objects.get(pk=made.pk), annotator=person, now=timezone.now())
        ) is not None:
            submit(found)
            done += 1
        return done

    results = at_once(*[lambda person=person: work(person) for person in people])

    assert sum(results) == 10
    assert list(made.items.annotate(n=Count("judgements")).values_list("n", flat=True)) == [2] * 5
    assert set(made.items.values_list("outcome", flat=True)) == {"kept"}


def test_the_last_place_goes_to_one_of_two_who_race_for_it():
    made = round_with(people_per_item=1, agree_needed=1)
    people = [annotator() for _ in range(2)]

    results = at_once(
        *[
            lambda person=person: assignment_next(
                round=Round.objects.get(pk=made.pk), annotator=person, now=timezone.now()
            )
            for person in people
        ]
    )

    assert sorted(type(result).__name__ for result in results) == ["Assignment", "NoneType"]
    assert items_drifted(round=made) == []


def test_counts_stay_true_while_leases_end_come_back_are_skipped_and_submitted():
    made, now = round_with(items=3, people_per_item=3, agree_needed=1), timezone.now()
    held = [lease(made, now=now) for _ in range(8)]
    later = now + timedelta(minutes=21)

    def skip(found):
        assignment_release(assignment=Assignment.objects.get(pk=found.pk), now=later, skip="others")

    def extend(found):
        assignment_extend(assignment=Assignment.objects.select_related("item__round").get(pk=found.pk), now=later)

    results = at_once(
        lambda: assignments_expire(now=later),
        lambda: assignments_expire(now=later),
        *[lambda found=found: submit(Assignment.objects.get(pk=found.pk), now=later) for found in held[:3]],
        *[lambda found=found: skip(found) for found in held[3:5]],
        *[lambda found=found: extend(found) for found in held[5:]],
        *[
            lambda: assignment_next(round=Round.objects.get(pk=made.pk), annotator=annotator(), now=later)
            for _ in range(4)
        ],
    )

    assert {type(result) for result in results} <= {int, type(None), Judgement, Assignment, Conflict}
    assert items_drifted(round=made) == []
    assert items_recount(round=made) == 0
    assert all(item.held <= item.wanted for item in made.items.all())


def test_a_recount_while_a_round_is_filled_loses_no_item(monkeypatch):
    monkeypatch.setattr("annotation.services.rounds.CHUNK", 1)
    made = round_with(items=0)
    for _more in range(6):
        speecheq_dialogue(corpus=made.corpus)

    results = at_once(
        lambda: round_top_up(round=Round.objects.get(pk=made.pk)),
        *[lambda: [items_recount(round=made) for _again in range(6)] for _both in range(2)],
    )

    made.refresh_from_db()
    assert results == [6, [0] * 6, [0] * 6]
    assert made.items_total == made.items.count() == 6
