"""Variants of the questions: what is heard before, where the reason stands, which kinds are asked; and nothing leaks."""

from dataclasses import replace
from random import Random

import pytest

from eqstudio.benchmarks import benchmark_get, benchmarks
from eqstudio.benchmarks.base import Answered, Design, TurnView, VariantView
from eqstudio.benchmarks.trials import Outcome, Parsed, TrialKind
from evaluation.domain.order import trial_mirror
from tests.eqstudio.benchmark_items import example_item, oracle, relabelled, variant_by_uid

FOILS = ("A whisper close to the ear.", "Clipped, with a hard stop after each word.")
LANGUAGES = ("en", "zh")


def sit(benchmark, item, design, answer, seed=0):
    answers = []
    while trial := benchmark.next_trial(item, answers, Random(seed), design):
        answers.append(Answered(trial, answer(trial)))
        assert len(answers) < 20
    return answers


def letter(value):
    return lambda _trial: Parsed(Outcome.ANSWERED, value)


def wrong_at_first(item):
    """Chooses the wrong rendition in the first question."""

    def answer(trial):
        right = oracle(item, trial).value
        return Parsed(Outcome.ANSWERED, next(option.letter for option in trial.options if option.letter != right))

    return answer


def heard_of_turn_4(item, trial):
    uids = {variant.uid for variant in item.turn(4).variants}
    return [segment.variant for segment in trial.context if segment.variant in uids]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("history", "label"), [("own", "low"), ("gold", "high")])
def test_history_is_what_was_chosen_or_what_is_right(history, label, language):
    benchmark, item = example_item("speecheq", language=language)
    first, second = sit(benchmark, item, Design(history=history), wrong_at_first(item))
    assert first.trial.key == "s4"
    assert [variant_by_uid(item, uid).label for uid in heard_of_turn_4(item, second.trial)] == [label]


def test_a_direct_question_stands_alone():
    benchmark, item = example_item("speecheq")
    asked = [answer.trial for answer in sit(benchmark, item, Design(history="none"), wrong_at_first(item))]
    assert [(trial.key, trial.context) for trial in asked] == [("s4", ()), ("s6", ())]


def test_variants_of_history_differ_in_nothing_but_what_was_heard_before():
    benchmark, item = example_item("speecheq")
    for seed in range(10):
        sittings = [
            [a.trial for a in sit(benchmark, item, Design(history=history), wrong_at_first(item), seed)]
            for history in ("own", "gold", "none")
        ]
        bare = [[replace(trial, context=()) for trial in trials] for trials in sittings]
        assert bare[0] == bare[1] == bare[2]


def test_both_rounds_are_put_in_the_same_words():
    benchmark, item = example_item("speecheq")
    first, second = (a.trial for a in sit(benchmark, item, Design(), letter("A")))
    bare = [replace(trial, key="", context=(), options=()) for trial in (first, second)]
    assert bare[0] == bare[1]
    assert [option.letter for option in first.options] == [option.letter for option in second.options]


@pytest.mark.parametrize("history", ["own", "gold", "none"])
def test_nothing_shown_before_the_answer_depends_on_the_key(history):
    """Handing labels and grades round changes no question, except what a teacher-forced turn is heard as afterwards."""
    for index in range(12):
        benchmark, item = example_item("speecheq", index=index)
        design = Design(history=history, tasks=("choice", "tone"), foils=FOILS)
        mine = [a.trial for a in sit(benchmark, item, design, letter("A"), index)]
        other = [a.trial for a in sit(benchmark, relabelled(item), design, letter("A"), index)]
        if history == "gold":
            assert mine[0] == other[0]
            mine, other = ([replace(trial, context=()) for trial in trials[1:]] for trials in (mine, other))
            assert [trial for trial in mine if trial.kind is TrialKind.CHOICE] == [
                trial for trial in other if trial.kind is TrialKind.CHOICE
            ]
        else:
            assert mine == other


def test_teacher_forcing_waits_for_an_answer_of_any_kind():
    benchmark, item = example_item("speecheq")
    for outcome in (Outcome.UNPARSED, Outcome.REFUSED, Outcome.ERROR):
        second = sit(benchmark, item, Design(history="gold"), lambda _t, o=outcome: Parsed(o))[1].trial
        assert [variant_by_uid(item, uid).label for uid in heard_of_turn_4(item, second)] == ["high"]


@pytest.mark.parametrize("alias", benchmarks)
@pytest.mark.parametrize("order", ["answer_first", "rationale_first"])
def test_the_place_of_the_reason_is_stored_with_every_question(alias, order):
    benchmark, item = example_item(alias)
    assert {a.trial.order for a in sit(benchmark, item, Design(order=order), lambda t: oracle(item, t))} == {order}


