"""What evaluation puts on the shell's pages, and the whole pipeline in five steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Round, RoundItem, Split
from eqstudio.access import can_annotate, can_curate
from eqstudio.home import Job, Panel, PersonCount
from eqstudio.models import User
from evaluation.models import AnswerIntake, Respondent, RunItem, Sitting, Study
from evaluation.selectors import sittings_progress, studies_open_for, with_sittings
from evaluation.selectors.rationales import arenas_open_for
from evaluation.selectors.replies import studies_with_replies
from generation.domain.lifecycle import IN_PRODUCTION, DialogueState
from generation.models import Dialogue

EXAMS_SHOWN = 6
JOBS_SHOWN = 3
_UNDER_WAY = (AnswerIntake.State.WAITING, AnswerIntake.State.RUNNING)
_MACHINES = [Respondent.Kind.MODEL.value, Respondent.Kind.RULE.value]


@dataclass(frozen=True)
class Step:
    """One step of the pipeline: what it is, how it stands in words, and where it is done."""

    name: str
    words: tuple[str, ...]
    href: str


@dataclass(frozen=True)
class Action:
    """The one thing to do next, why, and where."""

    why: str
    label: str
    href: str


def panels(user: User, now: datetime) -> Iterator[Panel]:  # noqa: ARG001 -- every source of panels takes the time
    """Exams for those who sit them; the five steps and the next one for researchers and admins."""
    if can_annotate(user):
        yield _exams_panel(user)
        rated = {"arenas": arenas_open_for(user), "replies": studies_with_replies()}
        yield Panel("evaluation/home_ratings.html", rated, order=16)
    if can_curate(user):
        counts = _counts()
        yield Panel("evaluation/home_pipeline.html", {"steps": _steps(counts), "action": _action(counts)}, order=5)


def _exams_panel(user: User) -> Panel:
    studies = list(studies_open_for(user)[:EXAMS_SHOWN])
    lines = with_sittings(studies=studies, user=user)
    sittings = {line.study.pk: line.sitting for line in lines if line.sitting}
    progress = sittings_progress(sittings=sittings.values())
    rows = [
        {
            "study": line.study,
            "items": line.items,
            "sitting": line.sitting,
            "progress": progress[line.sitting.pk] if line.sitting else None,
        }
        for line in lines
    ]
    return Panel("evaluation/home_exams.html", {"rows": rows}, order=15)


def _counts() -> dict[str, Any]:
    """Everything the steps need, in a fixed number of queries."""
    state = dict(Dialogue.objects.order_by().values_list("state").annotate(n=Count("pk")))
    items = RoundItem.objects.filter(round__state=Round.State.OPEN).aggregate(
        open=Count("pk", filter=Q(closed_at=None))
    )
    sittings = Sitting.objects.aggregate(
        people=Count("pk", filter=Q(respondent__kind=Respondent.Kind.PERSON, state=Sitting.State.FINISHED)),
        models=Count("pk", filter=Q(state=Sitting.State.FINISHED) & ~Q(respondent__kind=Respondent.Kind.PERSON)),
    )
    return {
        "making": sum(state.get(one.value, 0) for one in IN_PRODUCTION),
        "all": sum(state.values()),
        **{name: state.get(name, 0) for name in (one.value for one in DialogueState)},
        "rounds": Round.objects.filter(state=Round.State.OPEN).count(),
        "to_judge": items["open"],
        "dispute": RoundItem.objects.filter(outcome=RoundItem.Outcome.DISPUTED, adjudications=None)
        .order_by("pk")
        .first(),
        "splits": Split.objects.count(),
        "unused_split": Split.objects.filter(studies=None).order_by("-frozen_at").first(),
        "study": Study.objects.order_by("-created").first(),
        "studies": Study.objects.count(),
        **sittings,
    }


def _steps(n: dict[str, Any]) -> list[Step]:
    made = (
        ngettext("%(n)d dialogue", "%(n)d dialogues", n["all"]) % {"n": n["all"]},
        _("%(n)d in the making") % {"n": n["making"]},
        _("%(n)d flagged") % {"n": n["flagged"]},
    )
    judged = (
        ngettext("%(n)d round open", "%(n)d rounds open", n["rounds"]) % {"n": n["rounds"]},
        ngettext("%(n)d item waits for people", "%(n)d items wait for people", n["to_judge"]) % {"n": n["to_judge"]},
        _("%(n)d disputed") % {"n": n["disputed"]},
    )
    frozen = (
        ngettext("%(n)d split", "%(n)d splits", n["splits"]) % {"n": n["splits"]},
        ngettext("%(n)d kept item not frozen yet", "%(n)d kept items not frozen yet", n["kept"]) % {"n": n["kept"]},
    )
    examined = (
        ngettext("%(n)d study", "%(n)d studies", n["studies"]) % {"n": n["studies"]},
        ngettext("%(n)d sitting by a person", "%(n)d sittings by people", n["people"]) % {"n": n["people"]},
        ngettext("%(n)d run by a model or rule", "%(n)d runs by models and rules", n["models"]) % {"n": n["models"]},
    )
    comparison = reverse("comparison", args=[n["study"].uid]) if n["study"] else reverse("studies")
    return [
        Step(_("Make"), made, reverse("corpora")),
        Step(_("Judge"), judged, reverse("rounds")),
        Step(_("Freeze"), frozen, reverse("splits")),
        Step(_("Examine"), examined, reverse("studies")),
        Step(_("Compare"), (_("people and models on one page"),), comparison),
    ]


def _action(n: dict[str, Any]) -> Action | None:
    """The first thing in the order of the pipeline that waits for a researcher."""
    study, split, dispute = n["study"], n["unused_split"], n["dispute"]
    rules: list[tuple[Any, str, str, Any]] = [
        (not n["all"], _("There are no dialogues yet."), _("Write a batch of briefs"), ("batch_new",)),
        (
            dispute,
            _("Judges disagree on an item and wait for your decision."),
            _("Hear it and decide"),
            ("adjudicate", dispute),
        ),
        (
            n["ready"] and not n["rounds"],
            _("Dialogues are ready, and no round is open."),
            _("Open a round"),
            ("round_new",),
        ),
        (
            n["kept"] and not n["to_judge"],
            _("Everything in the open rounds is judged, and kept items wait."),
            _("Freeze a split"),
            ("split_new",),
        ),
        (split, _("A frozen split is not examined yet."), _("Make it a study"), ("study_new",)),
        (study and not n["models"], _("No model or rule has sat the exam yet."), _("Run one"), ("run_new", study)),
        (
            study and n["models"],
            _("People and models have answered the same questions."),
            _("Compare them"),
            ("comparison", study),
        ),
    ]
    for holds, why, label, (name, *args) in rules:
        if holds:
            return Action(why, label, reverse(name, args=[one.uid for one in args]))
    return None


def running(now: datetime) -> Iterator[Job]:
    """The sittings of models and rules that are under way, and files of answers that are taken in."""
    for intake in AnswerIntake.objects.filter(state__in=_UNDER_WAY).select_related("study")[:JOBS_SHOWN]:
        yield Job(
            label=_("Reading %(file)s into %(study)s") % {"file": intake.name, "study": intake.study},
            href=reverse("answer_imports", args=[intake.study.uid]),
            done=intake.done,
            total=max(intake.total, 1),
        )
    held = RunItem.objects.filter(sitting=OuterRef("pk"), lease_until__gt=now).exclude(lease_holder="")
    underway = Sitting.objects.filter(Exists(held), state=Sitting.State.OPEN, respondent__kind__in=_MACHINES)
    sittings = list(underway.select_related("respondent__study__split").order_by("pk")[:JOBS_SHOWN])
    progress = sittings_progress(sittings=sittings)
    for sitting in sittings:
        where = progress[sitting.pk]
        yield Job(
            label=_("%(respondent)s sits %(study)s")
            % {"respondent": sitting.respondent, "study": sitting.respondent.study},
            href=reverse("run", args=[sitting.uid]),
            done=where.done,
            total=where.total,
        )


def person_counts(people: Sequence[int]) -> Iterator[PersonCount]:
    """How many exams each person has finished."""
    finished = Sitting.objects.filter(respondent__user__in=people, state=Sitting.State.FINISHED).order_by()
    yield PersonCount(_("Exams finished"), dict(finished.values_list("respondent__user_id").annotate(n=Count("pk"))))
