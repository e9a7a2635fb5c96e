"""What somebody sent through the browser, and what came of it."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from eqstudio.ids import uid
from eqstudio.models import AppendOnly


class Upload(models.Model):
    """Files that were sent to become dialogues of a corpus. ``position`` is how many rows were dealt with, so that a worker
    that takes over goes on from there.
    """

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    corpus = models.ForeignKey("generation.Corpus", on_delete=models.PROTECT, related_name="uploads")
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    format = models.CharField(max_length=40)
    defaults = models.JSONField(default=dict, blank=True, help_text="what holds for every row that does not say it")
    files = models.JSONField(default=list, help_text="name and size of each file, in the order they came")
    total = models.PositiveIntegerField(null=True, help_text="rows, once they were counted")
    position = models.PositiveIntegerField(default=0)
    made = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True, help_text="why nothing of it could be read")

    class Meta:
        app_label = "generation"
        ordering: ClassVar = ["-created", "-pk"]
        indexes: ClassVar = [models.Index(fields=["finished_at", "lease_until"], name="upload_due")]

    def __str__(self) -> str:
        return self.uid


class UploadRefusal(AppendOnly):
    """A row or file of an upload that was not taken in, and why."""

    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="refusals")
    position = models.PositiveIntegerField(help_text="which row of the walk it was, from 0")
    path = models.TextField(blank=True)
    row = models.CharField(max_length=200, blank=True)
    reason = models.TextField()

    class Meta:
        app_label = "generation"
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["upload", "position"], name="upload_refusal_once"),
        ]

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"
