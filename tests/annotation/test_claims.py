"""Where a person is led in a round, who may be led there at all, and that the counts stay true."""

from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.domain.assignment import CIRCLE, ORDERS, shuffle_place
from annotation.models import Assignment, Participation, RoundItem
from annotation.selectors import queue_state
from annotation.selectors.candidates import candidates
from annotation.services import (
    assignment_extend,
    assignment_next,
    assignment_release,
    assignments_expire,
    items_drifted,
    items_recount,
    judgement_retract,
)
from eqstudio.errors import InvalidInput
from tests.annotation.factories import heard_whole, lease, round_with, submit
from tests.eqstudio.factories import annotator
from tests.generation.factories import CorpusFactory, speecheq_dialogue


def worked(made, person, number):
    """The items that a person is given and judges, one after the other."""
    got = []
    for _ in range(number):
        found = assignment_next(round=made, annotator=person, now=timezone.now())
        if found is None:
            break
        submit(found)
        got.append(found.item)
    return got


@pytest.mark.django_db
def test_categories_take_turns():
    corpus = CorpusFactory()
    for category in ("interpersonal_empathy",) * 3 + ("self_perception_self_regard",) * 3:
        speecheq_dialogue(corpus=corpus, category=category)
    made = round_with(items=0, corpus=corpus, order="category_balanced")

    categories = [item.category for item in worked(made, annotator(), 4)]

    assert Counter(categories[:2]).most_common(1)[0][1] == 1
    assert Counter(categories) == {"interpersonal_empathy": 2, "self_perception_self_regard": 2}


@pytest.mark.django_db
def test_the_least_agreed_item_comes_first():
    made = round_with(items=4, order="least_agreed_first")
    doubted = made.items.last()
    RoundItem.objects.filter(pk=doubted.pk).update(disagreement=0.5)

    assert lease(made).item_id == doubted.pk


@pytest.mark.django_db
def test_a_random_order_is_the_circle_from_the_persons_own_place():
    made, person = round_with(items=6, order="random"), annotator()
    start = shuffle_place(seed=str(made.seed), key=person.uid)

    got = [item.shuffle for item in worked(made, person, 6)]

    assert got == sorted(made.items.values_list("shuffle", flat=True), key=lambda place: (place - start - 1) % CIRCLE)


@pytest.mark.every_case
@pytest.mark.django_db
@pytest.mark.parametrize("order", sorted(ORDERS))
def test_a_round_is_worked_off_whole_in_every_order(order):
    made = round_with(items=5, order=order, people_per_item=2)
    people = [annotator() for _ in range(3)]

    done = sum(len(worked(made, person, 9)) for person in people)

    assert done == 10
    assert set(made.items.values_list("held", "outcome")) == {(2, "kept")}


@pytest.mark.django_db
def test_nobody_judges_what_they_asked_for():
    author = annotator()
    made = round_with(items=2)
    made.items.update(author=author)

    assert queue_state(round=made, annotator=author, now=timezone.now()).kind == "done"
    assert assignment_next(round=made, annotator=author, now=timezone.now()) is None
    assert lease(made).slot == 0

    made.exclude_authors = False
    assert lease(made, author).item.round_id == made.pk


@pytest.mark.django_db
def test_nobody_judges_a_twin_of_what_they_heard_in_any_round():
    first, second, person = round_with(), round_with(items=2), annotator()
    first.items.update(twin_key="speecheq:after-work")
    twin = second.items.first()
    RoundItem.objects.filter(pk=twin.pk).update(twin_key="speecheq:after-work")
    submit(lease(first, person))

    assert [item.pk for item in worked(second, person, 5)] == [second.items.last().pk]

    second.exclude_twins = False
    assert lease(second, person).item_id == twin.pk


