"""What the list pages show; constant in queries."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Max, Q, QuerySet
from django.utils.translation import gettext as _

from eqstudio.access import can_curate
from eqstudio.benchmarks.base import Outcome
from eqstudio.models import User
from evaluation.models import AnswerImport, Respondent, Response, Sitting, Study
from evaluation.selectors.access import studies_open_for
from evaluation.selectors.sampled import items_counted, studies_in_pilot

CUT_OFF = "length"
"""What providers give as the reason when a model ran into the largest length of an answer."""


@dataclass(frozen=True)
class StudyLine:
    """A study with what this person has done in it (what they did in a pilot is over with the pilot), and how many items it asks."""

    study: Study
    sitting: Sitting | None
    items: int


def studies_listed(user: User) -> QuerySet[Study]:
    """All studies for a researcher or admin, the open ones for everybody else, with how many sit them."""
    found = Study.objects.select_related("split") if can_curate(user) else studies_open_for(user)
    return found.annotate(
        people=Count("respondents", filter=Q(respondents__kind=Respondent.Kind.PERSON)),
        systems=Count("respondents", filter=~Q(respondents__kind=Respondent.Kind.PERSON)),
    ).order_by("-created", "-pk")


def with_sittings(*, studies: list[Study], user: User) -> list[StudyLine]:
    """Each study with this person's own sitting; three queries at most."""
    mine = {
        sitting.respondent.study_id: sitting
        for sitting in Sitting.objects.filter(respondent__user_id=user.pk, respondent__study__in=studies)
        .select_related("respondent__study__split")
        .order_by("pk")
    }
    piloted = studies_in_pilot(study for study, sitting in mine.items() if sitting.pilot)
    asked = items_counted(studies)
    return [
        StudyLine(
            study, sitting if sitting is None or not sitting.pilot or study.pk in piloted else None, asked[study.pk]
        )
        for study in studies
        for sitting in [mine.get(study.pk)]
    ]


def runs_listed() -> QuerySet[Sitting]:
    """Every sitting that is not a person's, latest first; ``failures`` counts errors: a refusal is an outcome of its own."""
    return (
        Sitting.objects.exclude(respondent__kind=Respondent.Kind.PERSON)
        .select_related("respondent__study__split", "respondent__run_spec")
        .annotate(
            failures=Count("trials__responses", filter=Q(trials__responses__failure="error", trials__retake=None))
        )
        .order_by("-started", "-pk")
    )


def failures_by_cause(*, sitting: Sitting) -> list[dict[str, object]]:
    """Answers that are none, by outcome and cause, most frequent first; with what one of them says. An answer that was cut
    off before it said anything readable has the cause ``length``.
    """
    found = (
        Response.objects.filter(trial__sitting=sitting, trial__retake=None)
        .exclude(failure="")
        .order_by()
        .values("failure", "paradata__cause")
        .annotate(n=Count("pk"), example=Max("error"))
        .order_by("-n")
    )
    rows: list[dict[str, object]] = [
        {"failure": row["failure"], "cause": row["paradata__cause"] or "", "n": row["n"], "example": row["example"]}
        for row in found
    ]
    cut = _cut_off(sitting)
    if cut:
        example = _("The answer was cut off at the largest length that the model may write.")
        rows.append({"failure": Outcome.UNPARSED.value, "cause": CUT_OFF, "n": cut, "example": example})
        rows.sort(key=lambda row: -int(str(row["n"])))
    return rows


def _cut_off(sitting: Sitting) -> int:
    """How many answers ended at the largest length, and nothing could be read from them by any version of the parser."""
    found = Response.objects.filter(
        trial__sitting=sitting, trial__retake=None, failure="", paradata__finish_reason=CUT_OFF
    )
    read = found.filter(scores__outcome=Outcome.ANSWERED.value)
    return found.filter(scores__outcome=Outcome.UNPARSED.value).exclude(pk__in=read.values("pk")).distinct().count()


def answers_listed(*, sitting: Sitting, outcome: str = "") -> QuerySet[Response]:
    """The raw answers of a sitting with what was read from them, in the order given."""
    found = Response.objects.filter(trial__sitting=sitting, trial__retake=None)
    if outcome:
        found = found.filter(scores__outcome=outcome).distinct()
    return found.select_related("trial__dialogue").prefetch_related("scores").order_by("pk")


def imports_listed(*, study: Study) -> QuerySet[AnswerImport]:
    """The files of answers that came into a study, latest first, with how many answers each brought; one query."""
    return (
        study.answer_imports.select_related("respondent", "imported_by", "withdrawal", "withdrawal__withdrawn_by")
        .annotate(brought=Count("answers"))
        .order_by("-pk")
    )
