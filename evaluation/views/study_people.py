"""The people of a study: how far they came, what is paid, whom the rules leave out, and the way out for who asks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.views.csv_files import csv_response
from eqstudio.access import can_administer
from eqstudio.errors import Forbidden
from evaluation.domain.demographics import CHOICES
from evaluation.domain.exclusions import Finding, Sat
from evaluation.domain.flow import stages_of
from evaluation.models import Study
from evaluation.selectors import findings_of, protocol_of, sittings_told, study_to_curate_for, unblinded
from evaluation.selectors.participants import (
    PersonLine,
    demographics_published,
    funnel_of,
    hourly_pay,
    participant_in,
    people_lines,
)
from evaluation.services.human_agreement import human_build
from evaluation.services.participants import ON_REQUEST
from evaluation.services.robustness import Variant, retest_build, robustness_build
from evaluation.services.unblinding import study_unblind
from evaluation.services.withdrawal import participant_withdraw
from evaluation.views.human import human_told
from evaluation.words_people import (
    ANSWER_WORDS,
    OUTCOME_WORDS,
    QUESTION_WORDS,
    REASON_WORDS,
    RULE_WORDS,
    STAGE_WORDS,
    STEP_WORDS,
)
from generation.views.guards import curating, person


@require_safe
@never_cache
@curating
def study_people(request: HttpRequest, uid: str) -> HttpResponse:
    study = study_to_curate_for(person(request), uid)
    lines, sats, open_ = people_lines(study=study), sittings_told(study=study), unblinded(study)
    findings = findings_of(study, sats=sats)
    out = excluded_among(findings)
    protocol = protocol_of(study)
    recruitment = protocol.recruitment
    funnel = funnel_of(lines=lines, asked=stages_of(protocol), out=out)
    context = {
        "study": study,
        "protocol": protocol,
        "rows": [_row(line, findings, sats, recruitment.pay, shown=open_) for line in lines],
        "funnel": [(STEP_WORDS[name], n) for name, n in funnel],
        "hourly": hourly_pay(lines=lines, pay=recruitment.pay),
        "pay": recruitment.pay,
        "currency": recruitment.currency,
        "owed": sum(line.paid for line in lines) * (recruitment.pay or 0),
        "rules": rule_counts(findings),
        "out": len(out),
        "unblinded": open_,
        "variants": variants_told(robustness_build(study=study)) if open_ else [],
        "retest": retest_build(sats=sats.values()),
        **human_told(study, human_build(study=study, sats=sats, out=out), shown=open_),
        "about": _about(study),
        "administers": can_administer(request.user),
    }
    return render(request, "evaluation/study_people.html", context)


def excluded_among(findings: dict[int, list[Finding]]) -> set[int]:
    return {one for one, found in findings.items() if any(each.flagged for each in found)}


def rule_counts(findings: dict[int, list[Finding]]) -> list[dict[str, Any]]:
    """By rule: its threshold, on how many people it could be tested, and how many it flags. No person is named."""
    found: dict[str, dict[str, Any]] = {}
    for one in (each for several in findings.values() for each in several):
        row = found.setdefault(
            one.rule, {"label": RULE_WORDS[one.rule], "threshold": one.threshold, "tested": 0, "flagged": 0}
        )
        row["tested"] += one.value is not None
        row["flagged"] += one.flagged
    return list(found.values())


def variants_told(variants: Iterable[Variant]) -> list[dict[str, Any]]:
    names = {"nobody": _("nobody left out"), "rules": _("all declared rules (the figures everywhere else)")}
    return [
        {"label": names.get(one.rule) or _("only: %(rule)s") % {"rule": RULE_WORDS[one.rule]}, "one": one}
        for one in variants
    ]


def _row(
    line: PersonLine,
    findings: dict[int, list[Finding]],
    sats: dict[int, Sat],
    pay: float | None,
    *,
    shown: bool,
) -> dict[str, Any]:
    one = line.participant
    flags = [found for found in findings.get(one.respondent_id, []) if found.flagged] if shown else []
    return {
        "line": line,
        "name": one.respondent.name,
        "code": one.code,
        "state": OUTCOME_WORDS.get(one.outcome) or STAGE_WORDS[line.stage.value],
        "withdrawn": one.withdrawn_at is not None,
        "reason": REASON_WORDS.get(one.reason, ""),
        "exposed": sats[one.respondent_id].exposed if one.respondent_id in sats else 0,
        "flags": [(RULE_WORDS[found.rule], found) for found in flags],
        "pay": pay if line.paid and pay is not None else None,
    }


def _about(study: Study) -> list[dict[str, Any]]:
    """What people told of themselves, as counts that point at nobody. Free text is never shown: only how many answered."""
    return [
        {
            "label": QUESTION_WORDS.get(name, name.replace("_", " ").capitalize()),
            "cells": [(ANSWER_WORDS.get(value, value), n) for value, n in cells.items()],
        }
        for name, cells in demographics_published(study=study).items()
        if name in CHOICES
    ]


@require_safe
@never_cache
@curating
def study_people_csv(request: HttpRequest, uid: str) -> HttpResponse:
    """The payment list. What a platform calls its people is in it for admins only."""
    study = study_to_curate_for(person(request), uid)
    findings, open_ = findings_of(study), unblinded(study)
    pay = protocol_of(study).recruitment.pay
    named = can_administer(request.user)
    header = ["code", "invitation", "state", "outcome", "reason", "answers", "practice_answers"]
    header += [
        "active_minutes",
        "minutes_first_to_last",
        "completion_code",
        "flags",
        "pay",
        "withdrawn",
        *(["crowd_person", "crowd_session"] if named else []),
    ]
    return csv_response(
        name=f"people-{study.name}.csv",
        header=header,
        rows=(_csv_row(line, findings, pay, shown=open_, named=named) for line in people_lines(study=study)),
    )


def _csv_row(
    line: PersonLine, findings: dict[int, list[Finding]], pay: float | None, *, shown: bool, named: bool
) -> list[Any]:
    one = line.participant
    flags = [found.rule for found in findings.get(one.respondent_id, []) if found.flagged] if shown else []
    crowd = one.details.crowd if named and hasattr(one, "details") else {}
    return [
        one.code,
        one.invitation.label if one.invitation else "",
        line.stage.value,
        one.outcome,
        one.reason,
        line.answers,
        line.practice,
        line.minutes,
        line.span,
        line.completion,
        " ".join(flags),
        pay if line.paid else None,
        one.withdrawn_at,
        *([crowd.get("person", ""), crowd.get("session", "")] if named else []),
    ]


@require_POST
@curating
def participant_off(request: HttpRequest, uid: str, participant: str) -> HttpResponse:
    """Withdraw a person who asked for it; for admins."""
    study = study_to_curate_for(person(request), uid)
    one = participant_in(study, participant)
    if not can_administer(request.user):
        raise Forbidden(_("An admin withdraws people who ask for it."))
    if participant_withdraw(participant=one, reason=ON_REQUEST, actor=person(request)):
        messages.success(request, _("%(code)s has withdrawn: no figure counts these answers.") % {"code": one.code})
    return redirect("study_people", study.uid)


@require_POST
@curating
def study_open_flags(request: HttpRequest, uid: str) -> HttpResponse:
    """Show who was left out by which rule, from now on."""
    study = study_to_curate_for(person(request), uid)
    study_unblind(study=study, actor=person(request))
    return redirect("study_people", study.uid)
