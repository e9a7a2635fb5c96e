"""Every vendor under its alias, and what a check says in words when something is wrong."""

from __future__ import annotations

import json
import socket
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from django.core.management import call_command
from pydantic import BaseModel, Field

from eqstudio import settings_vendors
from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import BriefSpec, Delivery, Prompt
from eqstudio.errors import GiveUp, InvalidInput, ProviderError, Refused, Retry
from eqstudio.net import retry_after
from generation.intake import audio_decode
from generation.providers import calls, text_providers, transcribers, voice_providers
from generation.providers.text import anthropic
from generation.providers.transcriber import whisper
from generation.providers.voice import qwen3
from generation.services import provider_check
from tests.audio import speechlike, wav
from tests.openai_server import OpenAIServer, Reply


class Script(BaseModel):
    title: str
    lines: list[str] = Field(min_length=1)


GOOD = {"title": "A hard week", "lines": ["I hear you."]}
PROMPT = Prompt(system="You write.", user="Write one.", version="1")
BRIEF = BriefSpec(category=benchmark_get("speecheq").categories[0], language="en", valence="negative", setting="work")
CHAT = ["openai", "azure", "qwen", "deepseek", "vllm", "llamacpp", "portkey"]
OURS = [
    *(("text", alias) for alias in [*CHAT, "anthropic"]),
    *(("voice", alias) for alias in ("openai", "speech-server")),
    *(("transcriber", alias) for alias in ("openai", "transcript-server")),
]


@pytest.fixture
def server(settings, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "a-secret")
    with OpenAIServer() as running:
        running.key = "a-secret"
        point(settings, running.url)
        yield running


def point(settings, url: str, *, model: str = "test-model", key_env: str = "TEST_KEY") -> None:
    """Let every provider ask at ``url``."""
    for name in ("TEXT", "VOICE", "TRANSCRIBER"):
        setattr(settings, f"{name}_BASE_URL", url)
        setattr(settings, f"{name}_KEY_ENV", key_env)
        setattr(settings, f"{name}_MODEL", model)
    settings.VENDORS = {
        alias: {
            "base_url": url.removesuffix("/v1") if alias == "anthropic" else url,
            "model": model,
            "key_env": key_env,
        }
        for alias in settings.VENDORS
    }
    settings.VENDOR_DETAILS = {
        **settings.VENDOR_DETAILS,
        "portkey_upstream_key_env": key_env,
        "portkey_provider": "openai",
    }


def check(kind: str, alias: str) -> tuple[bool, str]:
    state = provider_check(kind=kind, alias=alias)
    return state.ok, state.message


def write(alias: str):
    provider = text_providers.get(alias)()
    return provider.write(prompt=PROMPT, schema=Script, seed=7, brief=BRIEF, ordinal=2, benchmark="speecheq")


@pytest.fixture(autouse=True)
def _hasty(monkeypatch):
    for module in (calls, anthropic):
        monkeypatch.setattr(module, "CHECK_TIMEOUT_S", 0.3)


# --- what a check says


@pytest.mark.parametrize(("kind", "alias"), OURS)
def test_a_check_makes_one_small_call_and_says_that_it_works(server, kind, alias):
    ok, message = check(kind, alias)
    assert (ok, len(server.requests)) == (True, 1)
    assert message.endswith("answers with test-model.")


@pytest.mark.parametrize(("kind", "alias"), OURS)
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply.error(401), "does not accept the key in TEST_KEY."),
        (Reply.error(403), "does not let this key in (TEST_KEY)."),
        (Reply.error(402), "accepts the key in TEST_KEY, but its account has no credit left."),
        (Reply.error(429, code="insufficient_quota"), "but its account has no credit left."),
        (Reply.rate_limited(after=9), "works, but asks for fewer calls just now."),
        (Reply.web_page(), "answers with a web page: this is not the address of an API."),
        (Reply.web_page(404), "answers with a web page: this is not the address of an API."),
        (Reply.slow(0.6), "did not answer within"),
    ],
    ids=["401", "403", "402", "quota", "429", "page", "page-404", "slow"],
)
def test_a_check_says_in_words_what_is_wrong(server, kind, alias, reply, words):
    server.script(reply)
    ok, message = check(kind, alias)
    assert not ok
    assert words in message
    assert "a-secret" not in message


