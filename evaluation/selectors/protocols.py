"""The protocol a study goes by, and whether it may still change."""

from __future__ import annotations

from evaluation.domain.protocol import Execution, Protocol
from evaluation.models import ProtocolVersion, Response, Study, StudyItem


def protocol_of(study: Study) -> Protocol:
    """The latest version's content; where none was saved, the default with what the study itself says. One query."""
    latest = protocol_latest(study)
    if latest is None:
        return Protocol(execution=Execution(gate_share=study.gate_share))
    return Protocol.model_validate(latest.content)


def protocol_latest(study: Study) -> ProtocolVersion | None:
    return study.protocols.order_by("number").last()


def sample_stands(study: Study) -> bool:
    """Whether the items of the study have been drawn: a draw is made once."""
    return StudyItem.objects.filter(study=study).exists()


def answers_counted(study: Study) -> bool:
    """Whether somebody has answered outside a pilot: from then on what is asked stands as it is."""
    return Response.objects.filter(trial__sitting__respondent__study=study, trial__sitting__pilot=False).exists()
