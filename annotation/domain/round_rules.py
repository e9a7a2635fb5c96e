"""What a round can be told: names of rules, questions and skills, checked before they are stored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from eqstudio.errors import InvalidInput

VERDICT_RULES = ("k_of_n", "majority", "dawid_skene")
GRADE_RULES = ("median", "majority", "dawid_skene")
QUESTIONS = ("confidence", "emotion", "naturalness")
COMMENT = ("optional", "required", "off")
SKILL = re.compile(r"[\w][\w .+-]{0,39}")
SKILLS_AT_MOST = 20


def questions_check(found: object) -> dict[str, bool | str]:
    """The questions asked beside grade and verdict, with what is not said left out."""
    if not isinstance(found, Mapping) or set(found) - {*QUESTIONS, "comment"}:
        raise InvalidInput(f"Questions are {', '.join(QUESTIONS)} and comment.", field="questions")
    if any(not isinstance(found[name], bool) for name in QUESTIONS if name in found):
        raise InvalidInput("A question is asked or not: true or false.", field="questions")
    if found.get("comment", "optional") not in COMMENT:
        raise InvalidInput(f"A comment is {', '.join(COMMENT)}.", field="questions")
    kept: dict[str, bool | str] = {name: True for name in QUESTIONS if found.get(name)}
    return {**kept, **({"comment": found["comment"]} if found.get("comment", "optional") != "optional" else {})}


def skills_check(found: object, *, field: str = "skills_needed") -> list[str]:
    """Skills as short words, each once, in order."""
    if isinstance(found, str) or not isinstance(found, Sequence) or len(found) > SKILLS_AT_MOST:
        raise InvalidInput(f"Skills are a list of at most {SKILLS_AT_MOST} short words.", field=field)
    if not all(isinstance(word, str) and SKILL.fullmatch(word) for word in found):
        raise InvalidInput("A skill is a short word or two: letters, digits, spaces and . + - _", field=field)
    return sorted({word.strip().lower() for word in found})


def skills_read(text: str, *, field: str = "skills_needed") -> list[str]:
    """Skills from a line of text, separated by commas."""
    return skills_check([word.strip() for word in text.replace("，", ",").split(",") if word.strip()], field=field)
