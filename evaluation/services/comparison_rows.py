"""Who stands on the leaderboard, and with which figures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from eqstudio.benchmarks import Benchmark
from eqstudio.benchmarks.base import Metric, Outcome, Score
from eqstudio.estimates import Estimate
from evaluation.domain import baselines as bl
from evaluation.domain import statistics as st
from evaluation.domain.grades import Given, Grades, grades_of
from evaluation.domain.metrics import Sheet, sheets_build
from evaluation.domain.resampling import Floats, Resampling
from evaluation.domain.slots import Slots, slots_of
from evaluation.models import Respondent, Sitting, Study
from evaluation.selectors import marks_of
from evaluation.services.asked import is_control

PEOPLE = "people (mean)"
MEDIAN, BEST, MAJORITY, EXPERTS = "people (median)", "people (best)", "people (majority)", "experts (mean)"
EXPERT = "expert"
"""The skill that makes a person an expert."""
UNFIT_SHARE = 0.05
"""With more than this share of answers unread a row is not fit for the leaderboard."""


@dataclass
class Row:
    """A line of the leaderboard: one respondent, or people together (``sheets`` then holds one sheet a person)."""

    name: str
    kind: str
    sheets: tuple[Sheet, ...]
    uid: str = ""
    key_access: bool = False
    how: str = ""
    """Of people together: mean, median, best or majority."""
    names: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    """Which people of the comparison these are, as rows of the resampling."""
    control: bool = False
    """A model that was not asked the plain exam (silence, another's sound, the words alone, a role)."""

    @property
    def pooled(self) -> bool:
        return self.kind == "people"

    def figures(self, metric: Metric) -> list[dict[int, float]]:
        """The metric per item of each sheet."""
        return [sheet.figures(metric) for sheet in self.sheets]


@dataclass
class Board:
    """The items that are looked at, who answered them, and one resampling for all figures."""

    items: tuple[int, ...]
    clusters: tuple[str, ...]
    rows: tuple[Row, ...]
    resampling: Resampling
    rng: np.random.Generator
    _matrices: dict[tuple[str, str], Floats] = field(default_factory=dict)

    @cached_property
    def column(self) -> dict[int, int]:
        return {item: place for place, item in enumerate(self.items)}

    @cached_property
    def clustered(self) -> bool:
        """Whether some items belong together (the same prompt or script)."""
        return len(set(self.clusters)) < len(self.clusters)

    def matrix(self, row: Row, metric: Metric) -> Floats:
        """Sheets by items; NaN where an item was not asked."""
        key = (row.name, metric.name)
        if key not in self._matrices:
            matrix = np.full((len(row.sheets), len(self.items)), np.nan)
            for place, figures in enumerate(row.figures(metric)):
                known = [(self.column[item], value) for item, value in figures.items() if item in self.column]
                if known:
                    columns, values = zip(*known, strict=True)
                    matrix[place, list(columns)] = values
            self._matrices[key] = matrix
        return self._matrices[key]

    def part(self, items: Iterable[int]) -> Board:
        """The same comparison of some of the items."""
        wanted = set(items)
        columns = np.asarray([place for place, item in enumerate(self.items) if item in wanted], dtype=np.intp)
        part = Board(
            items=tuple(self.items[place] for place in columns),
            clusters=tuple(self.clusters[place] for place in columns),
            rows=self.rows,
            resampling=self.resampling.only(columns),
            rng=self.rng,
        )
        part._matrices = {key: matrix[:, columns] for key, matrix in self._matrices.items()}
        return part


def rows_of(study: Study, *, with_key: bool = False, without: Collection[int] | None = None) -> list[Row]:
    """People together in the ways a human baseline is named, then each respondent who answered, in the order they came.

    Who could read the key is listed, but is not part of the human baseline unless ``with_key``; ``without`` as in ``marks_of``.
    """
    sheets = sheets_build(marks_of(study=study, without=without))
    respondents = [
        one for one in study.respondents.select_related("user", "run_spec").order_by("pk") if one.pk in sheets
    ]
    knowing = set(
        Sitting.objects.filter(respondent__study=study, key_access=True).values_list("respondent_id", flat=True)
    )
    single = [
        Row(one.name, one.kind, (sheets[one.pk],), one.uid, one.pk in knowing, control=is_control(one))
        for one in respondents
    ]
    people = [one for one in respondents if one.kind == Respondent.Kind.PERSON and (with_key or one.pk not in knowing)]
    return [*_pooled(people, sheets), *single]


def _pooled(people: Sequence[Respondent], sheets: Mapping[int, Sheet]) -> list[Row]:
    if not people:
        return []
    every = tuple(range(len(people)))
    names = tuple(one.name for one in people)
    together = tuple(sheets[one.pk] for one in people)

    def row(name: str, how: str) -> Row:
        return Row(name, "people", together, how=how, names=names, places=every)

    found = [row(PEOPLE, "mean")]
    if len(people) > 1:
        found += [row(MEDIAN, "median"), row(BEST, "best")]
    if len(people) >= bl.VOTERS:
        found.append(row(MAJORITY, "majority"))
    expert = [place for place, one in enumerate(people) if one.user and EXPERT in one.user.skills]
    if expert and len(expert) < len(people):
        chosen = tuple(together[place] for place in expert)
        expert_names = tuple(names[place] for place in expert)
        found.append(Row(EXPERTS, "people", chosen, how="mean", names=expert_names, places=tuple(expert)))
    return found


def entry_of(board: Board, row: Row, metrics: Sequence[Metric], scale: tuple[int, int] | None) -> dict[str, Any]:
    """One line: every metric with its interval, what became of the answers, and for one respondent grades and slots."""
    outcomes: dict[str, int] = {}
    for sheet in row.sheets:
        for outcome, count in sheet.outcomes.items():
            outcomes[outcome] = outcomes.get(outcome, 0) + count
    answers, read = sum(outcomes.values()), outcomes.get(Outcome.ANSWERED.value, 0)
    estimates = {metric.name: estimate_of(board, row, metric) for metric in metrics}
    if row.how in ("", "mean"):
        estimates |= _whole(board, row, scale)
    return {
        "name": row.name,
        "kind": row.kind,
        "uid": row.uid,
        "runs": max(len(sheet.runs) for sheet in row.sheets),
        "people": len(row.sheets) if row.pooled else None,
        "key_access": row.key_access,
        "control": row.control,
        "baseline": row.how,
        "estimates": estimates,
        "unparsed": st.rate_estimate(answers - read, answers),
        "fit": answers == 0 or (answers - read) / answers <= UNFIT_SHARE,
        "outcomes": outcomes,
    }


def estimate_of(board: Board, row: Row, metric: Metric) -> Estimate:
    if not board.items:
        return Estimate.undefined("no item passes")
    matrix = board.matrix(row, metric)
    if not row.pooled:
        return _of_one(board, matrix[0], metric)
    resampling = board.resampling.persons(row.places)
    if row.how == "median":
        return bl.median_person(matrix, resampling)
    if row.how == "best":
        best = bl.best_person(matrix, higher_is_better=metric.higher_is_better)
        return Estimate.undefined(bl.NOBODY) if best is None else _of_one(board, matrix[best], metric)
    if row.how == "majority":
        voted = bl.vote_figures(row.sheets, metric, board.items)
        values = np.asarray([voted.get(item, np.nan) for item in board.items])
        return _of_one(board, values, metric) if voted else Estimate.undefined(bl.FEW_VOTERS)
    return bl.mean_person(matrix, resampling)


def _of_one(board: Board, values: Floats, metric: Metric) -> Estimate:
    known = np.isfinite(values)
    clusters = [name for name, is_known in zip(board.clusters, known, strict=True) if is_known]
    found = values[known]
    shares = metric.higher_is_better and bool(np.all((found >= 0) & (found <= 1)))
    return st.mean_estimate(
        found.tolist(), clusters if board.clustered else None, rng=board.rng, bounds=(0.0, 1.0) if shares else None
    )


def _whole(board: Board, row: Row, scale: tuple[int, int] | None) -> dict[str, Estimate]:
    """Figures that are not a mean over items: of grades, and of the slots of two options."""
    found: dict[str, Estimate] = {}
    grades = grades_of_row(board, row, scale)
    if grades is not None:
        found |= grades.estimates()
    slots = slots_of_row(board, row)
    if slots is not None:
        found |= slots.estimates()
    return found


def grades_of_row(board: Board, row: Row, scale: tuple[int, int] | None) -> Grades | None:
    """The grades a row gave; None where the benchmark asks for none."""
    if scale is None:
        return None
    given = [
        Given(board.column[item], round(score.value), round(score.gold))
        for sheet in row.sheets
        for item, runs in sheet.items.items()
        if item in board.column
        for scores in runs.values()
        for score in scores.values()
        if score.value is not None and score.gold is not None and scale[0] <= score.value <= scale[1]
    ]
    return grades_of(given, scale, resampling=board.resampling)


def slots_of_row(board: Board, row: Row) -> Slots | None:
    picks = [pick for sheet in row.sheets for pick in sheet.picks if pick.item in board.column]
    repeated = not row.pooled and len(row.sheets[0].runs) > 1
    return slots_of(picks, repeated=repeated, resampling=board.resampling, place=board.column) if picks else None


def chance_entry(metrics: Sequence[Metric]) -> dict[str, Any]:
    """What guessing gives."""
    estimates = {
        metric.name: Estimate.undefined("guessing has no fixed figure here")
        if metric.chance is None
        else Estimate(metric.chance)
        for metric in metrics
    }
    return _reference("chance", estimates, Estimate.undefined("chance does not speak"))


def constant_entry(board: Board, metrics: Sequence[Metric], scale: tuple[int, int] | None) -> dict[str, Any] | None:
    """What always giving the grade that is intended most often gives; None where no grades are asked."""
    golds = _golds(board.rows, set(board.items)) if scale is not None else {}
    if not golds:
        return None
    counts: dict[float, int] = {}
    for scores in golds.values():
        for gold in scores.values():
            counts[gold] = counts.get(gold, 0) + 1
    grade = max(sorted(counts), key=lambda one: counts[one])
    given = {
        item: {key: Score(correct=gold == grade, value=grade, gold=gold) for key, gold in scores.items()}
        for item, scores in golds.items()
    }
    estimates = {}
    for metric in metrics:
        values = [value for value in map(metric.item, given.values()) if value is not None]
        mean = float(np.mean(values)) if values else None
        estimates[metric.name] = (
            Estimate.undefined("nothing was asked") if mean is None else Estimate(mean, n=len(values))
        )
    entry = _reference(f"always grade {grade:g}", estimates, Estimate.undefined("chance does not speak"))
    return {**entry, "constant": int(grade)}


def _golds(rows: Sequence[Row], items: set[int]) -> dict[int, dict[str, float]]:
    """The intended grades, as they were held against somebody's answers."""
    found: dict[int, dict[str, float]] = {}
    for row in rows:
        for sheet in row.sheets:
            for item in sheet.items.keys() & (items - found.keys()):
                scores = next(iter(sheet.items[item].values()))
                golds = {key: score.gold for key, score in scores.items() if score.gold is not None}
                if golds:
                    found[item] = golds
    return found


def _reference(name: str, estimates: Mapping[str, Estimate], unparsed: Estimate) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "chance",
        "uid": "",
        "runs": 0,
        "people": None,
        "key_access": False,
        "control": False,
        "baseline": "",
        "estimates": dict(estimates),
        "unparsed": unparsed,
        "fit": True,
        "outcomes": {},
    }


def scale_of(benchmark: Benchmark) -> tuple[int, int] | None:
    """The scale of a benchmark that asks for grades."""
    return (1, 4) if any(metric.name == "within1" for metric in benchmark.metrics) else None


def plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry as JSON."""
    estimates = {name: figure.as_dict() for name, figure in entry["estimates"].items()}
    return {**entry, "estimates": estimates, "unparsed": entry["unparsed"].as_dict()}
