"""How well people judge: known answers, checks of their equipment, and what looked wrong."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.models.judgements import Judgement
from annotation.models.rounds import Round, RoundItem
from eqstudio.ids import uid
from eqstudio.models import AppendOnly


class GoldAnswer(AppendOnly):
    """The known answer to an item of kind gold, training or qualification; the latest counts.

    ``grades`` are by variant uid, each met within ``tolerance``; an empty ``verdict`` takes either.
    """

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    item = models.ForeignKey(RoundItem, on_delete=models.PROTECT, related_name="gold_answers")
    verdict = models.CharField(max_length=8, choices=Judgement.Verdict.choices, blank=True)
    grades = models.JSONField(default=dict, blank=True)
    tolerance = models.PositiveSmallIntegerField(default=1)
    explanation = models.TextField(blank=True, help_text="shown after the answer in training")
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return self.uid


class HeadphoneCheck(AppendOnly):
    """One try at telling antiphase tones apart, which works on headphones and fails on loudspeakers."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="headphone_checks")
    seed = models.BigIntegerField()
    answers = models.JSONField(default=list)
    right = models.PositiveSmallIntegerField()
    asked = models.PositiveSmallIntegerField()
    passed = models.BooleanField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return self.uid


class Flag(models.Model):
    """Something about a person's judgements that a researcher should look at, with its evidence. Nothing is deleted by it."""

    class State(models.TextChoices):
        OPEN = "open", _("open")
        UPHELD = "upheld", _("upheld")
        DISMISSED = "dismissed", _("dismissed")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="flags")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="flags")
    judgement = models.ForeignKey(Judgement, null=True, blank=True, on_delete=models.PROTECT, related_name="flags")
    code = models.CharField(max_length=40)
    key = models.CharField(max_length=64, help_text="the same finding again is the same flag")
    evidence = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    decision = models.TextField(blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["round", "annotator", "code", "key"], name="flag_once")
        ]

    def __str__(self) -> str:
        return f"{self.code}/{self.uid}"
