"""Answers from files: which file brought which answer, and which files were taken out again."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from eqstudio.ids import uid
from eqstudio.models import AppendOnly
from evaluation.models.answers import Response
from evaluation.models.respondents import Respondent
from evaluation.models.studies import Study


class AnswerIntake(models.Model):
    """A file that was sent to the page: how far its answers are taken in, or looked at, and what came of it."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        STOPPED = "stopped", _("stopped")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="answer_intakes")
    name = models.CharField(max_length=255, help_text="of the file")
    sha256 = models.CharField(max_length=64, help_text="of the file, which is stored")
    format = models.CharField(max_length=20)
    respondent = models.CharField(max_length=120, help_text="under whose name the answers go")
    look = models.BooleanField(default=False, help_text="only say what would happen")
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    done = models.PositiveIntegerField(default=0, help_text="answers looked at")
    total = models.PositiveIntegerField(default=0, help_text="answers in the file, once it is read")
    told = models.JSONField(default=dict, help_text="what came of it")
    error = models.TextField(blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return self.uid


class AnswerImport(AppendOnly):
    """One file of answers, as it was taken in under the name of a respondent."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="answer_imports")
    respondent = models.ForeignKey(Respondent, on_delete=models.CASCADE, related_name="answer_imports")
    format = models.CharField(max_length=20)
    name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64, help_text="of the file")
    created = models.DateTimeField(auto_now_add=True)
    imported_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return self.name or self.uid


class ImportedAnswer(AppendOnly):
    """That an answer came with a file."""

    source = models.ForeignKey(AnswerImport, on_delete=models.CASCADE, related_name="answers")
    response = models.OneToOneField(Response, on_delete=models.CASCADE, related_name="imported")

    def __str__(self) -> str:
        return f"{self.source_id}/{self.response_id}"


class AnswerImportWithdrawal(AppendOnly):
    """Says that an import was wrong: its answers stay as facts and enter no figure."""

    source = models.OneToOneField(AnswerImport, on_delete=models.CASCADE, related_name="withdrawal")
    reason = models.TextField()
    withdrawn_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return str(self.source_id)
