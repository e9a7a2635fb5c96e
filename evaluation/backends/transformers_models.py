"""Audio models of the transformers library: Qwen2-Audio, Qwen2.5-Omni and Qwen3-Omni (their thinkers, which write text)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evaluation.backends.local import LocalBackend, Said, TooMuch, conversation
from evaluation.backends.sounds import MODEL_RATE, samples_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.backends.messages import Message

CLASSES = {
    "qwen2_audio": "Qwen2AudioForConditionalGeneration",
    "qwen2_5_omni": "Qwen2_5OmniThinkerForConditionalGeneration",
    "qwen2_5_omni_thinker": "Qwen2_5OmniThinkerForConditionalGeneration",
    "qwen3_omni_moe": "Qwen3OmniMoeThinkerForConditionalGeneration",
    "qwen3_omni_moe_thinker": "Qwen3OmniMoeThinkerForConditionalGeneration",
}
"""By ``model_type`` of the weights. Of an omni model only the thinker is loaded: it hears and writes; the talker speaks."""
MAX_CLIP_S = {"qwen2_audio": 30.0}
"""What is heard of a clip at most, where the model cuts it."""
PLACES = ("<|AUDIO|>", "<|IMAGE|>", "<|VIDEO|>", "<|audio_pad|>", "<|image_pad|>", "<|video_pad|>")
"""Tokens that stand for a sound or a picture; a model that writes one would be asked for a sound that is not there."""


@dataclass
class Loaded:
    """A model ready to be asked."""

    torch: Any
    processor: Any
    model: Any
    kind: str
    suppressed: list[int]


class TransformersBackend(LocalBackend):
    alias: ClassVar = "transformers"
    packages: ClassVar = ("torch", "transformers")

    def open(self) -> Loaded:
        import torch  # noqa: PLC0415 -- slow import
        import transformers  # noqa: PLC0415 -- slow import

        source = {"revision": self.config.revision} if self.config.revision else {}
        kind = transformers.AutoConfig.from_pretrained(self.config.model, **source).model_type
        if kind not in CLASSES:
            raise ValueError(f"its type is {kind!r}; known: {', '.join(CLASSES)}")
        processor = _processor(transformers, self.config.model, source)
        processor.tokenizer.padding_side = "left"
        model = getattr(transformers, CLASSES[kind]).from_pretrained(
            self.config.model, dtype=self.config.dtype or "auto", **source, **self.config.extra
        )
        if "device_map" not in self.config.extra:  # accelerate has placed its parts already
            model.to(self.config.device or ("cuda" if torch.cuda.is_available() else "cpu"))
        model.eval()
        known = processor.tokenizer.get_vocab()
        return Loaded(torch, processor, model, kind, [known[place] for place in PLACES if place in known])

    def generate(self, model: Loaded, messages: Sequence[Message]) -> list[Said]:
        sounds = [samples_of(part.audio.read()) for one in messages for part in one.parts if part.audio]
        texts = [
            model.processor.apply_chat_template(conversation(one), add_generation_prompt=True, tokenize=False)
            for one in messages
        ]
        told: dict[str, Any] = {"audio": sounds, "sampling_rate": MODEL_RATE} if sounds else {}
        inputs = model.processor(text=texts, return_tensors="pt", padding=True, **told).to(model.model.device)
        for name, tensor in inputs.items():
            if tensor.is_floating_point():
                inputs[name] = tensor.to(model.model.dtype)
        try:
            with model.torch.inference_mode():
                written = model.model.generate(**inputs, **self._sampling(model))
        except model.torch.OutOfMemoryError as error:
            model.torch.cuda.empty_cache()
            raise TooMuch(f"a batch of {len(messages)} does not fit into memory") from error
        whole = inputs["input_ids"].shape[1]
        return [
            self._said(model, one, inputs["attention_mask"][row], written[row, whole:])
            for row, one in enumerate(messages)
        ]

    def _sampling(self, model: Loaded) -> dict[str, Any]:
        chosen: dict[str, Any] = {"max_new_tokens": self.config.max_tokens, "suppress_tokens": model.suppressed or None}
        if not self.config.temperature:
            return {**chosen, "do_sample": False}
        model.torch.manual_seed(self.exam.seed % 2**31)
        return {**chosen, "do_sample": True, "temperature": self.config.temperature}

    def _said(self, model: Loaded, message: Message, asked: Any, written: Any) -> Said:
        ends = model.model.generation_config.eos_token_id
        stops = set(ends if isinstance(ends, list) else [ends])
        tokens = written.tolist()
        length = next((place for place, token in enumerate(tokens) if token in stops), len(tokens))
        longest = MAX_CLIP_S.get(model.kind)
        cut = [part for part in message.parts if part.audio and longest and part.audio.duration > longest]
        return Said(
            text=model.processor.tokenizer.decode(tokens[:length], skip_special_tokens=True),
            tokens_in=int(asked.sum()),
            tokens_out=length,
            finish_reason="stop" if length < len(tokens) else "length",
            more={"clips_cut": len(cut)} if cut else {},
        )

    def memory(self) -> dict[str, Any]:
        if self._model is None:
            return {}
        device = self._model.model.device
        found = {"device": str(device), "dtype": str(self._model.model.dtype).removeprefix("torch.")}
        if device.type == "cuda":
            found["memory_peak_bytes"] = self._model.torch.cuda.max_memory_allocated(device)
        return found

    def close(self) -> None:
        torch = self._model.torch if self._model else None
        super().close()
        if torch is not None and torch.cuda.is_available():
            torch.cuda.empty_cache()


def _processor(transformers: Any, name: str, source: dict[str, Any]) -> Any:
    """The processor of the weights. An omni model's wants torchvision for videos, which nobody shows it here: without it
    Qwen2-Audio's does the same for text and sound.
    """
    try:
        return transformers.AutoProcessor.from_pretrained(name, **source)
    except (ImportError, ValueError, RuntimeError) as error:
        if "torchvision" not in str(error).lower():
            raise
    tokenizer = transformers.AutoTokenizer.from_pretrained(name, **source)
    return transformers.Qwen2AudioProcessor(
        feature_extractor=transformers.WhisperFeatureExtractor.from_pretrained(name, **source),
        tokenizer=tokenizer,
        chat_template=tokenizer.chat_template,
    )
