"""The fakes: deterministic, audible, and able to fail on request."""

from __future__ import annotations

import io
from random import Random

import pytest
import soundfile

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import BriefSpec, Delivery
from eqstudio.demo_scripts import demo_scripts
from eqstudio.errors import GiveUp, ProviderError, Refused, Retry, UnknownAlias
from generation.domain.acoustics import measure, pair_distance
from generation.domain.quality import Heard, findings
from generation.providers import text_providers, transcribers, voice_providers
from generation.providers.scripted import Behaviour
from generation.providers.text.fake import FakeText
from generation.providers.transcriber.fake import FakeTranscriber
from generation.providers.voice.fake import FakeVoice

HIGH = Delivery("warm", pitch=1.0, pitch_range=1.3, rate=0.93, volume=-1.0)
LOW = Delivery("flat", pitch=-1.0, pitch_range=0.35, rate=1.12, volume=1.0)
LINE = "I hear you. That must have been a hard week."


def speak(delivery: Delivery = HIGH, *, text: str = LINE, voice: str = "female-0", seed: int = 1) -> bytes:
    return FakeVoice().speak(text=text, language="en", gender="female", voice=voice, delivery=delivery, seed=seed).audio


def measured(audio: bytes):
    samples, rate = soundfile.read(io.BytesIO(audio))
    return measure(samples, rate)


def write(**rest):
    benchmark = benchmark_get("speecheq")
    brief = BriefSpec(category=benchmark.categories[0], language="en", valence="negative", setting="work")
    prompt = benchmark.script_prompt(brief, Random(1))
    asked = {"seed": 1, "ordinal": 0, "benchmark": "speecheq", **rest}
    return FakeText().write(prompt=prompt, schema=benchmark.script_schema, brief=brief, **asked)


@pytest.mark.parametrize(
    "registry", [text_providers, voice_providers, transcribers], ids=lambda registry: registry.kind
)
def test_an_unknown_alias_names_those_that_exist(registry):
    with pytest.raises(UnknownAlias) as caught:
        registry.get("locl")
    assert caught.value.known == sorted(registry)
    assert "local" in caught.value.message


@pytest.mark.parametrize(
    "registry", [text_providers, voice_providers, transcribers], ids=lambda registry: registry.kind
)
def test_only_the_fake_is_a_fake(registry):
    assert [alias for alias, kind in registry.items() if kind.is_fake] == ["fake"]


@pytest.mark.parametrize(
    "registry", [text_providers, voice_providers, transcribers], ids=lambda registry: registry.kind
)
def test_every_kind_names_a_queue_and_a_model(registry):
    for kind in map(registry.get, registry):
        assert kind.queue in {"io", "cpu", "gpu"}
        assert isinstance(kind().parameters(), dict)
    unnamed = [alias for alias, kind in registry.items() if not kind().model]
    assert unnamed == (["azure", "vllm"] if registry.kind == text_providers.kind else [])


def test_the_fake_writer_fits_the_schema_and_repeats():
    first, second, other = write(), write(), write(ordinal=1)
    assert benchmark_get("speecheq").script_schema.model_validate(first.script)
    assert first.script == second.script != other.script


def test_the_fake_writer_told_to_answer_rubbish_breaks_the_schema():
    FakeText.script.append(Behaviour.RUBBISH)
    with pytest.raises(ValueError, match="validation error"):
        benchmark_get("speecheq").script_schema.model_validate(write().script)


def test_the_fake_voice_repeats_and_differs_by_request():
    assert speak() == speak()
    assert len({speak(), speak(seed=2), speak(LOW), speak(text="No."), speak(voice="female-1")}) == 5


def test_the_fake_voice_follows_the_delivery():
    high, low = measured(speak(HIGH)), measured(speak(LOW))
    assert high.pitch > low.pitch
    assert high.pitch_spread > 1.5 * low.pitch_spread
    assert high.duration > 1.1 * low.duration
    assert low.rms - high.rms == pytest.approx(2.0, abs=0.3)
    assert pair_distance(high, low).distance > 0.6


def test_the_fake_voice_takes_longer_for_longer_lines():
    assert measured(speak(text=LINE + " " + LINE)).duration > 1.7 * measured(speak()).duration
    assert measured(speak(text="我今天很难过，没有人听我说。")).duration > measured(speak(text="我难过。")).duration


@pytest.mark.parametrize("delivery", [HIGH, LOW, Delivery("loud", volume=24.0)], ids=["high", "low", "loud"])
def test_a_fake_clip_passes_the_quality_checks(delivery):
    audio = speak(delivery)
    heard = FakeTranscriber().transcribe(audio=audio, language="en").text
    checked = findings(measures=measured(audio), text=LINE, language="en", heard=Heard(heard))
    assert [finding.check_name for finding in checked if not finding.passed] == []


@pytest.mark.parametrize("gender", ["male", "female"])
def test_two_speakers_get_two_voices(gender):
    voice = FakeVoice()
    assert len({voice.voice_for(gender=gender, language="en", index=index) for index in (0, 1)}) == 2


def test_the_fake_transcriber_hears_nothing_in_a_strange_clip():
    assert FakeTranscriber().transcribe(audio=b"RIFF", language="en").text == ""


@pytest.mark.parametrize(
    ("behaviour", "error", "cause", "decision"),
    [
        (Behaviour.FAIL, ProviderError, "HTTP 500", GiveUp()),
        (Behaviour.RATE_LIMIT, ProviderError, "rate limited", Retry(7.0)),
        (Behaviour.STALL, ProviderError, "timeout", Retry(0)),
        (Behaviour.REFUSE, Refused, "refused", GiveUp()),
    ],
)
@pytest.mark.parametrize("fake", [FakeText, FakeVoice, FakeTranscriber])
def test_a_fake_fails_as_told_once(fake, behaviour, error, cause, decision):
    calls = {
        FakeText: write,
        FakeVoice: speak,
        FakeTranscriber: lambda: FakeTranscriber().transcribe(audio=b"", language="en"),
    }
    fake.script.append(behaviour)
    with pytest.raises(error) as caught:
        calls[fake]()
    assert (caught.value.cause, caught.value.decision) == (cause, decision)
    assert calls[fake]() is not None
    assert len(fake.calls) == 2


def test_rubbish_from_the_fake_voice_is_no_audio():
    FakeVoice.script.append(Behaviour.RUBBISH)
    with pytest.raises(soundfile.LibsndfileError):
        measured(speak())


@pytest.mark.parametrize("demo", demo_scripts(), ids=lambda demo: demo.id)
def test_every_demo_script_is_written_and_fits(demo):
    written = demo_write(demo.benchmark, demo.category, demo.language, demo.ordinal)
    schema = benchmark_get(demo.benchmark).script_schema
    assert schema.model_validate(written.script) == schema.model_validate(demo.script)


def test_demo_scripts_come_to_an_end():
    with pytest.raises(ProviderError) as caught:
        demo_write("speecheq", benchmark_get("speecheq").categories[0].key, "en", 999)
    assert (caught.value.cause, caught.value.decision) == ("no demo script", GiveUp())
    assert "number 1000" in caught.value.message


def demo_write(alias: str, category: str, language: str, ordinal: int):
    benchmark = benchmark_get(alias)
    brief = BriefSpec(category=benchmark.category(category), language=language, valence="negative", setting="work")
    return text_providers.get("demo")().write(
        prompt=benchmark.script_prompt(brief, Random(1)),
        schema=benchmark.script_schema,
        seed=0,
        brief=brief,
        ordinal=ordinal,
        benchmark=alias,
    )
