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
from evaluation.selectors.facts import ItemFacts, item_facts
from evaluation.selectors.items import answers_to, tags_counted, tags_on
from evaluation.selectors.lists import (
    answers_listed,
    failures_by_cause,
    runs_listed,
    studies_listed,
    with_sittings,
)
from evaluation.selectors.marks import IMPORTED, items_unfinished, marks_of
from evaluation.selectors.named import study_named
from evaluation.selectors.progress import (
    Progress,
    dialogue_order,
    outcome_counts,
    sitting_progress,
    sittings_progress,
)
from evaluation.selectors.runs import (
    Pulse,
    failed_calls_by_cause,
    queue_of,
    run_pulse,
    sittings_due,
    workers_of,
)

__all__ = [
    "IMPORTED",
    "ItemFacts",
    "Progress",
    "Pulse",
    "answers_listed",
    "answers_to",
    "dialogue_order",
    "efforts_of",
    "failed_calls_by_cause",
    "failures_by_cause",
    "item_facts",
    "items_unfinished",
    "marks_of",
    "outcome_counts",
    "queue_of",
    "run_for",
    "run_pulse",
    "runs_listed",
    "sitting_for",
    "sitting_progress",
    "sittings_due",
    "sittings_progress",
    "studies_listed",
    "studies_open_for",
    "study_for",
    "study_named",
    "study_to_curate_for",
    "tags_counted",
    "tags_on",
    "trial_for",
    "with_sittings",
    "workers_of",
]
