"""The people of a round: how much and how well they judge, what is paid, and what a researcher does about it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.forms.quality import FlagForm, InviteForm, PeriodForm, PlaceForm, StandingForm
from annotation.models import Flag, Judgement, Kind, Participation, Round
from annotation.quality_words import FLAGS, evidence_words, place_words, state_chip
from annotation.selectors import round_for
from annotation.selectors.people import PersonRow, pay_rows, people_rows, person_detail, standings
from annotation.selectors.quality import last_words
from annotation.services.participations import (
    participation_get,
    participation_invite,
    participation_pause,
    participation_remove,
    participation_resume,
)
from annotation.services.quality import participation_recheck
from annotation.views.csv_files import csv_response
from annotation.views.drift_chart import drift_chart
from eqstudio.access import can_curate
from eqstudio.errors import InvalidInput, NotFound
from eqstudio.estimates import Estimate
from eqstudio.models import User
from generation.views.guards import curating, person

PER_PAGE = 25
FLAGS_SHOWN = 30
HEADER = (
    "person", "uid", "state", "reason", "judgements", "control_items", "active_minutes", "median_seconds",
    "gold_right", "gold_right_lo", "gold_right_hi", "gold_n", "same_verdict", "same_verdict_n", "same_grade",
    "grade_difference", "kappa_quadratic", "severity", "severity_lo", "severity_hi", "severity_n", "open_flags",
    "not_accepted", "not_usable", "last_utc",
)  # fmt: skip
PAY_HEADER = (
    "person", "uid", "round", "from_utc", "to_utc", "accepted", "not_accepted", "minutes", "minutes_work",
    "minutes_control", "minutes_learning",
)  # fmt: skip


def _round(request: HttpRequest, uid: str) -> Round:
    return round_for(person(request), uid, may_do=can_curate)


@require_safe
@curating
def round_people(request: HttpRequest, uid: str) -> HttpResponse:
    """One row a person: work, pay basis, gold, consistency, severity, flags, state."""
    found = _round(request, uid)
    rows = people_rows(round=found)
    known = [row.annotator.pk for row in rows if row.participation is not None and not _gone(row.participation)]
    context = {
        "round": found,
        "tab": "people",
        "rows": [(row, state_chip(row.participation.state) if row.participation else "") for row in rows],
        "open_flags": sum(row.flags for row in rows),
        "paused": sum(row.participation is not None and row.participation.state == "paused" for row in rows),
        "minutes": sum(row.minutes for row in rows),
        "invite": InviteForm(known=known),
        "period": PeriodForm(auto_id="pay_%s"),
    }
    return render(request, "annotation/quality_people.html", context)


def _gone(place: Participation) -> bool:
    return place.state == Participation.State.PAUSED and place.reason == "removed"


@require_POST
@curating
def round_invite(request: HttpRequest, uid: str) -> HttpResponse:
    """Let somebody in."""
    found = _round(request, uid)
    form = InviteForm(request.POST, known=[])
    if not form.is_valid():
        raise InvalidInput(_("Choose an annotator to invite."), field="person")
    invited = participation_invite(round=found, annotator=form.cleaned_data["person"], actor=person(request))
    messages.success(request, _("%(person)s is invited and finds the round at home.") % {"person": invited.annotator})
    return redirect("round_people", found.uid)


def _participant(round_: Round, uid: str) -> User:
    """Somebody who takes part in the round or has judged in it."""
    found = User.objects.filter(uid=uid).first()
    if found is None or not (
        round_.participations.filter(annotator=found).exists()
        or Judgement.objects.filter(item__round=round_, annotator=found).exists()
    ):
        raise NotFound(_("There is no such person in this round."))
    return found


def _place(round_: Round, annotator: User) -> Participation:
    """Where the person stands, without moving an invited one on; made for somebody who judged before there was such a row."""
    found = round_.participations.filter(annotator=annotator).first()
    if found is None:
        return participation_get(round=round_, annotator=annotator)
    found.round, found.annotator = round_, annotator
    return found


@require_safe
@curating
def round_person(request: HttpRequest, uid: str, person_uid: str) -> HttpResponse:
    """One person in one round: figures, drift, flags with their evidence, judgements."""
    found = _round(request, uid)
    annotator = _participant(found, person_uid)
    detail = person_detail(round=found, annotator=annotator)
    words = last_words(round=found, kinds=Kind.values, annotator=annotator)
    ordered = words.select_related("item__dialogue", "assignment").order_by("-pk")
    page = Paginator(ordered, PER_PAGE).get_page(request.GET.get("page"))
    place = detail.row.participation
    flags = _flags(found, annotator)
    context = {
        "round": found,
        "tab": "people",
        "annotator": annotator,
        "row": detail.row,
        "place": place,
        "place_words": place_words(place) if place else None,
        "chip": state_chip(place.state) if place else "",
        "drift": detail.drift,
        "chart": drift_chart(detail.drift),
        "flags": [_flag(flag) for flag in flags[:FLAGS_SHOWN]],
        "flags_more": max(0, len(flags) - FLAGS_SHOWN),
        "form": PlaceForm(),
        "page_obj": page,
        "judgements": _judgements(page.object_list, found, annotator),
    }
    return render(request, "annotation/quality_person.html", context)


def _flags(round_: Round, annotator: User) -> list[Flag]:
    """Those to be decided first, then the latest."""
    found = Flag.objects.filter(round=round_, annotator=annotator)
    ordered = found.select_related("judgement__item__dialogue", "decided_by").order_by("-pk")
    return sorted(ordered, key=lambda flag: flag.state != Flag.State.OPEN)


def _flag(flag: Flag) -> dict[str, Any]:
    return {
        "flag": flag,
        "title": FLAGS.get(flag.code, flag.code),
        "evidence": evidence_words(flag.code, flag.evidence),
        "about": len(flag.evidence.get("judgements") or [flag.judgement_id]),
        "form": FlagForm(auto_id=f"flag-{flag.uid}-%s") if flag.state == Flag.State.OPEN else None,
    }


def _judgements(judgements: Iterable[Judgement], round_: Round, annotator: User) -> list[dict[str, Any]]:
    marked = standings(round=round_, annotator=annotator)
    return [
        {
            "judgement": judgement,
            "kind": judgement.assignment.get_kind_display(),
            "seconds": judgement.active_ms / 1000,
            "accepted": judgement.pk not in marked.not_accepted,
            "usable": judgement.pk not in marked.not_usable,
            "form": StandingForm(
                auto_id=f"standing-{judgement.uid}-%s",
                initial={
                    "accepted": judgement.pk not in marked.not_accepted,
                    "usable": judgement.pk not in marked.not_usable,
                },
            ),
        }
        for judgement in judgements
    ]


@require_POST
@curating
def round_person_state(request: HttpRequest, uid: str, person_uid: str) -> HttpResponse:
    """Pause, resume or take out, with a note."""
    found = _round(request, uid)
    place = _place(found, _participant(found, person_uid))
    form = PlaceForm(request.POST)
    if not form.is_valid():
        raise InvalidInput(_("Choose what to do: pause, resume or remove."), field="action")
    act = {"pause": participation_pause, "resume": participation_resume, "remove": participation_remove}
    act[form.cleaned_data["action"]](participation=place, actor=person(request), note=form.cleaned_data["note"])
    messages.success(
        request, _("%(person)s is %(state)s now.") % {"person": place.annotator, "state": place.get_state_display()}
    )
    return redirect("round_person", found.uid, person_uid)


@require_POST
@curating
def round_person_recheck(request: HttpRequest, uid: str, person_uid: str) -> HttpResponse:
    """Look at everything the person said again."""
    found = _round(request, uid)
    place = _place(found, _participant(found, person_uid))
    flags = participation_recheck(participation=place, now=timezone.now())
    messages.success(request, _("Checked again: %(count)d flags in all.") % {"count": len(flags)})
    return redirect("round_person", found.uid, person_uid)


@require_safe
@curating
def round_people_csv(request: HttpRequest, uid: str) -> HttpResponse:
    """The table of people."""
    found = _round(request, uid)
    rows = [_csv_row(row) for row in people_rows(round=found)]
    return csv_response(name=f"{found.name}-people.csv", header=HEADER, rows=rows, bom="bom" in request.GET)


def _csv_row(row: PersonRow) -> list[Any]:
    place = row.participation
    return [
        str(row.annotator),
        row.annotator.uid,
        place.state if place else None,
        place.reason if place else None,
        row.judgements,
        row.control,
        row.minutes,
        row.seconds,
        *_figure(row.gold),
        row.agreement.verdicts.value,
        row.agreement.verdicts.n,
        row.agreement.grades.value,
        row.agreement.difference.value,
        row.agreement.kappa.value,
        *_figure(row.severity),
        row.flags,
        row.not_accepted,
        row.not_usable,
        row.last,
    ]


def _figure(figure: Estimate) -> tuple[float | None, float | None, float | None, int]:
    return figure.value, figure.lo, figure.hi, figure.n


@require_safe
@curating
def round_pay_csv(request: HttpRequest, uid: str) -> HttpResponse:
    """Active minutes of accepted judgements, by person, in a period of whole days."""
    found = _round(request, uid)
    form = PeriodForm(request.GET)
    if not form.is_valid():
        raise InvalidInput(_("A day is written as 2026-01-31."), field="start")
    start, end = _midnight(form.cleaned_data["start"]), _midnight(form.cleaned_data["end"], after=True)
    rows = [
        [
            str(row.annotator),
            row.annotator.uid,
            found.name,
            start,
            end,
            row.accepted,
            row.refused,
            row.minutes,
            row.work,
            row.control,
            row.learning,
        ]
        for row in pay_rows(round=found, start=start, end=end)
    ]
    return csv_response(name=f"{found.name}-pay.csv", header=PAY_HEADER, rows=rows, bom="bom" in request.GET)


def _midnight(day: date | None, *, after: bool = False) -> datetime | None:
    """The beginning of a day where the studio is, or its end."""
    if day is None:
        return None
    return timezone.make_aware(datetime.combine(day + timedelta(days=after), time()))
