"""Copies of a clip that were derived from it: the clip itself keeps the bytes it came with."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from eqstudio.models import AppendOnly


class Rendition(AppendOnly):
    """The same sound as its clip in other bytes: one that every browser plays, or one brought to a level for a pair.

    At most one of a kind per clip. ``parameters`` say how it was made, so that it can be made again.
    """

    class Kind(models.TextChoices):
        PLAYABLE = "playable", _("plays in every browser")
        MATCHED = "matched", _("brought to the same loudness")

    clip = models.ForeignKey("generation.Clip", on_delete=models.CASCADE, related_name="renditions")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    sha256 = models.CharField(max_length=64)
    media_type = models.CharField(max_length=40)
    size = models.PositiveBigIntegerField()
    frames = models.PositiveBigIntegerField()
    sample_rate = models.PositiveIntegerField()
    channels = models.PositiveSmallIntegerField()
    duration = models.FloatField(help_text="seconds, from its frames")
    loudness = models.FloatField(null=True, help_text="integrated, LUFS")
    peak = models.FloatField(null=True, help_text="dBFS")
    parameters = models.JSONField(default=dict)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "generation"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["clip", "kind"], name="rendition_kind_once"),
            models.CheckConstraint(condition=Q(duration__gt=0), name="rendition_not_empty"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}:{self.sha256[:12]}"
