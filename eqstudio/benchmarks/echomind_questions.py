"""EchoMind's closed questions: what is heard (made from the taxonomy) and what follows from it (made from the script).

A question holds its answer per delivery, so the same words have another right answer when they are spoken otherwise,
and whoever reads without listening is at chance.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Literal

from eqstudio.benchmarks.scripts import same_words
from eqstudio.benchmarks.texts import texts_load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TEXTS = texts_load("echomind")
ATTRIBUTES: dict[str, dict[str, Any]] = {entry["key"]: entry for entry in TEXTS["category"]}
OPTIONS_MAX = 4

ReasoningType = Literal[
    "multiple_people_detection",
    "laughter_sentiment",
    "shouting_sentiment",
    "audio_text_consistency",
    "response_style_matching",
    "personalised_recommendation",
    "contextual_suggestion",
    "preceding_event",
    "speaker_intent",
    "empathic_response",
]


def level_of(attribute: str) -> str:
    """speaker, paralinguistic or environment."""
    return str(TEXTS["groups"][ATTRIBUTES[attribute]["group"]]["level"])


def options_unique(options: Iterable[str]) -> list[str]:
    """The options without repeats, at most four, first come first kept."""
    kept: list[str] = []
    for option in options:
        if not any(same_words(option, other) for other in kept):
            kept.append(option)
    return kept[:OPTIONS_MAX]


def coarse_question(attribute: str, language: str, seed: str) -> dict[str, Any]:
    """What stands out: the answers and foils from other levels. For a speaker an ordinary voice would be no answer."""
    target, alternative = ATTRIBUTES[attribute], ATTRIBUTES[ATTRIBUTES[attribute]["alternative"]]
    answers = {"target": target["about"][language], "alternative": alternative["about"][language]}
    level = level_of(attribute)
    if level == "speaker":
        foils = [_foil(seed, group="emotion"), _foil(seed, level="environment")]
    else:
        answers["neutral"] = TEXTS["coarse"]["plain"][language]
        foils = [_foil(seed, group="emotion") if level == "environment" else _foil(seed, level="environment")]
    return {
        "key": "understanding-1",
        "kind": "understanding",
        "type": "coarse_grained",
        "question": TEXTS["coarse"][language],
        "options": options_unique([*answers.values(), *(ATTRIBUTES[foil]["about"][language] for foil in foils)]),
        "answers": answers,
    }


def fine_question(attribute: str, language: str, seed: str) -> dict[str, Any]:
    """Which one of its dimension is heard."""
    target, alternative = ATTRIBUTES[attribute], ATTRIBUTES[ATTRIBUTES[attribute]["alternative"]]
    group = TEXTS["groups"][target["group"]]
    answers = {"target": target[language], "alternative": alternative[language]}
    if level_of(attribute) != "speaker":
        answers["neutral"] = group["plain"][language]
    foils = [ATTRIBUTES[foil][language] for foil in _fine_foils(attribute, seed)]
    return {
        "key": "understanding-2",
        "kind": "understanding",
        "type": group["type"],
        "question": group["ask"][language],
        "options": options_unique([*answers.values(), *group.get("extra", {}).get(language, []), *foils]),
        "answers": answers,
    }


def reasoning_question(number: int, written: Mapping[str, str], attribute: str) -> dict[str, Any]:
    """What follows from what is heard, as the script has it."""
    answers = {"target": written["for_target"], "alternative": written["for_alternative"]}
    options = [*answers.values(), written["for_neutral"], written["distractor"]]
    if level_of(attribute) != "speaker":
        answers["neutral"] = written["for_neutral"]
    kept = options_unique(options)
    return {
        "key": f"reasoning-{number}",
        "kind": "reasoning",
        "type": written["type"],
        "question": written["question"],
        "options": kept,
        "answers": {label: _as_kept(answer, kept) for label, answer in answers.items()},
    }


def reply_question(attribute: str, language: str, seed: str) -> dict[str, str]:
    """Which reply fits, told by the taxonomy alone: for examples, and for a script whose own questions tell nothing."""
    entry = ATTRIBUTES[attribute]
    foil = ATTRIBUTES[_foil(seed, without_group=entry["group"])]
    return {
        "type": "empathic_response",
        "question": TEXTS["example"]["question"][language],
        "for_target": entry["reply"][language],
        "for_neutral": TEXTS["plain"]["reply"][language],
        "for_alternative": ATTRIBUTES[entry["alternative"]]["reply"][language],
        "distractor": foil["reply"][language],
    }


def _as_kept(answer: str, kept: list[str]) -> str:
    return next(option for option in kept if same_words(option, answer))


def _fine_foils(attribute: str, seed: str) -> list[str]:
    """A wrong answer that nobody can defend: another of the dimension, or of another kind of place or voice."""
    entry = ATTRIBUTES[attribute]
    level = level_of(attribute)
    if level == "environment":
        return [_foil(seed, level="environment", without_group=entry["group"])]
    if entry["group"] == "volume":
        return ["hoarse"]
    if entry["group"] in ("emotion", "non_verbal", "physiological"):
        return [_foil(seed, group=entry["group"], without=(attribute, entry["alternative"]))]
    return []


def _foil(
    seed: str, *, group: str = "", level: str = "", without_group: str = "", without: tuple[str, ...] = ()
) -> str:
    """An attribute drawn by ``seed`` (the line), so that the same script always gives the same question."""
    pool = [
        key
        for key, entry in ATTRIBUTES.items()
        if (not group or entry["group"] == group)
        and (not level or level_of(key) == level)
        and entry["group"] != without_group
        and key not in without
    ]
    return pool[zlib.crc32(seed.encode()) % len(pool)]
