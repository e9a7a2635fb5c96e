"""What can be done with the exam. Every service is keyword-only and never enqueues."""

from evaluation.services.responses import response_record
from evaluation.services.scoring import responses_rescore
from evaluation.services.sittings import sitting_cancel, sitting_open, trial_next
from evaluation.services.studies import study_close, study_create

__all__ = [
    "response_record",
    "responses_rescore",
    "sitting_cancel",
    "sitting_open",
    "study_close",
    "study_create",
    "trial_next",
]
