"""The exam: studies, who sits them, what was shown, answered and scored."""

from evaluation.models.answers import Response, ScoreRecord, TrialRecord
from evaluation.models.parts import Part
from evaluation.models.people import (
    CompletionCode,
    Consent,
    Invitation,
    Participant,
    PersonalDetails,
    PlanEntry,
    SpecialItem,
)
from evaluation.models.respondents import Respondent, RunSpec, Sitting
from evaluation.models.studies import FrozenNorm, ProtocolVersion, Study, StudyItem
from evaluation.models.tags import ErrorTag

__all__ = [
    "CompletionCode",
    "Consent",
    "ErrorTag",
    "FrozenNorm",
    "Invitation",
    "Part",
    "Participant",
    "PersonalDetails",
    "PlanEntry",
    "ProtocolVersion",
    "Respondent",
    "Response",
    "RunSpec",
    "ScoreRecord",
    "Sitting",
    "SpecialItem",
    "Study",
    "StudyItem",
    "TrialRecord",
]
