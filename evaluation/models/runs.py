"""Model runs at work: what is still to be asked and by whom, every call that was made, who worked, what is asked anew."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from eqstudio.models import AppendOnly
from evaluation.models.answers import TrialRecord
from evaluation.models.respondents import Respondent, Sitting
from generation.models import Dialogue


class RunPlan(models.Model):
    """How fast a model may be asked and what it may take, over all its sittings; None for no limit."""

    respondent = models.OneToOneField(Respondent, on_delete=models.CASCADE, related_name="plan")
    concurrency = models.PositiveSmallIntegerField(null=True, blank=True, help_text="calls at once in one worker")
    max_calls = models.PositiveIntegerField(null=True, blank=True)
    max_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    max_cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True, help_text="US dollars")
    calls_begun = models.PositiveIntegerField(default=0, help_text="counted before they are made")
    tokens_spent = models.PositiveBigIntegerField(default=0)
    cost_spent = models.DecimalField(max_digits=16, decimal_places=8, default=0)

    def __str__(self) -> str:
        return f"plan of {self.respondent_id}"


class RunItem(models.Model):
    """One dialogue that a sitting still has to ask, or is asking: the row goes when the dialogue is through."""

    sitting = models.ForeignKey(Sitting, on_delete=models.CASCADE, related_name="waiting", db_index=False)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="+", db_index=False)
    position = models.PositiveIntegerField()
    lease_until = models.DateTimeField(null=True, help_text="nobody else asks before this")
    lease_holder = models.CharField(
        max_length=120, blank=True, help_text="host, process and claim; empty while it waits"
    )
    tries = models.PositiveSmallIntegerField(default=0, help_text="failed tries at the pending question")
    first_try = models.DateTimeField(null=True, help_text="when the pending question was first asked")
    stops = models.PositiveSmallIntegerField(default=0, help_text="how many workers died over it")

    class Meta:
        ordering: ClassVar = ["position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["sitting", "dialogue"], name="run_item_once"),
            models.CheckConstraint(
                condition=~Q(lease_until=None) | Q(lease_holder=""), name="run_item_held_until_some_time"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["sitting", "position"], name="run_item_next")]

    def __str__(self) -> str:
        return f"{self.sitting_id}/{self.dialogue_id}"


class RunCall(AppendOnly):
    """The ledger of a run: one row for every call to a model, also for those that failed.

    Leaner than ``generation``'s, which keeps answers for reuse: here the answer is a Response, and a run of 100,000 calls
    should not weigh more than its answers.
    """

    sitting = models.ForeignKey(Sitting, on_delete=models.CASCADE, related_name="calls")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+", db_index=False)
    key = models.CharField(max_length=60)
    outcome = models.CharField(max_length=8, choices=[("ok", "ok"), ("refused", "refused"), ("error", "error")])
    cause = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True)
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    latency_ms = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=12, decimal_places=8, null=True, help_text="US dollars")
    created = models.DateTimeField()

    class Meta:
        verbose_name = "call"
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return f"{self.sitting_id}/{self.dialogue_id}/{self.key}: {self.outcome}"


class RunWorker(models.Model):
    """One process that worked on a sitting: when, how fast, and what it took."""

    sitting = models.ForeignKey(Sitting, on_delete=models.CASCADE, related_name="workers")
    holder = models.CharField(max_length=120)
    began = models.DateTimeField()
    seen = models.DateTimeField()
    answered = models.PositiveIntegerField(default=0)
    calls = models.PositiveIntegerField(default=0)
    load_s = models.FloatField(null=True, help_text="seconds to bring the model into memory")
    memory_mib = models.FloatField(null=True, help_text="largest resident memory of the process")
    device = models.CharField(max_length=80, blank=True)
    device_mib = models.FloatField(null=True, help_text="largest memory taken on the device")
    git_revision = models.CharField(max_length=60, blank=True)

    class Meta:
        verbose_name = "worker"
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return f"{self.sitting_id}/{self.holder}"


class TrialRetake(AppendOnly):
    """A question whose answer counts no more because it is asked anew: its call had failed, or stood on one that had."""

    trial = models.OneToOneField(TrialRecord, on_delete=models.CASCADE, related_name="retake")
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    def __str__(self) -> str:
        return f"retake of {self.trial_id}"
