"""What a sitting asks, in which order."""

from __future__ import annotations

from django.db.models import Count

from evaluation.models import Part, PlanEntry, Respondent, Sitting, SpecialItem, Study
from evaluation.selectors.marks import counted
from evaluation.selectors.progress import dialogue_order


def order_of(*, sitting: Sitting) -> list[tuple[int, str]]:
    """Dialogues with what each is there for. A person's was planned before the first question; a system asks items only."""
    planned = list(sitting.plan.values_list("dialogue_id", "part"))
    return planned or [(dialogue, Part.ITEM.value) for dialogue in dialogue_order(sitting=sitting)]


def plan_missing(*, sitting: Sitting) -> bool:
    """Whether a person's sitting has no plan yet; one that began before there were plans goes on without."""
    return (
        sitting.respondent.kind == Respondent.Kind.PERSON and not sitting.plan.exists() and not sitting.trials.exists()
    )


def times_asked(*, study: Study) -> dict[int, int]:
    """By dialogue, for how many people whose sitting counts it is planned."""
    rows = PlanEntry.objects.filter(counted("sitting__"), sitting__respondent__study=study, part=Part.ITEM)
    return dict(rows.order_by().values_list("dialogue").annotate(n=Count("pk")))


def specials_named(study: Study) -> dict[str, list[str]]:
    """Public ids of the dialogues chosen for each purpose, in their order, under the names of the purposes."""
    rows = SpecialItem.objects.filter(study=study).values_list("purpose", "dialogue__uid")
    return {
        purpose.value: [uid for other, uid in rows if other == purpose.value]
        for purpose in (Part.PRACTICE, Part.ATTENTION)
    }


def specials_of(*, study: Study, purpose: Part) -> list[int]:
    """Dialogues to practise on, or to show attention with, in the order they were chosen."""
    return list(SpecialItem.objects.filter(study=study, purpose=purpose).values_list("dialogue_id", flat=True))
