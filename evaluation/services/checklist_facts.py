"""What the database knows about a human baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from django.db.models import Count
from django.utils.translation import gettext as _

from annotation.models import Judgement
from eqstudio.benchmarks import Benchmark
from evaluation.models import Part, Respondent, Response, Sitting, Study, TrialRecord
from evaluation.selectors import counted, item_facts
from evaluation.words_tests import TESTS


@dataclass(frozen=True)
class Facts:
    """None, or an empty text, where nothing is known."""

    items: int
    languages: tuple[str, ...]
    people: int
    models: int
    knowing: int
    model_items: str | None
    model_runs: str | None
    items_by_people: int
    per_item: Mapping[str, float]
    per_person: Mapping[str, float]
    finished: Mapping[str, int]
    gate_share: float
    instructions_hash: str
    authors: str | None
    effort: str | None
    seconds: str | None
    tested: bool | None
    tests: str


def facts_of(study: Study, benchmark: Benchmark, comparison: Mapping[str, Any]) -> Facts:
    """Everything in a handful of queries."""
    sittings = Sitting.objects.filter(
        counted(), respondent__study=study, respondent__kind=Respondent.Kind.PERSON, key_access=False
    )
    asked = TrialRecord.objects.filter(sitting__in=sittings, responses__isnull=False, part=Part.ITEM).order_by()
    per_item = list(
        asked.values("dialogue").annotate(n=Count("sitting__respondent", distinct=True)).values_list("n", flat=True)
    )
    per_person = list(
        asked.values("sitting__respondent").annotate(n=Count("dialogue", distinct=True)).values_list("n", flat=True)
    )
    systems = [entry for entry in comparison["respondents"] if entry["kind"] in ("model", "imported")]
    pairs = [pair for pair in comparison["pairs"] if pair["family"] == "people" and pair["p"] is not None]
    seconds = _seconds(sittings)
    return Facts(
        items=study.split.item_count,
        languages=tuple(sorted({fact.language for fact in item_facts(study=study, benchmark=benchmark).values()})),
        people=len(per_person),
        models=len(systems),
        knowing=int(comparison["key_access"]),
        model_items=_range([entry["estimates"][benchmark.headline]["n"] for entry in systems]),
        model_runs=_range([entry["runs"] for entry in systems]),
        items_by_people=len(per_item),
        per_item=_spread(per_item),
        per_person=_spread(per_person),
        finished={"done": sittings.filter(state=Sitting.State.FINISHED).count(), "begun": sittings.count()},
        gate_share=study.gate_share,
        instructions_hash=study.instructions_hash,
        authors=_authors(study, sittings) if per_person else None,
        effort=_effort(seconds),
        seconds=seconds,
        tested=bool(pairs) if per_person and systems else None,
        tests=_tests(pairs),
    )


def _tests(pairs: list[Mapping[str, Any]]) -> str:
    if not pairs:
        return ""
    names = ", ".join(sorted({str(TESTS[pair["test"]]) for pair in pairs}))
    return _("%(tests)s; corrected by Holm within a family") % {"tests": names}


def _spread(counts: list[int]) -> dict[str, float]:
    return {"least": min(counts, default=0), "most": max(counts, default=0), "mean": fmean(counts) if counts else 0.0}


def _range(counts: list[int]) -> str | None:
    if not counts:
        return None
    return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)}–{max(counts)}"


def _authors(study: Study, sittings: Any) -> str:
    """Whether those who sat also judged the same dialogues; who can read the key is kept out anyway."""
    people = set(sittings.values_list("respondent__user", flat=True))
    judged = (
        Judgement.objects.filter(annotator__in=people, item__dialogue__split_items__split=study.split)
        .values("annotator")
        .distinct()
        .count()
    )
    if judged:
        return _("Partial: %(n)s of those who sat had judged some of these dialogues before") % {"n": judged}
    return _("No: nobody who can read the key, and nobody who judged these dialogues, is in the baseline")


def _seconds(sittings: Any) -> str | None:
    times = [
        paradata["active_ms"] / 1000
        for paradata in Response.objects.filter(trial__sitting__in=sittings, failure="")
        .order_by()
        .values_list("paradata", flat=True)
        .iterator(chunk_size=2_000)
        if paradata.get("active_ms")
    ]
    return _("median %(seconds).0f seconds of activity an answer") % {"seconds": median(times)} if times else None


def _effort(seconds: str | None) -> str | None:
    if seconds is None:
        return None
    return _("Partial: time is measured (%(seconds)s), not limited") % {"seconds": seconds}
