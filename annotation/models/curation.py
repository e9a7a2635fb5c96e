"""Frozen splits and their exports."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.models.rounds import Round
from eqstudio.ids import uid
from eqstudio.models import AppendOnly
from generation.models import Corpus, Dialogue


class Split(models.Model):
    """A frozen, versioned set of kept items. Nothing about it changes after the freeze."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    name = models.SlugField(max_length=80)
    version = models.PositiveSmallIntegerField(default=1)
    benchmark = models.CharField(max_length=40)
    corpus = models.ForeignKey(Corpus, null=True, blank=True, on_delete=models.PROTECT, related_name="splits")
    round = models.ForeignKey(Round, null=True, blank=True, on_delete=models.PROTECT, related_name="splits")
    recipe = models.JSONField(default=dict)
    manifest = models.JSONField(default=dict)
    manifest_hash = models.CharField(max_length=64)
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

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["split", "position"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["split", "dialogue"], name="split_item_once")]

    def __str__(self) -> str:
        return f"{self.split_id}/{self.position}"


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
