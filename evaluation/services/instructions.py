"""The instructions of an exam: one text by language, for the page that people read and the prompt that models are given."""

from __future__ import annotations

import hashlib
import json

from eqstudio.benchmarks import benchmark_get
from evaluation.domain.protocol import Protocol
from evaluation.models import Study
from evaluation.services.asked import design_told


def instructions_hash(instructions: dict[str, str]) -> str:
    """SHA-256 over the JSON with sorted keys, in hexadecimal."""
    return hashlib.sha256(json.dumps(instructions, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def instructions_of(study: Study, protocol: Protocol) -> dict[str, str]:
    """The benchmark's own text in every language, in whose place the protocol's stands where it has one."""
    benchmark = benchmark_get(study.benchmark)
    own = {language: benchmark.instructions(language, design_told(protocol)) for language in benchmark.languages}
    written = {language: text for language, text in protocol.execution.instructions.items() if text.strip()}
    return {**own, **written}