@pytest.mark.parametrize(("kind", "alias"), OURS)
def test_a_check_names_the_variable_of_a_missing_key(server, kind, alias, monkeypatch):
    monkeypatch.delenv("TEST_KEY")
    assert check(kind, alias) == (
        False,
        "The environment variable TEST_KEY is not set; it should hold the key of this provider.",
    )


@pytest.mark.parametrize(("kind", "alias"), OURS)
def test_a_check_names_a_model_that_is_not_there(server, settings, kind, alias):
    point(settings, server.url, model="test-modell")
    server.script(Reply.error(404, code="model_not_found"))
    ok, message = check(kind, alias)
    assert not ok
    assert "answers, but it has no model 'test-modell'." in message
    assert alias == "anthropic" or "It has: " in message


@pytest.mark.parametrize(("kind", "alias"), OURS)
def test_a_check_says_that_a_host_cannot_be_reached(settings, kind, alias):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    point(settings, url, key_env="")
    settings.VENDORS["portkey"]["key_env"] = settings.VENDORS["anthropic"]["key_env"] = "PATH"
    ok, message = check(kind, alias)
    assert (ok, message.endswith("cannot be reached.")) == (False, True)


def test_a_provider_without_address_or_model_says_which_file_names_the_settings(settings):
    settings.VENDORS = {**settings.VENDORS, "azure": {"base_url": "", "model": "", "key_env": ""}}
    assert check("text", "azure") == (
        False,
        "Checking azure: its base URL or its model is not set; .env.example names the settings.",
    )
    with pytest.raises(InvalidInput, match="is not set"):
        write("azure")


def test_the_command_and_the_page_say_the_same(server, capsys, client, rita):
    server.script(Reply.error(401), Reply.error(401))
    call_command("providers_check", "deepseek")
    said = capsys.readouterr().out
    client.force_login(rita)
    page = client.post("/providers/text/deepseek/check/", headers={"HX-Request": "true"}).content.decode()
    for text in (said, page):
        assert f"{server.url} does not accept the key in TEST_KEY." in text


# --- how each vendor is asked


@pytest.mark.parametrize("alias", [*CHAT, "anthropic"])
def test_every_vendor_writes_a_script_and_says_what_it_took(server, alias, settings):
    settings.PRICES = {"test-model": {"in": 10, "out": 20}}
    server.script(Reply.data(GOOD))
    result = write(alias)
    assert (result.script, result.model) == (GOOD, "test-model")
    assert (result.usage.tokens_in, result.usage.tokens_out, float(result.usage.cost)) == (100, 50, 0.002)


def test_azure_is_asked_at_the_v1_address_of_its_resource():
    env = SimpleNamespace(str={"AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com/"}.get)
    azure = settings_vendors.vendors_read(env)["azure"]
    assert azure["base_url"] == "https://mine.openai.azure.com/openai/v1/"
    assert azure["key_env"] == "AZURE_OPENAI_API_KEY"


def test_deepseek_gets_the_schema_in_words_and_its_answer_is_validated(server):
    server.script(Reply.data(GOOD), Reply.data({"title": "A", "lines": []}))
    write("deepseek")
    sent = server.requests[-1].json
    assert sent["response_format"] == {"type": "json_object"}
    assert '"required": ["title", "lines"]' in sent["messages"][0]["content"]
    assert "seed" not in sent
    with pytest.raises(ProviderError) as caught:
        write("deepseek")
    assert caught.value.cause == "wrong schema"


def test_portkey_is_told_whom_to_ask_in_headers(server):
    server.script(Reply.data(GOOD))
    write("portkey")
    headers = server.requests[-1].headers
    assert (headers["x-portkey-api-key"], headers["x-portkey-provider"]) == ("a-secret", "openai")
    assert "x-portkey-config" not in headers


