"""Rounds: which dialogues they take, which rules they accept, and how they are changed at work."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.domain.round_query import RoundQuery, chosen
from annotation.domain.round_rules import questions_check, skills_read
from annotation.models import Participation, Round, RoundItem
from annotation.services import (
    example_add,
    example_remove,
    round_create,
    round_set_state,
    round_top_up,
    round_update,
)
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.models import Event
from generation.models import QcReport, Variant
from tests.annotation.factories import example_of, lease, round_with, submit
from tests.eqstudio.factories import annotator
from tests.generation.factories import CorpusFactory, DialogueFactory, speecheq_dialogue, turn_make

pytestmark = pytest.mark.django_db


def flagged(corpus):
    """A ready dialogue whose last check found something; an earlier finding of another is mended."""
    found = DialogueFactory(corpus=corpus, title="flagged")
    QcReport.objects.create(dialogue=found, run=1, check_name="silence", passed=False)
    mended = DialogueFactory(corpus=corpus, title="mended")
    QcReport.objects.create(dialogue=mended, run=1, check_name="silence", passed=False)
    QcReport.objects.create(dialogue=mended, run=2, check_name="silence", passed=True)


@pytest.fixture
def corpus(db):
    """Six dialogues that differ in one thing each."""
    made = CorpusFactory()
    DialogueFactory(corpus=made, title="warm", valence="positive")
    DialogueFactory(corpus=made, title="recorded", source="recorded")
    DialogueFactory(corpus=made, title="regard", category="self_perception_self_regard")
    spoken = DialogueFactory(corpus=made, title="spoken")
    turn_make(spoken, 1, "context", "speaker1", [("only", "Hello.")], voiced=False, voice="ava")
    flagged(made)
    return made


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ({"valences": ["positive"]}, ["warm"]),
        ({"sources": ["recorded"]}, ["recorded"]),
        ({"categories": ["self_perception_self_regard"]}, ["regard"]),
        ({"voices": ["ava", "nobody"]}, ["spoken"]),
        ({"clean": True}, ["warm", "recorded", "regard", "spoken", "mended"]),
        ({}, ["warm", "recorded", "regard", "spoken", "flagged", "mended"]),
    ],
)
def test_a_round_takes_what_its_query_says(corpus, query, titles):
    made = round_create(name="asked", corpus=corpus, query=query)

    assert round_top_up(round=made) == len(titles)
    assert list(made.items.values_list("dialogue__title", flat=True)) == titles
    assert made.items_total == len(titles)


def test_a_limit_chooses_by_chance_and_is_kept_when_more_becomes_ready(corpus):
    made = round_create(name="some", corpus=corpus, query={"limit": 3, "seed": 5})

    assert (round_top_up(round=made), round_top_up(round=made)) == (3, 0)


def test_the_same_seed_makes_the_same_choice():
    ids = list(range(100))

    assert chosen(ids, limit=10, seed=4) == chosen(ids[::-1], limit=10, seed=4)
    assert chosen(ids, limit=10, seed=4) != chosen(ids, limit=10, seed=5)
    assert chosen(ids, limit=0, seed=4) == ids


def test_a_choice_that_was_cut_off_goes_on_with_the_rest_of_it():
    ids = list(range(100))
    whole = chosen(ids, limit=10, seed=4)

    for taken in (whole[:6], whole[3:], whole[::2]):
        rest = [key for key in ids if key not in taken]
        assert chosen(rest, limit=10 - len(taken), seed=4) == [key for key in whole if key not in taken]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ([], "query"),
        ({"mood": ["sad"]}, "query"),
        ({"categories": "all"}, "categories"),
        ({"sources": [1]}, "sources"),
        ({"clean": "yes"}, "clean"),
        ({"limit": -1}, "limit"),
        ({"limit": True}, "limit"),
        ({"seed": 1.5}, "seed"),
    ],
)
def test_a_query_that_cannot_be_read_names_its_part(query, field):
    with pytest.raises(InvalidInput) as caught:
        RoundQuery.from_dict(query)

    assert caught.value.field == field


def test_a_query_keeps_only_what_it_narrows():
    query = RoundQuery.from_dict({"categories": ["b", "a", "b"], "clean": False, "limit": 0})

    assert query.as_dict() == {"categories": ["a", "b"]}
    assert RoundQuery.from_dict(query.as_dict()) == query


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ({"people_per_item": 0}, "people_per_item"),
        ({"people_per_item": 3, "people_at_most": 2}, "people_at_most"),
        ({"people_per_item": 2, "agree_needed": 3}, "agree_needed"),
        ({"gate_share": 1.5}, "gate_share"),
        ({"lease_minutes": 0}, "lease_minutes"),
        ({"order": "best"}, "order"),
        ({"rule": "dice"}, "rule"),
        ({"grade_rule": "k_of_n"}, "grade_rule"),
        ({"items_per_day": 0}, "items_per_day"),
        ({"questions": {"age": True}}, "questions"),
        ({"questions": {"comment": "never"}}, "questions"),
        ({"skills_needed": ["<b>"]}, "skills_needed"),
        ({"opens_at": timezone.now(), "closes_at": timezone.now() - timedelta(days=1)}, "closes_at"),
    ],
)
def test_rules_that_cannot_be_are_refused_and_nothing_is_stored(rules, field):
    made = round_with(items=0)

    with pytest.raises(InvalidInput) as new:
        round_create(name="odd", corpus=None, **rules)
    with pytest.raises(InvalidInput) as changed:
        round_update(round=made, **rules)

    assert (new.value.field, changed.value.field) == (field, field)
    assert not Round.objects.filter(name="odd").exists()
    assert Event.objects.filter(verb="rules changed").count() == 0


def test_questions_and_skills_have_one_form():
    assert questions_check({"confidence": True, "emotion": False, "comment": "optional"}) == {"confidence": True}
    assert skills_read("Actor, clinic，actor ,") == ["actor", "clinic"]


def test_a_change_is_one_event_with_what_was_before(rita):
    made = round_with(items=0, people_per_item=2)

    round_update(round=made, actor=rita, agree_needed=1, guidelines="Listen twice.")
    round_update(round=made, actor=rita, agree_needed=1)

    event = Event.objects.get(verb="rules changed")
    assert (made.agree_needed, made.guidelines, event.actor) == (1, "Listen twice.", rita)
    assert event.detail == {"changed": {"agree_needed": ["2", "1"], "guidelines": ["", "Listen twice."]}}


def test_a_name_that_is_taken_is_refused():
    made, other = round_with(items=0), round_with(items=0)

    with pytest.raises(Conflict, match="Choose another name"):
        round_update(round=made, name=other.name)


def test_more_people_are_asked_for_open_items_and_closed_ones_stay_decided():
    made = round_with(items=2, people_per_item=1, agree_needed=1)
    submit(lease(made))

    round_update(round=made, people_per_item=3)

    assert sorted(made.items.values_list("wanted", "outcome")) == [(1, "kept"), (3, "")]


def test_fewer_people_are_never_fewer_than_hold_an_item_and_what_is_complete_closes():
    made = round_with(items=2, people_per_item=4, agree_needed=2)
    first, second = made.items.order_by("pk")
    RoundItem.objects.filter(pk=second.pk).update(shuffle=0)
    for _ in range(3):
        found = lease(made, annotator())
        if found.item_id == first.pk:
            submit(found)
    held = dict(made.items.values_list("pk", "held"))

    round_update(round=made, people_per_item=2)

    after = {item.pk: item for item in made.items.all()}
    assert {pk: item.wanted for pk, item in after.items()} == {pk: max(2, count) for pk, count in held.items()}
    done = made.items.filter(pk=first.pk, judgements__isnull=False).count()
    assert (after[first.pk].outcome == "kept") == (done >= after[first.pk].wanted)


def test_another_order_begins_everybodys_walk_anew():
    made, person = round_with(items=3), annotator()
    submit(lease(made, person))

    round_update(round=made, order="fixed")

    assert Participation.objects.get(annotator=person).cursor == 0
    assert lease(made, person).item_id in set(made.items.values_list("pk", flat=True))


def test_a_pause_says_why_and_opening_forgets_it(rita):
    made = round_with(items=0)

    round_set_state(round=made, state=Round.State.PAUSED, actor=rita, reason=" a new rubric ")
    paused = Round.objects.get(pk=made.pk).paused_because
    round_set_state(round=made, state=Round.State.OPEN, actor=rita)

    assert (paused, Round.objects.get(pk=made.pk).paused_because) == ("a new rubric", "")
    assert Event.objects.get(verb="set to paused").detail == {"reason": "a new rubric"}


def test_examples_come_in_order_and_go(rita):
    made = round_with(items=0)
    first, second = example_of(made), example_of(made, grade=1)

    example_remove(example=first, actor=rita)

    assert (second.position, list(made.examples.all())) == (1, [second])
    assert Event.objects.filter(verb__in=["example added", "example removed"]).count() == 3


@pytest.mark.parametrize(
    ("changes", "field"), [({"grade": 5}, "grade"), ({"grade": True}, "grade"), ({"why": " "}, "why")]
)
def test_an_example_that_teaches_nothing_is_refused(changes, field):
    with pytest.raises(InvalidInput) as caught:
        example_of(round_with(items=0), **changes)

    assert caught.value.field == field


def test_what_is_judged_in_the_round_is_no_example_of_it_and_an_example_is_not_judged():
    made = round_with()
    judged = Variant.objects.select_related("turn").filter(turn__dialogue=made.items.get().dialogue).first()
    shown = speecheq_dialogue(corpus=made.corpus).turns.first().variants.select_related("turn").get()
    example_add(round=made, variant=shown, grade=2, why="flat")

    with pytest.raises(InvalidInput, match="cannot be an example"):
        example_add(round=made, variant=judged, grade=2, why="flat")
    with pytest.raises(Conflict, match="already"):
        example_add(round=made, variant=shown, grade=2, why="flat")
    assert round_top_up(round=made) == 0


def test_the_form_counts_while_it_is_filled_in(client, rita, corpus):
    client.force_login(rita)
    address = reverse("round_counts")

    whole = client.get(address, {"corpus": corpus.uid}).content.decode()
    part = client.get(address, {"corpus": corpus.uid, "clean_only": "on", "limit": 2}).content.decode()
    nothing = client.get(address, {"corpus": corpus.uid, "valences": "negative"}).content.decode()

    assert "6 dialogues" in whole
    assert "ava" in whole
    assert "2 dialogues" in part
    assert "5 that fit" in part
    assert "begin empty" in nothing
    assert "Choose a corpus" in client.get(address).content.decode()


def test_the_count_is_asked_with_the_fields_that_choose_dialogues_alone(client, rita, corpus):
    client.force_login(rita)

    page = client.get(reverse("round_new")).content.decode()
    sent = page.split('hx-params="')[1].split('"')[0].split(",")

    assert {"corpus", "benchmark", "categories", "voices", "limit", "seed"} <= set(sent)
    assert not set(sent) & {"guidelines", "csrfmiddlewaretoken", "name"}


FILLED = {
    "people_per_item": 2,
    "rule": "k_of_n",
    "agree_needed": 2,
    "grade_rule": "median",
    "gate": 80,
    "comment": "required",
    "confidence": "on",
    "order": "category_balanced",
    "sitting_break_minutes": 45,
    "lease_minutes": 10,
    "undo_seconds": 60,
    "skills_needed": "Actor",
    "items_per_day": 40,
    "closes_at": "2030-01-02T03:04",
}


def test_a_round_is_opened_from_the_form(client, rita, corpus):
    client.force_login(rita)

    answer = client.post(
        reverse("round_new"), {**FILLED, "name": "mine", "corpus": corpus.uid, "valences": ["positive"], "seed": 3}
    )

    made = Round.objects.get(name="mine")
    assert answer["Location"] == reverse("round", args=[made.uid])
    assert (made.query, made.items_total, made.skills_needed) == ({"valences": ["positive"], "seed": 3}, 1, ["actor"])
    assert made.questions == {"confidence": True, "comment": "required"}
    assert (made.gate_share, made.order, made.closes_at.isoformat()) == (
        0.8,
        "category_balanced",
        "2030-01-02T03:04:00+00:00",
    )


def test_the_settings_change_a_round_and_keep_what_was_typed_when_they_cannot(client, rita):
    made = round_with()
    client.force_login(rita)
    address = reverse("round_settings", args=[made.uid])

    wrong = client.post(address, {**FILLED, "agree_needed": 9})
    right = client.post(address, FILLED)

    assert wrong.status_code == 422
    assert 'value="9"' in wrong.content.decode()
    assert right["Location"] == address
    made.refresh_from_db()
    assert (made.people_per_item, made.items_per_day, made.sitting_break_minutes) == (2, 40, 45)
    assert 'value="2030-01-02T03:04"' in client.get(address).content.decode()


def test_an_example_is_found_chosen_added_and_taken_away(client, rita):
    made, other = round_with(), speecheq_dialogue(title="A quarrel at noon")
    client.force_login(rita)
    address = reverse("round_settings", args=[made.uid])

    assert f"?dialogue={other.uid}" in client.get(address, {"q": "quarrel"}).content.decode()
    assert "Line 4" in client.get(address, {"dialogue": other.uid}).content.decode()
    variant = Variant.objects.filter(turn__dialogue=other).first()
    sent = {"dialogue": other.uid, "variant": variant.uid, "grade": 3, "why": ""}
    refused = client.post(reverse("round_example", args=[made.uid]), sent)
    client.post(reverse("round_example", args=[made.uid]), {**sent, "why": "Tender."})

    example = made.examples.get()
    assert refused.status_code == 422
    assert "Tender." in client.get(address).content.decode()
    client.post(reverse("round_example_remove", args=[made.uid, example.uid]))
    assert made.examples.count() == 0
    assert client.post(reverse("round_example_remove", args=[made.uid, example.uid])).status_code == 404


def test_a_pause_from_the_settings_keeps_its_reason(client, rita):
    made = round_with()
    client.force_login(rita)

    client.post(reverse("round_state", args=[made.uid]), {"state": "paused", "reason": "new clips"})

    made.refresh_from_db()
    assert (made.state, made.paused_because) == ("paused", "new clips")
