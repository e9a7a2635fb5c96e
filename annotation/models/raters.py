"""Who among the raters of imported judgements is a machine."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from annotation.models.rounds import Round


class MachineRater(models.Model):
    """A rater of imported judgements that is no person: kept apart from people in every figure of agreement."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="machine_raters")
    name = models.CharField(max_length=200)
    marked_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["round", "name"], name="machine_rater_once")]

    def __str__(self) -> str:
        return self.name
