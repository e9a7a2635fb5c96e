"""Providers behind an OpenAI-compatible endpoint, against our own scripted server."""

from __future__ import annotations

import json
from decimal import Decimal
from random import Random

import pytest
from pydantic import BaseModel, Field

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import BriefSpec, Delivery, Prompt
from eqstudio.errors import GiveUp, InvalidInput, ProviderError, Refused, Retry
from eqstudio.net import Endpoint
from generation.intake import audio_decode
from generation.providers.text.chat import chat_write, strict_schema
from generation.providers.text.openai import OpenAIText
from generation.providers.transcriber.openai import OpenAITranscriber
from generation.providers.voice.openai import OpenAIVoice, wav_sizes_mended
from tests.audio import encoded, speechlike, wav
from tests.openai_server import OpenAIServer, Reply


class Script(BaseModel):
    title: str = Field(max_length=40)
    lines: list[str] = Field(min_length=1)
    mood: str | None = None


GOOD = {"title": "A hard week", "lines": ["I hear you."], "mood": None}
PROMPT = Prompt(system="You write.", user="Write one.", version="1")
BRIEF = BriefSpec(category=benchmark_get("speecheq").categories[0], language="en", valence="negative", setting="work")


@pytest.fixture
def server(settings, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "a-secret")
    with OpenAIServer() as running:
        running.key = "a-secret"
        for name in ("TEXT", "VOICE", "TRANSCRIBER"):
            setattr(settings, f"{name}_BASE_URL", running.url)
            setattr(settings, f"{name}_KEY_ENV", "TEST_KEY")
            setattr(settings, f"{name}_MODEL", "test-model")
        settings.PRICES = {"test-model": {"in": 0.25, "out": 2.0}}
        yield running


def write(schema: type[BaseModel] = Script):
    return OpenAIText().write(prompt=PROMPT, schema=schema, seed=7, brief=BRIEF, ordinal=2, benchmark="speecheq")


def once(server: OpenAIServer):
    """Write without the SDK's own retries, to see what one answer leads to."""
    endpoint = Endpoint(base_url=server.url, key_env="TEST_KEY", timeout_s=1.0, max_retries=0)
    return chat_write(endpoint=endpoint, model="test-model", prompt=PROMPT, schema=Script, options={})


def speak():
    return OpenAIVoice().speak(
        text="I hear you.", language="en", gender="female", voice="coral", delivery=Delivery("softly"), seed=0
    )


def test_a_script_is_asked_for_by_schema_and_read(server):
    server.script(Reply.data(GOOD))
    result = write()
    sent = server.requests[-1].json
    assert result.script == GOOD
    assert [message["content"] for message in sent["messages"]] == ["You write.", "Write one."]
    assert (sent["model"], sent["seed"]) == ("test-model", 9)
    assert sent["response_format"]["type"] == "json_schema"
    assert sent["response_format"]["json_schema"]["strict"] is True
    assert server.requests[-1].headers["authorization"] == "Bearer a-secret"


def test_usage_and_cost_are_told(server):
    server.script(Reply.data(GOOD))
    usage = write().usage
    assert (usage.tokens_in, usage.tokens_out) == (100, 50)
    assert usage.cost == Decimal("0.000125")
    assert usage.latency_ms >= 0


def test_a_model_without_a_price_has_no_cost(server, settings):
    settings.PRICES = {}
    server.script(Reply.data(GOOD))
    assert write().usage.cost is None


@pytest.mark.parametrize(
    ("reply", "cause", "words"),
    [
        (Reply.truncated(GOOD), "truncated", "cut off after"),
        (Reply.truncated(GOOD, told=False), "truncated", "not JSON"),
        (Reply.text("Sure! Here is your script."), "not JSON", "not JSON"),
        (Reply.text(""), "empty", "empty"),
        (Reply.data({"title": "A", "lines": []}), "wrong schema", "lines: List should have at least 1 item"),
        (Reply.data({"title": 3}), "wrong schema", "title"),
        (Reply.data([1, 2]), "wrong schema", "does not fit"),
    ],
)
def test_an_unusable_script_is_told_and_may_be_tried_again(server, reply, cause, words):
    server.script(reply)
    with pytest.raises(ProviderError) as caught:
        write()
    assert (caught.value.cause, caught.value.decision) == (cause, Retry(0))
    assert words in caught.value.message


@pytest.mark.parametrize("reply", [Reply.refused("I will not."), Reply(content="", finish="content_filter")])
def test_a_refusal_is_an_outcome_of_its_own(server, reply):
    server.script(reply)
    with pytest.raises(Refused) as caught:
        write()
    assert (caught.value.cause, caught.value.decision) == ("refused", GiveUp())


@pytest.mark.parametrize(
    ("reply", "cause", "decision"),
    [
        (Reply.rate_limited(after=33), "rate limited", Retry(33.0)),
        (Reply.error(500), "HTTP 500", Retry(10)),
        (Reply.error(401), "HTTP 401", GiveUp()),
        (Reply.error(400, code="content_policy_violation"), "refused", GiveUp()),
        (Reply.slow(2.0), "timeout", Retry(5)),
        (Reply.hang_up(), "unreachable", Retry(10)),
    ],
    ids=["429", "500", "401", "policy", "slow", "hang-up"],
)
def test_a_failing_endpoint_decides(server, reply, cause, decision):
    server.script(reply)
    with pytest.raises(ProviderError) as caught:
        once(server)
    assert (caught.value.cause, caught.value.decision) == (cause, decision)
    assert "a-secret" not in caught.value.message


