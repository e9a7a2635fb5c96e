"""What a person is asked: practice, attention items and repetitions beside the items, and what of it is data."""

import io
from datetime import timedelta

import numpy as np
import pytest
import soundfile
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from annotation.models import ClipPrint
from eqstudio.blobs import blob_put
from eqstudio.errors import Conflict, InvalidInput
from evaluation.management.commands import study_create as study_create_command
from evaluation.models import Part, PlanEntry, Response, SpecialItem, TrialRecord
from evaluation.selectors import findings_of, marks_of, sitting_progress, sittings_told
from evaluation.services import (
    response_record,
    sitting_open,
    specials_sound,
    study_create,
    trial_next,
)
from evaluation.services.feedback import practice_feedback
from evaluation.services.robustness import retest_build
from evaluation.services.specials import specials_offered, specials_set
from evaluation.services.specials_sound import left_to_audit
from evaluation.services.withdrawal import participant_withdraw
from generation.models import Clip
from tests.annotation.factories import lease, round_with
from tests.eqstudio.factories import annotator
from tests.evaluation.factories import (
    heard_all,
    speecheq_study,
    split_of,
    wrong_answer,
)
from tests.evaluation.people import answer_all, join, protocol, specials
from tests.generation.factories import clip_make, emosbench_dialogue, speecheq_dialogue

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
        specials_set(study=study, chosen={Part.ATTENTION: [code]})


def test_the_same_code_twice_is_refused_and_changes_nothing(study):
    one, other = speecheq_dialogue(), speecheq_dialogue()
    specials_set(study=study, chosen={Part.PRACTICE: [other.uid]})

    with pytest.raises(InvalidInput, match=f"{one.uid}: it is there twice"):
        specials_set(study=study, chosen={Part.PRACTICE: [one.uid, other.uid, f" {one.uid}"]})

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
        specials_set(study=study, chosen={Part.PRACTICE: [outside.uid, copy.uid]})
    assert not study.specials.exists()


def spoken(dialogue, *, gain=1.0, pad=0):
    """Give a dialogue a recording of its own that is long enough to be told from others: the same tune for everybody."""
    rng = np.random.default_rng(3)
    notes = [np.sin(2 * np.pi * hz * np.arange(1_600) / 16_000) for hz in rng.uniform(200, 3_000, 12)]
    samples = np.concatenate([np.zeros(pad), gain * 0.3 * np.concatenate(notes)])
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, 16_000, format="WAV")
    clip = clip_make(duration=1.2)
    clip = Clip.objects.create(
        **{
            **{
                f.name: getattr(clip, f.name)
                for f in Clip._meta.concrete_fields
                if f.name not in {"id", "uid", "sha256"}
            },
            "sha256": blob_put(buffer.getvalue()),
        }
    )
    dialogue.turns.first().variants.update(clip=clip)


def test_a_recording_that_was_made_louder_and_padded_is_still_a_copy(study):
    copy, outside = speecheq_dialogue(), speecheq_dialogue()
    spoken(study.split.items.first().dialogue)
    spoken(copy, gain=0.5, pad=160)

    with pytest.raises(InvalidInput, match=f"{copy.uid}: it has a recording that sounds like"):
        specials_set(study=study, chosen={Part.PRACTICE: [outside.uid, copy.uid]})
    assert not study.specials.exists()
    assert ClipPrint.objects.count() == 2, "what was measured is kept when the choice is refused"
    specials_set(study=study, chosen={Part.PRACTICE: [outside.uid]})


@pytest.mark.django_db(transaction=True)
def test_recordings_are_measured_while_nobody_waits_for_the_study(study, monkeypatch):
    held = []
    measure = specials_sound.clips_measure
    monkeypatch.setattr(
        specials_sound, "clips_measure", lambda **given: held.append(connection.in_atomic_block) or measure(**given)
    )

    one, split = speecheq_dialogue().uid, study.split
    specials_set(study=study, chosen={Part.PRACTICE: [one]})
    assert held == [False, False]

    measured = []
    monkeypatch.setattr(
        study_create_command, "specials_measure", lambda **given: measured.append((connection.in_atomic_block, given))
    )
    call_command("study_create", "drill", "--split", split.name, "--practice", one)
    assert measured == [(False, {"split": split, "codes": [one]})]


def test_recordings_of_a_large_split_are_left_to_its_audit(study, monkeypatch):
    spoken(study.split.items.first().dialogue)
    assert left_to_audit(study) == 0
    monkeypatch.setattr("evaluation.services.specials_sound.MOST_MEASURED", 0)
    assert left_to_audit(study) == 1
    specials_set(study=study, chosen={Part.PRACTICE: [speecheq_dialogue().uid]})
    assert left_to_audit(study) == 1


def test_practice_and_attention_are_one_choice_and_hold_no_copies_of_each_other(study):
    one, other, third = speecheq_dialogue(), speecheq_dialogue(), speecheq_dialogue()
    specials_set(study=study, chosen={Part.PRACTICE: [one.uid]})
    words, sound = copy_of(one, "words"), copy_of(one, "sound")
    spoken(other)
    spoken(third, gain=0.5)

    for copy in (words, sound):
        with pytest.raises(InvalidInput, match=f"{copy.uid}: it is a copy") as caught:
            specials_set(study=study, chosen={Part.ATTENTION: [copy.uid]})
        assert caught.value.field == "attention"
    with pytest.raises(InvalidInput, match="it is a copy"):
        specials_set(study=study, chosen={Part.PRACTICE: [other.uid], Part.ATTENTION: [third.uid]})
    with pytest.raises(InvalidInput, match="for the other purpose already"):
        specials_set(study=study, chosen={Part.ATTENTION: [one.uid]})
    assert [item.dialogue for item in study.specials.all()] == [one]

    specials_set(study=study, chosen={Part.PRACTICE: [other.uid], Part.ATTENTION: [one.uid]})
    assert {item.dialogue: item.purpose for item in study.specials.all()} == {other: "practice", one: "attention"}


def test_offered_dialogues_are_none_of_the_study(study):
    outside = speecheq_dialogue()

    assert specials_offered(study=study, purpose=Part.ATTENTION) == [outside]
