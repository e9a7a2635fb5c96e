"""A model that is told to be somebody who lacks the skill: how far its alignment lets it."""

from __future__ import annotations

import hashlib
import json
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from eqstudio.benchmarks import benchmarks
from evaluation.backends.modalities import Mcq

if TYPE_CHECKING:
    from eqstudio.benchmarks.base import Trial

OTHER = "other"


class Persona(Mcq):
    """The exam with its sound, taken in a role: the deficient one of the item's own part of the taxonomy."""

    alias: ClassVar = "persona"
    control: ClassVar = True

    def parameters(self) -> dict[str, Any]:
        return {"persona": hashlib.sha256(json.dumps(_texts(), sort_keys=True).encode()).hexdigest()[:16]}

    def instructions(self, text: str, trial: Trial) -> str:
        roles = _texts()["roles"]
        role = roles.get(_groups().get(trial.category, OTHER), roles[OTHER])[trial.language]
        return f"{_texts()['frame'][trial.language].format(role=role)}\n\n{text}"


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("persona.toml").read_text(encoding="utf-8"))


@cache
def _groups() -> dict[str, str]:
    """The part of its taxonomy that each category belongs to."""
    return {
        category.key: category.group for _alias, benchmark in benchmarks.items() for category in benchmark.categories
    }
