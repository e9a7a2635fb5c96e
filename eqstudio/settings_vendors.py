"""Where the vendors answer, which model is asked, and which environment variable holds the key under the vendor's own name.

Read by the settings. Model names change faster than this file: each is a setting, and so is everything else here.
"""

from __future__ import annotations

from typing import Any, TypedDict

from environs import Env


class Vendor(TypedDict):
    base_url: str
    model: str
    key_env: str


def vendors_read(env: Env) -> dict[str, Vendor]:
    """By alias. An empty model means that it must be set before the provider can be used."""
    return {
        "azure": _vendor(
            env.str("EQSTUDIO_AZURE_BASE_URL", "") or _azure(env.str("AZURE_OPENAI_ENDPOINT", "")),
            env.str("EQSTUDIO_AZURE_MODEL", ""),
            env.str("EQSTUDIO_AZURE_KEY_ENV", "AZURE_OPENAI_API_KEY"),
        ),
        "qwen": _vendor(
            env.str("EQSTUDIO_QWEN_BASE_URL", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"),
            env.str("EQSTUDIO_QWEN_MODEL", "qwen-plus"),
            env.str("EQSTUDIO_QWEN_KEY_ENV", "DASHSCOPE_API_KEY"),
        ),
        "deepseek": _vendor(
            env.str("EQSTUDIO_DEEPSEEK_BASE_URL", "https://api.deepseek.com/v1"),
            env.str("EQSTUDIO_DEEPSEEK_MODEL", "deepseek-chat"),
            env.str("EQSTUDIO_DEEPSEEK_KEY_ENV", "DEEPSEEK_API_KEY"),
        ),
        "vllm": _vendor(
            env.str("EQSTUDIO_VLLM_BASE_URL", "http://127.0.0.1:8001/v1"),
            env.str("EQSTUDIO_VLLM_MODEL", ""),
            env.str("EQSTUDIO_VLLM_KEY_ENV", ""),
        ),
        "llamacpp": _vendor(
            env.str("EQSTUDIO_LLAMACPP_BASE_URL", "http://127.0.0.1:8080/v1"),
            env.str("EQSTUDIO_LLAMACPP_MODEL", "default"),
            env.str("EQSTUDIO_LLAMACPP_KEY_ENV", ""),
        ),
        "portkey": _vendor(
            env.str("EQSTUDIO_PORTKEY_BASE_URL", "https://api.portkey.ai/v1"),
            env.str("EQSTUDIO_PORTKEY_MODEL", "gpt-5-mini"),
            env.str("EQSTUDIO_PORTKEY_KEY_ENV", "PORTKEY_API_KEY"),
        ),
        "anthropic": _vendor(
            env.str("EQSTUDIO_ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
            env.str("EQSTUDIO_ANTHROPIC_MODEL", "claude-sonnet-4-5"),
            env.str("EQSTUDIO_ANTHROPIC_KEY_ENV", "ANTHROPIC_API_KEY"),
        ),
        "speech-server": _vendor(
            env.str("EQSTUDIO_SPEECH_SERVER_BASE_URL", "http://127.0.0.1:8880/v1"),
            env.str("EQSTUDIO_SPEECH_SERVER_MODEL", "kokoro"),
            env.str("EQSTUDIO_SPEECH_SERVER_KEY_ENV", ""),
        ),
        "transcript-server": _vendor(
            env.str("EQSTUDIO_TRANSCRIPT_SERVER_BASE_URL", "http://127.0.0.1:8000/v1"),
            env.str("EQSTUDIO_TRANSCRIPT_SERVER_MODEL", "whisper-large-v3"),
            env.str("EQSTUDIO_TRANSCRIPT_SERVER_KEY_ENV", ""),
        ),
    }


def vendor_details_read(env: Env) -> dict[str, Any]:
    """What single vendors need beside an address, a model and a key."""
    return {
        "portkey_provider": env.str("EQSTUDIO_PORTKEY_PROVIDER", ""),
        "portkey_config": env.str("EQSTUDIO_PORTKEY_CONFIG", ""),
        "portkey_upstream_key_env": env.str("EQSTUDIO_PORTKEY_UPSTREAM_KEY_ENV", ""),
        "speech_server_voices": env.json(
            "EQSTUDIO_SPEECH_SERVER_VOICES", {"female": ["af_heart"], "male": ["am_adam"]}
        ),
        "qwen3_tts_model": env.str("EQSTUDIO_QWEN3_TTS_MODEL", "Qwen/Qwen3-TTS-12Hz-1.7B-CustomVoice"),
        "whisper_model": env.str("EQSTUDIO_WHISPER_MODEL", "openai/whisper-large-v3"),
    }


def _vendor(base_url: str, model: str, key_env: str) -> Vendor:
    return Vendor(base_url=base_url, model=model, key_env=key_env)


def _azure(resource: str) -> str:
    """The v1 address of an Azure resource, from the address that Azure's own tools take."""
    return f"{resource.rstrip('/')}/openai/v1/" if resource else ""
