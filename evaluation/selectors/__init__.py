"""Reads that are used twice or cross relations."""

from evaluation.selectors.access import (
    run_for,
    sitting_for,
    studies_open_for,
    study_for,
    study_to_curate_for,
    trial_for,
)
from evaluation.selectors.effort import efforts_of
from evaluation.selectors.exclusions import excluded_of, findings_of, left_out, sittings_told, unblinded
from evaluation.selectors.facts import ItemFacts, item_facts
from evaluation.selectors.items import answers_to, tags_counted, tags_on
from evaluation.selectors.lists import (
    answers_listed,
    failures_by_cause,
    imports_listed,
    runs_listed,
    studies_listed,
    with_sittings,
)
from evaluation.selectors.marks import IMPORTED, counted, counting, marks_of, withdrawn_answers
from evaluation.selectors.named import hears_everywhere, study_named
from evaluation.selectors.planned import planned_of
from evaluation.selectors.plans import order_of
from evaluation.selectors.progress import (
    Progress,
    dialogue_order,
    in_the_middle,
    outcome_counts,
    sitting_progress,
    sittings_progress,
)
from evaluation.selectors.protocols import answers_counted, protocol_latest, protocol_of
from evaluation.selectors.runs import (
    Pulse,
    failed_calls_by_cause,
    queue_of,
    run_pulse,
    sittings_due,
    workers_of,
)
from evaluation.selectors.sampled import (
    Sample,
    item_set_of,
    items_counted,
    items_of,
    sample_of,
    sample_stored,
    sample_told,
    studies_in_pilot,
    weights_of,
)

__all__ = [
    "IMPORTED",
    "ItemFacts",
    "Progress",
    "Pulse",
    "Sample",
    "answers_counted",
    "answers_listed",
    "answers_to",
    "counted",
    "counting",
    "dialogue_order",
    "efforts_of",
    "excluded_of",
    "failed_calls_by_cause",
    "failures_by_cause",
    "findings_of",
    "hears_everywhere",
    "imports_listed",
    "in_the_middle",
    "item_facts",
    "item_set_of",
    "items_counted",
    "items_of",
    "left_out",
    "marks_of",
    "order_of",
    "outcome_counts",
    "planned_of",
    "protocol_latest",
    "protocol_of",
    "queue_of",
    "run_for",
    "run_pulse",
    "runs_listed",
    "sample_of",
    "sample_stored",
    "sample_told",
    "sitting_for",
    "sitting_progress",
    "sittings_due",
    "sittings_progress",
    "sittings_told",
    "studies_in_pilot",
    "studies_listed",
    "studies_open_for",
    "study_for",
    "study_named",
    "study_to_curate_for",
    "tags_counted",
    "tags_on",
    "trial_for",
    "unblinded",
    "weights_of",
    "with_sittings",
    "withdrawn_answers",
    "workers_of",
]
