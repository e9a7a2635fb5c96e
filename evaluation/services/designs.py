"""Which variant of the questions a sitting is asked: the study's, as the evaluator of a model's run asks it."""

from __future__ import annotations

from eqstudio.benchmarks.base import Design
from evaluation.backends import evaluators
from evaluation.domain.protocol import DesignBlock
from evaluation.models import Sitting
from evaluation.selectors import protocol_of


def design_from(block: DesignBlock) -> Design:
    return Design(history=block.history, order=block.order, tasks=block.tasks)


def design_of(sitting: Sitting) -> Design:
    """One query for the protocol; the evaluator's name stands in the run's specification."""
    respondent = sitting.respondent
    design = design_from(protocol_of(respondent.study).design)
    if respondent.run_spec is None:
        return design
    return evaluators.get(respondent.run_spec.content["evaluator"])().design(design)
