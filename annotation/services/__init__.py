"""What can be done with rounds, leases, judgements and splits. Keyword-only, atomic, and never enqueues."""

from annotation.services.assignments import (
    assignment_extend,
    assignment_next,
    assignment_release,
    assignments_expire,
    draft_save,
)
from annotation.services.audits import (
    audit_make,
    audit_request,
    audit_stop,
    audits_due,
    clips_measure,
    prints_ensure,
)
from annotation.services.chores import chores_due
from annotation.services.claims import counts_wrong, items_drifted, items_recount
from annotation.services.export_jobs import (
    export_request,
    export_retry,
    export_write,
    exports_due,
)
from annotation.services.exports import split_export
from annotation.services.freezes import freeze_request, freeze_run, freeze_stop, freezes_due
from annotation.services.guidelines import example_add, example_remove
from annotation.services.hub_push import export_push
from annotation.services.imports import import_withdraw, machine_raters_set, ratings_import, ratings_preview
from annotation.services.items import (
    item_adjudicate,
    item_ask_more,
    item_close,
    item_decision_reopen,
    item_reopen,
    item_set_aside,
)
from annotation.services.judgements import grade_submit, judgement_retract, judgement_revise
from annotation.services.presence import assignment_leave, clips_ahead
from annotation.services.problems import audio_problem_report
from annotation.services.releases import (
    gate_waive,
    split_publish,
    split_release,
    split_withdraw,
)
from annotation.services.rounds import (
    round_chore_run,
    round_create,
    round_set_state,
    round_top_up,
    round_top_up_ask,
    round_update,
)
from annotation.services.splits import split_freeze

__all__ = [
    "assignment_extend",
    "assignment_leave",
    "assignment_next",
    "assignment_release",
    "assignments_expire",
    "audio_problem_report",
    "audit_make",
    "audit_request",
    "audit_stop",
    "audits_due",
    "chores_due",
    "clips_ahead",
    "clips_measure",
    "counts_wrong",
    "draft_save",
    "example_add",
    "example_remove",
    "export_push",
    "export_request",
    "export_retry",
    "export_write",
    "exports_due",
    "freeze_request",
    "freeze_run",
    "freeze_stop",
    "freezes_due",
    "gate_waive",
    "grade_submit",
    "import_withdraw",
    "item_adjudicate",
    "item_ask_more",
    "item_close",
    "item_decision_reopen",
    "item_reopen",
    "item_set_aside",
    "items_drifted",
    "items_recount",
    "judgement_retract",
    "judgement_revise",
    "machine_raters_set",
    "prints_ensure",
    "ratings_import",
    "ratings_preview",
    "round_chore_run",
    "round_create",
    "round_set_state",
    "round_top_up",
    "round_top_up_ask",
    "round_update",
    "split_export",
    "split_freeze",
    "split_publish",
    "split_release",
    "split_withdraw",
]
