"""Rounds, leases, judgements, decisions and frozen splits."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from eqstudio.ids import uid
from eqstudio.models import AppendOnly
from generation.models import LANGUAGES, Corpus, Dialogue, Variant


class Round(models.Model):
    """A review queue: which dialogues, how many people each, under which rules."""

    class State(models.TextChoices):
        OPEN = "open", _("open")
        PAUSED = "paused", _("paused")
        CLOSED = "closed", _("closed")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    name = models.SlugField(max_length=80, unique=True)
    corpus = models.ForeignKey(Corpus, null=True, blank=True, on_delete=models.PROTECT, related_name="rounds")
    benchmark = models.CharField(max_length=40, blank=True)
    language = models.CharField(max_length=8, choices=LANGUAGES, blank=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    people_per_item = models.PositiveSmallIntegerField(default=3)
    agree_needed = models.PositiveSmallIntegerField(
        default=2, help_text="votes for the same verdict that decide an item"
    )
    gate_share = models.FloatField(default=0.9, help_text="share of each clip that must be heard before it is graded")
    lease_minutes = models.PositiveSmallIntegerField(default=20)
    undo_seconds = models.PositiveIntegerField(default=300)
    show_transcript = models.BooleanField(default=True)
    guidelines = models.TextField(blank=True)
    rubric_version = models.CharField(max_length=20, blank=True)
    order = models.CharField(max_length=20, default="fewest_first")
    seed = models.BigIntegerField(default=0)
    is_demo = models.BooleanField(default=False)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering: ClassVar = ["-created"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(gate_share__range=(0, 1)), name="round_gate_is_a_share"),
            models.CheckConstraint(condition=Q(people_per_item__gte=1), name="round_people_positive"),
            models.CheckConstraint(
                condition=Q(agree_needed__gte=1) & Q(agree_needed__lte=models.F("people_per_item")),
                name="round_agree_within_people",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class RoundItem(models.Model):
    """A dialogue in a round. Closed when enough live judgements are in; ``outcome`` is what consensus said."""

    class Outcome(models.TextChoices):
        KEPT = "kept", _("kept")
        REJECTED = "rejected", _("rejected")
        DISPUTED = "disputed", _("disputed")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="items")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="round_items")
    closed_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True)

    class Meta:
        verbose_name = "item"
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["round", "dialogue"], name="round_item_once")]
        indexes: ClassVar = [models.Index(fields=["round", "closed_at"], name="round_item_open")]

    def __str__(self) -> str:
        return self.uid


class Assignment(models.Model):
    """One person's lease on one item. ``slot`` is 0..people_per_item-1; an active or submitted lease holds its slot.

    A judgement counts when its lease is ``submitted``; one that came after its slot was given away is ``late``: kept, not
    counted. So the constraint on slots is also what keeps an item from getting more counted judgements than asked for.
    """

    class State(models.TextChoices):
        ACTIVE = "active", _("active")
        SUBMITTED = "submitted", _("submitted")
        RELEASED = "released", _("released")
        EXPIRED = "expired", _("expired")
        LATE = "late", _("late")

    HOLDING: ClassVar = [State.ACTIVE.value, State.SUBMITTED.value]

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    item = models.ForeignKey(RoundItem, on_delete=models.CASCADE, related_name="assignments")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="assignments")
    slot = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)
    lease_until = models.DateTimeField()
    shown = models.JSONField(
        default=dict, help_text="order in which variants were shown, by turn position: variant uids"
    )
    draft = models.JSONField(default=dict, blank=True)
    reason = models.CharField(max_length=200, blank=True, help_text="why the item was given back")
    ended_at = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["item", "slot"], condition=Q(state__in=["active", "submitted"]), name="assignment_slot_once"
            ),
            models.UniqueConstraint(
                fields=["item", "annotator"],
                condition=Q(state__in=["active", "submitted"]),
                name="assignment_person_once",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["annotator", "state"], name="assignment_mine"),
            models.Index(fields=["state", "lease_until"], name="assignment_due"),
        ]

    def __str__(self) -> str:
        return self.uid


class Judgement(AppendOnly):
    """What one person said about one item. A change of mind is a new row with the next ``revision``; a retraction
    (undo) is a row with ``retracted`` set. The highest revision of a submitted lease counts.
    """

    class Verdict(models.TextChoices):
        KEEP = "keep", _("keep")
        REJECT = "reject", _("reject")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    item = models.ForeignKey(RoundItem, on_delete=models.PROTECT, related_name="judgements")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="judgements")
    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="judgements")
    revision = models.PositiveSmallIntegerField(default=0)
    retracted = models.BooleanField(default=False)
    late = models.BooleanField(default=False)
    client_key = models.CharField(max_length=64, help_text="chosen by the page; a replayed request stores one row")
    verdict = models.CharField(max_length=8, choices=Verdict.choices, blank=True)
    reasons = models.JSONField(default=list)
    comment = models.TextField(blank=True)
    heard = models.JSONField(default=dict, help_text="played intervals in seconds by variant uid")
    active_ms = models.PositiveIntegerField(default=0)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["item", "annotator", "revision"], name="judgement_once_per_person"),
            models.UniqueConstraint(fields=["annotator", "client_key"], name="judgement_client_key_once"),
        ]
        indexes: ClassVar = [models.Index(fields=["annotator", "created"], name="judgement_mine")]

    def __str__(self) -> str:
        return self.uid


class Grade(AppendOnly):
    """A grade 1-4 for one variant, as part of a judgement."""

    judgement = models.ForeignKey(Judgement, on_delete=models.CASCADE, related_name="grades")
    variant = models.ForeignKey(Variant, on_delete=models.PROTECT, related_name="grades")
    value = models.PositiveSmallIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["judgement", "variant"], name="grade_once_per_variant"),
            models.CheckConstraint(condition=Q(value__range=(1, 4)), name="grade_1_to_4"),
        ]

    def __str__(self) -> str:
        return str(self.value)


class ImportedRating(AppendOnly):
    """A judgement made elsewhere, by names that are not ours."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="imported_ratings")
    item = models.CharField(max_length=200)
    rater = models.CharField(max_length=200)
    dimension = models.CharField(max_length=80, blank=True)
    level = models.CharField(max_length=12, blank=True)
    value = models.CharField(max_length=200)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["round", "item", "rater", "dimension"], name="imported_rating_once")
        ]

    def __str__(self) -> str:
        return f"{self.item}/{self.rater}"


class Adjudication(AppendOnly):
    """The expert's decision where consensus failed; the latest one counts."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    item = models.ForeignKey(RoundItem, on_delete=models.PROTECT, related_name="adjudications")
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="adjudications")
    verdict = models.CharField(max_length=8, choices=Judgement.Verdict.choices)
    reason = models.TextField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return self.uid


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
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    done = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering: ClassVar = ["-created"]

    def __str__(self) -> str:
        return f"{self.split_id}/{self.format}"
