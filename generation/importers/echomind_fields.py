"""How EchoMind's own files name things, misspellings included."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.scripts import same_words
from generation.importers.base import Audio, RowRefused

_CLOSE = 0.86
_LETTERS = "ABCDEFGH"
_OPTION = re.compile(r"(?:^|(?<=[\s;,|]))\(?([A-H])[.):、:]\)?\s*")
_MARK = re.compile(r"^\s*\(?[A-Ha-h][.):、:]\)?\s*")
_LETTER = re.compile(r"\s*\(?([A-Ha-h])\)?\s*(?:[.):、:].*)?", re.DOTALL)
_ANSWERS = ("answer", "gold", "gold_answer", "correct_answer", "correct", "correct_option", "ground_truth", "label")
_ATTRIBUTES = {
    "wind_blowing": "wind",
    "thunderstorm_and_thunder": "thunderstorm",
    "thunder": "thunderstorm",
    "raining": "rain",
    "driving_a_car": "driving",
    "vehicle": "driving",
    "sea_wave": "sea_waves",
    "playing_basketball": "basketball",
    "basketball_court": "basketball",
    "applause_from_a_crowd": "applause",
    "crowd_cheering": "cheering",
    "crowd_s_chatter": "chatter",
    "crowd_chatter": "chatter",
    "children_playing": "children_voices",
    "children_speaking": "children_voices",
    "children_s_voices": "children_voices",
    "dog_s_barking": "dog_barking",
    "dogs_barking": "dog_barking",
    "alarm_clock_ringing": "alarm_clock",
    "alarm": "alarm_clock",
    "vehicle_honking": "vehicle_horn",
    "happy_music": "music",
    "funny_music": "music",
    "sad_music": "music",
    "exciting_music": "music",
    "angry_music": "music",
    "gasping": "breath",
    "breathless": "breath",
    "vocal_fatigue": "tired",
}


def field_of(record: Mapping[str, Any], *names: str) -> Any:
    """The value under the first of ``names`` that is there; else under the one key that is nearly spelt like the first."""
    for name in names:
        if name in record:
            return record[name]
    near = difflib.get_close_matches(names[0], [key for key in record if isinstance(key, str)], n=1, cutoff=_CLOSE)
    return record[near[0]] if near else None


def text_field(record: Mapping[str, Any], *names: str) -> str:
    value = field_of(record, *names)
    return str(value).strip() if isinstance(value, str | int) else ""


def records_of(data: Any) -> list[Any]:
    """A list of records, or an object whose values (or whose one list) are them."""
    if isinstance(data, list):
        return data
    if isinstance(data, dict):
        lists = [value for value in data.values() if isinstance(value, list)]
        if len(lists) == 1 and len(data) == 1:
            return lists[0]
        return [{"case_id": key, **value} if isinstance(value, dict) else value for key, value in data.items()]
    raise RowRefused(_("Expected a list of records, got %(value).80r.") % {"value": data})


def delivery_text(spoken: Any) -> str:
    """The words: text itself, or an object that holds it."""
    if isinstance(spoken, str):
        return spoken.strip()
    if isinstance(spoken, dict):
        return text_field(spoken, "text", "spoken_text", "content", "sentence", "script", "spoken_info")
    return ""


def attribute_known(record: Mapping[str, Any], audio: Audio, case: str) -> str:
    """The category: what the record says, else the folder that the target delivery lies in."""
    said = text_field(record, "attribute", "target_attribute", "voice_attribute")
    folder = getattr(audio, "parent", None)
    tried = [name for name in (said, folder.name if folder else "") if name]
    known = {leaf.key for leaf in benchmark_get("echomind").categories}
    for name in tried:
        plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        key = _ATTRIBUTES.get(plain, plain)
        if key in known:
            return key
    raise RowRefused(
        _("Unknown attribute %(value)r. Expected one of: %(known)s.")
        % {"value": tried[0] if tried else "", "known": ", ".join(sorted(known))},
        row=case,
    )


def question_read(record: Any, kind: str) -> tuple[str, dict[str, Any]]:
    """The audio file a question is about, and the question with its options and its answer in words."""
    if not isinstance(record, dict):
        raise RowRefused(_("Expected an object, got %(value).80r.") % {"value": record})
    number = text_field(record, "question_id", "id")
    audio = text_field(record, "audio_name", "audio_file").replace("\\", "/").rsplit("/", 1)[-1]
    question = text_field(record, "question")
    options = options_of(field_of(record, "options_text", "options", "choices"))
    if not audio or not question or len(options) < 2:  # noqa: PLR2004 -- fewer are no choice
        raise RowRefused(
            _("A question needs audio_name, question and at least two options in options_text."), row=number
        )
    said = next((text for name in _ANSWERS if (text := text_field(record, name))), "")
    answer = _answer(said, options)
    if answer is None:
        raise RowRefused(
            _("The answer %(value)r is none of the options. Expected a letter or the words of one.") % {"value": said},
            row=number,
        )
    asked = text_field(record, "question_type", "type", "task") or kind
    return audio, {"kind": kind, "type": asked, "question": question, "options": options, "answer": answer}


def options_of(value: Any) -> list[str]:
    """Options without their letters, from a list, an object by letter, or a text with one after another."""
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, list):
        return [_MARK.sub("", str(option)).strip() for option in value if str(option).strip()]
    if not isinstance(value, str):
        return []
    lines = [line.strip() for line in value.splitlines() if line.strip()]
    if len(lines) > 1:
        return [_MARK.sub("", line).strip() for line in lines]
    parts = _OPTION.split(value)
    return [part.strip(" ;,|") for part in parts[2::2] if part.strip(" ;,|")]


def _answer(said: str, options: list[str]) -> str | None:
    exact = next((option for option in options if same_words(option, said)), None) if said else None
    if exact is not None:
        return exact
    match = _LETTER.fullmatch(said)
    index = _LETTERS.find(match[1].upper()) if match else -1
    if 0 <= index < len(options):
        return options[index]
    bare = _MARK.sub("", said)
    return next((option for option in options if same_words(option, bare)), None) if bare else None
