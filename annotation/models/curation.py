"""Frozen splits, what was found out about them, who let them go, and their exports."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.models.rounds import Round
from eqstudio.ids import uid
from eqstudio.models import AppendOnly
from generation.models import Clip, Corpus, Dialogue

FEWEST_SECONDS = 2
"""A pace that was seen for less says nothing."""


def salt() -> str:
    """A secret of 32 random bytes, in hexadecimal."""
    return secrets.token_hex(32)


class Split(models.Model):
    """A frozen, versioned set of kept items. Nothing about it changes after the freeze.

    ``manifest`` is the head; the entries of the items are in their rows, so that no page has to read all of them.
    ``salt`` makes the pseudonyms of its judges and never leaves the database.
    """

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    name = models.SlugField(max_length=80)
    version = models.PositiveSmallIntegerField(default=1)
    benchmark = models.CharField(max_length=40)
    corpus = models.ForeignKey(Corpus, null=True, blank=True, on_delete=models.PROTECT, related_name="splits")
    round = models.ForeignKey(Round, null=True, blank=True, on_delete=models.PROTECT, related_name="splits")
    recipe = models.JSONField(default=dict)
    manifest = models.JSONField(default=dict)
    manifest_hash = models.CharField(max_length=64)
    canary = models.CharField(max_length=80, blank=True, help_text="a string that no text has by chance")
    salt = models.CharField(max_length=64, default=salt, editable=False)
    item_count = models.PositiveIntegerField()
    is_demo = models.BooleanField(default=False)
    frozen_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["name", "-version"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["name", "version"], name="split_version_once")]

    def __str__(self) -> str:
        return f"{self.name}-v{self.version}"


class SplitItem(AppendOnly):
    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="items")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="split_items")
    position = models.PositiveIntegerField()
    side = models.CharField(max_length=8, default="test")
    identity = models.CharField(max_length=64, blank=True, help_text="hash of its content, the same on every machine")
    entry = models.JSONField(default=dict, help_text="what the manifest says of it")

    class Meta:
        app_label = "annotation"
        verbose_name = "item of a split"
        ordering: ClassVar = ["split", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["split", "dialogue"], name="split_item_once"),
            models.UniqueConstraint(fields=["split", "position"], name="split_position_once"),
        ]

    def __str__(self) -> str:
        return f"{self.split_id}/{self.position}"


class Freeze(models.Model):
    """A freeze that was asked for on a page: how far it is, and the split that it made or what stood in its way."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        STOPPED = "stopped", _("stopped")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    name = models.SlugField(max_length=80)
    recipe = models.JSONField(default=dict)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    done = models.PositiveIntegerField(default=0, help_text="items read")
    total = models.PositiveIntegerField(default=0, help_text="items on offer, once it is known")
    split = models.ForeignKey(Split, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    error = models.TextField(blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(state="done", split__isnull=False) | ~models.Q(state="done"),
                name="freeze_done_has_split",
            )
        ]

    def __str__(self) -> str:
        return self.uid


class SplitAudit(models.Model):
    """One look at a split, alone or against another one: how far it is, and what it found.

    ``done`` and ``total`` count the rows of the part that it is at, which began at ``part_began``.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        STOPPED = "stopped", _("stopped")

    class Part(models.TextChoices):
        PRINTS = "prints", _("recordings measured")
        READ = "read", _("items read")
        TEXTS = "texts", _("texts compared")
        SOUNDS = "sounds", _("recordings compared")
        PEOPLE = "people", _("people and cues")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="audits")
    against = models.ForeignKey(Split, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    part = models.CharField(max_length=8, choices=Part.choices, blank=True)
    part_began = models.DateTimeField(null=True, blank=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    report = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    seconds = models.FloatField(null=True, help_text="how long it took")
    lease_until = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        app_label = "annotation"
        verbose_name = "audit"
        ordering: ClassVar = ["-pk"]
        indexes: ClassVar = [models.Index(fields=["split", "state"], name="audit_of_split")]

    def __str__(self) -> str:
        return self.uid

    @property
    def place(self) -> int:
        """Which of the parts it is at, from 1; 0 before the first."""
        return self.Part.values.index(self.part) + 1 if self.part else 0

    def seconds_left(self, now: datetime) -> int | None:
        """How long the part takes that it is at, going by its pace so far; None while nothing can be said."""
        if self.part_began is None or not self.done or self.state != self.State.RUNNING:
            return None
        took = (now - self.part_began).total_seconds()
        return round(took / self.done * max(0, self.total - self.done)) if took > FEWEST_SECONDS else None


class Waiver(AppendOnly):
    """An admin's word that a split may be released although a gate is shut, with the reason. The latest of a gate counts."""

    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="waivers")
    gate = models.CharField(max_length=12)
    reason = models.TextField()
    found = models.JSONField(null=True, help_text="what shut the gate then; whatever is found besides is not waived")
    waived_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return f"{self.split_id}/{self.gate}"


class Release(AppendOnly):
    """A split was released, or its public page was opened or shut. The latest counts."""

    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="releases")
    public = models.BooleanField(default=False, help_text="anybody may read its page")
    gates = models.JSONField(default=list, help_text="how each gate stood")
    released_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return f"{self.split_id}/{self.public}"


class Withdrawal(AppendOnly):
    """An item that may be in no later version of the splits of this name."""

    name = models.SlugField(max_length=80)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="withdrawals")
    reason = models.TextField()
    withdrawn_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["name", "dialogue"], name="withdrawal_once")]

    def __str__(self) -> str:
        return f"{self.name}/{self.dialogue_id}"


class ClipPrint(AppendOnly):
    """What a clip sounds like, small enough to be compared with all others. ``version`` is that of the measure."""

    clip = models.ForeignKey(Clip, on_delete=models.CASCADE, related_name="prints")
    version = models.PositiveSmallIntegerField()
    shape = models.BinaryField(help_text="log-mel picture, 8-bit; empty when there is nothing to hear")
    marks = models.BinaryField(help_text="pairs of spectral peaks with their times, 32-bit")

    class Meta:
        app_label = "annotation"
        constraints: ClassVar = [models.UniqueConstraint(fields=["clip", "version"], name="clip_print_once")]

    def __str__(self) -> str:
        return f"{self.clip_id}/{self.version}"


class Export(models.Model):
    """A background export of a split and how far it is."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    split = models.ForeignKey(Split, on_delete=models.CASCADE, related_name="exports")
    format = models.CharField(max_length=20)
    options = models.JSONField(default=dict, blank=True)
    repository = models.CharField(max_length=120, blank=True, help_text="where on a hub it goes, as owner/name")
    token_env = models.CharField(max_length=80, blank=True, help_text="environment variable that holds the hub's token")
    private = models.BooleanField(default=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    done = models.PositiveIntegerField(default=0)
    size = models.PositiveBigIntegerField(default=0, help_text="of the zip, in bytes")
    pushed = models.JSONField(default=dict, blank=True, help_text="what was found on the hub afterwards")
    error = models.TextField(blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["-created"]

    def __str__(self) -> str:
        return f"{self.split_id}/{self.format}"
