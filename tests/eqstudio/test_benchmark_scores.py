"""Scores and metrics: an oracle has full marks, rubbish has none, and the figures are right by hand."""

from random import Random

import pytest

from eqstudio.benchmarks import benchmark_get, benchmarks
from eqstudio.benchmarks.base import Score
from eqstudio.benchmarks.trials import Outcome, Parsed, TrialKind
from tests.eqstudio.benchmark_items import EVERY_CATEGORY, example_item, figures, guess, item_of, oracle, sit, spec_of

RUBBISH = ["", "I would rather talk about the weather.", "A or B", "7", "null", '{"answer": null}', "我不知道"]
CLOSED = {TrialKind.CHOICE, TrialKind.GRADE, TrialKind.MCQ}


def metric(alias, name):
    return next(metric for metric in benchmark_get(alias).metrics if metric.name == name)


@pytest.mark.parametrize(("alias", "key", "language"), EVERY_CATEGORY)
def test_oracle_has_full_marks(alias, key, language):
    benchmark = benchmark_get(alias)
    for seed in range(3):
        item = item_of(spec_of(benchmark, key, language, seed), key, language, uid=f"item{seed}")
        found = figures(benchmark, item, sit(benchmark, item, lambda trial, item=item: oracle(item, trial), seed))
        assert found[benchmark.headline] == 1
        perfect = {"mae": 0, "bias": 0, "wer": 0}
        assert found == {name: perfect.get(name, 1) for name in found}


@pytest.mark.parametrize("alias", benchmarks)
@pytest.mark.parametrize("raw", RUBBISH)
def test_rubbish_is_never_an_answer_and_never_right(alias, raw):
    benchmark, item = example_item(alias)
    answers = sit(benchmark, item, lambda trial: benchmark.parse(trial, raw))
    for answer in answers:
        if answer.trial.kind in CLOSED:
            assert answer.parsed.outcome is not Outcome.ANSWERED
            assert benchmark.score(item, answer.trial, answer.parsed).correct is None
    assert figures(benchmark, item, answers)[benchmark.headline] == 0


@pytest.mark.parametrize("alias", benchmarks)
@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.ANSWERED])
def test_what_is_not_answered_counts_as_wrong_and_has_no_value(alias, outcome):
    benchmark, item = example_item(alias)
    answers = sit(benchmark, item, lambda trial: Parsed(outcome))
    scores = [benchmark.score(item, answer.trial, answer.parsed) for answer in answers]
    assert {(score.correct, score.value) for score in scores} == {(None, None)}
    found = figures(benchmark, item, answers)
    assert found[benchmark.headline] == 0
    assert [found[name] for name in ("mae", "bias", "wer") if name in found] == [None] * (
        len({"mae", "bias", "wer"} & set(found))
    )


@pytest.mark.parametrize("alias", benchmarks)
def test_nothing_asked_is_no_figure(alias):
    assert {metric.item({}) for metric in benchmark_get(alias).metrics} == {None}


@pytest.mark.parametrize("alias", benchmarks)
def test_guessing_comes_out_at_the_stated_chance(alias):
    benchmark = benchmark_get(alias)
    totals = {metric.name: [] for metric in benchmark.metrics if metric.chance is not None}
    for seed in range(500):
        _, item = example_item(alias, index=seed)
        rng = Random(seed * 7 + 1)
        found = figures(benchmark, item, sit(benchmark, item, lambda trial, rng=rng: guess(trial, rng), seed))
        for name, values in totals.items():
            values.append(found[name])
    for name, values in totals.items():
        assert sum(values) / len(values) == pytest.approx(metric(alias, name).chance, abs=0.07)


