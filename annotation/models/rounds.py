"""Rounds, what is in them, who takes part, and who holds what."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from eqstudio.ids import uid
from generation.models import LANGUAGES, Corpus, Dialogue, Variant


class Kind(models.TextChoices):
    """What an item is asked for. Only ``work`` counts in agreement and consensus."""

    WORK = "work", _("work")
    GOLD = "gold", _("gold")
    TRAINING = "training", _("training")
    QUALIFICATION = "qualification", _("qualification")
    REPEAT = "repeat", _("repeat")


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
    query = models.JSONField(
        default=dict, blank=True, help_text="which dialogues of the corpus, beside benchmark and language"
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    paused_because = models.CharField(max_length=300, blank=True, help_text="what people read while it is paused")
    opens_at = models.DateTimeField(null=True, blank=True)
    closes_at = models.DateTimeField(null=True, blank=True)
    people_per_item = models.PositiveSmallIntegerField(default=3)
    people_at_most = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="an undecided item asks one more person after the other, up to this many"
    )
    rule = models.CharField(max_length=20, default="k_of_n", help_text="consensus rule over keep and reject")
    grade_rule = models.CharField(max_length=20, default="median", help_text="consensus rule over grades")
    agree_needed = models.PositiveSmallIntegerField(
        default=2, help_text="votes for the same verdict that decide an item"
    )
    gate_share = models.FloatField(default=0.9, help_text="share of each clip that must be heard before it is graded")
    lease_minutes = models.PositiveSmallIntegerField(default=20)
    undo_seconds = models.PositiveIntegerField(default=300)
    show_transcript = models.BooleanField(default=True)
    show_feedback = models.BooleanField(default=False, help_text="people see how they compare, once an item is closed")
    questions = models.JSONField(default=dict, blank=True, help_text="what is asked beside grade and verdict")
    guidelines = models.TextField(blank=True)
    rubric_version = models.CharField(max_length=20, blank=True)
    rubric_language = models.CharField(max_length=8, choices=LANGUAGES, blank=True)
    order = models.CharField(max_length=20, default="fewest_first")
    seed = models.BigIntegerField(default=0)
    items_per_person = models.PositiveIntegerField(null=True, blank=True)
    items_per_day = models.PositiveIntegerField(null=True, blank=True)
    items_per_sitting = models.PositiveIntegerField(null=True, blank=True)
    sitting_break_minutes = models.PositiveSmallIntegerField(
        default=30, help_text="a pause of this length begins a new sitting"
    )
    invited_only = models.BooleanField(default=False)
    skills_needed = models.JSONField(default=list, blank=True)
    language_needed = models.BooleanField(default=False, help_text="only for people who speak the item's language")
    exclude_authors = models.BooleanField(default=True)
    exclude_twins = models.BooleanField(default=True)
    quality = models.JSONField(default=dict, blank=True, help_text="gold, training, repeats, checks of judges")
    items_total = models.PositiveIntegerField(
        default=0, help_text="items of kind work, kept so that no page counts them"
    )
    is_demo = models.BooleanField(default=False)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["-created"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(gate_share__range=(0, 1)), name="round_gate_is_a_share"),
            models.CheckConstraint(condition=Q(people_per_item__gte=1), name="round_people_positive"),
            models.CheckConstraint(
                condition=Q(agree_needed__gte=1) & Q(agree_needed__lte=F("people_per_item")),
                name="round_agree_within_people",
            ),
            models.CheckConstraint(
                condition=Q(people_at_most=None) | Q(people_at_most__gte=F("people_per_item")),
                name="round_cap_above_people",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class RoundItem(models.Model):
    """A dialogue in a round. Closed when enough live judgements are in; ``outcome`` is what consensus said.

    ``held`` (live leases of kind work), ``given`` (judgements that count), ``disagreement`` (share of judgements that
    differ from the most frequent verdict) and ``shuffle`` (a place in a fixed random circle) make the next item one
    indexed look. Only ``annotation.services`` writes them; ``items_recount`` sets them right from the leases.
    """

    class Outcome(models.TextChoices):
        KEPT = "kept", _("kept")
        REJECTED = "rejected", _("rejected")
        DISPUTED = "disputed", _("disputed")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="items")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="round_items")
    kind = models.CharField(max_length=14, choices=Kind.choices, default=Kind.WORK)
    category = models.CharField(max_length=80, blank=True)
    language = models.CharField(max_length=8, blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    twin_key = models.CharField(max_length=120, blank=True, help_text="shared by items of which one gives another away")
    shuffle = models.PositiveIntegerField(default=0)
    wanted = models.PositiveSmallIntegerField(default=1, help_text="people asked for now")
    held = models.PositiveSmallIntegerField(default=0)
    given = models.PositiveSmallIntegerField(default=0)
    disagreement = models.FloatField(default=0.0)
    closed_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True)

    class Meta:
        app_label = "annotation"
        verbose_name = "item"
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["round", "dialogue"], name="round_item_once"),
            models.CheckConstraint(
                condition=~Q(kind=Kind.WORK.value) | Q(held__lte=F("wanted")), name="round_item_held_within_wanted"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["round", "closed_at"], name="round_item_open"),
            # What a claim looks along. PostgreSQL keeps the order of an index behind "is null" only when that is a condition.
            models.Index(
                fields=["round", "kind", "held", "shuffle"], condition=Q(closed_at=None), name="round_item_queue"
            ),
            models.Index(
                fields=["round", "kind", "category", "shuffle"], condition=Q(closed_at=None), name="round_item_balance"
            ),
            models.Index(
                fields=["round", "kind", "disagreement", "shuffle"],
                condition=Q(closed_at=None),
                name="round_item_doubt",
            ),
            models.Index(fields=["round", "kind", "id"], condition=Q(closed_at=None), name="round_item_fixed"),
            models.Index(fields=["twin_key"], name="round_item_twin"),
        ]

    def __str__(self) -> str:
        return self.uid


class Chore(models.Model):
    """What has to be done to very many items of a round, in the background: how far it is."""

    class Work(models.TextChoices):
        FILL = "fill", _("take in what is ready")
        CLOSE = "close", _("send what too few have judged to an expert")
        REOPEN = "reopen", _("take back what too few have judged")
        SETTLE = "settle", _("close what enough people have judged")

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        RUNNING = "running", _("running")
        DONE = "done", _("done")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="chores")
    work = models.CharField(max_length=8, choices=Work.choices)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    done = models.PositiveIntegerField(default=0, help_text="items seen to")
    total = models.PositiveIntegerField(default=0, help_text="items it was asked for")
    lease_until = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["round", "work"], condition=Q(state="waiting"), name="chore_waits_once")
        ]

    def __str__(self) -> str:
        return self.uid


class GuidelineExample(models.Model):
    """A worked example in a round's guidelines: a rendition, the grade it deserves, and why."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="examples")
    variant = models.ForeignKey(Variant, on_delete=models.PROTECT, related_name="+")
    grade = models.PositiveSmallIntegerField()
    why = models.TextField()
    position = models.PositiveSmallIntegerField(default=0)

    class Meta:
        app_label = "annotation"
        verbose_name = "example"
        ordering: ClassVar = ["position", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["round", "variant"], name="example_once"),
            models.CheckConstraint(condition=Q(grade__range=(1, 4)), name="example_grade_1_to_4"),
        ]

    def __str__(self) -> str:
        return self.uid