@pytest.mark.every_case
@pytest.mark.django_db
@pytest.mark.parametrize("end", ["released", "expired"])
def test_nobody_is_given_the_twin_of_what_they_heard_and_did_not_judge_but_may_come_back_to_it(end):
    made, person, now = round_with(items=3, order="fixed"), annotator(), timezone.now()
    twins = list(made.items.order_by("pk")[:2])
    RoundItem.objects.filter(pk__in=[item.pk for item in twins]).update(twin_key="speecheq:after-work")
    heard = lease(made, person)
    assert heard.item_id == twins[0].pk
    draft = {"heard": {clip: [[0.0, 1.0]] for clip in heard_whole(heard.item.dialogue)}}
    ended = now - timedelta(days=1)
    Assignment.objects.filter(pk=heard.pk).update(state=end, skip="me", ended_at=ended, draft=draft)
    made.items.update(held=0)
    made.participations.update(cursor=0)

    stand = made.participations.get()
    found = [one.pk for one in candidates(round=made, annotator=person, participation=stand, now=now)]

    assert found == [twins[0].pk, made.items.last().pk]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "person", "told"),
    [
        ({"skills_needed": ["clinic", "actor"]}, {"skills": ["actor"]}, ("skill", {"skills": ["clinic"]})),
        ({"language_needed": True}, {"speaks": []}, ("language", {"language": ""})),
        ({"language_needed": True, "language": "en"}, {"speaks": ["zh"]}, ("language", {"language": "en"})),
        ({"invited_only": True}, {}, ("invited", {})),
    ],
)
def test_who_is_not_asked_is_told_why(fields, person, told):
    made, somebody = round_with(), annotator(**person)
    for name, value in fields.items():
        setattr(made, name, value)
    made.save(update_fields=list(fields))

    state = queue_state(round=made, annotator=somebody, now=timezone.now())

    assert (state.kind, state.reason, state.evidence) == ("not_eligible", *told)
    assert assignment_next(round=made, annotator=somebody, now=timezone.now()) is None


@pytest.mark.django_db
def test_only_what_a_person_speaks_is_theirs():
    corpus = CorpusFactory()
    speecheq_dialogue(corpus=corpus, language="zh")
    speecheq_dialogue(corpus=corpus, language="en")
    made = round_with(items=0, corpus=corpus, language_needed=True)

    got = [item.language for item in worked(made, annotator(speaks=["en"]), 5)]

    assert got == ["en"]


@pytest.mark.django_db
def test_invited_people_and_those_with_the_skill_may_work():
    made = round_with(invited_only=True, skills_needed=["actor"])
    person = annotator(skills=["actor", "clinic"])
    Participation.objects.create(round=made, annotator=person)

    assert lease(made, person).item.round_id == made.pk


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("limit", "kind", "until"),
    [
        ({"items_per_person": 2}, "limit_person", None),
        ({"items_per_day": 2}, "limit_day", timedelta(hours=14)),
        ({"items_per_sitting": 2, "sitting_break_minutes": 30}, "sitting_break", timedelta(minutes=30)),
    ],
)
def test_a_limit_stops_a_person_and_says_until_when(limit, kind, until):
    made, person = round_with(items=4, **limit), annotator()
    now = timezone.now().replace(hour=10, minute=0, second=0, microsecond=0)
    for _ in range(2):
        submit(lease(made, person, now=now), now=now)

    state = queue_state(round=made, annotator=person, now=now)

    assert assignment_next(round=made, annotator=person, now=now) is None
    assert (state.kind, state.until) == (kind, now + until if until else None)
    if until:
        assert lease(made, person, now=now + until).state == "active"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"opens_at": timedelta(hours=1)}, "not_open"),
        ({"closes_at": timedelta(hours=-1)}, "closed"),
        ({"state": "paused", "paused_because": "new rubric"}, "paused"),
    ],
)
def test_dates_and_pauses_hold_people_back(fields, kind):
    made, now = round_with(), timezone.now()
    for name, value in fields.items():
        setattr(made, name, now + value if isinstance(value, timedelta) else value)
    made.save(update_fields=list(fields))

    state = queue_state(round=made, annotator=annotator(), now=now)

    assert (state.kind, state.until, state.reason) == (kind, made.opens_at, fields.get("paused_because", ""))
    assert assignment_next(round=made, annotator=annotator(), now=now) is None


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("paused", "person_paused"),
        ("unqualified", "not_qualified"),
    ],
)
def test_a_person_who_may_not_go_on_is_told_why(state, kind):
    made, person = round_with(), annotator()
    Participation.objects.create(round=made, annotator=person, state=state, reason="gold", evidence={"right": 3})

    told = queue_state(round=made, annotator=person, now=timezone.now())

    assert (told.kind, told.reason, told.evidence) == (kind, "gold", {"right": 3})
    assert assignment_next(round=made, annotator=person, now=timezone.now()) is None


@pytest.mark.django_db
@pytest.mark.parametrize("state", ["training", "qualifying"])
def test_a_person_without_anything_to_train_on_goes_on_to_work(state):
    made, person = round_with(), annotator()
    stand = Participation.objects.create(round=made, annotator=person, state=state)

    assert queue_state(round=made, annotator=person, now=timezone.now()).kind == state
    assert assignment_next(round=made, annotator=person, now=timezone.now()).kind == "work"
    stand.refresh_from_db()
    assert stand.state == "active"


