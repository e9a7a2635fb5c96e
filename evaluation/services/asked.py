"""What a respondent is asked by a study: the protocol's design, as the evaluator of a model changes it."""

from __future__ import annotations

from dataclasses import replace

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Design
from eqstudio.errors import InvalidInput
from evaluation.backends import Evaluator, evaluators
from evaluation.domain.protocol import Protocol
from evaluation.models import Respondent, Study
from evaluation.selectors import protocol_of
from evaluation.selectors.elsewhere import foils_of
from generation.models import Dialogue


def evaluator_of(respondent: Respondent) -> Evaluator | None:
    """How a model is asked; None for people and for answers from files."""
    if respondent.run_spec is None:
        return None
    return evaluators.get(respondent.run_spec.content["evaluator"])()


def is_control(respondent: Respondent) -> bool:
    """Whether a model was asked something else than the exam people sit: by a control, or in another design than the study's."""
    evaluator = evaluator_of(respondent)
    if evaluator is None:
        return False
    return evaluator.control or design_of(respondent.study, evaluator) != design_of(respondent.study)


def design_told(protocol: Protocol) -> Design:
    """The design as a benchmark takes it."""
    block = protocol.design
    return Design(history=block.history, order=block.order, tasks=block.tasks)


def design_of(study: Study, evaluator: Evaluator | None = None) -> Design:
    """Which variant of the questions is asked. The protocol is read once for each object of a study."""
    kept = study.__dict__.get("_design")
    if kept is None:
        kept = study.__dict__["_design"] = design_told(protocol_of(study))
    design: Design = kept if evaluator is None else evaluator.design(kept)
    return design


def design_for(study: Study, evaluator: Evaluator | None, dialogue: Dialogue) -> Design:
    """As ``design_of``, with what other items lend to the questions about this one."""
    design = design_of(study, evaluator)
    return replace(design, foils=foils_of(study=study, dialogue=dialogue)) if "tone" in design.tasks else design


def instructions_for(study: Study, evaluator: Evaluator) -> dict[str, str]:
    """The study's own text; where the evaluator asks something else, the benchmark's text for that."""
    design = design_of(study, evaluator)
    benchmark = benchmark_get(study.benchmark)
    try:
        benchmark.tasks_of(design)
    except ValueError as error:
        raise InvalidInput(str(error), field="evaluator") from error
    if design == design_of(study):
        return dict(study.instructions)
    return {language: benchmark.instructions(language, design) for language in benchmark.languages}