@pytest.mark.parametrize(
    ("tasks", "keys"),
    [
        (("asr",), {"asr"}),
        (("reply",), {"reply"}),
        (("mcq",), {"mcq"}),
        (("reply", "asr"), {"asr", "reply"}),
        ((), {"asr", "mcq", "reply"}),
    ],
)
def test_echomind_asks_the_chosen_tasks_in_their_order(tasks, keys):
    benchmark, item = example_item("echomind")
    asked = [a.trial.key for a in sit(benchmark, item, Design(tasks=tasks), lambda t: oracle(item, t))]
    assert {key.partition("-")[0] for key in asked} == keys
    whole = [a.trial.key for a in sit(benchmark, item, Design(), lambda t: oracle(item, t))]
    assert asked == [key for key in whole if key in asked]


@pytest.mark.parametrize("alias", benchmarks)
def test_an_unknown_task_names_those_that_exist(alias):
    benchmark = benchmark_get(alias)
    with pytest.raises(ValueError, match="no task 'dance'; known: "):
        benchmark.tasks_of(Design(tasks=("dance",)))
    assert benchmark.tasks_of(Design()) == benchmark.asks


@pytest.mark.parametrize("language", LANGUAGES)
def test_instructions_tell_what_is_asked(language):
    told = {history: benchmark_get("speecheq").instructions(language, Design(history)) for history in ("own", "gold")}
    assert told["own"] != told["gold"]
    only = benchmark_get("speecheq").instructions(language, Design(tasks=("tone",)))
    assert told["own"].splitlines()[0] not in only
    transcript = benchmark_get("echomind").instructions(language, Design(tasks=("asr",)))
    assert "1. " in transcript
    assert "2. " not in transcript


def tone_item(index=0):
    """An item whose two critical lines have four tones of their own."""
    benchmark, item = example_item("speecheq", index=index)
    turns = tuple(
        TurnView(
            turn.position,
            turn.role,
            turn.speaker,
            tuple(
                VariantView(v.uid, v.label, v.text, v.grade, f"tone {turn.position} {place}", v.has_audio)
                for place, v in enumerate(turn.variants)
            ),
        )
        for turn in item.turns
    )
    return benchmark, replace(item, turns=turns)


def test_tones_are_asked_both_ways_with_foils_of_other_items():
    benchmark, item = tone_item()
    asked = [a.trial for a in sit(benchmark, item, Design(tasks=("tone",), foils=FOILS), letter("A"))]
    assert [trial.key for trial in asked] == ["tone-clip-s4", "tone-text-s4", "tone-clip-s6", "tone-text-s6"]
    hear, read = asked[1], asked[0]
    assert {option.text for option in hear.options} == {"tone 4 0", "tone 4 1", *FOILS}
    assert [segment.variant in {v.uid for v in item.turn(4).variants} for segment in hear.context] == [True]
    assert {option.variant for option in read.options} == {variant.uid for variant in item.turn(4).variants}
    assert read.context == ()


def test_without_foils_the_other_line_of_the_item_gives_them():
    benchmark, item = tone_item()
    hear = sit(benchmark, item, Design(tasks=("tone",)), letter("A"))[1].trial
    assert {option.text for option in hear.options} == {"tone 4 0", "tone 4 1", "tone 6 0", "tone 6 1"}


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_tone_has_exactly_one_right_answer(mirrored):
    for seed in range(30):
        benchmark, item = tone_item()
        for answer in sit(benchmark, item, Design(tasks=("tone",), foils=FOILS), letter("A"), seed):
            trial = trial_mirror(answer.trial) if mirrored else answer.trial
            scores = [benchmark.score(item, trial, Parsed(Outcome.ANSWERED, o.letter)) for o in trial.options]
            assert [score.correct for score in scores].count(True) == 1
            assert {score.gold for score in scores} == {1 / len(trial.options)}
            assert benchmark.score(item, trial, Parsed(Outcome.UNPARSED)).correct is None


def test_every_tone_of_a_pair_is_heard_and_asked_for_in_its_turn():
    benchmark, item = tone_item()
    heard, described = set(), set()
    for seed in range(40):
        for answer in sit(benchmark, item, Design(tasks=("tone",), foils=FOILS), letter("A"), seed):
            if answer.trial.key == "tone-text-s4":
                heard.add(answer.trial.context[0].variant)
            if answer.trial.key == "tone-clip-s4":
                described.add(answer.trial.question)
    assert (len(heard), len(described)) == (2, 2)


def test_tones_come_after_the_choices_and_count_in_no_accuracy():
    benchmark, item = tone_item()
    answers = sit(benchmark, item, Design(tasks=("tone", "choice"), foils=FOILS), letter("A"))
    assert [a.trial.key for a in answers][:2] == ["s4", "s6"]
    scores = {a.trial.key: benchmark.score(item, a.trial, a.parsed) for a in answers if a.trial.key.startswith("tone")}
    assert [metric.item(scores) for metric in benchmark.metrics] == [None] * len(benchmark.metrics)
    assert {benchmark.part(key, {}) for key in scores} == {"tone-text", "tone-clip"}


def test_a_pair_without_two_tones_is_not_asked():
    benchmark, item = tone_item()
    bare = replace(
        item,
        turns=tuple(
            replace(turn, variants=tuple(replace(v, tone="the same") for v in turn.variants)) for turn in item.turns
        ),
    )
    assert sit(benchmark, bare, Design(tasks=("tone",), foils=FOILS), letter("A")) == []
