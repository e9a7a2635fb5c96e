"""The one answer parser."""

from __future__ import annotations

from eqstudio.benchmarks.trials import Outcome, Parsed, Trial

PARSER_VERSION = "1"


def answer_parse(trial: Trial, raw: str) -> Parsed:
    """Read a letter, a grade or a text from ``raw``."""
    return Parsed(outcome=Outcome.UNPARSED)