def test_anthropic_is_forced_to_use_the_tool(server):
    server.script(Reply.data(GOOD))
    write("anthropic")
    sent = server.requests[-1]
    assert sent.path == "/v1/messages"
    assert (sent.headers["x-api-key"], sent.headers["anthropic-version"]) == ("a-secret", "2023-06-01")
    assert sent.json["tool_choice"] == {"type": "tool", "name": sent.json["tools"][0]["name"]}
    assert sent.json["tools"][0]["input_schema"]["required"] == ["title", "lines"]
    assert sent.json["system"] == "You write."


@pytest.mark.parametrize(
    ("reply", "cause", "decision"),
    [
        (Reply.refused(), "refused", GiveUp()),
        (Reply.truncated(GOOD), "truncated", Retry(0)),
        (Reply.text("Sure!"), "empty", Retry(0)),
        (Reply.data({"title": 3}), "wrong schema", Retry(0)),
        (Reply.rate_limited(after=33), "rate limited", Retry(33.0)),
        (Reply.error(529), "HTTP 529", Retry(10)),
        (Reply.error(401), "HTTP 401", GiveUp()),
        (Reply.error(402), "no credit", GiveUp()),
        (Reply.web_page(), "not an API", GiveUp()),
        (Reply.hang_up(), "unreachable", Retry(10)),
    ],
)
def test_anthropic_decides_like_the_others(server, reply, cause, decision):
    server.script(reply)
    with pytest.raises(ProviderError) as caught:
        write("anthropic")
    assert (caught.value.cause, caught.value.decision) == (cause, decision)
    assert (cause == "refused") is isinstance(caught.value, Refused)


def test_an_answer_that_is_no_good_still_tells_what_it_cost(server, settings):
    settings.PRICES = {"test-model": {"in": 10, "out": 20}}
    for alias in ("openai", "anthropic"):
        server.script(Reply.data({"title": 3}))
        with pytest.raises(ProviderError) as caught:
            write(alias)
        assert float(caught.value.usage.cost) == 0.002


def test_speech_is_priced_by_characters_and_by_minutes(server, settings):
    server.script(Reply.sound(wav(speechlike(seconds=3.0))), Reply.sound(wav(speechlike(seconds=3.0))), Reply.text("x"))
    spoken = {"text": "I hear you.", "language": "en", "gender": "female", "voice": "coral", "seed": 0}
    voice = voice_providers.get("openai")()
    settings.PRICES = {"test-model": {"characters": 15}}
    by_characters = voice.speak(delivery=Delivery("softly"), **spoken).usage.cost
    settings.PRICES = {"test-model": {"minute": 0.6}}
    by_minute = voice.speak(delivery=Delivery("softly"), **spoken)
    heard = transcribers.get("openai")().transcribe(audio=by_minute.audio, language="en").usage.cost
    assert float(by_characters) == pytest.approx(11 * 15 / 1e6)
    assert float(by_minute.usage.cost) == pytest.approx(0.03, rel=0.01)
    assert float(heard) == pytest.approx(0.03, rel=0.01)


def test_a_speech_server_speaks_with_its_own_voices(server, settings):
    settings.VENDOR_DETAILS = {
        **settings.VENDOR_DETAILS,
        "speech_server_voices": {"female": ["zf_a", "zf_b"], "male": ["zm_a"]},
    }
    voice = voice_providers.get("speech-server")()
    assert [voice.voice_for(gender=kind, language="zh", index=1) for kind in ("female", "male", "")] == [
        "zf_b",
        "zm_a",
        "zf_b",
    ]


def test_a_page_instead_of_speech_is_no_sound(server):
    server.script(Reply.web_page())
    with pytest.raises(ProviderError) as caught:
        voice_providers.get("openai")().speak(
            text="Yes.", language="en", gender="", voice="alloy", delivery=Delivery(""), seed=0
        )
    assert caught.value.cause == "not an API"


