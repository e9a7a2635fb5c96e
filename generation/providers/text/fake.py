"""A text model that needs no model: valid scripts made by the benchmark itself."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from eqstudio.benchmarks import benchmark_get
from generation.providers.base import CheckResult, TextProvider, TextResult, Usage
from generation.providers.scripted import Scripted

if TYPE_CHECKING:
    from pydantic import BaseModel

    from eqstudio.benchmarks.base import BriefSpec, Prompt


class FakeText(Scripted, TextProvider):
    is_fake: ClassVar[bool] = True

    @property
    def model(self) -> str:
        return "fake-text-1"

    def write(
        self, *, prompt: Prompt, schema: type[BaseModel], seed: int, brief: BriefSpec, ordinal: int, benchmark: str
    ) -> TextResult:
        """The benchmark's own example, of the stage or of the whole script, varied by seed and ordinal. Told to answer
        rubbish, it breaks the schema.
        """
        rubbish = self._behave(f"{benchmark}/{brief.category.key}/{brief.language}/{ordinal}")
        rng = Random(f"{seed}:{ordinal}")  # noqa: S311 -- reproducible text, not a secret
        sample = prompt.sample or (lambda: benchmark_get(benchmark).script_example(brief, rng))
        script: dict[str, Any] = {"rubbish": True} if rubbish else sample()
        usage = Usage(tokens_in=len(prompt.system + prompt.user) // 4, tokens_out=len(str(script)) // 4, latency_ms=1)
        return TextResult(script=script, model=self.model, usage=usage)

    def check(self) -> CheckResult:
        return CheckResult(ok=True, message="A fake: it writes example scripts.")
