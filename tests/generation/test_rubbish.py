"""Answers that are anything but what an API promises: told, paid for, written down, and never the end of a batch."""

from __future__ import annotations

import json

import pytest
from django.utils import timezone

from eqstudio.errors import ProviderError, StudioError
from generation.intake import audio_decode
from generation.models import ProviderCall
from generation.providers import text_providers, transcribers
from generation.providers.text.fake import FakeText
from generation.services import Budget, budget_set, dialogue_advance, dialogues_retry
from generation.services.generating import dialogues_run
from tests.audio import encoded, m4a, speechlike, wav
from tests.generation.pipeline import advance, batch_of, one_briefed
from tests.generation.test_provider_checks import GOOD, point, write
from tests.openai_server import OpenAIServer, Reply

pytestmark = pytest.mark.django_db
DEEP = b"[" * 100_000


@pytest.fixture
def server(settings, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "a-secret")
    with OpenAIServer() as running:
        point(settings, running.url)
        settings.PRICES = {"test-model": {"in": 1, "out": 1}}
        yield running


def chat(**fields) -> bytes:
    message = {"role": "assistant", "content": json.dumps(GOOD)}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    told = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    return json.dumps({"id": "1", "model": "test-model", "choices": [choice], "usage": told, **fields}).encode()


def said(content) -> bytes:
    return chat(choices=[{"index": 0, "finish_reason": "stop", "message": {"content": content}}])


def claude(**fields) -> bytes:
    told = {"input_tokens": 1, "output_tokens": 2}
    content = [{"type": "tool_use", "input": GOOD}]
    return json.dumps({"model": "m", "stop_reason": "tool_use", "content": content, "usage": told, **fields}).encode()


NO_CHAT = {
    "cut off": chat()[:60],
    "empty": b"",
    "a list": b"[]",
    "null": b"null",
    "not UTF-8": b"\xff\xfe" + chat(),
    "deep": DEEP,
    "choices in words": chat(choices="x"),
    "a choice in words": chat(choices=["x"]),
    "no message": chat(choices=[{"index": 0, "finish_reason": "stop", "message": None}]),
    "content in parts": said([{"type": "text", "text": "x"}]),
    "a number": said(7),
    "half a character": said('{"title": "\\ud800", "lines": ["x"]}'),
    "NUL": said('{"title": "a\\u0000b", "lines": ["x"]}'),
}
NO_MESSAGE = {
    "cut off": claude()[:40],
    "empty": b"",
    "a list": b"[]",
    "not UTF-8": b"\xff\xfe\xff" + claude(),
    "deep": DEEP,
    "content in words": claude(content="x"),
    "a number": claude(content=7),
    "NUL": claude(content=[{"type": "tool_use", "input": {"title": "a\x00b", "lines": ["x"]}}]),
}


@pytest.mark.parametrize(
    ("alias", "body"),
    [(alias, body) for alias, bodies in (("qwen", NO_CHAT), ("anthropic", NO_MESSAGE)) for body in bodies.values()],
    ids=[f"{alias}: {name}" for alias, bodies in (("qwen", NO_CHAT), ("anthropic", NO_MESSAGE)) for name in bodies],
)
def test_an_answer_that_is_none_is_an_error_that_may_go_better_next_time(server, alias, body):
    server.script(Reply.raw(body))
    with pytest.raises(ProviderError) as caught:
        write(alias)
    assert caught.value.cause == "unreadable"
    assert caught.value.decision.after_s == 0


@pytest.mark.parametrize(
    ("alias", "body"),
    [
        ("qwen", chat(usage="x")),
        ("qwen", chat(usage={"prompt_tokens": "12", "completion_tokens": -3})),
        ("qwen", chat(usage={"prompt_tokens": 10**30, "completion_tokens": True}, model=5)),
        ("anthropic", claude(usage=[1])),
        ("anthropic", claude(usage={"input_tokens": "a"}, model="\ud800")),
    ],
)
def test_what_it_took_is_believed_only_as_a_number(server, alias, body):
    server.script(Reply.raw(body))
    result = write(alias)
    assert result.script["title"] == GOOD["title"]
    assert (result.usage.tokens_in, result.usage.cost) == (None, None)
    assert result.model.isprintable()


@pytest.mark.parametrize("alias", ["qwen", "anthropic"])
@pytest.mark.parametrize("body", [b'{"id":"1","choi', b"[]", b"", b"{}"])
def test_a_check_does_not_take_rubbish_for_an_answer(server, alias, body):
    server.script(Reply.raw(body))
    found = text_providers.get(alias)().check()
    assert not found.ok
    assert "answer" in found.message


def hear(audio: bytes = b""):
    return transcribers.get("openai")().transcribe(audio=audio or wav(speechlike(seconds=3.0)), language="en")