def test_speecheq_scores_the_rendition_and_not_the_letter():
    benchmark, item = example_item("speecheq")
    letters = set()
    for seed in range(12):
        for answer in sit(benchmark, item, lambda trial: oracle(item, trial), seed):
            letters.add(answer.parsed.value)
            assert benchmark.score(item, answer.trial, answer.parsed) == Score(correct=True)
            other = "B" if answer.parsed.value == "A" else "A"
            wrong = benchmark.score(item, answer.trial, Parsed(Outcome.ANSWERED, other))
            assert wrong == Score(correct=False)
    assert letters == {"A", "B"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (True, True, (1, 1, 1, 1)),
        (True, False, (1, 0, 0, 0.5)),
        (False, True, (0, 1, 0, 0.5)),
        (None, True, (0, 1, 0, 0.5)),
    ],
)
def test_speecheq_metrics_by_hand(first, second, expected):
    scores = {"s4": Score(correct=first), "s6": Score(correct=second)}
    assert tuple(metric("speecheq", n).item(scores) for n in ("acc1", "acc2", "acc_traj", "acc_all")) == expected


def test_speecheq_trajectory_needs_both_questions():
    scores = {"s6": Score(correct=True)}
    assert metric("speecheq", "acc_traj").item(scores) is None
    assert metric("speecheq", "acc1").item(scores) is None
    assert metric("speecheq", "acc_all").item(scores) == 1


def test_emosbench_metrics_by_hand():
    given = {1: 2, 2: 2, 3: 1, 4: None}
    scores = {
        f"grade-{gold}": Score(value=None if value is None else float(value), gold=float(gold))
        for gold, value in given.items()
    }
    assert metric("emosbench", "exact").item(scores) == 0.25
    assert metric("emosbench", "within1").item(scores) == 0.5
    assert metric("emosbench", "mae").item(scores) == 1
    assert metric("emosbench", "bias").item(scores) == pytest.approx(-1 / 3)


def test_emosbench_without_an_intended_grade_keeps_the_value_and_judges_nothing():
    scores = {"grade-a": Score(value=3.0)}
    assert {metric("emosbench", name).item(scores) for name in ("exact", "within1", "mae", "bias")} == {None}


def test_echomind_answer_depends_on_the_delivery_that_was_heard():
    benchmark, first = example_item("echomind", index=8, silent=("neutral", "alternative"))
    _, second = example_item("echomind", index=8, silent=("target", "neutral"))
    trial = sit(benchmark, first, lambda trial: oracle(first, trial))[1]
    assert benchmark.score(first, trial.trial, trial.parsed).correct is True
    other = sit(benchmark, second, lambda trial: oracle(second, trial))[1]
    assert other.trial.options == trial.trial.options
    assert other.parsed.value != trial.parsed.value
    assert benchmark.score(second, other.trial, trial.parsed).correct is False


@pytest.mark.parametrize(
    ("language", "change", "expected"),
    [
        ("en", lambda text: text.upper().replace(".", " !"), 0),
        ("en", lambda text: " ".join(text.split()[1:]), "one word"),
        ("zh", lambda text: " ".join(text).replace("。", ""), 0),
        ("zh", lambda text: text[1:], "one character"),
        ("en", lambda text: "...", 1),
    ],
)
def test_echomind_transcript_error_ignores_case_and_punctuation(language, change, expected):
    benchmark, item = example_item("echomind", language=language, index=8)
    text = item.turns[0].variants[0].text
    answers = sit(benchmark, item, lambda trial: Parsed(Outcome.ANSWERED, change(text) if trial.key == "asr" else "A"))
    units = len(text.split()) if language == "en" else sum(char.isalnum() for char in text)
    wanted = 1 / units if isinstance(expected, str) else expected
    assert figures(benchmark, item, answers)["wer"] == pytest.approx(wanted)


def test_echomind_accuracy_above_chance_weighs_questions_by_their_options():
    above = metric("echomind", "mcq_above_chance")
    assert above.item({"mcq-understanding-1": Score(correct=True, gold=0.5)}) == 1
    assert above.item({"mcq-understanding-1": Score(correct=False, gold=0.5)}) == -1
    assert above.item({"mcq-reasoning-1": Score(correct=False, gold=0.25)}) == pytest.approx(-1 / 3)
