"""Known answers are set, taken over and taken away; gold never counts; training tells what was expected."""

from importlib import import_module

import pytest
from django.apps import apps
from django.utils import timezone

from annotation.models import GoldAnswer, Kind
from annotation.selectors import live_judgements, round_agreement
from annotation.selectors.quality import checked, last_words, training_feedback
from annotation.services import item_adjudicate, judgement_retract
from annotation.services.gold import gold_add, gold_from_decision, gold_remove, gold_set
from annotation.services.rounds import item_fields
from eqstudio.errors import Conflict, InvalidInput
from generation.models import Dialogue
from tests.annotation.factories import judged_round, round_with
from tests.annotation.quality import answer_special, judge, known_item, lease_on, quality_round, variant_uids, work
from tests.eqstudio.factories import annotator, researcher
from tests.generation.factories import CorpusFactory, speecheq_dialogue

pytestmark = pytest.mark.django_db


def test_gold_and_repeats_never_count():
    made = quality_round(items=1, gold=2, quality={"gold_first": 2}, people_per_item=1, agree_needed=1)
    person = annotator()
    for _ in range(2):
        answer_special(made, person)
    work(made, person, 1)
    judge(made.items.filter(kind="work").first(), person, "repeat", grade=1)

    assert live_judgements(round=made).count() == 1
    assert {group["items"] for group in round_agreement(round=made)} <= {0, 1, 4}
    assert made.items.filter(kind="gold").exclude(outcome="").count() == 0
    assert made.items.filter(kind="work").get().judgements.count() == 2
    assert live_judgements(item=made.items.get(kind="work")).get().grades.first().value == 3


@pytest.mark.parametrize("kind", ["gold", "repeat"])
def test_taking_back_gold_or_a_repetition_leaves_the_item_as_it_was_decided(kind):
    made = judged_round(items=1, verdicts=("keep", "keep", "reject"), agree_needed=3)
    item = made.items.get()
    item_adjudicate(item=item, verdict="keep", reason="clear", actor=researcher())
    person = annotator() if kind == "gold" else item.judgements.first().annotator
    if kind == "gold":
        gold_from_decision(item=item, actor=researcher())

    lease = judgement_retract(judgement=judge(item, person, kind), actor=person, now=timezone.now())

    item.refresh_from_db()
    assert (lease.state, item.outcome, item.closed_at is not None) == ("active", "kept", True)


def test_gold_is_made_from_an_experts_decision_at_once():
    made = judged_round(items=1, verdicts=("keep", "keep", "reject"), grades=(4, 3, 1), agree_needed=3)
    item = made.items.get()
    lead = researcher()
    item_adjudicate(item=item, verdict="keep", reason="The second line is warm.", actor=lead)

    answer = gold_from_decision(item=item, actor=lead)

    item.refresh_from_db()
    assert (item.kind, item.outcome) == ("gold", "kept")
    assert (answer.verdict, answer.explanation) == ("keep", "The second line is warm.")
    assert answer.grades == dict.fromkeys(variant_uids(item.dialogue), 3)
    assert live_judgements(round=made).count() == 3  # what people said of it before still counts


def test_gold_needs_a_decision_to_be_taken_over():
    made = judged_round(items=1)

    with pytest.raises(Conflict, match="No expert has decided"):
        gold_from_decision(item=made.items.get(), actor=researcher())


def test_an_item_at_work_cannot_become_gold():
    made = round_with(items=1)
    item = made.items.get()
    lease_on(item, annotator())

    with pytest.raises(Conflict, match="at work on this item"):
        gold_set(item=item, verdict="keep", actor=researcher())

    item.refresh_from_db()
    assert item.kind == "work"


def test_an_untouched_item_leaves_the_review_and_comes_back():
    made = round_with(items=1)
    item = made.items.get()
    lead = researcher()

    gold_set(item=item, verdict="keep", actor=lead)
    item.refresh_from_db()
    made.refresh_from_db()
    assert (item.kind, Dialogue.objects.get().state, made.items_total) == ("gold", "ready", 0)

    gold_remove(item=item, reason="not so clear after all", actor=lead)
    item.refresh_from_db()
    made.refresh_from_db()
    assert (item.kind, Dialogue.objects.get().state, made.items_total) == ("work", "in_review", 1)
    assert GoldAnswer.objects.count() == 2


