"""Any OpenAI-compatible chat endpoint as a script writer; a vendor is an alias, an address and a dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings

from eqstudio.errors import InvalidInput
from eqstudio.net import Endpoint
from generation.providers.base import CheckResult, TextProvider, TextResult
from generation.providers.calls import unset
from generation.providers.text.chat import Dialect, chat_check, chat_write

if TYPE_CHECKING:
    from pydantic import BaseModel

    from eqstudio.benchmarks.base import BriefSpec, Prompt

MAX_TOKENS = 6000
_NEW = Dialect(tokens_option="max_completion_tokens")


class ChatText(TextProvider):
    """What all of them share. Subclasses name their entry in ``settings.VENDORS``."""

    vendor: ClassVar[str]
    writes_in_stages: ClassVar[bool] = True
    dialect: ClassVar[Dialect] = Dialect()

    @property
    def model(self) -> str:
        return settings.VENDORS[self.vendor]["model"]

    @property
    def endpoint(self) -> Endpoint:
        told = settings.VENDORS[self.vendor]
        return Endpoint(base_url=told["base_url"], key_env=told["key_env"])

    def parameters(self) -> dict[str, Any]:
        return {"base_url": self.endpoint.base_url, self.dialect.tokens_option: MAX_TOKENS}

    def write(
        self, *, prompt: Prompt, schema: type[BaseModel], seed: int, brief: BriefSpec, ordinal: int, benchmark: str
    ) -> TextResult:
        if not self.model or not self.endpoint.base_url:
            raise InvalidInput(unset(f"Writing with {self.vendor}"), field=self.vendor)
        return chat_write(
            endpoint=self.endpoint,
            model=self.model,
            prompt=prompt,
            schema=schema,
            options=self.dialect.options(max_tokens=MAX_TOKENS, seed=(seed + ordinal) % 2**31),
            dialect=self.dialect,
        )

    def check(self) -> CheckResult:
        what = f"Checking {self.vendor}"
        return chat_check(self.endpoint, self.model, what=what, dialect=self.dialect)


class OpenAIText(ChatText):
    vendor: ClassVar[str] = "openai"
    dialect: ClassVar[Dialect] = _NEW

    @property
    def model(self) -> str:
        return str(settings.TEXT_MODEL)

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(base_url=settings.TEXT_BASE_URL, key_env=settings.TEXT_KEY_ENV)


class AzureText(ChatText):
    vendor, dialect = "azure", _NEW


class QwenText(ChatText):
    vendor = "qwen"


class DeepSeekText(ChatText):
    vendor, dialect = "deepseek", Dialect(schemas=False, seed=False)


class VllmText(ChatText):
    vendor = "vllm"


class LlamaCppText(ChatText):
    """What runs there is small as a rule: it is given the whole script as one task."""

    vendor = "llamacpp"
    writes_in_stages: ClassVar[bool] = False


class PortkeyText(ChatText):
    """Portkey's gateway: whom it asks stands in headers, as a provider's name or as a saved configuration."""

    vendor = "portkey"

    @property
    def endpoint(self) -> Endpoint:
        told, details = settings.VENDORS[self.vendor], settings.VENDOR_DETAILS
        named = {"x-portkey-provider": details["portkey_provider"], "x-portkey-config": details["portkey_config"]}
        return Endpoint(
            base_url=told["base_url"],
            key_env=details["portkey_upstream_key_env"],
            headers=tuple((name, value) for name, value in named.items() if value),
            header_envs=(("x-portkey-api-key", told["key_env"]),),
        )
