"""What a person is asked: practice, attention items and repetitions beside the items, and what of it is data."""

from datetime import timedelta

import pytest
from django.utils import timezone

from eqstudio.errors import Conflict, InvalidInput
from evaluation.models import Part, PlanEntry, Response, SpecialItem, TrialRecord
from evaluation.selectors import findings_of, marks_of, sitting_progress, sittings_told
from evaluation.services import (
    response_record,
    sitting_open,
    study_create,
    trial_next,
)
from evaluation.services.feedback import practice_feedback
from evaluation.services.robustness import retest_build
from evaluation.services.specials import specials_offered, specials_set
from evaluation.services.withdrawal import participant_withdraw
from tests.annotation.factories import lease, round_with
from tests.eqstudio.factories import annotator
from tests.evaluation.factories import (
    heard_all,
    speecheq_study,
    split_of,
    wrong_answer,
)
from tests.evaluation.people import answer_all, join, protocol, specials
from tests.generation.factories import emosbench_dialogue, speecheq_dialogue

pytestmark = pytest.mark.django_db
NOW = timezone.now


@pytest.fixture
def study():
    return speecheq_study(items=4)


def test_a_plan_holds_practice_attention_and_repeats_and_only_items_are_data(study):
    specials(study, Part.PRACTICE, 1)
    specials(study, Part.ATTENTION, 2)
    protocol(study, execution={"practice": 1, "attention": 2, "repeats": 1})
    joined = join(study)

    parts = answer_all(joined.sitting)

    assert sorted(parts) == [""] * 8 + ["attention"] * 4 + ["practice"] * 2 + ["repeat"] * 2
    assert parts[:2] == ["practice"] * 2
    marks = list(marks_of(study=study))
    assert len(marks) == 8
    assert {mark.item for mark in marks} == set(study.split.items.values_list("dialogue", flat=True))
    progress = sitting_progress(sitting=joined.sitting)
    assert (progress.done, progress.total) == (7, 7)
    orders = list(Response.objects.order_by("pk").values_list("paradata__order", flat=True))
    assert orders == list(range(1, 17))


def test_a_repetition_shows_the_options_the_other_way_round(study):
    protocol(study, execution={"repeats": 1})
    answer_all(join(study).sitting)

    again = TrialRecord.objects.filter(part="repeat").first()
    first = TrialRecord.objects.get(dialogue=again.dialogue, part="", key=again.key)

    def shown(record):
        return [option["variant"] for option in record.shown["options"]]

    assert shown(again) == shown(first)[::-1]
    assert retest_build(sats=sittings_told(study=study).values()).value == 1.0


def test_who_presses_the_same_slot_is_inconsistent_in_repetitions(study):
    protocol(study, execution={"repeats": 2})
    answer_all(join(study).sitting, choose=lambda _record: "A")

    assert retest_build(sats=sittings_told(study=study).values()).value == 0.0


def test_who_withdrew_is_in_no_figure_about_repetitions_or_rules(study):
    protocol(study, execution={"repeats": 2}, analysis={"exclusions": [{"rule": "same_slot", "threshold": None}]})
    sitting = join(study).sitting
    answer_all(sitting, choose=lambda _record: "A")
    assert retest_build(sats=sittings_told(study=study).values()).n > 0

    participant_withdraw(participant=sitting.respondent.participant, reason="own")

    assert retest_build(sats=sittings_told(study=study).values()).n == 0
    assert findings_of(study) == {}


def test_practice_is_answered_with_what_was_expected_and_nothing_else_is(study):
    specials(study, Part.PRACTICE, 1)
    protocol(study, execution={"practice": 1})
    answer_all(join(study).sitting, choose=wrong_answer)

    told = [practice_feedback(response=response) for response in Response.objects.order_by("pk")]

    assert [one.right for one in told[:2]] == [False, False]
    assert told[2:] == [None] * 8


def test_a_study_without_the_items_its_protocol_asks_for_says_so_before_the_first_question(study):
    protocol(study, execution={"attention": 1})

    with pytest.raises(Conflict, match="not ready"):
        trial_next(sitting=join(study).sitting)


