"""What is measured of a clip, against sounds whose figures are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generation.domain.acoustics import PEAK_SLICES, measure, pair_distance
from tests.audio import clipped, cut_off, silence, speechlike, tone


@pytest.mark.parametrize("rate", [8_000, 16_000, 24_000, 44_100, 48_000])
@pytest.mark.parametrize("hz", [75.0, 110.0, 220.0, 390.0])
def test_pitch_of_a_tone_is_its_frequency(hz, rate):
    assert measure(tone(hz, rate=rate), rate).pitch == pytest.approx(hz, rel=0.002)


def test_duration_is_frames_over_rate():
    measures = measure(tone(seconds=1.5), 16_000)
    assert (measures.frames, measures.duration) == (24_000, 1.5)


def test_rms_and_peak_of_a_sine_are_three_decibels_apart():
    measures = measure(tone(level=0.5), 16_000)
    assert measures.peak == pytest.approx(-6.02, abs=0.01)
    assert measures.rms == pytest.approx(-9.03, abs=0.05)


def test_loudness_of_a_full_scale_1_khz_sine_is_minus_three():
    assert measure(tone(997, rate=48_000, seconds=2, level=1.0), 48_000).loudness == pytest.approx(-3.01, abs=0.1)


def test_centroid_of_a_tone_is_its_frequency():
    assert measure(tone(1000), 16_000).centroid == pytest.approx(1000, rel=0.01)


def test_pitch_spread_follows_the_glide():
    flat, lively = (measure(speechlike(spread=spread), 16_000).pitch_spread for spread in (0.3, 3.0))
    assert flat == pytest.approx(0.2, abs=0.15)
    assert lively == pytest.approx(1.9, abs=0.3)


def test_pause_share_is_the_silent_part():
    sound = np.concatenate([tone(seconds=1), silence(seconds=1)])
    assert measure(sound, 16_000).pause_share == pytest.approx(0.5, abs=0.02)


def test_noise_has_no_pitch():
    noise = np.random.default_rng(1).normal(0, 0.1, 16_000)
    measures = measure(noise, 16_000)
    assert measures.pitch is None
    assert measures.pitch_spread is None


def test_silence_has_nothing_to_measure():
    measures = measure(silence(), 16_000)
    assert (measures.loudness, measures.rms, measures.pitch, measures.centroid, measures.pause_share) == (None,) * 5
    assert set(measures.peaks) == {0.0}


def test_peaks_trace_the_envelope():
    sound = np.concatenate([tone(level=0.5), tone(level=0.25)])
    peaks = measure(sound, 16_000).peaks
    assert len(peaks) == PEAK_SLICES
    assert (max(peaks[:199]), max(peaks[201:])) == (0.5, 0.25)


@pytest.mark.parametrize("frames", [1, 2, 50, 399, 401])
def test_a_clip_of_a_few_frames_is_measured(frames):
    measures = measure(np.full(frames, 0.25), 16_000)
    assert (measures.frames, len(measures.peaks), max(measures.peaks)) == (frames, PEAK_SLICES, 0.25)


def test_stereo_is_measured_as_its_middle():
    left = tone(220)
    assert measure(np.stack([left, left], axis=1), 16_000).pitch == pytest.approx(measure(left, 16_000).pitch)


def test_clipping_is_runs_at_the_rail():
    assert measure(speechlike(), 16_000).clipped_share == 0
    assert measure(clipped(speechlike()), 16_000).clipped_share > 0.2


def test_tail_of_a_cut_clip_is_loud():
    whole = speechlike(seconds=2)
    assert measure(whole, 16_000).tail_db < -60
    assert measure(cut_off(whole, keep=0.78), 16_000).tail_db > -20


@given(
    hz=st.floats(90, 350),
    seconds=st.floats(0.25, 2),
    level=st.floats(0.01, 0.9),
    rate=st.sampled_from([8_000, 16_000, 22_050]),
    gain=st.floats(0.1, 1.0),
)
@settings(max_examples=30, deadline=None)
def test_measures_are_bounded_and_follow_a_gain(hz, seconds, level, rate, gain):
    sound = speechlike(hz=hz, seconds=seconds, level=level, rate=rate)
    loud, quiet = measure(sound, rate), measure(gain * sound, rate)
    assert all(0 <= peak <= 1 for peak in loud.peaks)
    assert 0 <= loud.pause_share <= 1
    assert loud.pitch is None or 70 <= loud.pitch <= 400
    assert quiet.rms == pytest.approx(loud.rms + 20 * math.log10(gain), abs=0.01)
    assert quiet.pause_share == loud.pause_share


@given(first=st.integers(0, 30), second=st.integers(0, 30))
@settings(max_examples=20, deadline=None)
def test_pair_distance_is_symmetric_and_zero_only_for_equals(first, second):
    a, b = (measure(speechlike(hz=100 + 8 * seed, seed=seed, seconds=0.8), 16_000) for seed in (first, second))
    assert pair_distance(a, b).distance == pytest.approx(pair_distance(b, a).distance)
    assert (pair_distance(a, b).distance == 0) == (first == second)


def test_pair_distance_by_hand():
    a, b = measure(tone(200), 16_000), measure(tone(200, level=0.15), 16_000)
    pair = pair_distance(a, b)
    assert pair.differences["rms_db"] == pytest.approx(6.02, abs=0.01)
    assert pair.distance == pytest.approx(math.sqrt((6.02 / 2.4) ** 2 / 6), abs=0.01)
