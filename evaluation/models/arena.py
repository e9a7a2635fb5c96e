"""Rating rationales: several systems' reasons for one question, judged by people who do not know whose they are."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from eqstudio.ids import uid
from eqstudio.models import AppendOnly
from evaluation.models.respondents import Respondent
from evaluation.models.studies import Study
from generation.models import Dialogue

LOWEST, HIGHEST = 1, 10


class Arena(models.Model):
    """Whose rationales are rated, on which questions, by how many people."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="arenas")
    name = models.SlugField(max_length=60)
    per_panel = models.PositiveSmallIntegerField(help_text="how many rationales one person rates side by side")
    wanted = models.PositiveSmallIntegerField(help_text="how many people rate each question")
    lease_minutes = models.PositiveSmallIntegerField(default=30)
    seed = models.BigIntegerField(default=0)
    is_open = models.BooleanField(default=True)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["study", "name"], name="arena_name_once")]

    def __str__(self) -> str:
        return self.name


class Contender(AppendOnly):
    """A system whose rationales are rated, always from the same run."""

    arena = models.ForeignKey(Arena, on_delete=models.CASCADE, related_name="contenders")
    respondent = models.ForeignKey(Respondent, on_delete=models.CASCADE, related_name="+")
    run = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["arena", "respondent"], name="contender_once")]

    def __str__(self) -> str:
        return f"{self.arena_id}/{self.respondent_id}"


class Question(AppendOnly):
    """A question about an item that every contender answered with a reason: what can be rated."""

    arena = models.ForeignKey(Arena, on_delete=models.CASCADE, related_name="questions")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+")
    key = models.CharField(max_length=60)

    class Meta:
        verbose_name = "arena question"
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["arena", "dialogue", "key"], name="arena_question_once")
        ]

    def __str__(self) -> str:
        return f"{self.dialogue_id}/{self.key}"


class Panel(models.Model):
    """One person's lease on one question with some of the contenders. A person meets an item once, whatever becomes of it."""

    class State(models.TextChoices):
        LEASED = "leased", _("reserved")
        RATED = "rated", _("rated")
        EXPIRED = "expired", _("expired")

    HOLDING = (State.LEASED, State.RATED)

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    arena = models.ForeignKey(Arena, on_delete=models.CASCADE, related_name="panels")
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="panels")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+")
    rater = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="arena_panels")
    slot = models.PositiveSmallIntegerField(help_text="which of the places of the question it holds")
    state = models.CharField(max_length=8, choices=State.choices, default=State.LEASED)
    lease_until = models.DateTimeField()
    labels = models.JSONField(default=dict, help_text="what the options are called for this person, by the option's id")
    key_access = models.BooleanField(default=False, help_text="the rater could read the key")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["arena", "rater", "dialogue"], name="arena_item_once_per_person"),
            models.UniqueConstraint(
                fields=["question", "slot"], condition=Q(state__in=["leased", "rated"]), name="arena_one_per_place"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["arena", "state"], name="panel_of_arena")]

    def __str__(self) -> str:
        return self.uid


class PanelSystem(AppendOnly):
    """A contender in a panel; ``position`` is where it stands for that person."""

    panel = models.ForeignKey(Panel, on_delete=models.CASCADE, related_name="systems")
    respondent = models.ForeignKey(Respondent, on_delete=models.CASCADE, related_name="+")
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering: ClassVar = ["position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["panel", "respondent"], name="panel_system_once"),
            models.UniqueConstraint(fields=["panel", "position"], name="panel_position_once"),
        ]

    def __str__(self) -> str:
        return f"{self.panel_id}#{self.position}"


class RatingSheet(AppendOnly):
    """What one person said about one panel, all at once; with what was heard and how it came about."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    panel = models.OneToOneField(Panel, on_delete=models.CASCADE, related_name="sheet")
    client_key = models.CharField(max_length=64)
    comment = models.TextField(blank=True)
    heard = models.JSONField(default=dict)
    paradata = models.JSONField(default=dict)
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.uid


class RationaleRating(AppendOnly):
    """1 to 10 for one rationale."""

    sheet = models.ForeignKey(RatingSheet, on_delete=models.CASCADE, related_name="ratings")
    respondent = models.ForeignKey(Respondent, on_delete=models.CASCADE, related_name="+")
    value = models.PositiveSmallIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["sheet", "respondent"], name="rationale_rated_once"),
            models.CheckConstraint(condition=Q(value__range=(LOWEST, HIGHEST)), name="rating_1_to_10"),
        ]

    def __str__(self) -> str:
        return str(self.value)
