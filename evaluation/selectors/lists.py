"""What the list pages show; constant in queries."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Max, Q, QuerySet

from eqstudio.access import can_curate
from eqstudio.models import User
from evaluation.models import Respondent, Response, Sitting, Study
from evaluation.selectors.access import studies_open_for


@dataclass(frozen=True)
class StudyLine:
    """A study with what this person has done in it."""

    study: Study
    sitting: Sitting | None


def studies_listed(user: User) -> QuerySet[Study]:
    """All studies for a researcher or admin, the open ones for everybody else, with how many sit them."""
    found = Study.objects.select_related("split") if can_curate(user) else studies_open_for(user)
    return found.annotate(
        people=Count("respondents", filter=Q(respondents__kind=Respondent.Kind.PERSON)),
        systems=Count("respondents", filter=~Q(respondents__kind=Respondent.Kind.PERSON)),
    ).order_by("-created", "-pk")


def with_sittings(*, studies: list[Study], user: User) -> list[StudyLine]:
    """Each study with this person's own sitting; one query."""
    mine = {
        sitting.respondent.study_id: sitting
        for sitting in Sitting.objects.filter(
            respondent__user_id=user.pk, respondent__study__in=studies
        ).select_related("respondent")
    }
    return [StudyLine(study, mine.get(study.pk)) for study in studies]


def runs_listed() -> QuerySet[Sitting]:
    """Every sitting that is not a person's, latest first."""
    return (
        Sitting.objects.exclude(respondent__kind=Respondent.Kind.PERSON)
        .select_related("respondent__study__split", "respondent__run_spec")
        .annotate(
            failures=Count("trials__responses", filter=~Q(trials__responses__failure="") & Q(trials__retake=None))
        )
        .order_by("-started", "-pk")
    )


def failures_by_cause(*, sitting: Sitting) -> list[dict[str, object]]:
    """Answers that are none, by outcome and cause, most frequent first; with what one of them says."""
    found = (
        Response.objects.filter(trial__sitting=sitting, trial__retake=None)
        .exclude(failure="")
        .order_by()
        .values("failure", "paradata__cause")
        .annotate(n=Count("pk"), example=Max("error"))
        .order_by("-n")
    )
    return [
        {"failure": row["failure"], "cause": row["paradata__cause"] or "", "n": row["n"], "example": row["example"]}
        for row in found
    ]


def answers_listed(*, sitting: Sitting, outcome: str = "") -> QuerySet[Response]:
    """The raw answers of a sitting with what was read from them, in the order given."""
    found = Response.objects.filter(trial__sitting=sitting, trial__retake=None)
    if outcome:
        found = found.filter(scores__outcome=outcome).distinct()
    return found.select_related("trial__dialogue").prefetch_related("scores").order_by("pk")
