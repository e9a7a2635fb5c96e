"""What is asked beside grades, changes of mind, reports on sounds, presence, and how one compares."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.domain.gate import heard_possible, heard_seconds
from annotation.domain.questions import EMOTIONS, Questions, answers_wrong
from annotation.models import Assignment, AudioProblem, Flag, GoldAnswer, Judgement, RoundItem
from annotation.selectors import live_judgements
from annotation.selectors.comparison import comparisons
from annotation.selectors.quality import training_feedback
from annotation.services import (
    assignment_leave,
    assignment_next,
    audio_problem_report,
    clips_ahead,
    grade_submit,
    item_adjudicate,
    judgement_retract,
    judgement_revise,
)
from eqstudio.benchmarks import benchmark_get, benchmarks
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.models import Event
from generation.models import Variant
from tests.annotation.factories import heard_whole, judged_round, lease, round_with, submit
from tests.annotation.quality import quality_round
from tests.eqstudio.factories import annotator, researcher
from tests.generation.factories import clip_make

OFTEN = {"gold_first": 1, "gold_every": 3, "repeat_every": 3, "repeat_gap": 2}
pytestmark = pytest.mark.django_db

CODES = ["unnatural", "wrong_emotion", "text_gives_away", "audio_fault", "off_category", "unsafe", "other"]
ALL = {"confidence": True, "emotion": True, "naturalness": True}


def revise(judgement, **fields):
    graded = dict(judgement.grades.values_list("variant__uid", "value"))
    return judgement_revise(
        **{
            "judgement": judgement,
            "client_key": f"again-{judgement.uid}",
            "verdict": "keep",
            "grades": graded,
            "heard": heard_whole(judgement.item.dialogue),
            "actor": judgement.annotator,
            "now": timezone.now(),
            **fields,
        }
    )


@pytest.mark.parametrize("alias", sorted(benchmarks))
def test_every_review_form_has_the_same_reasons_in_both_languages(alias):
    reasons = benchmark_get(alias).review_form.reasons

    assert [reason.code for reason in reasons] == CODES
    assert all(reason.label["en"] and reason.label["zh"] for reason in reasons)


@pytest.mark.parametrize(
    ("asked", "given", "wrong"),
    [
        ({}, {}, None),
        ({}, {"confidence": 1}, "confidence"),
        (ALL, {"confidence": 4, "emotion": "sad", "naturalness": 5}, None),
        (ALL, {"confidence": 5, "emotion": "sad", "naturalness": 5}, "confidence"),
        (ALL, {"confidence": True, "emotion": "sad", "naturalness": 5}, "confidence"),
        (ALL, {"confidence": 1, "emotion": "Sad", "naturalness": 5}, "emotion"),
        (ALL, {"confidence": 1, "emotion": EMOTIONS[-1]}, "naturalness"),
    ],
)
def test_what_is_asked_has_to_be_answered_and_nothing_else(asked, given, wrong):
    assert answers_wrong(given, questions=Questions.from_dict(asked)) == wrong


@pytest.mark.parametrize("raw", [{"mood": True}, {"confidence": "yes"}, {"comment": "maybe"}])
def test_unknown_questions_are_refused(raw):
    with pytest.raises(InvalidInput):
        Questions.from_dict(raw)


def test_answers_are_stored_with_the_judgement():
    made = round_with(questions=ALL)
    answers = {"confidence": 2, "emotion": "calm", "naturalness": 4}

    assert submit(lease(made), answers=answers).answers == answers


@pytest.mark.parametrize(
    ("questions", "fields", "field"),
    [
        ({"confidence": True}, {}, "answers.confidence"),
        ({}, {"answers": {"emotion": "sad"}}, "answers.emotion"),
        ({"comment": "required"}, {"comment": " "}, "comment"),
    ],
)
def test_a_wrong_answer_is_refused_by_field(questions, fields, field):
    found = lease(round_with(questions=questions))

    with pytest.raises(InvalidInput) as raised:
        submit(found, **fields)

    assert raised.value.field == field


def test_a_round_without_comments_keeps_none_but_the_reason_of_a_reject():
    made = round_with(questions={"comment": "off"})

    assert submit(lease(made), comment="chatter").comment == ""
    assert submit(lease(made), verdict="reject", comment="two voices").comment == "two voices"


@pytest.mark.parametrize(
    ("heard_s", "elapsed_s", "possible"), [(20, 10, True), (23, 10, True), (23.5, 10, False), (4, -60, False)]
)
def test_more_sound_than_the_clock_has_room_for_is_impossible(heard_s, elapsed_s, possible):
    assert heard_possible(heard_s, elapsed_s=elapsed_s) is possible


def test_seconds_heard_count_overlaps_once():
    assert heard_seconds([(0.0, 3.0), (2.0, 5.0), (9.0, 20.0)], duration=10.0) == pytest.approx(6.0)


@pytest.mark.parametrize(("waited", "flags"), [(0, 1), (60, 0)])
def test_impossible_listening_is_kept_and_flagged_with_its_evidence(waited, flags):
    made = round_with()
    found = lease(made)
    Variant.objects.filter(turn__dialogue=found.item.dialogue, turn__position=1).update(clip=clip_make(seconds=30.0))
    now = timezone.now() + timedelta(seconds=waited)
    Assignment.objects.filter(pk=found.pk).update(created=now - timedelta(seconds=waited))
    found.refresh_from_db()
    judgement = grade_submit(
        assignment=found,
        client_key="fast",
        verdict="reject",
        reasons=["unnatural"],
        grades={},
        heard=heard_whole(found.item.dialogue),
        now=now,
    )

    found_flags = Flag.objects.filter(judgement=judgement, code="impossible_listening")
    assert found_flags.count() == flags
    assert live_judgements(round=made).get() == judgement
    if flags:
        assert found_flags.get().evidence["heard_s"] > 2 * found_flags.get().evidence["elapsed_s"]


def test_a_revision_counts_in_place_of_what_was_said_before():
    made = round_with(people_per_item=1, agree_needed=1)
    first = submit(lease(made), grade=2)

    second = revise(first, verdict="reject", grades={}, reasons=["unnatural"])

    item = made.items.get()
    assert list(live_judgements(round=made)) == [second]
    assert (item.outcome, item.dialogue.state) == ("rejected", "rejected")
    assert Judgement.objects.get(pk=first.pk).verdict == "keep"
    assert Event.objects.filter(verb="revised").get().detail["replaces"] == first.uid


def test_a_replayed_revision_stores_one():
    first = submit(lease(round_with()))

    assert revise(first).pk == revise(first).pk
    assert Judgement.objects.count() == 2


def test_only_the_last_word_can_be_revised():
    first = submit(lease(round_with()))
    revise(first)

    with pytest.raises(Conflict, match="replaced"):
        revise(first, client_key="another")


def test_a_revision_has_to_pass_the_gate():
    first = submit(lease(round_with()))

    with pytest.raises(InvalidInput, match="Listen first"):
        revise(first, heard={})


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_nothing_is_revised_in_a_round_that_is_not_open(state):
    made = round_with()
    first = submit(lease(made))
    made.state = state
    made.save(update_fields=["state"])

    with pytest.raises(Conflict, match="not open"):
        revise(first)


def test_a_decided_item_is_not_revised():
    made = round_with(people_per_item=1, agree_needed=1)
    first = submit(lease(made))
    item_adjudicate(item=made.items.get(), verdict="reject", reason="breaks off", actor=researcher())

    with pytest.raises(Conflict, match="expert"):
        revise(first)


def test_training_is_neither_revised_nor_taken_back_since_its_answer_was_shown():
    found = lease(round_with())
    Assignment.objects.filter(pk=found.pk).update(kind="training")
    type(found.item).objects.filter(pk=found.item_id).update(kind="training")
    found.refresh_from_db()
    uid = found.shown["6"][1]
    GoldAnswer.objects.create(item=found.item, verdict="reject", grades={uid: 1}, explanation="Listen to the pause.")
    judgement = submit(found, grade=3)

    told = training_feedback(judgement=judgement)
    assert (told["right"], told["verdict"], told["verdict_right"]) == (False, "reject", False)
    assert told["grades"] == [{"letter": "D", "expected": 1, "given": 3, "tolerance": 1, "right": False}]
    with pytest.raises(Conflict, match="training"):
        revise(judgement)
    with pytest.raises(Conflict, match="training"):
        judgement_retract(judgement=judgement, actor=judgement.annotator, now=timezone.now())


def test_nothing_is_told_of_an_item_that_is_no_training():
    assert training_feedback(judgement=submit(lease(round_with()))) is None


def later():
    return timezone.now() + timedelta(minutes=10)


def test_others_are_shown_once_the_item_is_closed_and_undo_is_over():
    made = judged_round(items=1, verdicts=("keep", "keep", "reject"), grades=(4, 2, 2), show_feedback=True)
    mine = Judgement.objects.filter(item__round=made).earliest("pk")

    found = comparisons([mine], now=later())[mine.pk]

    assert (found.keeps, found.rejects, set(found.grades.values())) == (1, 1, {2.0})
    assert comparisons([mine], now=timezone.now()) == {}
    with pytest.raises(Conflict, match="shown how others"):
        revise(mine, now=later())


def test_others_are_not_shown_of_an_open_item_nor_where_the_round_forbids_it():
    shown = round_with(people_per_item=3, show_feedback=True)
    submit(lease(shown))
    open_still = submit(lease(shown))
    hidden = Judgement.objects.filter(item__round=judged_round(items=1)).earliest("pk")

    assert comparisons([open_still, hidden], now=later()) == {}


def test_gold_compares_like_work_so_that_nothing_tells_them_apart():
    made = round_with(people_per_item=2, show_feedback=True)
    first, second = lease(made), lease(made)
    RoundItem.objects.filter(round=made).update(kind="gold")
    Assignment.objects.filter(item__round=made).update(kind="gold")
    mine = submit(Assignment.objects.get(pk=first.pk))
    assert comparisons([Judgement.objects.get(pk=mine.pk)], now=later()) == {}
    submit(Assignment.objects.get(pk=second.pk))

    assert comparisons([Judgement.objects.get(pk=mine.pk)], now=later())[mine.pk].keeps == 1


def test_a_report_on_a_sound_stands_beside_the_judgement_and_is_stored_once():
    found = lease(round_with())
    uid = found.shown["4"][0]
    said = {"assignment": found, "variant_uid": uid, "problem": "noise", "detail": " hum ", "actor": found.annotator}

    first, second = audio_problem_report(**said), audio_problem_report(**said)

    assert first.pk == second.pk
    assert (first.variant.uid, first.problem, first.detail) == (uid, "noise", "hum")
    assert Assignment.objects.get(pk=found.pk).state == "active"
    assert Event.objects.filter(verb="reported a sound").count() == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"problem": "ugly"}, "problem"), ({"problem": "other"}, "detail"), ({"variant_uid": "nosuch"}, "variant")],
)
def test_a_report_that_says_nothing_is_refused(fields, field):
    found = lease(round_with())

    with pytest.raises(InvalidInput) as raised:
        audio_problem_report(
            **{"assignment": found, "variant_uid": "", "problem": "noise", "actor": found.annotator, **fields}
        )

    assert raised.value.field == field
    assert AudioProblem.objects.count() == 0


def test_an_item_that_was_left_untouched_is_free_in_a_minute():
    found, now = lease(round_with()), timezone.now()

    assert assignment_leave(assignment=found, now=now)
    assert Assignment.objects.get(pk=found.pk).lease_until == now + timedelta(seconds=60)


@pytest.mark.parametrize("changes", [{"draft": {"comment": "x"}}, {"state": "submitted"}])
def test_what_was_begun_is_not_given_away_on_leaving(changes):
    found = lease(round_with())
    Assignment.objects.filter(pk=found.pk).update(**changes)

    assert not assignment_leave(assignment=found, now=timezone.now())


def test_the_sounds_ahead_are_those_of_the_item_that_comes_next_and_nothing_is_reserved():
    made, person = round_with(items=3), annotator()
    found = lease(made, person)
    before = Assignment.objects.values_list("pk", "state", "item")

    ahead = clips_ahead(assignment=found, now=timezone.now())

    assert list(Assignment.objects.values_list("pk", "state", "item")) == list(before)
    submit(found)
    following = assignment_next(round=made, annotator=person, now=timezone.now())
    assert {one.uid for one in ahead} == set(heard_whole(following.item.dialogue))


def test_there_is_nothing_ahead_of_the_last_item():
    assert clips_ahead(assignment=lease(round_with(items=1)), now=timezone.now()) == []


def test_the_sounds_ahead_are_foretold_alike_after_work_gold_and_repetitions():
    made, person = quality_round(items=16, gold=6, quality=OFTEN), annotator()
    kinds = set()
    found = lease(made, person)
    while found is not None:
        kinds.add(found.kind)
        ahead = {one.uid for one in clips_ahead(assignment=found, now=timezone.now())}
        submit(found)
        found = assignment_next(round=made, annotator=person, now=timezone.now())
        assert ahead == (set(heard_whole(found.item.dialogue)) if found else set())

    assert kinds == {"work", "gold", "repeat"}


def test_nothing_is_ahead_of_the_last_item_of_the_day():
    made = round_with(items=3, items_per_day=1)

    assert clips_ahead(assignment=lease(made), now=timezone.now()) == []
