"""What the stages of all benchmarks share: the words put to writers and judges, and checks of scenes, lines and directions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from eqstudio.benchmarks.base import Prompt
from eqstudio.benchmarks.scripts import same_words
from eqstudio.benchmarks.stages import Criterion, yes
from eqstudio.benchmarks.texts import place_of, texts_load
from eqstudio.benchmarks.wording import (
    PHYSICAL_NEEDED,
    feeling_words,
    in_language,
    physical_kinds,
    telling_words,
    vague_words,
    word_count,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from eqstudio.benchmarks.base import BriefSpec, CastMember

Score5 = Annotated[int, Field(ge=1, le=5)]
LANGUAGE_NAMES = {"en": "English", "zh": "Simplified Chinese"}
WRITER = (
    "You write short, believable spoken material for a listening test of emotional intelligence. "
    "You answer with one JSON object that fits the given schema and nothing else."
)
JUDGE = (
    "You judge material for a listening test of emotional intelligence, strictly and without knowing what its author intended. "
    "You answer with one JSON object that fits the given schema and nothing else."
)
SHORTEST, LONGEST = 2, 28


def ask(user: str, version: str, sample: Callable[[], dict[str, Any]]) -> Prompt:
    """A prompt for a writer."""
    return Prompt(system=WRITER, user=user, version=version, sample=sample)


def weigh(user: str, version: str, sample: Callable[[], dict[str, Any]]) -> Prompt:
    """A prompt for a judge."""
    return Prompt(system=JUDGE, user=user, version=version, sample=sample)


def people_told(people: Iterable[tuple[str, CastMember]]) -> str:
    """The cast, one person a line."""
    return "\n".join(f"- {part}: {one.name}, {one.gender}, {one.role}" for part, one in people)


def cast_checks(found: Iterable[tuple[str, str]], brief: BriefSpec) -> Criterion:
    """Names and genders must be those that were drawn."""
    pairs = list(zip(found, brief.drawn.people, strict=True))
    wrong = [one.name for (name, gender), one in pairs if not same_words(name, one.name) or gender != one.gender]
    return yes("cast", good=not wrong, reason=f"Use the names and genders as given; wrong: {', '.join(wrong)}.")


def scene_checks(title: str, context: str, brief: BriefSpec) -> tuple[Criterion, ...]:
    """Title and context tell who and where, in the right language, and not what is tested."""
    text = f"{title} {context}"
    telling = [*telling_words(text, brief.language)]
    if brief.category.label[brief.language].casefold() in text.casefold():
        telling.append(brief.category.label[brief.language])
    return (
        yes(
            "scene tells nothing", good=not telling, reason=f"Title or context give the test away: {_listed(telling)}."
        ),
        language_check("scene language", [title, context], brief.language),
    )


def language_check(name: str, texts: Iterable[str], language: str) -> Criterion:
    wrong = [text for text in texts if not in_language(text, language)]
    return yes(
        name, good=not wrong, reason=f"Write everything in {LANGUAGE_NAMES[language]}; this is not: {_listed(wrong)}."
    )


def length_check(name: str, texts: Mapping[str, str], language: str) -> Criterion:
    """Lines as people speak them: neither a single word nor a speech."""
    wrong = [key for key, text in texts.items() if not SHORTEST <= word_count(text, language) <= LONGEST]
    return yes(name, good=not wrong, reason=f"Lines need {SHORTEST} to {LONGEST} words; change {_listed(wrong)}.")


def neutral_check(name: str, text: str, language: str) -> Criterion:
    """The words of a line that is spoken in several ways must not carry a feeling."""
    found = feeling_words(text, language)
    return yes(name, good=not found, reason=f"The words of this line are not neutral: {_listed(found)} in {text!r}.")


def direction_checks(directions: Mapping[str, str], language: str) -> tuple[Criterion, ...]:
    """Directions describe what body and voice do; what only judges is refused."""
    vague = [f"{key}: {_listed(found)}" for key, text in directions.items() if (found := vague_words(text, language))]
    bare = [key for key, text in directions.items() if len(physical_kinds(text, language)) < PHYSICAL_NEEDED]
    return (
        yes(
            "no vague words", good=not vague, reason=f"Vague words instead of what the voice does ({'; '.join(vague)})."
        ),
        yes(
            "physical directions",
            good=not bare,
            reason=f"Say at least two bodily things (pace, pitch, volume, breath, pauses, tension, timbre); missing in {_listed(bare)}.",
        ),
        language_check("direction language", directions.values(), language),
    )


def score_criterion(name: str, score: float, threshold: float, what: str, why: str) -> Criterion:
    """A judge's score against its threshold, with the judge's own words as the reason."""
    return Criterion(name, float(score), float(threshold), f"{what} ({score:g} of 5, {threshold:g} needed): {why}")


def sample_scene(brief: BriefSpec, salt: int) -> tuple[str, str]:
    """Title and context of an example, unlike those of other casts and of other tries."""
    rng = sample_rng(brief, salt)
    pools = texts_load("variety")[brief.language]
    others = rng.sample([topic for pool in pools.values() for topic in pool["topics"]], 3)
    mark = f"{rng.randrange(16**4):04x}"
    place = place_of(brief.language, brief.setting)
    names = [one.name for one in brief.drawn.people]
    if brief.language == "zh":
        return (
            f"{brief.drawn.topic}，{mark}号",
            f"{'和'.join(names)}在{place}。说到{'、'.join(others)}，还有{brief.drawn.topic}。",
        )
    return (
        f"{brief.drawn.topic.capitalize()}, number {mark}",
        f"{' and '.join(names)} at {place}. There was {', then '.join(others)}.",
    )


def sample_rng(brief: BriefSpec, salt: int = 0) -> Random:
    """The same for every stage of a dialogue, so that the parts of an example fit together."""
    return Random(f"{brief.category.key}:{brief.language}:{brief.drawn}:{salt}")  # noqa: S311 -- reproducible text, not a secret


def sample_entry(entries: list[dict[str, Any]], brief: BriefSpec) -> dict[str, Any]:
    """One of the written examples that has the mood of the brief."""
    fitting = [entry for entry in entries if entry["valence"] == brief.valence]
    return sample_rng(brief).choice(fitting or entries)


def _listed(found: Iterable[str]) -> str:
    return ", ".join(found)
