"""From the scores of answers to one figure per respondent and item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median, median_low

from eqstudio.benchmarks.base import Metric, Score
from evaluation.domain.slots import Pick

SLOTS = ("A", "B")
OPTIONS = frozenset("ABCDEFGHIJ")
TWO_OPTIONS = frozenset({None, 0.5})
"""The chance of guessing that a score carries where there are two options; a forced choice carries none."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One scored answer: who, in which run, about which item, to which question."""

    respondent: int
    run: int
    item: int
    key: str
    outcome: str
    score: Score
    letter: str = ""
    """The slot that was chosen, where options were offered."""


@dataclass
class Sheet:
    """All marks of one respondent: item -> run -> trial key -> score; and how many answers came to which outcome.

    ``picks`` are the answers to questions with two options, as slots.
    """

    items: dict[int, dict[int, dict[str, Score]]] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    runs: set[int] = field(default_factory=set)
    picks: list[Pick] = field(default_factory=list)
    offered: bool = False
    """Whether any of the questions offered options, which stand in one order or the other."""
    known: dict[str, dict[int, float]] = field(default_factory=dict)
    """What ``figures`` has worked out, by metric."""

    def add(self, mark: Mark) -> None:
        self.offered = self.offered or mark.letter in OPTIONS
        if mark.letter in SLOTS and mark.score.correct is not None and mark.score.gold in TWO_OPTIONS:
            self.picks.append(Pick(mark.item, mark.key, mark.run, SLOTS.index(mark.letter), mark.score.correct))
        self.items.setdefault(mark.item, {}).setdefault(mark.run, {})[mark.key] = mark.score
        self.outcomes[mark.outcome] = self.outcomes.get(mark.outcome, 0) + 1
        self.runs.add(mark.run)

    def figures(self, metric: Metric) -> dict[int, float]:
        """The metric per item; worked out once, so a person is not counted again as one of the people."""
        if metric.name not in self.known:
            self.known[metric.name] = item_figures(self, metric)
        return self.known[metric.name]

    @property
    def votes(self) -> bool:
        """Three, five ... runs vote on every question; one, two, four ... are averaged."""
        return len(self.runs) >= 3 and len(self.runs) % 2 == 1  # noqa: PLR2004 -- a majority needs three

    @property
    def orders_equal(self) -> bool | None:
        """Whether each item was asked equally often in both orders: odd runs mirror the even ones. None without options."""
        if not self.offered:
            return None
        return all(2 * sum(run % 2 for run in runs) == len(runs) for runs in self.items.values())

    @property
    def answers(self) -> int:
        return sum(self.outcomes.values())


def sheets_build(marks: Iterable[Mark]) -> dict[int, Sheet]:
    sheets: dict[int, Sheet] = {}
    for mark in marks:
        sheets.setdefault(mark.respondent, Sheet()).add(mark)
    return sheets


def item_figures(sheet: Sheet, metric: Metric, only: Iterable[int] | None = None) -> dict[int, float]:
    """The metric per item. An odd number of runs of at least three takes a majority vote on every question first, else the
    runs' figures are averaged. Items that were not asked are left out.
    """
    wanted = sheet.items if only is None else [item for item in only if item in sheet.items]
    figures = {}
    for item in wanted:
        runs = list(sheet.items[item].values())
        given = [metric.item(scores) for scores in ([majority(runs)] if sheet.votes else runs)]
        asked = [value for value in given if value is not None]
        if asked:
            figures[item] = asked[0] if len(asked) == 1 else fmean(asked)
    return figures


def majority(runs: Sequence[Mapping[str, Score]]) -> dict[str, Score]:
    """One score per question from several runs: right when more than half were, the median of grades (of an even number the
    lower of the two in the middle, which somebody gave). No answer is a vote against: grades of half the runs are no majority.
    """
    keys = {key: None for run in runs for key in run}
    return {key: _vote([run[key] for run in runs if key in run]) for key in keys}


def _vote(scores: Sequence[Score]) -> Score:
    gold = next((score.gold for score in scores if score.gold is not None), None)
    verdicts = [score.correct for score in scores if score.correct is not None]
    values = [score.value for score in scores if score.value is not None]
    if values and gold is not None:
        if 2 * len(values) <= len(scores):
            return Score(correct=False, gold=gold)
        grade = float(median_low(values))
        return Score(correct=grade == gold, value=grade, gold=gold)
    value = float(median(values)) if values else None
    correct = sum(verdicts) * 2 > len(scores) if verdicts else None
    return Score(correct=correct, value=value, gold=gold)
