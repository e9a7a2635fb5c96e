"""Defects planted in real speech: each is caught, its message says what it is, and clean speech passes.

The embedded voice speaks and the embedded transcriber listens; the released dialogues are checked where they are there.
"""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pytest
import soundfile

from eqstudio.benchmarks.base import Delivery
from generation.domain.acoustics import Measures, measure
from generation.domain.quality import Heard, findings, pair_findings
from generation.domain.shortcuts import Pair, shortcut_guard
from generation.domain.thresholds import Thresholds
from generation.domain.voices import Voiced, voice_findings
from generation.importers import Refusal, importers
from generation.providers import transcribers, voice_providers
from tests.audio import wav

LINE = "I hear you. It makes sense that you feel worn out after a week like that."
OTHER = "Let us talk about the budget for the garden before the holidays begin."
CHINESE = "他去年冬天搬到了上海，很想念朋友。"
RATE = 24_000


@cache
def spoken(text: str, language: str = "en", voice: str = "jf_nezumi"):
    answer = voice_providers.get("local")().speak(
        text=text, language=language, gender="", voice=voice, delivery=Delivery(""), seed=0
    )
    samples, rate = soundfile.read(io.BytesIO(answer.audio))
    assert rate == RATE
    return samples


def failed(samples, *, text=LINE, language="en", limits=None) -> dict[str, str]:
    """What fails of a clip, with its message."""
    transcriber = transcribers.get("local")()
    answer = transcriber.transcribe(audio=wav(samples, rate=RATE), language=language)
    heard = Heard(answer.text, answer.language, transcriber.own_error.get(language))
    found = findings(
        measures=measure(samples, RATE), text=text, language=language, heard=heard, thresholds=limits or Thresholds()
    )
    return {finding.check_name: finding.message for finding in found if not finding.passed}


@pytest.mark.local
def test_clean_speech_passes():
    assert failed(spoken(LINE)) == {}
    assert failed(spoken(CHINESE, "zh"), text=CHINESE, language="zh", limits=Thresholds(character_error=0.20)) == {}


@pytest.mark.local
def test_clipped_speech():
    found = failed(np.clip(40 * spoken(LINE), -1, 1))

    assert "of the samples are cut off at full scale; at most 0.10% may be." in found["clipping"]


@pytest.mark.local
def test_silence():
    found = failed(1e-4 * spoken(LINE))

    assert found["silence"].startswith("The clip is too quiet to hear: ")
    assert found["transcript"] == "Nobody was heard speaking (WER 100%, at most 5.0%)."


@pytest.mark.local
def test_a_truncated_tail():
    sound = spoken(LINE)
    loud = np.flatnonzero(np.abs(sound) > 0.3 * np.abs(sound).max())[-1]

    found = failed(sound[:loud])

    assert found["tail"].startswith("The clip ends in sound, ")
    assert found["tail"].endswith("its last word may be cut off.")


@pytest.mark.local
def test_half_the_text_and_the_wrong_text():
    half, wrong = failed(spoken(LINE.partition(" sense")[0])), failed(spoken(OTHER))

    assert "of the words were heard otherwise (WER, at most 5.0%)." in half["transcript"]
    assert "of the words were heard otherwise (WER, at most 5.0%)." in wrong["transcript"]


@pytest.mark.local
def test_the_wrong_language():
    by_ear = failed(spoken(CHINESE, "zh"))
    by_eye = failed(spoken(LINE), text=CHINESE)

    assert by_ear["language"] == "The clip is spoken in Chinese; the dialogue is in English."
    assert by_eye["language"] == "100% of the line is not written in English, the language of the dialogue."


@pytest.mark.local
def test_chinese_at_the_published_threshold_names_the_transcribers_own_error():
    found = failed(spoken("没关系，我们明天再试一次吧。", "zh"), text="没关系，我们后天再试两次吧。", language="zh")

    assert "(CER, at most 5.0%)" in found["transcript"]
    assert "The transcriber itself mistakes about 7% of the characters of good speech" in found["transcript"]


@pytest.mark.local
def test_an_identical_pair():
    same = measure(spoken(LINE), RATE)

    distinct, _loudness = pair_findings(first=same, second=same)

    assert distinct.passed is False
    assert distinct.message == "The two deliveries hardly differ (D = 0.00, at least 0.35)."


@pytest.mark.local
@pytest.mark.parametrize("second", ["jm_kumo", "jf_gongitsune"])
def test_a_swapped_speaker(second):
    lines = ["I will call you back tomorrow.", "You said the same to me last year.", "Nobody asked me what I think."]
    clips = [
        Voiced(10 * n + part, name, measure(spoken(text, voice=voice), RATE))
        for n, text in enumerate(lines)
        for part, (name, voice) in enumerate((("speaker1", "jf_nezumi"), ("speaker2", second)))
    ]
    swapped = [Voiced(clip.key, "speaker2" if clip.key == 0 else clip.speaker, clip.measures) for clip in clips]

    clean, caught = voice_findings(clips), voice_findings(swapped)

    assert [finding.message for finding in clean.values() if not finding.passed] == []
    assert [key for key, finding in caught.items() if not finding.passed] == [0]
    assert caught[0].message.startswith("The clip sounds less like speaker2, who should speak it, than like speaker1 (")


@pytest.mark.local
def test_a_loudness_key():
    sound = spoken(LINE)
    pairs = [
        Pair(
            str(n),
            {"loudness": measure(sound * 10 ** (gain / 20), RATE).level},
            {"loudness": measure(sound, RATE).level},
        )
        for n, gain in enumerate((-6, -4, -3, -2, 1, -5))
    ]

    guard = shortcut_guard(pairs)

    assert guard.warns
    assert (guard.rules[0].direction, guard.rules[0].accuracy.value) == ("quieter", pytest.approx(5 / 6))


def released(shared) -> dict[str, list[tuple[str, str, Measures]]]:
    """Label, speaker and measures of the clips of every released dialogue."""
    found = {}
    for row in importers.get("speecheq")().discover(shared / "data" / "speecheq" / "data"):
        assert not isinstance(row, Refusal)
        found[row.external_id] = [
            (variant.label, turn.speaker, measure(*soundfile.read(variant.audio)))
            for turn in row.turns
            for variant in turn.variants
        ]
    return found


def test_released_speech_is_clean_and_defects_planted_in_it_are_caught(shared):
    dialogues = released(shared)

    clean, swaps, caught = [], 0, 0
    for clips in dialogues.values():
        voiced = [Voiced(n, speaker, measures) for n, (_label, speaker, measures) in enumerate(clips)]
        clean += [finding for finding in voice_findings(voiced).values() if not finding.passed]
        for clip in voiced:
            other = "speaker1" if clip.speaker == "speaker2" else "speaker2"
            moved = [Voiced(each.key, other if each is clip else each.speaker, each.measures) for each in voiced]
            swaps += 1
            caught += not voice_findings(moved)[clip.key].passed
    flags = [
        finding
        for clips in dialogues.values()
        for _label, _speaker, measures in clips
        for finding in findings(measures=measures, text=LINE, language="en")
        if not finding.passed
    ]

    assert flags == []
    assert len(clean) <= 2
    assert swaps == 120
    assert caught / swaps > 0.7
