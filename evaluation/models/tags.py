"""What sort of error an answer shows."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from eqstudio.ids import uid
from eqstudio.models import AppendOnly
from evaluation.models.respondents import Respondent
from evaluation.models.studies import Study
from generation.models import Dialogue


class ErrorTag(AppendOnly):
    """What sort of error an answer shows, as somebody tagged it; ``removed`` takes a tag back. The latest row counts."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="error_tags")
    respondent = models.ForeignKey(Respondent, on_delete=models.CASCADE, related_name="error_tags")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="error_tags")
    tag = models.SlugField(max_length=40)
    removed = models.BooleanField(default=False)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering: ClassVar = ["pk"]
        indexes: ClassVar = [models.Index(fields=["study", "respondent", "dialogue"], name="error_tag_of_item")]

    def __str__(self) -> str:
        return f"{self.tag}{' (removed)' if self.removed else ''}"
