"""What was written and weighed on the way to a script, and what was drawn for it."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from eqstudio.models import AppendOnly


class Candidate(AppendOnly):
    """One thing that a stage of writing produced, whether it was taken or not, and why.

    ``attempt`` counts the tries at the stage in this take of the dialogue; ``key`` names the candidate within its try.
    The rows of a try are written together once it is decided, so a stage with a chosen row is finished for good.
    """

    created = models.DateTimeField(auto_now_add=True)
    dialogue = models.ForeignKey("generation.Dialogue", on_delete=models.CASCADE, related_name="candidates")
    call = models.ForeignKey("generation.ProviderCall", null=True, on_delete=models.SET_NULL, related_name="+")
    take = models.PositiveSmallIntegerField(default=0)
    stage = models.CharField(max_length=40)
    attempt = models.PositiveSmallIntegerField(default=0)
    key = models.CharField(max_length=40, blank=True)
    content = models.JSONField(default=dict, blank=True)
    scores = models.JSONField(default=list, blank=True, help_text="criteria: name, score, threshold, passed, reason")
    chosen = models.BooleanField()
    reason = models.TextField(blank=True, help_text="why it was not taken")

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["dialogue", "take", "stage", "attempt", "key"], name="candidate_once_per_attempt"
            )
        ]

    def __str__(self) -> str:
        return f"{self.stage}/{self.attempt}/{self.key}"


class Draw(AppendOnly):
    """What was drawn for one take of a dialogue so that a corpus does not clump: a name, a role, a setting, a topic."""

    corpus = models.ForeignKey("generation.Corpus", on_delete=models.CASCADE, related_name="+")
    dialogue = models.ForeignKey("generation.Dialogue", on_delete=models.CASCADE, related_name="draws")
    take = models.PositiveSmallIntegerField(default=0)
    kind = models.CharField(max_length=80, help_text="what was drawn for what: name 1")
    pool = models.CharField(max_length=120, help_text="what it was drawn from: en female names")
    value = models.CharField(max_length=120)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["dialogue", "take", "kind"], name="draw_once")]
        indexes: ClassVar = [models.Index(fields=["corpus", "pool", "value"], name="draw_counts")]

    def __str__(self) -> str:
        return f"{self.pool}: {self.value}"
