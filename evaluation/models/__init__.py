"""The exam: studies, who sits them, what was shown, answered and scored."""

from evaluation.models.answers import Response, ScoreRecord, TrialRecord
from evaluation.models.arena import Arena, Contender, Panel, PanelSystem, Question, RatingSheet, RationaleRating
from evaluation.models.imports import AnswerImport, AnswerImportWithdrawal, AnswerIntake, ImportedAnswer
from evaluation.models.judging import JudgeWork, ReplyGrade, ReplyJudge, ReplyJudgement
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
from evaluation.models.runs import RunCall, RunItem, RunPlan, RunWorker, TrialRetake
from evaluation.models.studies import FrozenNorm, ProtocolVersion, Study, StudyItem
from evaluation.models.tags import ErrorTag

__all__ = [
    "AnswerImport",
    "AnswerImportWithdrawal",
    "AnswerIntake",
    "Arena",
    "CompletionCode",
    "Consent",
    "Contender",
    "ErrorTag",
    "FrozenNorm",
    "ImportedAnswer",
    "Invitation",
    "JudgeWork",
    "Panel",
    "PanelSystem",
    "Part",
    "Participant",
    "PersonalDetails",
    "PlanEntry",
    "ProtocolVersion",
    "Question",
    "RatingSheet",
    "RationaleRating",
    "ReplyGrade",
    "ReplyJudge",
    "ReplyJudgement",
    "Respondent",
    "Response",
    "RunCall",
    "RunItem",
    "RunPlan",
    "RunSpec",
    "RunWorker",
    "ScoreRecord",
    "Sitting",
    "SpecialItem",
    "Study",
    "StudyItem",
    "TrialRecord",
    "TrialRetake",
]
