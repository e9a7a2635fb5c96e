"""What can be done with rounds, leases, judgements and splits. Keyword-only, atomic, and never enqueues."""

from annotation.services.assignments import (
    assignment_extend,
    assignment_next,
    assignment_release,
    assignments_expire,
    draft_save,
)
from annotation.services.export_jobs import export_request, export_retry, export_write, exports_due
from annotation.services.exports import split_export
from annotation.services.hub_push import export_push
from annotation.services.imports import ratings_import
from annotation.services.items import item_adjudicate, item_close
from annotation.services.judgements import grade_submit, judgement_retract
from annotation.services.rounds import round_create, round_set_state, round_top_up
from annotation.services.splits import split_freeze

__all__ = [
    "assignment_extend",
    "assignment_next",
    "assignment_release",
    "assignments_expire",
    "draft_save",
    "export_push",
    "export_request",
    "export_retry",
    "export_write",
    "exports_due",
    "grade_submit",
    "item_adjudicate",
    "item_close",
    "judgement_retract",
    "ratings_import",
    "round_create",
    "round_set_state",
    "round_top_up",
    "split_export",
    "split_freeze",
]