@pytest.mark.django_db
def test_an_item_skipped_to_others_never_comes_back():
    made, person, now = round_with(), annotator(), timezone.now()
    assignment_release(assignment=lease(made, person, now=now), now=now, skip="others")
    later = now + timedelta(days=3)

    assert assignment_next(round=made, annotator=person, now=later) is None
    assert queue_state(round=made, annotator=person, now=later).kind == "done"


@pytest.mark.django_db
@pytest.mark.parametrize(("people", "say"), [(1, 1), (3, 2)])
def test_an_item_that_cannot_be_judged_goes_to_an_expert(people, say):
    made = round_with(people_per_item=people, agree_needed=1)
    item = made.items.get()
    for number in range(say):
        assert RoundItem.objects.get(pk=item.pk).outcome == "", number
        assignment_release(assignment=lease(made), now=timezone.now(), skip="unjudgeable", reason="all noise")

    item.refresh_from_db()
    assert (item.outcome, item.dialogue.state, item.held) == ("disputed", "disputed", 0)
    assert assignment_next(round=made, annotator=annotator(), now=timezone.now()) is None


@pytest.mark.django_db
def test_saying_that_an_item_cannot_be_judged_needs_a_reason():
    with pytest.raises(InvalidInput, match="cannot be judged"):
        assignment_release(assignment=lease(round_with()), now=timezone.now(), skip="unjudgeable")


@pytest.mark.django_db
def test_the_count_of_holders_follows_every_change():
    made, now = round_with(people_per_item=2), timezone.now()
    held = []

    def note():
        held.append(made.items.get().held)
        assert items_drifted(round=made) == []

    first, second = lease(made, now=now), lease(made, now=now)
    note()
    assignment_release(assignment=first, now=now)
    note()
    later = now + timedelta(minutes=21)
    assignments_expire(now=later)
    note()
    assignment_extend(assignment=second, now=later)
    note()
    judgement_retract(judgement=submit(second, now=later), actor=second.annotator, now=timezone.now())
    note()
    submit(first, now=later)
    note()
    submit(second, now=later)
    note()

    assert held == [2, 1, 0, 1, 1, 2, 2]


@pytest.mark.django_db
def test_an_answer_that_finds_no_place_is_kept_beside_the_others():
    made, now = round_with(people_per_item=1, agree_needed=1), timezone.now()
    slow = lease(made, now=now)
    later = now + timedelta(minutes=21)
    submit(lease(made, now=later), now=later)

    submit(slow, now=later)

    slow.refresh_from_db()
    assert (slow.state, made.items.get().held, items_drifted(round=made)) == ("late", 1, [])


@pytest.mark.django_db
def test_a_recount_mends_what_went_wrong():
    made = round_with(items=3)
    lease(made)
    made.items.update(held=1)
    type(made).objects.filter(pk=made.pk).update(items_total=99)

    assert len(items_drifted(round=made)) == 2
    assert (items_recount(round=made), items_recount(round=made)) == (2, 0)
    made.refresh_from_db()
    assert (sorted(made.items.values_list("held", flat=True)), made.items_total) == ([0, 0, 1], 3)


@pytest.mark.django_db
def test_a_recount_mends_how_many_judgements_an_item_has():
    made = round_with(items=2, people_per_item=2)
    judged = submit(lease(made)).item
    made.items.update(given=2)

    assert (items_recount(round=made), items_recount(round=made)) == (2, 0)
    assert {item.pk: item.given for item in made.items.all()} == {
        item.pk: int(item.pk == judged.pk) for item in made.items.all()
    }


@pytest.mark.django_db
def test_what_a_person_is_told_counts_each_answer_once():
    made, person = round_with(items=3), annotator()
    judged = submit(lease(made, person))
    judgement_retract(judgement=judged, actor=person, now=timezone.now())
    submit(lease(made, person))
    submit(lease(made, person))

    state = queue_state(round=made, annotator=person, now=timezone.now())

    assert (state.done_by_me, state.total, state.today) == (2, 3, 2)
    assert Participation.objects.get(annotator=person).done == 2


@pytest.mark.django_db
def test_the_next_item_costs_the_same_however_large_the_round(django_assert_max_num_queries):
    made, person = round_with(items=30), annotator()
    worked(made, person, 12)

    with django_assert_max_num_queries(24):
        found = assignment_next(round=made, annotator=person, now=timezone.now())

    assert Assignment.objects.filter(annotator=person).count() == 13
    assert found is not None
