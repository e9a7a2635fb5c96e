"""Background steps of model runs. Each can be run twice without harm."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from eqstudio.jobs import io_task
from evaluation.models import ReplyJudge, Respondent, Sitting
from evaluation.services import sitting_advance
from evaluation.services.judging import judge_advance

SWEEP_AT_MOST = 200


@io_task
def sitting_step(sitting_id: int) -> None:
    """Answer the next questions of a sitting; more of them are the next step."""
    step = sitting_advance(sitting_id=sitting_id)
    if step.state == "more":
        transaction.on_commit(lambda: sitting_step.delay(sitting_id))


@io_task
def sittings_sweep() -> None:
    """Enqueue every model sitting whose next step is due and that nobody works on."""
    now = timezone.now()
    due = Sitting.objects.filter(
        Q(lease_until=None) | Q(lease_until__lte=now),
        state=Sitting.State.OPEN,
        error="",
        respondent__kind__in=[Respondent.Kind.MODEL, Respondent.Kind.RULE],
        respondent__run_spec__isnull=False,
    )
    for pk in list(due.order_by("pk").values_list("pk", flat=True)[:SWEEP_AT_MOST]):
        sitting_step.delay(pk)


@io_task
def replies_step(judge_id: int, *, again: bool = False) -> None:
    """Let a judge model grade the next replies; more of them are the next step. ``again`` repeats what failed before."""
    step = judge_advance(judge=ReplyJudge.objects.select_related("study__split").get(pk=judge_id), again=again)
    if step.more:
        transaction.on_commit(lambda: replies_step.delay(judge_id))
