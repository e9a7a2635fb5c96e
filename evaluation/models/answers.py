"""What was shown, answered and scored."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from eqstudio.benchmarks.base import Outcome
from eqstudio.ids import uid
from eqstudio.models import AppendOnly
from eqstudio.packed import PackedJSONField
from evaluation.models.parts import Part
from evaluation.models.respondents import Sitting
from generation.models import Dialogue


class TrialRecord(AppendOnly):
    """One question as shown, whole: ``shown`` is ``Trial.as_dict()`` and holds nothing that tells the key."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    sitting = models.ForeignKey(Sitting, on_delete=models.CASCADE, related_name="trials")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="trials")
    key = models.CharField(max_length=60)
    part = models.CharField(max_length=10, choices=Part.choices, blank=True, help_text="only items are data")
    take = models.PositiveSmallIntegerField(default=0, help_text="counts up when a failed question is asked anew")
    shown = PackedJSONField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "trial"
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["sitting", "dialogue", "part", "key", "take"], name="trial_once_per_sitting"
            )
        ]

    def __str__(self) -> str:
        return f"{self.dialogue_id}/{self.key}"


class Response(AppendOnly):
    """One answer as given. Stored before it is parsed; never changed."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    trial = models.ForeignKey(TrialRecord, on_delete=models.CASCADE, related_name="responses")
    raw = models.TextField(blank=True)
    failure = models.CharField(
        max_length=12, blank=True, help_text="refused, error or not_heard when there is no answer to parse"
    )
    error = models.TextField(blank=True)
    heard = models.JSONField(default=dict)
    paradata = models.JSONField(
        default=dict, help_text="times, plays, changes, tokens, latency, provider's own model id"
    )
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["trial"], name="response_once_per_trial")]

    def __str__(self) -> str:
        return self.uid


class ScoreRecord(AppendOnly):
    """What was read from a response and how it was scored, by one version of parser and benchmark. The latest counts."""

    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="scores")
    version = models.CharField(max_length=40, help_text="parser and benchmark version")
    outcome = models.CharField(max_length=12, choices=[(o.value, o.value) for o in Outcome])
    value = models.TextField(blank=True)
    rule = models.CharField(max_length=40, blank=True)
    span = models.JSONField(null=True)
    correct = models.BooleanField(null=True)
    number = models.FloatField(null=True)
    gold = models.FloatField(null=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "score"
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["response", "version"], name="score_once_per_version")]

    def __str__(self) -> str:
        return f"{self.response_id}:{self.outcome}"
