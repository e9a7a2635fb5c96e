"""The shortcut guard over rows: which renditions are right, and how well a meter finds them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from django.db.models import QuerySet

from eqstudio.benchmarks import benchmark_get, benchmarks
from generation.domain.shortcuts import Guard, Pair, shortcut_guard
from generation.models import Dialogue, Rendition, Variant

_FIELDS = (
    "turn__dialogue_id",
    "turn_id",
    "label",
    "intended_grade",
    "clip__rms",
    "clip__loudness",
    "clip__duration",
    "clip__pitch",
    "clip__centroid",
)


@dataclass(frozen=True)
class _Voiced:
    group: str
    label: str
    grade: int | None
    cues: dict[str, float | None]
    lufs: float | None


@dataclass(frozen=True)
class BenchmarkGuard:
    """The guard over the dialogues of one benchmark, and how many of their clips are heard at a matched level."""

    benchmark: str
    guard: Guard
    clips: int
    matched: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "benchmark": self.benchmark,
            "clips": self.clips,
            "matched_clips": self.matched,
            **self.guard.as_dict(),
        }


def shortcuts_found(*, dialogues: QuerySet[Dialogue], seed: int = 0) -> list[BenchmarkGuard]:
    """The guard for every benchmark among ``dialogues``, on the clips as they were made. Three queries per benchmark.

    A pair is the right and the wrong rendition of a line, or two renditions of different intended grades.
    """
    aliases = list(dialogues.order_by().values_list("benchmark", flat=True).distinct())
    return [_guard(dialogues.filter(benchmark=alias), alias, seed) for alias in sorted(aliases)]


def _guard(dialogues: QuerySet[Dialogue], alias: str, seed: int) -> BenchmarkGuard:
    labels = benchmark_get(alias).shortcut_pairs if alias in benchmarks else None
    pairs = [pair for turn in _turns(dialogues) for pair in _pairs(turn, labels)]
    voiced = Variant.objects.filter(turn__dialogue__in=dialogues.order_by().values("pk"), clip__isnull=False)
    matched = voiced.filter(clip__renditions__kind=Rendition.Kind.MATCHED)
    return BenchmarkGuard(alias, shortcut_guard(pairs, seed=seed), voiced.count(), matched.count())


def _turns(dialogues: QuerySet[Dialogue]) -> Iterator[list[_Voiced]]:
    """The voiced renditions of every line that has several."""
    rows = Variant.objects.filter(turn__dialogue__in=dialogues.order_by().values("pk"), clip__isnull=False).exclude(
        turn__role="context"
    )
    turns: dict[int, list[_Voiced]] = defaultdict(list)
    for dialogue, turn, label, grade, rms, lufs, duration, pitch, centroid in (
        rows.order_by("turn_id", "pk").values_list(*_FIELDS).iterator()
    ):
        cues = {"loudness": rms, "duration": duration, "pitch": pitch, "centroid": centroid}
        turns[turn].append(_Voiced(str(dialogue), label, grade, cues, lufs))
    yield from (found for found in turns.values() if len(found) > 1)


def _pairs(turn: list[_Voiced], labels: tuple[str, str] | None) -> Iterator[Pair]:
    for right, wrong in permutations(turn, 2):
        by_label = labels is not None and (right.label, wrong.label) == labels
        by_grade = labels is None and right.grade is not None and wrong.grade is not None and right.grade > wrong.grade
        if by_label or by_grade:
            yield Pair(right.group, *_loud_alike(right, wrong))


def _loud_alike(right: _Voiced, wrong: _Voiced) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """The cues of both, with loudness as RMS; as LUFS where one clip is from before RMS was kept."""
    if right.cues["loudness"] is not None and wrong.cues["loudness"] is not None:
        return right.cues, wrong.cues
    return {**right.cues, "loudness": right.lufs}, {**wrong.cues, "loudness": wrong.lufs}