def test_nothing_is_tried_again_behind_the_ledger(server):
    server.script(Reply.hang_up(), Reply.data(GOOD))
    with pytest.raises(ProviderError):
        write()
    assert len(server.requests) == 1


def test_strict_schema_closes_every_object_of_the_real_benchmarks():
    for alias in ("speecheq", "emosbench", "echomind"):
        objects = _objects(strict_schema(benchmark_get(alias).script_schema))
        assert objects
        assert all(node["additionalProperties"] is False for node in objects)
        assert all(node["required"] == list(node["properties"]) for node in objects)


def _objects(node) -> list[dict]:
    if isinstance(node, list):
        return [found for part in node for found in _objects(part)]
    if not isinstance(node, dict):
        return []
    mine = [node] if node.get("type") == "object" and "properties" in node else []
    return mine + [found for part in node.values() for found in _objects(part)]


def test_a_benchmark_script_survives_the_round_trip(server):
    benchmark = benchmark_get("speecheq")
    script = benchmark.script_example(BRIEF, Random(1))
    server.script(Reply.data(script))
    valid = benchmark.script_schema.model_validate(write(benchmark.script_schema).script)
    assert valid == benchmark.script_schema.model_validate(script)


def test_speech_is_asked_for_with_instructions(server):
    result = speak()
    sent = server.requests[-1].json
    assert sent == {
        "model": "test-model",
        "voice": "coral",
        "input": "I hear you.",
        "instructions": "softly",
        "response_format": "wav",
    }
    assert audio_decode(data=result.audio).samples.shape == (16_000, 1)
    assert (result.model, result.voice, result.parameters) == ("test-model", "coral", {"instructions": "softly"})


def test_speech_that_is_no_wav_is_refused(server):
    server.script(Reply.sound(b"busy"))
    with pytest.raises(ProviderError) as caught:
        speak()
    assert (caught.value.cause, caught.value.decision) == ("not audio", Retry(0))


def test_sizes_of_a_streamed_wav_are_mended(server):
    whole = wav(speechlike(seconds=1))
    streamed = bytearray(whole)
    streamed[4:8] = streamed[40:44] = b"\xff\xff\xff\xff"
    server.script(Reply.sound(bytes(streamed)))
    assert speak().audio == whole == wav_sizes_mended(whole)


def test_voices_come_from_pools_by_gender():
    voice = OpenAIVoice()
    picks = {
        (gender, index): voice.voice_for(gender=gender, language="en", index=index)
        for gender in ("male", "Female", "woman", "non-binary", "")
        for index in (0, 1)
    }
    assert picks[("male", 0)] != picks[("male", 1)]
    assert picks[("Female", 0)] == picks[("woman", 0)] == "coral"
    assert picks[("", 0)] == picks[("non-binary", 0)] == "alloy"


@pytest.mark.parametrize(
    ("audio", "name"),
    [
        (wav(speechlike(seconds=0.5)), b"clip.wav"),
        (encoded(speechlike(seconds=0.5), format="FLAC"), b"clip.flac"),
        (encoded(speechlike(seconds=0.5), format="MP3"), b"clip.mp3"),
    ],
    ids=["wav", "flac", "mp3"],
)
def test_a_transcript_is_asked_for_and_read(server, audio, name):
    server.script(Reply.text(" I hear you. "))
    result = OpenAITranscriber().transcribe(audio=audio, language="en")
    form = server.requests[-1].form
    assert result.text == "I hear you."
    assert (form["language"], form["model"], form["file"]) == (b"en", b"test-model", audio)
    assert name in server.requests[-1].body


def hear():
    return OpenAITranscriber().transcribe(audio=wav(speechlike(seconds=0.5)), language="en")


@pytest.mark.parametrize("ask", [speak, hear])
@pytest.mark.parametrize(
    ("reply", "cause", "decision"),
    [
        (Reply.rate_limited(after=33), "rate limited", Retry(33.0, pause=True)),
        (Reply.error(500), "HTTP 500", Retry(10)),
        (Reply.error(401), "HTTP 401", GiveUp()),
        (Reply.error(400, code="content_policy_violation"), "refused", GiveUp()),
        (Reply.hang_up(), "dropped", Retry(5)),
        (Reply.web_page(), "not an API", GiveUp()),
    ],
    ids=["429", "500", "401", "policy", "hang-up", "page"],
)
def test_a_failing_sound_endpoint_decides(server, ask, reply, cause, decision):
    server.script(reply)
    with pytest.raises(ProviderError) as caught:
        ask()
    assert (caught.value.cause, caught.value.decision) == (cause, decision)
    assert "a-secret" not in caught.value.message


def test_a_transcript_without_text_is_told(server, monkeypatch):
    monkeypatch.setattr("generation.providers.transcriber.openai.form_post", lambda *_asked, **_told: {"words": []})
    with pytest.raises(ProviderError) as caught:
        hear()
    assert (caught.value.cause, caught.value.decision) == ("unreadable", GiveUp())


def test_a_missing_key_names_its_variable(server, monkeypatch):
    monkeypatch.delenv("TEST_KEY")
    with pytest.raises(InvalidInput) as caught:
        write()
    assert caught.value.field == "TEST_KEY"


def test_the_key_is_in_no_parameter(server):
    told = json.dumps([kind().parameters() for kind in (OpenAIText, OpenAIVoice, OpenAITranscriber)])
    assert "a-secret" not in told
