"""How far a sitting is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

from django.db.models import Count, Max, Min, Q

from evaluation.models import Part, PlanEntry, Respondent, Response, RunItem, Sitting, Study, TrialRecord
from evaluation.selectors.sampled import items_counted, items_of


@dataclass(frozen=True)
class Progress:
    """``done`` and ``total`` count dialogues, ``answers`` single answers; ``rate`` is answers a minute so far."""

    done: int
    total: int
    answers: int = 0
    rate: float | None = None


def dialogue_order(*, sitting: Sitting) -> list[int]:
    """Primary keys of the dialogues in the order this sitting asks them: the items of the study in the split's order, shuffled by
    ``order_seed``.
    """
    ids = items_of(study=sitting.respondent.study, pilot=sitting.pilot)
    Random(sitting.order_seed).shuffle(ids)  # noqa: S311 -- an order, not a secret
    return ids if sitting.limit is None else ids[: sitting.limit]


def sitting_progress(*, sitting: Sitting) -> Progress:
    """A dialogue is done when a later one was begun, or when the sitting is finished."""
    return sittings_progress(sittings=[sitting])[sitting.pk]


def sittings_progress(*, sittings: Iterable[Sitting]) -> Mapping[int, Progress]:
    """The progress of many sittings of any studies in four queries (more for a pilot of a sample that is not drawn yet).

    A person's total is what was planned for them, attention items and repetitions among it; practice is not counted.
    """
    rows = list(sittings)
    counted = {
        row["trial__sitting"]: row
        for row in Response.objects.filter(trial__sitting__in=[sitting.pk for sitting in rows], trial__retake=None)
        .exclude(trial__part=Part.PRACTICE)
        .order_by()
        .values("trial__sitting")
        .annotate(
            answers=Count("pk"),
            items=_dialogues(Part.ITEM),
            attention=_dialogues(Part.ATTENTION),
            repeats=_dialogues(Part.REPEAT),
            first=Min("created"),
            last=Max("created"),
        )
    }
    planned = _planned(rows)
    totals = items_counted({sitting.respondent.study for sitting in rows})
    queued = RunItem.objects.filter(sitting__in=[sitting.pk for sitting in rows]).order_by().values_list("sitting")
    waiting = dict(queued.annotate(n=Count("pk")))
    return {
        sitting.pk: _progress(
            sitting,
            counted.get(sitting.pk),
            planned.get(sitting.pk)
            or (len(dialogue_order(sitting=sitting)) if sitting.pilot else totals[sitting.respondent.study_id]),
            waiting.get(sitting.pk, 0),
        )
        for sitting in rows
    }


def _dialogues(part: Part) -> Count:
    return Count("trial__dialogue", distinct=True, filter=Q(trial__part=part))


def _planned(sittings: Iterable[Sitting]) -> dict[int, int]:
    people = [one.pk for one in sittings if one.respondent.kind == Respondent.Kind.PERSON]
    if not people:
        return {}
    entries = PlanEntry.objects.filter(sitting__in=people).exclude(part=Part.PRACTICE).order_by()
    return dict(entries.values_list("sitting").annotate(n=Count("pk")))


def _progress(sitting: Sitting, counts: Mapping[str, object] | None, total: int, waiting: int) -> Progress:
    total = total if sitting.limit is None else min(sitting.limit, total)
    if counts is None:
        return Progress(done=0, total=total)
    finished = sitting.state == Sitting.State.FINISHED
    begun = sum(int(counts[name]) for name in ("items", "attention", "repeats"))  # type: ignore[call-overload]
    answers = int(counts["answers"])  # type: ignore[call-overload]
    minutes = (counts["last"] - counts["first"]).total_seconds() / 60  # type: ignore[operator]
    through = sitting.queued - waiting if sitting.queued else begun - 1
    return Progress(
        done=begun if finished else max(0, through),
        total=total,
        answers=answers,
        rate=(answers - 1) / minutes if minutes > 0 else None,
    )


def in_the_middle(study: Study) -> set[tuple[int, int]]:
    """Sitting and dialogue of every item that is still being asked: those in a run's queue, and a person's latest."""
    latest = (
        TrialRecord.objects.filter(
            sitting__respondent__study=study, sitting__state=Sitting.State.OPEN, sitting__queued=0
        )
        .order_by()
        .values("sitting")
        .annotate(last=Max("pk"))
        .values_list("last", flat=True)
    )
    found = set(
        TrialRecord.objects.filter(pk__in=list(latest), part=Part.ITEM).values_list("sitting_id", "dialogue_id")
    )
    queued = RunItem.objects.filter(sitting__respondent__study=study).order_by()
    return found | set(queued.values_list("sitting_id", "dialogue_id"))


def outcome_counts(*, sitting: Sitting) -> dict[str, int]:
    """How many answers of this sitting came to which outcome, by their latest score; practice is not counted."""
    given = Response.objects.filter(trial__sitting=sitting, trial__retake=None).exclude(trial__part=Part.PRACTICE)
    found = given.order_by().values("failure").annotate(n=Count("pk"))
    failures = {row["failure"]: row["n"] for row in found if row["failure"]}
    parsed = given.filter(failure="").aggregate(
        all=Count("pk", distinct=True),
        answered=Count("pk", filter=Q(scores__outcome="answered"), distinct=True),
    )
    counts = {"answered": parsed["answered"], "unparsed": parsed["all"] - parsed["answered"], **failures}
    return {outcome: n for outcome, n in counts.items() if n}
