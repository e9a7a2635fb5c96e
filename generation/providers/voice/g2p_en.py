"""English text to phonemes by lexicon: look a word up, else take its ending off, else read its parts, else spell it."""

from __future__ import annotations

import importlib.util
import json
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from num2words import num2words

Entry = str | dict[str, str | None]
Lexicon = dict[str, Entry]

_VOWELS = "AIOQWYaeiouæɑɐɒɔəɚɛɜɪʊʌᵊᵻ"
_SIBILANTS = "szʃʒʧʤ"
_VOICELESS = "ptkfθ"
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_TOKEN = re.compile(rf"{_WORD.pattern}|\d+(?:st|nd|rd|th)|\d[\d,]*(?:\.\d+)?|\s+|.", re.DOTALL)
_SPOKEN_SIGNS = {
    "%": " percent",
    "&": " and ",
    "@": " at ",
    "+": " plus ",
    "=": " equals ",
    "£": " pounds ",
    "€": " euros ",
    "#": " number ",
}
_PAUSES = {
    "-": " ",
    "–": "—",
    ";": ";",
    ":": ":",
    ",": ",",
    ".": ".",
    "!": "!",
    "?": "?",
    "—": "—",
    "…": "…",
    "(": "(",
    ")": ")",
    '"': '"',
    "“": "“",
    "”": "”",
}
_AFTER_THESE_A_VERB = frozenset(
    [
        "to",
        "can",
        "could",
        "will",
        "would",
        "shall",
        "should",
        "may",
        "might",
        "must",
        "not",
        "don't",
        "didn't",
        "doesn't",
        "won't",
        "can't",
        "couldn't",
        "let's",
        "i",
        "you",
        "we",
        "they",
        "i'll",
        "you'll",
        "we'll",
        "they'll",
    ]
)
_AFTER_THESE_A_NOUN = frozenset(
    [
        "the",
        "a",
        "an",
        "my",
        "your",
        "his",
        "her",
        "its",
        "our",
        "their",
        "this",
        "that",
        "of",
        "no",
        "any",
        "every",
        "some",
    ]
)


_PAIR_SOUNDS = {
    "sh": "ʃ", "ch": "ʧ", "th": "θ", "ph": "f", "kh": "k", "gh": "ɡ", "zh": "ʒ", "dh": "d", "bh": "b", "ck": "k", "qu": "kw", "ng": "ŋ",
    "ou": "u", "oo": "u", "ee": "i", "ea": "i", "ie": "i", "ai": "I", "ay": "A", "ei": "A", "ey": "i", "au": "W", "aw": "ɔ", "oa": "O",
    "oe": "O", "ue": "u", "oi": "Y", "oy": "Y", "ae": "A", "ya": "jɑ", "yo": "jO", "yu": "ju",
}  # fmt: skip
_LETTER_SOUNDS = {
    "a": "ɑ", "e": "ɛ", "i": "i", "o": "O", "u": "u", "y": "i", "b": "b", "c": "k", "d": "d", "f": "f", "g": "ɡ", "h": "h", "j": "ʤ",
    "k": "k", "l": "l", "m": "m", "n": "n", "p": "p", "q": "k", "r": "ɹ", "s": "s", "t": "t", "v": "v", "w": "w", "x": "ks", "z": "z",
}  # fmt: skip


class Ending(NamedTuple):
    """A spelling ending and what the stem may have lost before it."""

    letters: str
    restored: tuple[str, ...]


_ENDINGS = (
    Ending("'s", ("",)),
    Ending("s'", ("s",)),
    Ending("ies", ("y",)),
    Ending("es", ("", "e")),
    Ending("s", ("",)),
    Ending("ied", ("y",)),
    Ending("ed", ("", "e")),
    Ending("ying", ("y", "ie")),
    Ending("ing", ("", "e")),
    Ending("in'", ("ing",)),
    Ending("ily", ("y",)),
    Ending("ly", ("", "le")),
    Ending("ness", ("",)),
    Ending("er", ("", "e")),
    Ending("est", ("", "e")),
)
_FIXED_SOUNDS = {
    "ly": "li",
    "ily": "ɪli",
    "ness": "nəs",
    "er": "əɹ",
    "est": "əst",
    "ing": "ɪŋ",
    "ying": "ɪŋ",
    "in'": "",
    "s'": "",
}


def phonemes(text: str) -> str:
    """The phonemes of an English text, with its punctuation, in the alphabet of the voice."""
    tokens = _TOKEN.findall(_written_out(text))
    words = [token.replace("’", "'") if _WORD.fullmatch(token) else None for token in tokens]
    spoken: list[str] = []
    for at, token in enumerate(tokens):
        word = words[at]
        if word is None:
            spoken.append(" " if token.isspace() else _PAUSES.get(token, ""))
            continue
        before = next((w for w in reversed(words[:at]) if w), "")
        after = next((w for w in words[at + 1 :] if w), "")
        spoken.append(_word(word, before.lower(), after))
    return re.sub(r" +", " ", "".join(spoken)).strip()