@pytest.mark.parametrize(
    ("told", "seconds"), [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("99999", 3600.0), ("", 20.0), ("soon", 20.0)]
)
def test_retry_after_is_read_in_seconds(told, seconds):
    assert retry_after(told) == seconds


def test_retry_after_is_read_as_a_date():
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert retry_after("Wed, 21 Oct 2099 07:28:00 GMT") == 3600.0


# --- models on an accelerator


@pytest.fixture(autouse=True)
def _nothing_loaded():
    qwen3.load.cache_clear()
    whisper.load.cache_clear()
    yield
    qwen3.load.cache_clear()
    whisper.load.cache_clear()


@pytest.mark.parametrize(("kind", "alias"), [("voice", "qwen3-tts"), ("transcriber", "whisper-large-v3")])
def test_without_its_packages_a_model_says_what_to_install(kind, alias, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    ok, message = check(kind, alias)
    assert not ok
    assert "needs the package 'torch', which is not installed here. Install requirements-gpu.txt" in message


class _Torch(SimpleNamespace):
    """Stands in for torch: as much of it as the loading code touches."""

    class OutOfMemoryError(RuntimeError):
        pass

    def __init__(self, *, there: bool = True) -> None:
        cuda = SimpleNamespace(
            is_available=lambda: there, OutOfMemoryError=self.OutOfMemoryError, empty_cache=lambda: None
        )
        super().__init__(cuda=cuda, bfloat16="bf16", float16="f16", manual_seed=lambda _seed: None)


def test_qwen3_speaks_by_instruction_in_the_language_by_name(monkeypatch):
    asked, torch = {}, _Torch()

    class Network:
        @classmethod
        def from_pretrained(cls, name, **options):
            asked["load"] = (name, options)
            return cls()

        def generate_custom_voice(self, **options):
            asked["speak"] = options
            if options["text"] == "too long":
                raise torch.OutOfMemoryError
            return [speechlike(seconds=0.5)], 24_000

    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "qwen_tts", SimpleNamespace(Qwen3TTSModel=Network))
    voice = voice_providers.get("qwen3-tts")()
    spoken = {"language": "zh", "gender": "female", "voice": "Vivian", "delivery": Delivery("轻声"), "seed": 3}
    result = voice.speak(text="你好。", **spoken)
    assert asked["load"] == (voice.model, {"device_map": "cuda:0", "dtype": "bf16"})
    assert asked["speak"] == {"text": "你好。", "language": "Chinese", "speaker": "Vivian", "instruct": "轻声"}
    assert audio_decode(data=result.audio).rate == 24_000
    assert voice.queue == "gpu"
    with pytest.raises(ProviderError) as caught:
        voice.speak(text="too long", **spoken)
    assert (caught.value.cause, caught.value.decision) == ("out of memory", Retry(30))


def test_whisper_hears_sixteen_kilohertz(monkeypatch):
    asked = {}

    def pipe(sound, **options):
        asked.update(rate=sound["sampling_rate"], samples=sound["raw"], **options)
        return {"text": " I hear you. "}

    monkeypatch.setitem(sys.modules, "torch", _Torch())
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(pipeline=lambda *_args, **_options: pipe))
    heard = transcribers.get("whisper-large-v3")().transcribe(
        audio=wav(speechlike(seconds=1.0, rate=24_000), rate=24_000), language="en"
    )
    assert heard.text == "I hear you."
    assert asked["samples"].dtype == np.float32
    assert abs(asked["samples"].size - 16_000) < 10
    assert asked["generate_kwargs"]["language"] == "en"
    assert asked["return_timestamps"] is False


def test_a_machine_without_an_accelerator_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", _Torch(there=False))
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(pipeline=None))
    assert check("transcriber", "whisper-large-v3") == (
        False,
        "Whisper needs an accelerator, and torch sees none on this machine.",
    )


def test_no_key_is_in_any_parameter(server):
    told = json.dumps([text_providers.get(alias)().parameters() for alias in [*CHAT, "anthropic"]])
    assert "a-secret" not in told
