"""What can be done with the exam. Every service is keyword-only and never enqueues."""

from evaluation.services.checklist import checklist_build
from evaluation.services.comparisons import comparison_build, item_difficulty, items_apart
from evaluation.services.imports import answers_withdraw, responses_import, responses_preview
from evaluation.services.norming import norm_freeze
from evaluation.services.planning import likeness_observed
from evaluation.services.protocols import protocol_lock, protocol_save
from evaluation.services.registration import registration_build
from evaluation.services.release import release_build
from evaluation.services.responses import response_record
from evaluation.services.runs import respondent_drive, sitting_advance, study_run
from evaluation.services.runs_budget import Limits, limits_set, plan_of
from evaluation.services.runs_retries import failures_retry
from evaluation.services.scoring import responses_rescore
from evaluation.services.sittings import sitting_cancel, sitting_open, sitting_resume, trial_next
from evaluation.services.studies import study_close, study_create
from evaluation.services.tags import error_tag_set

__all__ = [
    "Limits",
    "answers_withdraw",
    "checklist_build",
    "comparison_build",
    "error_tag_set",
    "failures_retry",
    "item_difficulty",
    "items_apart",
    "likeness_observed",
    "limits_set",
    "norm_freeze",
    "plan_of",
    "protocol_lock",
    "protocol_save",
    "registration_build",
    "release_build",
    "respondent_drive",
    "response_record",
    "responses_import",
    "responses_preview",
    "responses_rescore",
    "sitting_advance",
    "sitting_cancel",
    "sitting_open",
    "sitting_resume",
    "study_close",
    "study_create",
    "study_run",
    "trial_next",
]
