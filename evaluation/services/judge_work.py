"""A judge model goes through the replies in the background: asked for once, leased by step, taken up again after a kill."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from eqstudio.errors import StudioError
from evaluation.models import JudgeWork, ReplyJudge
from evaluation.services.judging import STEP_S, judge_advance

LEASE = timedelta(seconds=STEP_S + 150)
"""Longer than a step and its last call."""


def judge_start(*, judge: ReplyJudge) -> JudgeWork:
    """Ask for the replies that wait, and anew for those where all that came so far was an error. Twice asks once."""
    work, _made = JudgeWork.objects.update_or_create(
        judge=judge, defaults={"wanted": True, "errors_before": timezone.now(), "stopped": ""}
    )
    return work


def judge_step(*, judge_id: int, now: datetime | None = None) -> bool:
    """Judge the next replies under a lease; True when more wait. Claims by one conditional UPDATE, so two callers at once do
    not pay for one reply twice. What makes every call fail stops the work with its reason.
    """
    found = JudgeWork.objects.filter(judge=judge_id, wanted=True)
    moment = now or timezone.now()
    if not found.filter(_free(moment)).update(lease_until=moment + LEASE):
        return False
    work = found.select_related("judge__study__split").get()
    try:
        more, stopped = judge_advance(judge=work.judge, errors_before=work.errors_before).more, ""
    except StudioError as error:
        more, stopped = False, error.message
    same = found.filter(errors_before=work.errors_before)
    if not same.update(wanted=more, stopped=stopped, lease_until=None):
        found.update(lease_until=None)
        return True
    return more


def judges_due(*, now: datetime) -> QuerySet[JudgeWork, int]:
    """Judges with work that nobody is at."""
    return JudgeWork.objects.filter(_free(now), wanted=True).order_by("pk").values_list("judge", flat=True)


def _free(now: datetime) -> Q:
    return Q(lease_until=None) | Q(lease_until__lte=now)
