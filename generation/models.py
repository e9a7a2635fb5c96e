"""Corpora, briefs, dialogues, clips and what was found out about them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from eqstudio.ids import uid
from eqstudio.models import AppendOnly
from generation.domain.lifecycle import DialogueState
from generation.models_rendition import Rendition
from generation.models_running import ProviderGate, ProviderSlot
from generation.models_take import Take
from generation.models_upload import Upload, UploadRefusal
from generation.models_writing import Candidate, Draw

__all__ = [
    "LANGUAGES",
    "Batch",
    "Brief",
    "Candidate",
    "Clip",
    "Corpus",
    "Dialogue",
    "Draw",
    "ProviderCall",
    "ProviderGate",
    "ProviderSlot",
    "QcReport",
    "Rendition",
    "Take",
    "Turn",
    "Upload",
    "UploadRefusal",
    "Variant",
]

LANGUAGES = [("en", _("English")), ("zh", _("Chinese"))]


class Corpus(models.Model):
    """A named set of dialogues that belong together."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    name = models.SlugField(max_length=80, unique=True)
    licence = models.CharField(max_length=120, blank=True)
    is_demo = models.BooleanField(default=False)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        verbose_name = "corpus"
        verbose_name_plural = "corpora"
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name


class Batch(models.Model):
    """Briefs that were asked for together."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    corpus = models.ForeignKey(Corpus, on_delete=models.PROTECT, related_name="batches")
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    cancelled_at = models.DateTimeField(null=True, blank=True)
    max_calls = models.PositiveIntegerField(null=True, blank=True)
    max_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    max_cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True, help_text="US dollars")
    calls_begun = models.PositiveIntegerField(default=0, help_text="counted before each call, also for those cut short")
    calls_done = models.PositiveIntegerField(default=0, help_text="rows in the ledger")
    tokens_spent = models.PositiveBigIntegerField(default=0)
    cost_spent = models.DecimalField(max_digits=14, decimal_places=6, default=0, help_text="US dollars")
    stopped_at = models.DateTimeField(null=True, blank=True, help_text="when its budget was used up")
    stopped_reason = models.CharField(max_length=200, blank=True)
    thresholds = models.JSONField(
        default=dict, blank=True, help_text="where its quality checks fail, as far as that is not the default"
    )

    class Meta:
        verbose_name = "batch"
        verbose_name_plural = "batches"
        ordering: ClassVar = ["-created"]

    def __str__(self) -> str:
        return f"{self.corpus}/{self.uid}"


class Brief(models.Model):
    """What to write, and with whom."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="briefs")
    benchmark = models.CharField(max_length=40)
    category = models.CharField(max_length=80)
    language = models.CharField(max_length=8, choices=LANGUAGES, default="en")
    valence = models.CharField(max_length=20, blank=True)
    setting = models.CharField(max_length=40, blank=True)
    count = models.PositiveIntegerField(default=1)
    seed = models.BigIntegerField(default=0)
    text_provider = models.CharField(max_length=40)
    voice_provider = models.CharField(max_length=40)
    transcriber = models.CharField(max_length=40)
    parameters = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.CheckConstraint(condition=Q(count__gte=1), name="brief_count_positive")]

    def __str__(self) -> str:
        return f"{self.benchmark}/{self.category}/{self.language}"


class Dialogue(models.Model):
    """One item. ``state`` moves only through ``generation.services.dialogue_move``."""

    class Source(models.TextChoices):
        SYNTHETIC = "synthetic", _("synthetic")
        RECORDED = "recorded", _("recorded")
        IMPORTED = "imported", _("imported")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    corpus = models.ForeignKey(Corpus, on_delete=models.PROTECT, related_name="dialogues")
    brief = models.ForeignKey(Brief, null=True, blank=True, on_delete=models.SET_NULL, related_name="dialogues")
    ordinal = models.PositiveIntegerField(default=0)
    takes = models.PositiveSmallIntegerField(default=0, help_text="how often it was sent back to be made again")
    external_id = models.CharField(max_length=200, blank=True)
    benchmark = models.CharField(max_length=40)
    category = models.CharField(max_length=80)
    language = models.CharField(max_length=8, choices=LANGUAGES)
    source = models.CharField(max_length=12, choices=Source.choices, default=Source.SYNTHETIC)
    state = models.CharField(max_length=12, choices=DialogueState.choices(), default=DialogueState.BRIEFED.value)
    valence = models.CharField(max_length=20, blank=True)
    title = models.CharField(max_length=300, blank=True)
    scenario = models.JSONField(default=dict, blank=True)
    extras = models.JSONField(default=dict, blank=True)
    template_key = models.CharField(max_length=120, blank=True)
    topic_key = models.CharField(max_length=120, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    stops = models.PositiveSmallIntegerField(
        default=0, help_text="how many processes died while they worked on it, since it last got any further"
    )
    lease_until = models.DateTimeField(null=True, blank=True)
    lease_owner = models.CharField(
        max_length=120, blank=True, help_text="the process at work, or 'queued' while it waits for one"
    )
    error = models.TextField(blank=True)
    error_cause = models.CharField(max_length=60, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["brief", "ordinal"], condition=Q(brief__isnull=False), name="dialogue_once_per_brief"
            ),
            models.UniqueConstraint(
                fields=["corpus", "external_id"], condition=~Q(external_id=""), name="dialogue_external_id_once"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["corpus", "state"], name="dialogue_corpus_state"),
            models.Index(fields=["state", "lease_until"], name="dialogue_due"),
            models.Index(fields=["benchmark", "category", "language"], name="dialogue_kind"),
            models.Index(
                fields=["corpus", "benchmark", "category", "language", "state", "source"], name="dialogue_facets"
            ),
            models.Index(fields=["corpus", "title", "id"], name="dialogue_by_title"),
        ]

    def __str__(self) -> str:
        return self.title or self.uid

    @property
    def is_made_here(self) -> bool:
        """Whether it is written and spoken here. What came from elsewhere has a brief, too, where a transcriber checks it."""
        return self.brief is not None and self.brief.text_provider != ""


