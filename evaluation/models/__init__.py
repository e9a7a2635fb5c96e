"""The exam: studies, who sits them, what was shown, answered and scored."""

from evaluation.models.answers import Response, ScoreRecord, TrialRecord
from evaluation.models.respondents import Respondent, RunSpec, Sitting
from evaluation.models.runs import RunCall, RunItem, RunPlan, RunWorker, TrialRetake
from evaluation.models.studies import FrozenNorm, ProtocolVersion, Study, StudyItem
from evaluation.models.tags import ErrorTag

__all__ = [
    "ErrorTag",
    "FrozenNorm",
    "ProtocolVersion",
    "Respondent",
    "Response",
    "RunCall",
    "RunItem",
    "RunPlan",
    "RunSpec",
    "RunWorker",
    "ScoreRecord",
    "Sitting",
    "Study",
    "StudyItem",
    "TrialRecord",
    "TrialRetake",
]
