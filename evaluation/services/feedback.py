"""What a practice question would have been: told after the answer, and of practice only."""

from __future__ import annotations

from dataclasses import dataclass

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Outcome, Parsed, Trial
from evaluation.models import Part, Response
from evaluation.services.scoring import score_that_counts
from generation.selectors import item_view


@dataclass(frozen=True)
class Feedback:
    """``right`` is None where there is no key; ``expected`` are the answers that are right."""

    right: bool | None
    expected: tuple[str, ...]


def practice_feedback(*, response: Response) -> Feedback | None:
    """Whether a practice answer was right and what would have been; None for every other part of a sitting.

    The key is read by the benchmark's own ``score``, which is asked about every possible answer.
    """
    record = response.trial
    if record.part != Part.PRACTICE:
        return None
    trial = Trial.from_dict(record.shown)
    benchmark = benchmark_get(record.sitting.respondent.study.benchmark)
    item = item_view(dialogue=record.dialogue)
    low, high = trial.scale or (1, 0)
    possible: list[str | int] = [*range(low, high + 1), *(option.letter for option in trial.options if not trial.scale)]
    expected = tuple(
        str(answer) for answer in possible if benchmark.score(item, trial, Parsed(Outcome.ANSWERED, answer)).correct
    )
    score = score_that_counts(response.scores.all())
    if not expected or score is None or response.failure:
        return Feedback(None, expected)
    return Feedback(bool(score.correct), expected)
