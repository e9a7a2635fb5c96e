"""Answers from files: which file brought which answer, and which files were taken out again."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from eqstudio.ids import uid
from eqstudio.models import AppendOnly
from evaluation.models.answers import Response
from evaluation.models.respondents import Respondent
from evaluation.models.studies import Study

RUNS = 100
"""Runs of a file are numbered below this. When an import was taken out, the next one of the same run goes into the sitting
that is numbered this much higher; in figures both are the same run."""


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
