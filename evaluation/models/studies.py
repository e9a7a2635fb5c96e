"""Studies: the exam as it is asked, and the norms made of it."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from annotation.models import Split
from eqstudio.ids import uid
from eqstudio.models import AppendOnly
from generation.models import Dialogue


class Study(models.Model):
    """A split, a benchmark version, a seed and instructions: the exam."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    name = models.SlugField(max_length=80, unique=True)
    split = models.ForeignKey(Split, on_delete=models.PROTECT, related_name="studies")
    benchmark = models.CharField(max_length=40)
    benchmark_version = models.CharField(max_length=20)
    seed = models.BigIntegerField(default=0)
    instructions = models.JSONField(default=dict, help_text="by language; one text for the page and the prompt")
    instructions_hash = models.CharField(max_length=64)
    gate_share = models.FloatField(default=0.9)
    is_open = models.BooleanField(default=True)
    is_demo = models.BooleanField(default=False)
    locked_at = models.DateTimeField(null=True, blank=True, help_text="from then on the protocol does not change")
    locked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        verbose_name_plural = "studies"
        ordering: ClassVar = ["-created"]

    def __str__(self) -> str:
        return self.name


class ProtocolVersion(AppendOnly):
    """One version of a study's protocol: ``content`` is a ``Protocol`` as JSON. The latest counts; a lock ends the line."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="protocols")
    number = models.PositiveIntegerField()
    hash = models.CharField(max_length=64)
    content = models.JSONField()
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering: ClassVar = ["number"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["study", "number"], name="protocol_number_once")]

    def __str__(self) -> str:
        return f"{self.study} protocol {self.number}"


class StudyItem(AppendOnly):
    """One item drawn into a study by its sampling plan; a study without such rows asks its whole split."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="items")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+")
    stratum = models.CharField(max_length=80, blank=True)
    probability = models.FloatField(help_text="with which it was drawn")

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["study", "dialogue"], name="study_item_once")]

    def __str__(self) -> str:
        return f"{self.study}/{self.dialogue_id}"


class FrozenNorm(AppendOnly):
    """A norm of SEQ that was frozen: centre and spread of a named population on one metric."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    name = models.SlugField(max_length=60)
    benchmark = models.CharField(max_length=40)
    study = models.ForeignKey(Study, null=True, on_delete=models.SET_NULL, related_name="norms")
    hash = models.CharField(max_length=64)
    content = models.JSONField()
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        verbose_name = "norm"
        constraints: ClassVar = [models.UniqueConstraint(fields=["benchmark", "name"], name="norm_name_once")]

    def __str__(self) -> str:
        return self.name