def test_gold_that_is_taken_away_counts_neither_for_nor_against():
    made = quality_round(gold=2, quality={"gold_first": 2})
    person = annotator()
    for _ in range(2):
        answer_special(made, person, grade=1)
    words = last_words(round=made, kinds=["gold"])
    assert [row.right for row in checked(words)] == [False, False]

    gold_remove(item=made.items.first(), reason="wrong", actor=researcher())

    assert len(checked(words)) == 1
    with pytest.raises(Conflict, match="no known answer"):
        gold_remove(item=round_with(items=1).items.get(), reason="", actor=researcher())


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        ({"kind": "work", "verdict": "keep"}, "kind"),
        ({"verdict": "maybe"}, "verdict"),
        ({}, "verdict"),
        ({"grades": {"nothing": 3}}, "grades"),
        ({"grades": "ours 5"}, "grades"),
        ({"verdict": "keep", "tolerance": 4}, "tolerance"),
    ],
)
def test_a_known_answer_names_what_is_wrong(answer, field):
    made = round_with(items=1)
    item = made.items.get()
    if answer.get("grades") == "ours 5":
        answer = {"grades": {variant_uids(item.dialogue)[0]: 5}}

    with pytest.raises(InvalidInput) as raised:
        gold_set(item=item, actor=researcher(), **answer)

    assert raised.value.field == field
    item.refresh_from_db()
    assert item.kind == "work"


def test_a_dialogue_of_the_round_becomes_gold_only_once_as_an_item():
    made = round_with(items=1)
    dialogue = Dialogue.objects.get()

    gold_add(round=made, dialogue=dialogue, actor=researcher(), verdict="keep")
    gold_add(round=made, dialogue=dialogue, actor=researcher(), verdict="reject")

    assert made.items.count() == 1
    assert list(GoldAnswer.objects.order_by("pk").values_list("verdict", flat=True)) == ["keep", "reject"]


def test_a_dialogue_without_sound_cannot_become_gold():
    dialogue = speecheq_dialogue(corpus=CorpusFactory())
    Dialogue.objects.filter(pk=dialogue.pk).update(state="scripted")
    dialogue.refresh_from_db()

    with pytest.raises(Conflict, match="not ready to be listened to"):
        gold_add(round=round_with(), dialogue=dialogue, actor=researcher(), verdict="keep")


def test_training_shows_what_was_expected_by_letter():
    made = quality_round(quality={"training": True})
    known_item(made, kind=Kind.TRAINING.value, explanation="Listen to the pause.")
    person = annotator()

    judgement = answer_special(made, person, grade=1)
    told = training_feedback(judgement=judgement)

    assert (told["right"], told["verdict"], told["verdict_right"]) == (False, "keep", True)
    assert told["explanation"] == "Listen to the pause."
    assert [row["letter"] for row in told["grades"]] == ["A", "B", "C", "D"]
    assert {(row["expected"], row["given"], row["right"]) for row in told["grades"]} == {(3, 1, False)}


@pytest.mark.parametrize("kind", ["gold", "qualification"])
def test_nothing_but_training_shows_what_was_expected(kind):
    made = quality_round()
    item = known_item(made, kind=kind)

    assert training_feedback(judgement=judge(item, annotator(), kind)) is None


def test_gold_that_is_there_already_becomes_the_twin_of_work_on_the_same_story():
    made = quality_round(items=1, gold=2)
    Dialogue.objects.update(topic_key="the missed train", template_key="frame 7")
    one, other = made.items.filter(kind="gold")
    made.items.filter(pk=one.pk).update(twin_key="frame 7")
    made.items.filter(pk=other.pk).update(twin_key="kept")

    import_module("annotation.migrations.0014_twins_of_gold").rename(apps, None)

    keys = dict(made.items.values_list("pk", "twin_key"))
    assert (keys[one.pk], keys[other.pk]) == ("speecheq:the missed train", "kept")


def test_gold_and_work_of_one_story_are_twins():
    made = quality_round(items=1)
    work_item = made.items.get()
    gold = known_item(made)
    Dialogue.objects.update(topic_key="the missed train", template_key="frame 7")
    dialogue = Dialogue.objects.get(pk=gold.dialogue_id)

    other = quality_round()
    gold_add(round=other, dialogue=dialogue, actor=researcher(), verdict="keep")

    same = item_fields(round=other, dialogue=Dialogue.objects.get(pk=work_item.dialogue_id))
    assert other.items.get().twin_key == same["twin_key"] == "speecheq:the missed train"
