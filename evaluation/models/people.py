"""People of a study: how they were asked in, what they agreed to, what became of them, and what they are asked in which order."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from eqstudio.ids import uid
from eqstudio.models import AppendOnly
from evaluation.models.parts import Part
from evaluation.models.respondents import Respondent, Sitting
from evaluation.models.studies import Study
from generation.models import Dialogue


class Invitation(models.Model):
    """A link into a study. Its address is signed; it works until it expires, is revoked or was used ``max_uses`` times."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    label = models.CharField(max_length=80, blank=True)
    max_uses = models.PositiveIntegerField(default=1)
    uses = models.PositiveIntegerField(default=0)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    parameters = models.JSONField(
        default=dict, blank=True, help_text="names of what a crowd platform adds to the address: person, study, session"
    )
    codes = models.JSONField(
        default=dict, blank=True, help_text="completion code by outcome, where all people share it"
    )
    return_url = models.CharField(max_length=400, blank=True, help_text="{code} stands for the completion code")
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(uses__lte=F("max_uses")), name="invitation_uses_within_maximum")
        ]

    def __str__(self) -> str:
        return self.label or self.uid


class Participant(models.Model):
    """One person in one study: how far they came and what became of them. ``code`` is all they need to come back.

    ``identity`` is a keyed hash of what a crowd platform calls the person: one person is never twice in a study, and the
    name itself stands in ``PersonalDetails`` only.
    """

    class Outcome(models.TextChoices):
        COMPLETE = "complete", _("complete")
        SCREENED_OUT = "screened_out", _("screened out")
        WITHDRAWN = "withdrawn", _("withdrawn")
        FAILED_ATTENTION = "failed_attention", _("failed attention")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="participants")
    respondent = models.OneToOneField(Respondent, on_delete=models.CASCADE, related_name="participant")
    invitation = models.ForeignKey(
        Invitation, null=True, blank=True, on_delete=models.PROTECT, related_name="participants"
    )
    code = models.CharField(max_length=16, unique=True)
    identity = models.CharField(max_length=64, blank=True)
    language = models.CharField(max_length=12, blank=True)
    eligible = models.BooleanField(null=True)
    no_ai_at = models.DateTimeField(null=True, blank=True)
    headphones_at = models.DateTimeField(null=True, blank=True, help_text="when the check was passed or given up")
    instructions_at = models.DateTimeField(null=True, blank=True)
    details_at = models.DateTimeField(null=True, blank=True, help_text="when the questions about the person were left")
    outcome = models.CharField(max_length=16, choices=Outcome.choices, blank=True)
    reason = models.CharField(max_length=40, blank=True, help_text="code of why it came to this outcome")
    outcome_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True, help_text="from then on no figure counts the answers")
    joined = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["study", "identity"], condition=~Q(identity=""), name="participant_identity_once"
            )
        ]

    def __str__(self) -> str:
        return self.code


class Consent(AppendOnly):
    """What a person said to the consent text of a study, in which version and language. The latest row counts."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="consents")
    version = models.CharField(max_length=40, blank=True)
    text_hash = models.CharField(max_length=64)
    language = models.CharField(max_length=12)
    agreed = models.BooleanField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return f"{self.participant_id}: {self.agreed}"


class CompletionCode(AppendOnly):
    """The code a person was shown for what became of their sitting: issued by the server, once for each outcome."""

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="completion_codes")
    outcome = models.CharField(max_length=16, choices=Participant.Outcome.choices)
    code = models.CharField(max_length=40)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["participant", "outcome"], name="completion_code_once")
        ]

    def __str__(self) -> str:
        return self.code


class PersonalDetails(models.Model):
    """The guarded table: what a crowd platform calls a person, and what they told of themselves.

    Nothing but the payment list of an admin and aggregates of five people or more is read from it; a withdrawal deletes it.
    """

    participant = models.OneToOneField(Participant, on_delete=models.CASCADE, related_name="details")
    crowd = models.JSONField(default=dict, blank=True)
    answers = models.JSONField(default=dict, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "personal details"

    def __str__(self) -> str:
        return str(self.participant_id)


class SpecialItem(models.Model):
    """A dialogue outside the study's own items: to practise on, or with an answer that nobody who listens can miss."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="specials")
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+")
    purpose = models.CharField(
        max_length=10, choices=[(Part.PRACTICE, Part.PRACTICE), (Part.ATTENTION, Part.ATTENTION)]
    )
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["study", "dialogue"], name="special_item_once")]

    def __str__(self) -> str:
        return f"{self.purpose}: {self.dialogue_id}"


class PlanEntry(AppendOnly):
    """What one person is asked, in which order: made before the first question and never changed."""

    sitting = models.ForeignKey(Sitting, on_delete=models.CASCADE, related_name="plan")
    position = models.PositiveIntegerField()
    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="+")
    part = models.CharField(max_length=10, choices=Part.choices, blank=True)

    class Meta:
        ordering: ClassVar = ["position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["sitting", "position"], name="plan_position_once"),
            models.UniqueConstraint(fields=["sitting", "dialogue", "part"], name="plan_item_once"),
        ]

    def __str__(self) -> str:
        return f"{self.position}: {self.dialogue_id} {self.part}"
