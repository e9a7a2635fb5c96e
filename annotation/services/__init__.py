"""What can be done with rounds, leases, judgements and splits. Keyword-only, atomic, and never enqueues."""

from annotation.services.assignments import (
    assignment_extend,
    assignment_next,
    assignment_release,
    assignments_expire,
    draft_save,
)
from annotation.services.exports import export_request, export_write, exports_due, split_export
from annotation.services.imports import ratings_import
from annotation.services.items import item_adjudicate, item_close
from annotation.services.judgements import grade_submit, judgement_retract, judgement_revise
from annotation.services.presence import assignment_leave, clips_ahead
from annotation.services.problems import audio_problem_report
from annotation.services.rounds import round_create, round_set_state, round_top_up
from annotation.services.splits import split_freeze

__all__ = [
    "assignment_extend",
    "assignment_leave",
    "assignment_next",
    "assignment_release",
    "assignments_expire",
    "audio_problem_report",
    "clips_ahead",
    "draft_save",
    "export_request",
    "export_write",
    "exports_due",
    "grade_submit",
    "item_adjudicate",
    "item_close",
    "judgement_retract",
    "judgement_revise",
    "ratings_import",
    "round_create",
    "round_set_state",
    "round_top_up",
    "split_export",
    "split_freeze",
]
