"""The way of a person through a sitting: what comes before the first question, and after the last."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from evaluation.domain.protocol import Protocol


class Stage(StrEnum):
    """Where a person stands. Each stage is one page."""

    ELIGIBILITY = "eligibility"
    CONSENT = "consent"
    NO_AI = "no_ai"
    HEADPHONES = "headphones"
    INSTRUCTIONS = "instructions"
    EXAM = "exam"
    DETAILS = "details"
    OVER = "over"


@dataclass(frozen=True)
class Walked:
    """What a person has left behind."""

    eligible: bool | None = None
    consented: bool = False
    no_ai: bool = False
    headphones: bool = False
    instructed: bool = False
    examined: bool = False
    detailed: bool = False
    over: bool = False


def stages_of(protocol: Protocol) -> tuple[Stage, ...]:
    """The stages a protocol asks for, in order. Without a consent text no consent is asked."""
    recruitment, execution = protocol.recruitment, protocol.execution
    asked = {
        Stage.ELIGIBILITY: bool(recruitment.eligibility.strip() or recruitment.languages),
        Stage.CONSENT: any(text.strip() for text in recruitment.consent.text.values()),
        Stage.NO_AI: execution.no_ai_statement,
        Stage.HEADPHONES: execution.headphones != "off",
        Stage.DETAILS: bool(recruitment.demographics),
    }
    return tuple(stage for stage in Stage if asked.get(stage, True))


def stage_next(protocol: Protocol, walked: Walked) -> Stage:
    """The first stage that is still to be done; no question before everything that comes before it."""
    if walked.over:
        return Stage.OVER
    done = {
        Stage.ELIGIBILITY: walked.eligible is True,
        Stage.CONSENT: walked.consented,
        Stage.NO_AI: walked.no_ai,
        Stage.HEADPHONES: walked.headphones,
        Stage.INSTRUCTIONS: walked.instructed,
        Stage.EXAM: walked.examined,
        Stage.DETAILS: walked.detailed,
    }
    return next((stage for stage in stages_of(protocol) if not done.get(stage, False)), Stage.OVER)
