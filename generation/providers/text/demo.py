"""The studio's own demo scripts, written beforehand: no model, no key, no network."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from pydantic import ValidationError

from eqstudio.demo_scripts import demo_script, demo_scripts
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

    def lacks(self, *, benchmark: str, category: str, language: str, count: int) -> str:
        """``count`` is how many scripts there must be, from the first one on."""
        have = Counter(
            demo.category for demo in demo_scripts() if (demo.benchmark, demo.language) == (benchmark, language)
        )
        if have[category] >= count:
            return ""
        return _(
            "There are demo scripts for some categories only: %(found)d of %(category)s in this language, and %(count)d are "
            "asked for. There are: %(known)s. Name one of these, or choose another text provider."
        ) % {
            "found": have[category],
            "category": category,
            "count": count,
            "known": ", ".join(f"{name} ({number})" for name, number in sorted(have.items())) or "-",
        }

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
