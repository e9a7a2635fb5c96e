"""Open replies judged on scales from 1 to 5, by people or by a judge model."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from eqstudio.benchmarks.base import Outcome
from eqstudio.ids import uid
from eqstudio.models import AppendOnly
from evaluation.models.answers import Response
from evaluation.models.studies import Study


class ReplyJudge(AppendOnly):
    """A judge model: everything that makes its judgements; the hash is its identity."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="reply_judges")
    name = models.CharField(max_length=120)
    hash = models.CharField(max_length=64)
    content = models.JSONField(help_text="backend, model, parameters, version and hash and words of the prompt")
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["study", "hash"], name="reply_judge_once")]

    def __str__(self) -> str:
        return self.name


class JudgeWork(models.Model):
    """Whether a judge model was asked to go through the replies, and who does so now."""

    judge = models.OneToOneField(ReplyJudge, on_delete=models.CASCADE, related_name="work")
    wanted = models.BooleanField(default=False, help_text="there are replies to go through")
    errors_before = models.DateTimeField(null=True, help_text="what came to an error before this is asked anew")
    lease_until = models.DateTimeField(null=True, help_text="nobody else takes a step before this")
    stopped = models.TextField(blank=True, help_text="why it cannot go on")

    def __str__(self) -> str:
        return f"{self.judge}{' (at work)' if self.wanted else ''}"


class ReplyJudgement(AppendOnly):
    """What one person or one judge model said about one reply, as given. Stored before it is read."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="judgements")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="reply_judgements"
    )
    judge = models.ForeignKey(ReplyJudge, null=True, blank=True, on_delete=models.CASCADE, related_name="judgements")
    client_key = models.CharField(max_length=64, blank=True)
    raw = models.TextField(blank=True)
    failure = models.CharField(max_length=12, blank=True, help_text="refused or error when there is nothing to read")
    error = models.TextField(blank=True)
    key_access = models.BooleanField(default=False)
    heard = models.JSONField(default=dict)
    paradata = models.JSONField(default=dict)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(user__isnull=True, judge__isnull=False) | Q(user__isnull=False, judge__isnull=True),
                name="reply_judged_by_one",
            ),
            models.UniqueConstraint(
                fields=["response", "user"], condition=Q(user__isnull=False), name="reply_once_per_person"
            ),
            models.UniqueConstraint(
                fields=["response", "judge"],
                condition=Q(judge__isnull=False) & ~Q(failure="error"),
                name="reply_once_per_judge",
            ),
        ]

    def __str__(self) -> str:
        return self.uid


class ReplyGrade(AppendOnly):
    """What was read from a judgement on one scale: a grade from 1 to 5, or why there is none."""

    judgement = models.ForeignKey(ReplyJudgement, on_delete=models.CASCADE, related_name="grades")
    scale = models.CharField(max_length=20)
    value = models.PositiveSmallIntegerField(null=True)
    outcome = models.CharField(max_length=12, choices=[(o.value, o.value) for o in Outcome])
    rule = models.CharField(max_length=40, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["judgement", "scale"], name="reply_grade_once"),
            models.CheckConstraint(condition=Q(value=None) | Q(value__range=(1, 5)), name="reply_grade_1_to_5"),
        ]

    def __str__(self) -> str:
        return f"{self.scale}: {self.value}"
