"""Who writes, speaks and transcribes. A new provider is one new file and one line here."""

from __future__ import annotations

from eqstudio.registry import Registry
from generation.providers.base import (
    CheckResult,
    TextProvider,
    TextResult,
    Transcriber,
    TranscriptResult,
    Usage,
    VoiceProvider,
    VoiceResult,
)

text_providers: Registry[TextProvider] = Registry(
    "text provider",
    {
        "fake": "generation.providers.text.fake:FakeText",
        "demo": "generation.providers.text.demo:DemoText",
        "openai": "generation.providers.text.openai:OpenAIText",
        "local": "generation.providers.text.local:LocalText",
    },
)
voice_providers: Registry[VoiceProvider] = Registry(
    "voice provider",
    {
        "fake": "generation.providers.voice.fake:FakeVoice",
        "openai": "generation.providers.voice.openai:OpenAIVoice",
        "local": "generation.providers.voice.local:LocalVoice",
    },
)
transcribers: Registry[Transcriber] = Registry(
    "transcriber",
    {
        "fake": "generation.providers.transcriber.fake:FakeTranscriber",
        "openai": "generation.providers.transcriber.openai:OpenAITranscriber",
        "local": "generation.providers.transcriber.local:LocalTranscriber",
    },
)

__all__ = [
    "CheckResult",
    "TextProvider",
    "TextResult",
    "Transcriber",
    "TranscriptResult",
    "Usage",
    "VoiceProvider",
    "VoiceResult",
    "text_providers",
    "transcribers",
    "voice_providers",
]