def test_people_share_the_items_evenly(study):
    protocol(study, execution={"per_sitting": 2})

    for _ in range(4):
        trial_next(sitting=join(study).sitting)

    counts = [
        PlanEntry.objects.filter(dialogue=item).count() for item in study.split.items.values_list("dialogue", flat=True)
    ]
    assert counts == [2, 2, 2, 2]


def test_no_new_item_begins_when_the_time_is_up(study):
    protocol(study, execution={"max_minutes": 1})
    sitting = join(study).sitting
    record = trial_next(sitting=sitting)
    response_record(trial=record, raw='{"answer": "A"}', heard=heard_all(record), paradata={"active_ms": 60_000})

    record = trial_next(sitting=sitting)
    assert record.key == "s6"
    response_record(trial=record, raw='{"answer": "A"}', heard=heard_all(record))

    assert trial_next(sitting=sitting) is None
    assert sitting.state == "finished"


def test_items_somebody_judged_before_are_barred_where_the_protocol_declares_it_and_else_marked():
    mine, now = annotator(), NOW()
    round_ = round_with(items=2)
    judged = lease(round_, mine, now - timedelta(hours=1)).item.dialogue
    other = round_.items.exclude(dialogue=judged).get().dialogue
    declared = study_create(name="declared", split=split_of([judged, other]))
    open_ = study_create(name="open", split=split_of([judged, other]))
    protocol(declared, analysis={"exclusions": [{"rule": "exposed_before", "threshold": None}]})

    plans = []
    for one in (declared, open_):
        sitting = sitting_open(study=one, user=mine)
        trial_next(sitting=sitting)
        plans.append(set(sitting.plan.values_list("dialogue_id", flat=True)))

    assert plans == [{other.pk}, {judged.pk, other.pk}]


# Attention items and practice items


@pytest.mark.parametrize("wrong", ["unknown", "own", "benchmark", "silent"])
def test_a_dialogue_that_will_not_do_as_a_special_item_is_named(study, wrong):
    if wrong == "unknown":
        code = "no-such-dialogue"
    elif wrong == "own":
        code = study.split.items.first().dialogue.uid
    elif wrong == "benchmark":
        code = emosbench_dialogue(category="praise").uid
    else:
        dialogue = speecheq_dialogue()
        for turn in dialogue.turns.all():
            turn.variants.update(clip=None)
        code = dialogue.uid

    with pytest.raises(InvalidInput, match=code):
        specials_set(study=study, purpose=Part.ATTENTION, codes=[code])


def test_the_same_code_twice_is_refused_and_changes_nothing(study):
    one, other = speecheq_dialogue(), speecheq_dialogue()
    specials_set(study=study, purpose=Part.PRACTICE, codes=[other.uid])

    with pytest.raises(InvalidInput, match=f"{one.uid}: it is there twice"):
        specials_set(study=study, purpose=Part.PRACTICE, codes=[one.uid, other.uid, f" {one.uid}"])

    assert [item.dialogue for item in SpecialItem.objects.all()] == [other]


def copy_of(original, shared):
    """The same words, or one of the same recordings, under another id."""
    copy = speecheq_dialogue()
    for turn, of in zip(copy.turns.all(), original.turns.all(), strict=True):
        for variant, model in zip(turn.variants.all(), of.variants.all(), strict=True):
            if shared == "words":
                variant.text = model.text.upper().replace(".", " !")
            elif turn.position == 2:
                variant.clip = model.clip
            variant.save()
    return copy


@pytest.mark.parametrize(("shared", "told"), [("words", "same words"), ("sound", "recording")])
def test_a_copy_of_an_item_is_neither_offered_nor_taken_as_a_special_item(study, shared, told):
    copy = copy_of(study.split.items.first().dialogue, shared)
    outside = speecheq_dialogue()

    assert specials_offered(study=study, purpose=Part.PRACTICE) == [outside]
    with pytest.raises(InvalidInput, match=f"{copy.uid}.*{told}"):
        specials_set(study=study, purpose=Part.PRACTICE, codes=[outside.uid, copy.uid])
    assert not study.specials.exists()


def test_offered_dialogues_are_none_of_the_study(study):
    outside = speecheq_dialogue()

    assert specials_offered(study=study, purpose=Part.ATTENTION) == [outside]