def _written_out(text: str) -> str:
    """Numbers, money and signs as words; the stop of an abbreviation is no pause."""
    text = re.sub(r"\b(Mrs?|Ms|Dr|Prof|Jr|Sr|St|vs)\.", r"\1", text)
    text = re.sub(r"\$\s?(\d[\d,]*(?:\.\d+)?)", r"\1 dollars", text)
    text = re.sub(r"\b(\d{1,2}):(\d{2})\b", lambda m: f"{m[1]} {'' if m[2] == '00' else m[2]}", text)
    for sign, words in _SPOKEN_SIGNS.items():
        text = text.replace(sign, words)
    text = re.sub(r"\b(1[1-9]|20)(\d{2})\b(?![,.]\d)", lambda m: num2words(int(m[0]), to="year"), text)
    text = re.sub(r"\b(\d+)(?:st|nd|rd|th)\b", lambda m: num2words(int(m[1]), to="ordinal"), text)
    return re.sub(
        r"\d[\d,]*(?:\.\d+)?",
        lambda m: num2words(float(m[0].replace(",", "")) if "." in m[0] else int(m[0].replace(",", ""))),
        text,
    )


def _word(word: str, before: str, after: str) -> str:
    weak = _weak_form(word, after)
    if weak:
        return weak
    return _known(word, before) or _with_ending(word, before) or _in_parts(word) or _sounded(word) or _spelled(word)


def _weak_form(word: str, after: str) -> str | None:
    """Articles and ``to`` as they sound inside a sentence."""
    lower = word.lower()
    sound = _known(after, "") if after else None
    vowel_next = bool(sound) and sound.lstrip("ˈˌ")[:1] in _VOWELS  # type: ignore[union-attr]
    if lower == "the":
        return "ði" if vowel_next else "ðə"
    if lower == "a" and after:
        return "ɐ"
    if lower == "to" and after:
        return "tʊ" if vowel_next else "tə"
    return "ən" if lower == "an" else None


def _known(word: str, before: str) -> str | None:
    """What the lexicon says, trying the word as written, in lower case and capitalised."""
    gold, silver = _lexica()
    spellings = dict.fromkeys(
        (word, word.lower(), word.capitalize())
        if not word.isupper() or len(word) == 1
        else (word.lower(), word, word.capitalize())
    )
    for spelling in spellings:
        for lexicon in (gold, silver):
            if spelling in lexicon:
                return _reading(lexicon[spelling], before)
    return None


def _reading(entry: Entry, before: str) -> str | None:
    """One of several readings: after ``to use`` the verb, after ``the use`` the noun, else the usual one."""
    if isinstance(entry, str):
        return entry
    if before in _AFTER_THESE_A_VERB and entry.get("VERB"):
        return entry["VERB"]
    if before in _AFTER_THESE_A_NOUN and entry.get("NOUN"):
        return entry["NOUN"]
    return entry.get("DEFAULT") or next((reading for reading in entry.values() if reading), None)


def _with_ending(word: str, before: str) -> str | None:
    lower = word.lower()
    for ending in _ENDINGS:
        if not lower.endswith(ending.letters) or len(lower) < len(ending.letters) + 2:
            continue
        stem = word[: -len(ending.letters)]
        stems = [stem + lost for lost in ending.restored]
        if len(stem) > 2 and stem[-1] == stem[-2]:  # noqa: PLR2004 -- a doubled letter needs two before it
            stems.append(stem[:-1])
        for candidate in stems:
            sound = _known(candidate, before)
            if sound:
                return sound + _ending_sound(ending.letters, sound)
    return None


def _ending_sound(letters: str, stem: str) -> str:
    if letters in _FIXED_SOUNDS:
        return _FIXED_SOUNDS[letters]
    last = stem[-1]
    if letters in ("ed", "ied"):
        return "ᵻd" if last in "tdɾ" else "t" if last in _VOICELESS + "sʃʧ" else "d"
    return "ᵻz" if last in _SIBILANTS else "s" if last in _VOICELESS else "z"


def _in_parts(word: str) -> str | None:
    """Two known words written as one, the longest first part first."""
    lower = word.lower()
    for cut in range(len(lower) - 3, 2, -1):
        head, tail = _known(lower[:cut], ""), _known(lower[cut:], "")
        if head and tail:
            return head + tail.replace("ˈ", "ˌ")
    return None


def _sounded(word: str) -> str | None:
    """An unknown name, letter by letter as most languages write it, stressed on its last vowel but one."""
    lower = word.lower()
    if (word.isupper() and len(word) > 1) or not lower.isascii() or not any(letter in "aeiouy" for letter in lower):
        return None
    sounds: list[str] = []
    at = 0
    while at < len(lower):
        pair, letter = lower[at : at + 2], lower[at]
        taken = pair if pair in _PAIR_SOUNDS else letter
        doubled = len(pair) > 1 and pair[0] == pair[1] and taken == letter
        sounds.append(_PAIR_SOUNDS.get(taken) or _LETTER_SOUNDS.get(taken, ""))
        at += len(taken) + doubled
    vowels = [index for index, sound in enumerate(sounds) if sound[:1] in _VOWELS and sound]
    if not vowels:
        return None
    sounds.insert(vowels[-2] if len(vowels) > 1 else vowels[0], "ˈ")
    return "".join(sounds)


def _spelled(word: str) -> str:
    return " ".join(sound for letter in word if letter.isalpha() and (sound := _known(letter.upper(), "")))


@cache
def _lexica() -> tuple[Lexicon, Lexicon]:
    """The checked and the derived American lexicon that come with misaki, read as data."""
    spec = importlib.util.find_spec("misaki")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("misaki", name="misaki")
    folder = Path(spec.origin).parent / "data"
    gold, silver = (json.loads((folder / f"us_{name}.json").read_text(encoding="utf-8")) for name in ("gold", "silver"))
    return gold, silver
