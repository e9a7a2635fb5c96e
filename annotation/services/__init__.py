"""What can be done with rounds, leases, judgements and splits. Keyword-only, atomic, and never enqueues."""

from annotation.services.assignments import (
    assignment_extend,
    assignment_next,
    assignment_release,
    assignments_expire,
    draft_save,
)
from annotation.services.audits import audit_make, audit_request, audits_due, prints_ensure
from annotation.services.exports import export_request, export_write, exports_due, split_export
from annotation.services.imports import ratings_import
from annotation.services.items import item_adjudicate, item_close
from annotation.services.judgements import grade_submit, judgement_retract
from annotation.services.releases import gate_waive, split_publish, split_release, split_withdraw
from annotation.services.rounds import round_create, round_set_state, round_top_up
from annotation.services.splits import split_freeze

__all__ = [
    "assignment_extend",
    "assignment_next",
    "assignment_release",
    "assignments_expire",
    "audit_make",
    "audit_request",
    "audits_due",
    "draft_save",
    "export_request",
    "export_write",
    "exports_due",
    "gate_waive",
    "grade_submit",
    "item_adjudicate",
    "item_close",
    "judgement_retract",
    "prints_ensure",
    "ratings_import",
    "round_create",
    "round_set_state",
    "round_top_up",
    "split_export",
    "split_freeze",
    "split_publish",
    "split_release",
    "split_withdraw",
]
