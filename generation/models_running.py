"""What keeps many workers within what a provider allows: when it may be asked again, and who is asking it now."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class ProviderGate(models.Model):
    """One provider of one kind, such as ``text:openai``: nobody asks it before ``not_before``, and its calls keep apart
    as its limit per minute wants (``next_free`` is when the next one would be due if they came evenly).
    """

    name = models.CharField(max_length=60)
    not_before = models.DateTimeField(null=True, blank=True)
    next_free = models.DateTimeField(null=True, blank=True)

    class Meta:
        app_label = "generation"
        constraints: ClassVar = [models.UniqueConstraint(fields=["name"], name="gate_once")]

    def __str__(self) -> str:
        return self.name


class ProviderSlot(models.Model):
    """One of the calls that may be made at the same time. Free when ``until`` is over; whoever holds it renews it."""

    gate = models.CharField(max_length=60)
    number = models.PositiveSmallIntegerField()
    holder = models.CharField(max_length=120, blank=True)
    until = models.DateTimeField(null=True, blank=True)

    class Meta:
        app_label = "generation"
        constraints: ClassVar = [models.UniqueConstraint(fields=["gate", "number"], name="slot_once")]

    def __str__(self) -> str:
        return f"{self.gate}#{self.number}"