@pytest.mark.parametrize("duration", ['"abc"', "[1]", "NaN", "Infinity", "-100000", "1e300", "true"])
def test_a_length_that_is_none_is_measured_instead(server, settings, duration):
    settings.PRICES = {"test-model": {"minute": 0.6}}
    server.script(Reply.raw(f'{{"text": "hi", "duration": {duration}}}'.encode()))
    assert float(hear().usage.cost) == pytest.approx(0.03, rel=0.01)


@pytest.mark.parametrize("text", [r"\ud800", r"a\u0000b"])
def test_a_transcript_that_cannot_be_kept_is_unreadable_and_tells_its_cost(server, settings, text):
    settings.PRICES = {"test-model": {"minute": 0.6}}
    server.script(Reply.raw(f'{{"text": "{text}"}}'.encode()))
    with pytest.raises(ProviderError) as caught:
        hear()
    assert caught.value.cause == "unreadable"
    assert float(caught.value.usage.cost) == pytest.approx(0.03, rel=0.01)


def test_the_length_of_a_streamed_or_packed_file_is_that_of_its_sound(server, settings):
    settings.PRICES = {"test-model": {"minute": 0.6}}
    plain = bytearray(wav(speechlike(seconds=3.0)))
    plain[4:8] = plain[40:44] = b"\xff" * 4
    for audio in (bytes(plain), encoded(speechlike(seconds=3.0), format="FLAC")):
        assert float(hear(audio).usage.cost) == pytest.approx(0.03, rel=0.01)


def test_what_not_every_endpoint_reads_is_sent_as_a_plain_wav(server):
    second = speechlike(seconds=1.0)
    for sound in (encoded(second, format="AIFF"), encoded(second, format="CAF"), m4a(second)):
        hear(sound)
        sent = server.requests[-1].form["file"]
        decoded = audio_decode(data=sent)
        assert (sent[:4], decoded.rate, decoded.samples.shape[1]) == (b"RIFF", 16_000, 1)
        assert len(decoded.samples) == pytest.approx(16_000, rel=0.1)
        assert b'filename="clip.wav"\r\nContent-Type: audio/wav' in server.requests[-1].body


def test_a_large_file_is_sent_smaller(server, monkeypatch):
    monkeypatch.setattr("generation.providers.transcriber.openai.LARGE_BYTES", 50_000)
    large = wav(speechlike(seconds=2.0, rate=48_000), rate=48_000)
    hear(large)
    assert len(server.requests[-1].form["file"]) < len(large) / 2


def test_rubbish_ends_no_batch_and_every_call_of_it_is_in_the_ledger(server):
    server.default = Reply.raw(b'{"id":"1","choices":[{"index":0,"finish_rea')
    batch = batch_of(text_provider="llamacpp", count=2)
    budget_set(batch=batch, budget=Budget(calls=100))
    dialogues_run(ids=list(batch.corpus.dialogues.values_list("pk", flat=True)))
    batch.refresh_from_db()
    assert set(batch.corpus.dialogues.values_list("state", "error_cause")) == {("failed", "unreadable")}
    assert ProviderCall.objects.filter(outcome="error").count() == batch.calls_begun == batch.calls_done == 6


def test_one_that_writes_in_one_piece_is_asked_with_another_seed_after_each_bad_answer(server):
    server.default = Reply.text("{}")
    dialogue = one_briefed(text_provider="llamacpp")
    advance(dialogue, times=3)
    dialogues_retry(batch=dialogue.brief.batch, cause=dialogue.error_cause)
    advance(dialogue, times=3)
    seeds = [request.json["seed"] for request in server.requests]
    assert (len(seeds), len(set(seeds))) == (6, 6)


def test_an_error_nobody_foresaw_is_in_the_ledger(monkeypatch):
    def trips(self, **_asked):
        return None.choices

    monkeypatch.setattr(FakeText, "write", trips)
    dialogue = advance(one_briefed())
    assert (dialogue.state, dialogue.error_cause) == ("briefed", "unreadable")
    assert "AttributeError" in ProviderCall.objects.get(outcome="error").error

    def broken(self, **_asked):
        raise ZeroDivisionError

    monkeypatch.setattr(FakeText, "write", broken)
    with pytest.raises(ZeroDivisionError):
        dialogue_advance(dialogue_id=dialogue.pk, now=timezone.now())
    assert ProviderCall.objects.filter(outcome="error").count() == 2


def test_a_call_that_could_not_be_made_takes_nothing_of_the_limit(server, settings):
    settings.VENDORS = {**settings.VENDORS, "qwen": {**settings.VENDORS["qwen"], "model": ""}}
    batch = batch_of(text_provider="qwen", count=2)
    budget_set(batch=batch, budget=Budget(calls=2))
    for dialogue in batch.corpus.dialogues.all():
        assert advance(dialogue).error_cause == "check qwen"
    batch.refresh_from_db()
    assert (batch.calls_begun, batch.calls_done, batch.stopped_at) == (0, 0, None)


def test_what_a_provider_says_of_its_failure_can_be_stored():
    error = ProviderError("a\x00b\ud800", cause="x", decision=None)
    assert isinstance(error, StudioError)
    assert error.message == "a\ufffdb?"
