"""What people said of items, what they said elsewhere, and what an expert decided."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models.rounds import Assignment, Round, RoundItem
from eqstudio.ids import uid
from eqstudio.models import AppendOnly
from generation.models import Variant


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
    answers = models.JSONField(default=dict, blank=True, help_text="confidence, emotion, naturalness, where asked")
    heard = models.JSONField(default=dict, help_text="played intervals in seconds by variant uid")
    active_ms = models.PositiveIntegerField(default=0)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
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
        app_label = "annotation"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["judgement", "variant"], name="grade_once_per_variant"),
            models.CheckConstraint(condition=Q(value__range=(1, 4)), name="grade_1_to_4"),
        ]

    def __str__(self) -> str:
        return str(self.value)


class Standing(AppendOnly):
    """Whether a judgement is accepted (the work counts as done and paid) and whether it is usable (it enters statistics).

    The two are apart: work may be paid and yet stay out of the figures. Without a row both are true; the latest counts.
    """

    judgement = models.ForeignKey(Judgement, on_delete=models.PROTECT, related_name="standings")
    accepted = models.BooleanField()
    usable = models.BooleanField()
    reason = models.CharField(max_length=200)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["pk"]
        indexes: ClassVar = [models.Index(fields=["judgement", "id"], name="standing_latest")]

    def __str__(self) -> str:
        return f"{self.judgement_id}: {self.accepted}/{self.usable}"


class AudioProblem(AppendOnly):
    """A listener's report that something is wrong with what they heard, beside any judgement."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    item = models.ForeignKey(RoundItem, on_delete=models.PROTECT, related_name="audio_problems")
    variant = models.ForeignKey(Variant, null=True, blank=True, on_delete=models.PROTECT, related_name="audio_problems")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    problem = models.CharField(max_length=40)
    detail = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return self.uid


class RatingsImport(AppendOnly):
    """One file of judgements made elsewhere, as it was taken in."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="ratings_imports")
    name = models.CharField(max_length=255, blank=True)
    imported_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return self.name or self.uid


class ImportWithdrawal(AppendOnly):
    """Says that an import was wrong: its ratings stay as facts and enter no figure."""

    source = models.OneToOneField(RatingsImport, on_delete=models.CASCADE, related_name="withdrawal")
    reason = models.TextField()
    withdrawn_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"

    def __str__(self) -> str:
        return str(self.source_id)


class ImportedRating(AppendOnly):
    """A judgement made elsewhere, by names that are not ours. Those of a withdrawn import do not count."""

    source = models.ForeignKey(RatingsImport, null=True, on_delete=models.CASCADE, related_name="ratings")
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="imported_ratings")
    item = models.CharField(max_length=200)
    rater = models.CharField(max_length=200)
    dimension = models.CharField(max_length=80, blank=True)
    level = models.CharField(max_length=12, blank=True)
    value = models.CharField(max_length=200)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "item", "rater", "dimension"], name="imported_rating_once")
        ]

    def __str__(self) -> str:
        return f"{self.item}/{self.rater}"


class Adjudication(AppendOnly):
    """What an expert did with an item: decided it, asked for more people, or opened a decision again. The latest counts."""

    class Action(models.TextChoices):
        DECIDED = "decided", _("decided")
        MORE = "more", _("asked for more judgements")
        REOPENED = "reopened", _("reopened")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    item = models.ForeignKey(RoundItem, on_delete=models.PROTECT, related_name="adjudications")
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="adjudications")
    action = models.CharField(max_length=10, choices=Action.choices, default=Action.DECIDED)
    verdict = models.CharField(max_length=8, choices=Judgement.Verdict.choices, blank=True)
    grades = models.JSONField(default=dict, blank=True, help_text="the expert's own grades by variant uid, where given")
    more_people = models.PositiveSmallIntegerField(default=0)
    reason = models.TextField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(action="decided", verdict__in=["keep", "reject"]) | (~Q(action="decided") & Q(verdict="")),
                name="adjudication_verdict_when_decided",
            )
        ]

    def __str__(self) -> str:
        return self.uid
