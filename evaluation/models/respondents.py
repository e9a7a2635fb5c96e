"""Who sits a study, and each pass through it."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from eqstudio.ids import uid
from eqstudio.models import AppendOnly
from evaluation.models.studies import Study


class RunSpec(AppendOnly):
    """Everything that made a model's answers; its hash is the identity of the run."""

    hash = models.CharField(max_length=64)
    content = models.JSONField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["hash"], name="run_spec_once")]

    def __str__(self) -> str:
        return self.hash[:12]


class Respondent(models.Model):
    """Who sits a study: a person, a model, a rule, or answers from elsewhere."""

    class Kind(models.TextChoices):
        PERSON = "person", _("person")
        MODEL = "model", _("model")
        RULE = "rule", _("rule")
        IMPORTED = "imported", _("imported")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="respondents")
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="respondents"
    )
    run_spec = models.ForeignKey(RunSpec, null=True, blank=True, on_delete=models.PROTECT, related_name="respondents")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name"], name="respondent_name_once"),
            models.UniqueConstraint(
                fields=["study", "user"], condition=Q(user__isnull=False), name="respondent_person_once"
            ),
        ]

    def __str__(self) -> str:
        return self.name


RUNS = 100
"""Runs of a respondent are numbered below this. When an import was taken out, the next one of the same run goes into the sitting
that is numbered this much higher; in figures and on pages both are the same run."""


class Sitting(models.Model):
    """One pass of one respondent through the exam. ``run`` counts repeats; ``order_seed`` fixes item and option order (a person's carries the marks of ``domain.order`` on top).

    Whoever sat a pilot may sit again when it counts: the pilot's sittings are numbered apart.
    """

    class State(models.TextChoices):
        OPEN = "open", _("open")
        FINISHED = "finished", _("finished")
        CANCELLED = "cancelled", _("cancelled")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    respondent = models.ForeignKey(Respondent, on_delete=models.CASCADE, related_name="sittings")
    run = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    order_seed = models.BigIntegerField()
    limit = models.PositiveIntegerField(null=True, blank=True, help_text="ask only the first items of the order")
    not_before = models.DateTimeField(null=True, blank=True, help_text="when the next step of a model's run is due")
    pauses = models.PositiveSmallIntegerField(
        default=0, help_text="how often in a row the provider asked for a pause, with no answer in between"
    )
    queued = models.PositiveIntegerField(default=0, help_text="how many items of the order were put in the queue")
    error = models.TextField(blank=True, help_text="why the run stopped; empty while it may go on")
    key_access = models.BooleanField(
        default=False, help_text="who sat could read the key; kept out of the human baseline unless asked for"
    )
    pilot = models.BooleanField(default=False, help_text="opened while the protocol said pilot: in no figure, ever")
    started = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["respondent", "run", "pilot"], name="sitting_run_once")
        ]
        indexes: ClassVar = [models.Index(fields=["state", "not_before"], name="sitting_due")]

    def __str__(self) -> str:
        return self.uid

    @property
    def run_told(self) -> int:
        """The run as people count them, from 1."""
        return self.run % RUNS + 1
