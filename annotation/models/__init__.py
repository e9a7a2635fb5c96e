"""Rounds, leases, judgements, decisions and frozen splits."""

from annotation.models.curation import (
    ClipPrint,
    Export,
    Freeze,
    Release,
    Split,
    SplitAudit,
    SplitItem,
    Waiver,
    Withdrawal,
)
from annotation.models.judgements import (
    Adjudication,
    AudioProblem,
    Grade,
    ImportedRating,
    ImportWithdrawal,
    Judgement,
    RatingsImport,
    Standing,
)
from annotation.models.quality import Flag, GoldAnswer, HeadphoneCheck
from annotation.models.raters import MachineRater
from annotation.models.rounds import Assignment, Chore, GuidelineExample, Kind, Participation, Round, RoundItem
from annotation.models.webhooks import Webhook, WebhookDelivery

__all__ = [
    "Adjudication",
    "Assignment",
    "AudioProblem",
    "Chore",
    "ClipPrint",
    "Export",
    "Flag",
    "Freeze",
    "GoldAnswer",
    "Grade",
    "GuidelineExample",
    "HeadphoneCheck",
    "ImportWithdrawal",
    "ImportedRating",
    "Judgement",
    "Kind",
    "MachineRater",
    "Participation",
    "RatingsImport",
    "Release",
    "Round",
    "RoundItem",
    "Split",
    "SplitAudit",
    "SplitItem",
    "Standing",
    "Waiver",
    "Webhook",
    "WebhookDelivery",
    "Withdrawal",
]
