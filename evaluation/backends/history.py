"""Evaluators that ask another variant of a study's questions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from evaluation.backends.modalities import Mcq

if TYPE_CHECKING:
    from eqstudio.benchmarks.base import Design


class TeacherForced(Mcq):
    """The right rendition of an earlier turn is heard before the next question, whatever was chosen."""

    alias: ClassVar = "multiturn-gold"

    def design(self, design: Design) -> Design:
        return replace(design, history="gold")


class Direct(Mcq):
    """Every question by itself, without the conversation before it."""

    alias: ClassVar = "multiturn-direct"

    def design(self, design: Design) -> Design:
        return replace(design, history="none")


class Tone(Mcq):
    """Voices and descriptions are matched, nothing else is asked."""

    alias: ClassVar = "tone"

    def design(self, design: Design) -> Design:
        return replace(design, tasks=("tone",))
