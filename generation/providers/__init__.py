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
        "azure": "generation.providers.text.openai:AzureText",
        "qwen": "generation.providers.text.openai:QwenText",
        "deepseek": "generation.providers.text.openai:DeepSeekText",
        "vllm": "generation.providers.text.openai:VllmText",
        "llamacpp": "generation.providers.text.openai:LlamaCppText",
        "portkey": "generation.providers.text.openai:PortkeyText",
        "anthropic": "generation.providers.text.anthropic:AnthropicText",
        "local": "generation.providers.text.local:LocalText",
    },
)
voice_providers: Registry[VoiceProvider] = Registry(
    "voice provider",
    {
        "fake": "generation.providers.voice.fake:FakeVoice",
        "openai": "generation.providers.voice.openai:OpenAIVoice",
        "speech-server": "generation.providers.voice.openai:ServerVoice",
        "qwen3-tts": "generation.providers.voice.qwen3:Qwen3Voice",
        "local": "generation.providers.voice.local:LocalVoice",
    },
)
transcribers: Registry[Transcriber] = Registry(
    "transcriber",
    {
        "fake": "generation.providers.transcriber.fake:FakeTranscriber",
        "openai": "generation.providers.transcriber.openai:OpenAITranscriber",
        "transcript-server": "generation.providers.transcriber.openai:ServerTranscriber",
        "whisper-large-v3": "generation.providers.transcriber.whisper:WhisperLarge",
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
