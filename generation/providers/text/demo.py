"""The studio's own demo scripts, written beforehand: no model, no key, no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from eqstudio.demo_scripts import demo_script
from eqstudio.errors import GiveUp, ProviderError
from generation.providers.base import CheckResult, TextProvider, TextResult, Usage
from generation.providers.text.chat import faults

if TYPE_CHECKING:
    from pydantic import BaseModel

    from eqstudio.benchmarks.base import BriefSpec, Prompt


class DemoText(TextProvider):
    @property
    def model(self) -> str:
        return "demo-scripts-1"

    def write(
        self, *, prompt: Prompt, schema: type[BaseModel], seed: int, brief: BriefSpec, ordinal: int, benchmark: str
    ) -> TextResult:
        """The demo script number ``ordinal`` for the brief's category and language; there are only a few."""
        script = demo_script(benchmark, brief.category.key, brief.language, ordinal)
        if script is None:
            raise ProviderError(
                f"There is no demo script number {ordinal + 1} for {benchmark}/{brief.category.key} in {brief.language}. "
                "Choose another category, or another text provider.",
                cause="no demo script",
                decision=GiveUp(),
            )
        try:
            valid = schema.model_validate(script)
        except ValidationError as error:
            raise ProviderError(
                f"The demo script for {benchmark}/{brief.category.key} does not fit: {faults(error)}.",
                cause="wrong schema",
                decision=GiveUp(),
            ) from error
        return TextResult(script=valid.model_dump(mode="json"), model=self.model, usage=Usage(latency_ms=0))

    def check(self) -> CheckResult:
        return CheckResult(ok=True, message="The demo scripts are part of the studio.")
