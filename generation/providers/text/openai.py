"""Any OpenAI-compatible chat endpoint as a script writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings

from eqstudio.net import Endpoint
from generation.providers.base import CheckResult, TextProvider, TextResult
from generation.providers.calls import endpoint_check
from generation.providers.text.chat import chat_write

if TYPE_CHECKING:
    from pydantic import BaseModel

    from eqstudio.benchmarks.base import BriefSpec, Prompt

MAX_TOKENS = 6000


class OpenAIText(TextProvider):
    @property
    def model(self) -> str:
        return str(settings.TEXT_MODEL)

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(base_url=settings.TEXT_BASE_URL, key_env=settings.TEXT_KEY_ENV)

    def parameters(self) -> dict[str, Any]:
        return {"base_url": settings.TEXT_BASE_URL, "max_completion_tokens": MAX_TOKENS}

    def write(
        self, *, prompt: Prompt, schema: type[BaseModel], seed: int, brief: BriefSpec, ordinal: int, benchmark: str
    ) -> TextResult:
        return chat_write(
            endpoint=self.endpoint,
            model=self.model,
            prompt=prompt,
            schema=schema,
            options={"max_completion_tokens": MAX_TOKENS, "seed": (seed + ordinal) % 2**31},
        )

    def check(self) -> CheckResult:
        return endpoint_check(self.endpoint, self.model, what="Checking the text endpoint")