class Turn(models.Model):
    """A line at a position. ``speaker`` is the part (speaker1), ``speaker_name`` who it is in the story."""

    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="turns")
    position = models.PositiveSmallIntegerField()
    role = models.CharField(
        max_length=12, choices=[("context", _("context")), ("critical", _("critical")), ("response", _("response"))]
    )
    speaker = models.CharField(max_length=40)
    speaker_name = models.CharField(max_length=80, blank=True)
    gender = models.CharField(max_length=20, blank=True)
    voice = models.CharField(max_length=60, blank=True)

    class Meta:
        ordering: ClassVar = ["dialogue", "position"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["dialogue", "position"], name="turn_position_once")]

    def __str__(self) -> str:
        return f"{self.dialogue_id}#{self.position}"


class Clip(AppendOnly):
    """The audio of a variant: immutable, named by the SHA-256 of its bytes, measured by decoding it."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    sha256 = models.CharField(max_length=64)
    media_type = models.CharField(max_length=40)
    size = models.PositiveBigIntegerField()
    frames = models.PositiveBigIntegerField()
    sample_rate = models.PositiveIntegerField()
    channels = models.PositiveSmallIntegerField()
    duration = models.FloatField(help_text="seconds, from decoded frames")
    loudness = models.FloatField(null=True, help_text="integrated, LUFS")
    rms = models.FloatField(null=True, help_text="of all samples, dBFS; clips from before it was kept have none")
    peak = models.FloatField(help_text="dBFS")
    pitch = models.FloatField(null=True, help_text="median F0, Hz")
    pitch_spread = models.FloatField(null=True, help_text="standard deviation of F0, semitones")
    centroid = models.FloatField(null=True, help_text="mean spectral centroid, Hz")
    pause_share = models.FloatField(null=True, help_text="share of inactive frames, 0-1")
    peaks = models.JSONField(default=list, help_text="absolute peak per slice, 0-1, three decimals")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["sha256"], name="clip_content_once"),
            models.CheckConstraint(condition=Q(duration__gt=0), name="clip_not_empty"),
        ]

    def __str__(self) -> str:
        return self.sha256[:12]


class Variant(models.Model):
    """One rendition of a turn. ``label`` and ``intended_grade`` are the key: never sent to a page before the answer is in."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="variants")
    label = models.CharField(max_length=20)
    text = models.TextField()
    tone = models.TextField(blank=True)
    delivery = models.JSONField(default=dict, blank=True)
    intended_grade = models.PositiveSmallIntegerField(null=True, blank=True)
    rationale = models.TextField(blank=True)
    clip = models.ForeignKey(Clip, null=True, blank=True, on_delete=models.PROTECT, related_name="variants")

    class Meta:
        ordering: ClassVar = ["turn", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["turn", "label"], name="variant_label_once"),
            models.CheckConstraint(
                condition=Q(intended_grade__isnull=True) | Q(intended_grade__range=(1, 4)), name="variant_grade_1_to_4"
            ),
        ]

    def __str__(self) -> str:
        return self.uid


class ProviderCall(AppendOnly):
    """The ledger: one row for every call to a provider, also for those that failed. An ``ok`` call with the same
    ``request_hash`` is never paid for again.
    """

    created = models.DateTimeField(auto_now_add=True)
    kind = models.CharField(
        max_length=12, choices=[("text", "text"), ("voice", "voice"), ("transcriber", "transcriber")]
    )
    provider = models.CharField(max_length=40)
    model = models.CharField(max_length=120, blank=True)
    request_hash = models.CharField(max_length=64, db_index=True)
    parameters = models.JSONField(default=dict)
    prompt_version = models.CharField(max_length=60, blank=True)
    prompt_hash = models.CharField(max_length=64, blank=True)
    seed = models.BigIntegerField(null=True)
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    latency_ms = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, help_text="US dollars")
    outcome = models.CharField(max_length=12, choices=[("ok", "ok"), ("refused", "refused"), ("error", "error")])
    error = models.TextField(blank=True)
    result = models.JSONField(
        default=dict, help_text="script for text, clip sha256 for voice, transcript for transcriber"
    )
    dialogue = models.ForeignKey(Dialogue, null=True, on_delete=models.SET_NULL, related_name="calls")

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["kind", "request_hash"], condition=Q(outcome="ok"), name="call_paid_once")
        ]
        indexes: ClassVar = [models.Index(fields=["kind", "request_hash", "outcome"], name="call_cache")]

    def __str__(self) -> str:
        return f"{self.kind}:{self.provider}:{self.outcome}"


class QcReport(AppendOnly):
    """One finding on a dialogue, or on one of its variants: what was measured against which threshold."""

    created = models.DateTimeField(auto_now_add=True)
    run = models.PositiveIntegerField(default=1, help_text="quality check run on this dialogue; the highest one counts")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="findings")
    variant = models.ForeignKey(Variant, null=True, on_delete=models.SET_NULL, related_name="findings")
    check_name = models.CharField(max_length=40)
    passed = models.BooleanField()
    value = models.FloatField(null=True)
    threshold = models.FloatField(null=True)
    message = models.TextField(blank=True)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering: ClassVar = ["pk"]
        indexes: ClassVar = [
            models.Index(fields=["check_name", "dialogue"], condition=Q(passed=False), name="qc_failed"),
        ]

    def __str__(self) -> str:
        return f"{self.check_name}:{'passed' if self.passed else 'failed'}"
