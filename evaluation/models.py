"""The exam: studies, who sits them, what was shown, answered and scored."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models import Split
from eqstudio.benchmarks.base import Outcome
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
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        verbose_name_plural = "studies"
        ordering: ClassVar = ["-created"]

    def __str__(self) -> str:
        return self.name


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


class ErrorTag(AppendOnly):
    """What sort of error an answer shows, as somebody tagged it; ``removed`` takes a tag back. The latest row counts."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="error_tags")
    respondent = models.ForeignKey("Respondent", on_delete=models.CASCADE, related_name="error_tags")
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


class Sitting(models.Model):
    """One pass of one respondent through the exam. ``run`` counts repeats; ``order_seed`` fixes item and option order."""

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
    lease_until = models.DateTimeField(null=True, blank=True, help_text="nobody else takes a step before this")
    lease_holder = models.CharField(max_length=80, blank=True, help_text="host and process that took the lease")
    attempts = models.PositiveSmallIntegerField(default=0, help_text="failed tries at the pending trial")
    error = models.TextField(blank=True, help_text="why the run stopped; empty while it may go on")
    key_access = models.BooleanField(
        default=False, help_text="who sat could read the key; kept out of the human baseline unless asked for"
    )
    started = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["respondent", "run"], name="sitting_run_once")]
        indexes: ClassVar = [models.Index(fields=["state", "lease_until"], name="sitting_due")]

    def __str__(self) -> str:
        return self.uid


class TrialRecord(AppendOnly):
    """One question as shown, whole: ``shown`` is ``Trial.as_dict()`` and holds nothing that tells the key."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    sitting = models.ForeignKey(Sitting, on_delete=models.CASCADE, related_name="trials")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="trials")
    key = models.CharField(max_length=60)
    shown = models.JSONField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "trial"
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["sitting", "dialogue", "key"], name="trial_once_per_sitting")
        ]

    def __str__(self) -> str:
        return f"{self.dialogue_id}/{self.key}"


class Response(AppendOnly):
    """One answer as given. Stored before it is parsed; never changed."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    trial = models.ForeignKey(TrialRecord, on_delete=models.CASCADE, related_name="responses")
    raw = models.TextField(blank=True)
    failure = models.CharField(
        max_length=12, blank=True, help_text="refused, error or not_heard when there is no answer to parse"
    )
    error = models.TextField(blank=True)
    heard = models.JSONField(default=dict)
    paradata = models.JSONField(
        default=dict, help_text="times, plays, changes, tokens, latency, provider's own model id"
    )
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["trial"], name="response_once_per_trial")]

    def __str__(self) -> str:
        return self.uid


class ScoreRecord(AppendOnly):
    """What was read from a response and how it was scored, by one version of parser and benchmark. The latest counts."""

    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="scores")
    version = models.CharField(max_length=40, help_text="parser and benchmark version")
    outcome = models.CharField(max_length=12, choices=[(o.value, o.value) for o in Outcome])
    value = models.TextField(blank=True)
    rule = models.CharField(max_length=40, blank=True)
    span = models.JSONField(null=True)
    correct = models.BooleanField(null=True)
    number = models.FloatField(null=True)
    gold = models.FloatField(null=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "score"
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["response", "version"], name="score_once_per_version")]

    def __str__(self) -> str:
        return f"{self.response_id}:{self.outcome}"
