"""The exam: studies, who sits them, what was shown, answered and scored."""

from evaluation.models.answers import Response, ScoreRecord, TrialRecord
from evaluation.models.arena import Arena, Contender, Panel, PanelSystem, Question, RatingSheet, RationaleRating
from evaluation.models.imports import AnswerImport, AnswerImportWithdrawal, ImportedAnswer
from evaluation.models.judging import ReplyGrade, ReplyJudge, ReplyJudgement
from evaluation.models.respondents import Respondent, RunSpec, Sitting
from evaluation.models.studies import FrozenNorm, ProtocolVersion, Study, StudyItem
from evaluation.models.tags import ErrorTag

__all__ = [
    "AnswerImport",
    "AnswerImportWithdrawal",
    "Arena",
    "Contender",
    "ErrorTag",
    "FrozenNorm",
    "ImportedAnswer",
    "Panel",
    "PanelSystem",
    "ProtocolVersion",
    "Question",
    "RatingSheet",
    "RationaleRating",
    "ReplyGrade",
    "ReplyJudge",
    "ReplyJudgement",
    "Respondent",
    "Response",
    "RunSpec",
    "ScoreRecord",
    "Sitting",
    "Study",
    "StudyItem",
    "TrialRecord",
]
