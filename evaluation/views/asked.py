"""What the address of a comparison page asks for, and the comparison it gets: computed once for one state of the answers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Max, Q
from django.http import HttpRequest
from django.utils.translation import get_language

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Benchmark, Metric
from eqstudio.errors import StudioError
from evaluation.figures import View
from evaluation.models import AnswerImportWithdrawal, ReplyGrade, ScoreRecord, Sitting, Study
from evaluation.selectors import efforts_of, excluded_of, item_facts
from evaluation.services import comparison_build, item_difficulty
from evaluation.services.comparison_rows import PEOPLE, grades_of_row
from evaluation.services.comparisons import BY, Asked, board_build, headline_of, items_asked
from evaluation.services.norming import COHORT
from evaluation.words import SYSTEMS, metric_label
from generation.models import Dialogue

CACHE_SECONDS = 3600
LONGEST = 80


@dataclass(frozen=True)
class Seen:
    """One state of the comparison page."""

    study: Study
    benchmark: Benchmark
    metric: Metric
    label: str
    asked: Asked
    result: dict[str, Any]
    chosen: dict[str, Any] | None

    @property
    def filters(self) -> dict[str, str]:
        return dict(self.asked.filters)

    @property
    def by(self) -> str:
        return self.asked.by or "category"

    def view(self) -> View:
        """What the figures are drawn from."""
        return View(
            result=self.result,
            benchmark=self.benchmark,
            metric=self.metric,
            label=self.label,
            chosen=self.chosen["name"] if self.chosen else "",
            group_label=partial(group_label, self.benchmark, self.by),
            extra={"items": self._items, "confusion": self._confusion, "effort": self._effort},
        )

    def _items(self) -> list[dict[str, Any]]:
        if self.chosen is None:
            return []
        facts = item_facts(study=self.study, benchmark=self.benchmark)
        apart = item_difficulty(study=self.study, respondent=self.chosen["uid"], filters=self.filters)
        uids = dict(Dialogue.objects.filter(pk__in=[one.dialogue for one in apart]).values_list("pk", "uid"))
        return [
            {
                "item": uids[one.dialogue],
                "category": facts[one.dialogue].category,
                "people": one.people,
                "model": one.respondent,
            }
            for one in apart
        ]

    def _confusion(self) -> list[dict[str, Any]]:
        board = board_build(self.study, self.asked, items_asked(self.study, self.asked))
        row = next((row for row in board.rows if self.chosen and row.name == self.chosen["name"]), None)
        grades = grades_of_row(board, row, self.benchmark.scale) if row else None
        if grades is None:
            return []
        totals = [sum(line[place] for line in grades.confusion) for place in range(len(grades.scale))]
        return [
            {"given": given, "intended": intended, "n": n, "share": n / totals[column] if totals[column] else 0.0}
            for given, line in zip(grades.scale, grades.confusion, strict=True)
            for column, (intended, n) in enumerate(zip(grades.scale, line, strict=True))
        ]

    def _effort(self) -> dict[str, Any]:
        return efforts_of(study=self.study, people=PEOPLE)


def seen(request: HttpRequest, study: Study) -> Seen:
    """Read the address. What it asks for and does not exist (a filter's value, a norm) falls back to the whole."""
    benchmark = benchmark_get(study.benchmark)
    metric = headline_of(benchmark)
    filters = {name: request.GET[name][:LONGEST] for name in BY if request.GET.get(name)}
    by = request.GET.get("by", "category")
    asked = Asked.of(
        by=by if by in BY else "category",
        filters=filters,
        norm=request.GET.get("norm", COHORT)[:LONGEST],
        with_key=request.GET.get("key") == "1",
    )
    try:
        result = comparison_cached(study, asked)
    except StudioError:
        asked = Asked.of(by=asked.by, filters=filters, with_key=asked.with_key)
        result = comparison_cached(study, asked)
    label = metric_label(metric, get_language() or "en")
    return Seen(study, benchmark, metric, label, asked, result, _chosen(request, result, metric))


def comparison_cached(study: Study, asked: Asked) -> dict[str, Any]:
    """The comparison, computed once for one state of the answers."""
    state = ScoreRecord.objects.filter(response__trial__sitting__respondent__study=study).aggregate(last=Max("pk"))
    sittings = Sitting.objects.filter(respondent__study=study).aggregate(
        all=Count("pk"),
        open=Count("pk", filter=Q(state="open")),
        cancelled=Count("pk", filter=Q(state="cancelled")),
        knowing=Count("pk", filter=Q(key_access=True)),
        withdrawn=Count("pk", filter=Q(respondent__participant__withdrawn_at__isnull=False)),
    )
    out = sorted(excluded_of(study))
    taken_out = AnswerImportWithdrawal.objects.filter(source__study=study).count()
    judged = ReplyGrade.objects.filter(judgement__response__trial__sitting__respondent__study=study).aggregate(
        last=Max("pk")
    )
    state_told = f"{state['last']}:{sorted(sittings.items())}:{out}:{taken_out}:{judged['last']}:{asked}"
    digest = hashlib.sha256(state_told.encode()).hexdigest()
    key = f"comparison:{study.uid}:{digest}"
    found: dict[str, Any] | None = cache.get(key)
    if found is None:
        found = comparison_build(
            study=study,
            by=asked.by,
            filters=dict(asked.filters),
            pair_metrics=[benchmark_get(study.benchmark).headline],
            norm=asked.norm,
            with_key=asked.with_key,
        )
        cache.set(key, found, CACHE_SECONDS)
    return found


def systems_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in result["respondents"] if entry["kind"] in SYSTEMS or entry["kind"] == "rule"]


def _chosen(request: HttpRequest, result: dict[str, Any], metric: Metric) -> dict[str, Any] | None:
    """The respondent whose items are looked at: the one asked for, else the best model."""
    systems = systems_of(result)
    asked = next((entry for entry in systems if entry["uid"] == request.GET.get("model")), None)
    known = [entry for entry in systems if entry["estimates"][metric.name]["value"] is not None]
    sign = 1 if metric.higher_is_better else -1
    return asked or max(
        known,
        key=lambda entry: (entry["kind"] in SYSTEMS, entry["fit"], sign * entry["estimates"][metric.name]["value"]),
        default=None,
    )


def group_label(benchmark: Benchmark, by: str, value: str) -> str:
    """What a reader calls a group."""
    language = "zh" if (get_language() or "en").startswith("zh") else "en"
    if by == "composite":
        return next((one.group_label[language] for one in benchmark.categories if one.group == value), value)
    if by != "category":
        return value
    try:
        return benchmark.category(value).label[language]
    except KeyError:
        return value