class Participation(models.Model):
    """One person in one round: where they stand, why, and the counts that limits and gold go by."""

    class State(models.TextChoices):
        INVITED = "invited", _("invited")
        TRAINING = "training", _("in training")
        QUALIFYING = "qualifying", _("being qualified")
        ACTIVE = "active", _("active")
        PAUSED = "paused", _("paused")
        NOT_QUALIFIED = "unqualified", _("not qualified")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="participations")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="participations")
    state = models.CharField(max_length=12, choices=State.choices, default=State.ACTIVE)
    reason = models.CharField(max_length=40, blank=True, help_text="code of why it is paused or not qualified")
    evidence = models.JSONField(default=dict, blank=True, help_text="the numbers behind the reason")
    note = models.TextField(blank=True, help_text="what a researcher said to the person")
    cursor = models.PositiveIntegerField(default=0, help_text="where in the circle of items the person is")
    done = models.PositiveIntegerField(default=0, help_text="judgements of kind work, late ones included")
    answered = models.PositiveIntegerField(default=0, help_text="what the person is told: every kind but training")
    since_gold = models.PositiveIntegerField(default=0)
    since_repeat = models.PositiveIntegerField(default=0)
    day = models.DateField(null=True, blank=True)
    day_done = models.PositiveIntegerField(default=0)
    sitting_done = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField(null=True, blank=True, help_text="of the last judgement")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["round", "annotator"], name="participation_once"),
        ]

    def __str__(self) -> str:
        return self.uid


class Assignment(models.Model):
    """One person's lease on one item. ``slot`` is 0..wanted-1; an active or submitted lease of kind work holds its slot.

    A judgement counts when its lease is of kind ``work`` and ``submitted``; one that came after its slot was given away is
    ``late``: kept, not counted. So the constraint on slots is also what keeps an item from getting more counted judgements
    than asked for.
    """

    class State(models.TextChoices):
        ACTIVE = "active", _("active")
        SUBMITTED = "submitted", _("submitted")
        RELEASED = "released", _("released")
        EXPIRED = "expired", _("expired")
        LATE = "late", _("late")

    class Skip(models.TextChoices):
        ME = "me", _("back to me later")
        OTHERS = "others", _("to somebody else")
        UNJUDGEABLE = "unjudgeable", _("cannot be judged")

    HOLDING: ClassVar = [State.ACTIVE.value, State.SUBMITTED.value]

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    item = models.ForeignKey(RoundItem, on_delete=models.CASCADE, related_name="assignments")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="assignments")
    kind = models.CharField(max_length=14, choices=Kind.choices, default=Kind.WORK)
    slot = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)
    lease_until = models.DateTimeField()
    shown = models.JSONField(
        default=dict, help_text="order in which variants were shown, by turn position: variant uids"
    )
    draft = models.JSONField(default=dict, blank=True)
    skip = models.CharField(max_length=12, choices=Skip.choices, blank=True, help_text="where a released item goes")
    reason = models.CharField(max_length=200, blank=True, help_text="why the item was given back")
    ended_at = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["item", "slot"],
                condition=Q(state__in=["active", "submitted"], kind="work"),
                name="assignment_slot_once",
            ),
            models.UniqueConstraint(
                fields=["item", "annotator", "kind"],
                condition=Q(state__in=["active", "submitted"]),
                name="assignment_person_once",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["annotator", "state"], name="assignment_mine"),
            models.Index(fields=["annotator", "kind"], name="assignment_kind"),
            models.Index(fields=["state", "lease_until"], name="assignment_due"),
            models.Index(fields=["item", "annotator", "state"], name="assignment_seen"),
        ]

    def __str__(self) -> str:
        return self.uid
