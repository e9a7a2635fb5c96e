"""What a good listener would say. It is asked of the benchmark's scorer, so the key has no second reader."""

from __future__ import annotations

from random import Random

from eqstudio.benchmarks.base import Answered, Benchmark, ItemView, Outcome, Parsed, Trial, TrialKind

BEST, WORST, UNASKED = 4, 1, 3
LONGEST_EXAM = 60


def right_letters(benchmark: Benchmark, item: ItemView, trial: Trial) -> list[str]:
    """The letters that the scorer calls right; none where no letter is asked for."""
    if trial.kind not in (TrialKind.CHOICE, TrialKind.MCQ):
        return []
    letters = [option.letter for option in trial.options]
    return [letter for letter in letters if benchmark.score(item, trial, Parsed(Outcome.ANSWERED, letter)).correct]


def gold_grade(benchmark: Benchmark, item: ItemView, trial: Trial) -> float | None:
    """The grade that a grade question is held against."""
    low = trial.scale[0] if trial.scale else 1
    return benchmark.score(item, trial, Parsed(Outcome.ANSWERED, low)).gold


def variant_grades(benchmark: Benchmark, item: ItemView) -> dict[str, int]:
    """A grade from 1 to 4 for the variants that the exam asks about: what it holds right is good, the rest is not."""
    grades: dict[str, int] = {}
    answers: list[Answered] = []
    while (trial := benchmark.next_trial(item, answers, Random(0))) and len(answers) < LONGEST_EXAM:  # noqa: S311 -- an order, no secret
        right = right_letters(benchmark, item, trial)
        gold = gold_grade(benchmark, item, trial) if trial.kind == TrialKind.GRADE else None
        if gold is not None:
            grades |= dict.fromkeys(_graded(trial), min(BEST, max(WORST, round(gold))))
        for option in trial.options:
            if option.variant and right:
                grades[option.variant] = BEST if option.letter in right else WORST + 1
        answers.append(Answered(trial, _answer(trial, right, gold)))
    return grades


def _graded(trial: Trial) -> list[str]:
    """The clip that a grade question is about: the one option, or else the last line heard."""
    options = [option.variant for option in trial.options if option.variant]
    context = [segment.variant for segment in trial.context if segment.variant]
    return options or context[-1:]


def _answer(trial: Trial, right: list[str], gold: float | None) -> Parsed:
    """An answer that lets the exam go on."""
    if trial.kind == TrialKind.GRADE:
        return Parsed(Outcome.ANSWERED, round(gold) if gold is not None else 1)
    if trial.options:
        return Parsed(Outcome.ANSWERED, (right or [trial.options[0].letter])[0])
    return Parsed(Outcome.ANSWERED, "yes")
