"""English spelling to sounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generation.providers.voice.g2p_en import phonemes

pytestmark = pytest.mark.local


@pytest.mark.parametrize(
    ("text", "sounds"),
    [
        ("Hello.", "həlˈO."),
        ("the dog, the apple", "ðə dˈɔɡ, ði ˈæpᵊl"),
        ("a pear", "ɐ pˈɛɹ"),
        ("to hear", "tə hˈɪɹ"),
        ("the use", "ðə jˈus"),
        ("to use", "tə jˈuz"),
        ("I live here", "ˈI lˈɪv hˈɪɹ"),
        ("a live show", "ɐ lˈIv ʃˈO"),
        ("42", "fˈɔɹɾi tˈu"),
        ("the 3rd", "ðə θˈɜɹd"),
        ("we’ve", "wiv"),
        ("Mrs. Smith", "mˈɪsɪz smˈɪθ"),
    ],
)
def test_known_words(text, sounds):
    assert phonemes(text) == sounds


@pytest.mark.parametrize(
    ("word", "ending"),
    [
        ("backpacks", "s"),
        ("zebras", "z"),
        ("sandwiches", "ᵻz"),
        ("texted", "ᵻd"),
        ("unpacked", "t"),
        ("rewarded", "ᵻd"),
    ],
)
def test_endings_sound_as_their_stem_wants(word, ending):
    assert phonemes(word).endswith(ending)


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("20%", "twenty percent"),
        ("you & me", "you and me"),
        ("$1,250", "one thousand, two hundred and fifty dollars"),
        ("1999", "nineteen ninety nine"),
        ("3:30", "three thirty"),
        ("2.5", "two point five"),
        ("21st", "twenty first"),
    ],
)
def test_figures_and_signs_are_read_out(written, same):
    assert phonemes(written) == phonemes(same)


@pytest.mark.parametrize(
    ("name", "sounds"),
    [
        ("Kofi", "kˈOfi"),
        ("Anouk", "ˈɑnuk"),
        ("Zorblatt", "zˈOɹblɑt"),
        ("Xiulan's", None),
        ("BBQXT", "bˈi bˈi kjˈu ˈɛks tˈi"),
    ],
)
def test_an_unknown_name_is_sounded_out_and_capitals_are_spelled(name, sounds):
    said = phonemes(name)
    assert said == sounds or (sounds is None and sum(char.isalpha() for char in said) >= 6)


@given(st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_any_text_gives_clean_phonemes(text):
    sounds = phonemes(text)
    assert sounds == sounds.strip()
    assert "  " not in sounds
    assert not any(char.isdigit() for char in sounds)
