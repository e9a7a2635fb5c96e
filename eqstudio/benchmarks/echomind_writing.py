"""EchoMind in stages: a neutral line that a judge finds open, its deliveries, then questions and replies."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import BaseModel, Field

from eqstudio.benchmarks.base import Assembled, BriefSpec, Prompt
from eqstudio.benchmarks.echomind_questions import ATTRIBUTES, TEXTS, options_unique, reply_question
from eqstudio.benchmarks.echomind_script import Reasoning, Replies, Speaker
from eqstudio.benchmarks.scripts import LineText, NameText, NoteText, ScriptPart, TitleText, same_words
from eqstudio.benchmarks.stages import Criterion, Judge, SoFar, Stage, Verdict, Written, letters_drawn, yes
from eqstudio.benchmarks.wording import vague_words
from eqstudio.benchmarks.writing import (
    LANGUAGE_NAMES,
    Score5,
    ask,
    cast_checks,
    language_check,
    length_check,
    neutral_check,
    sample_rng,
    sample_scene,
    scene_checks,
    score_criterion,
    weigh,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

GOOD, FAIR = 4, 3
KINDS = (
    "empathic_response",
    "speaker_intent",
    "preceding_event",
    "contextual_suggestion",
    "response_style_matching",
    "personalised_recommendation",
)
PLANS = tuple(f"{first} {second}" for first, second in combinations(KINDS, 2))
OPTIONS = 4
LENGTHS_APART = 6
"""The longest option of a question may be this many times as long as the shortest."""


class EchoMindLine(ScriptPart):
    title: TitleText
    topic: NameText
    speaker: Speaker
    line: LineText


class EchoMindNeutrality(ScriptPart):
    """A judge's scores for a line that is only read."""

    neutral: Score5
    fits_a: Score5
    fits_b: Score5
    why: NoteText


class EchoMindDeliveries(ScriptPart):
    target_instruction: NoteText
    alternative_instruction: NoteText


class EchoMindQuestions(ScriptPart):
    reasoning: Annotated[list[Reasoning], Field(min_length=1, max_length=2)]
    replies: Replies


def _about(key: str, language: str = "en") -> str:
    return str(ATTRIBUTES[key]["about"][language])


def _other(brief: BriefSpec) -> str:
    return str(ATTRIBUTES[brief.category.key]["alternative"])


def _line_prompt(brief: BriefSpec, _so_far: SoFar, rng: Random) -> Prompt:
    salt = rng.getrandbits(32)
    person = brief.drawn.people[0]
    user = f"""Write one line that somebody says to an assistant or a friend, in {LANGUAGE_NAMES[brief.language]}.
Topic: {brief.setting}. What it is about: {brief.drawn.topic}. The speaker is {person.name}, {person.gender}; use exactly this name and gender.

- line: 5 to 16 words. It will be spoken in several ways ({_about(brief.category.key)} {_about(_other(brief))} Or nothing special is heard), so the
  words must fit all of them: no word of feeling, no exclamation mark, nothing about voices, bodies or sounds.
- title: what the line is about, in a few particular words. topic: the topic in one word."""
    return ask(user, "echomind-line-1", lambda: _line_sample(brief, salt))


def _line_sample(brief: BriefSpec, salt: int) -> dict[str, Any]:
    title, _context = sample_scene(brief, salt)
    person = brief.drawn.people[0]
    line = sample_rng(brief).choice(TEXTS["example"]["lines"][brief.language])
    about = {"en": " It is about {topic}.", "zh": "是关于{topic}的。"}[brief.language].format(topic=brief.drawn.topic)
    return {
        "title": title[:80],
        "topic": brief.setting[:40],
        "speaker": {"name": person.name, "gender": person.gender},
        "line": f"{line}{about}"[:180],
    }


def _line_check(value: BaseModel, brief: BriefSpec, _so_far: SoFar) -> tuple[Criterion, ...]:
    draft = cast("EchoMindLine", value)
    given = [key for key in (brief.category.key, _other(brief)) if _named(key, draft.line, brief.language)]
    return (
        cast_checks([(draft.speaker.name, draft.speaker.gender)], brief),
        *scene_checks(draft.title, draft.title, brief),
        length_check("line length", {"line": draft.line}, brief.language),
        language_check("line language", [draft.line], brief.language),
        neutral_check("neutral words", draft.line, brief.language),
        yes("cue not named", good=not given, reason=f"The line names what is to be heard: {', '.join(given)}."),
    )


def _named(attribute: str, text: str, language: str) -> bool:
    """Whether a text names the attribute: its label, or in English the beginning of a word of its key."""
    if language == "zh":
        return str(ATTRIBUTES[attribute]["zh"]) in text
    words = (attribute.replace("_", " "), str(ATTRIBUTES[attribute]["en"]).casefold())
    return any(re.search(rf"\b{re.escape(word)}", text.casefold()) for word in words)


def _sides(brief: BriefSpec, rng: Random) -> dict[str, str]:
    return letters_drawn((brief.category.key, _other(brief)), rng)


def _neutrality_prompt(value: BaseModel, brief: BriefSpec, _so_far: SoFar, rng: Random) -> Prompt:
    ways = "\n".join(f"- fits_{letter.lower()}: {_about(key)}" for letter, key in _sides(brief, rng).items())
    user = f"""Somebody says: {cast("EchoMindLine", value).line}

You only read the line. Give 1 to 5 each:
- neutral: 5 if the words leave quite open how they are said, 1 if they give it away.
{ways}
  How well the words fit when the line is heard this way (5: very well, 1: they contradict it).
- why: one sentence on the lowest score."""
    return weigh(user, "echomind-neutrality-1", lambda: {"neutral": 5, "fits_a": 4, "fits_b": 4, "why": "It is open."})


def _neutrality_read(_value: BaseModel, verdict: BaseModel, brief: BriefSpec, _so_far: SoFar, rng: Random) -> Verdict:
    scores = cast("EchoMindNeutrality", verdict)
    sides = _sides(brief, rng)
    fits = {sides["A"]: scores.fits_a, sides["B"]: scores.fits_b}
    apart = abs(scores.fits_a - scores.fits_b)
    return Verdict(
        criteria=(
            score_criterion("neutral", scores.neutral, GOOD, "The words give the delivery away", scores.why),
            *(
                score_criterion(f"fits {key}", score, FAIR, f"The words do not fit this: {_about(key)}", scores.why)
                for key, score in fits.items()
            ),
            Criterion(
                "no side favoured", 5 - apart, GOOD, f"The words fit one way of speaking far better. {scores.why}"
            ),
        ),
        chosen=("",),
    )


def _deliveries_prompt(brief: BriefSpec, so_far: SoFar, _rng: Random) -> Prompt:
    line = cast("EchoMindLine", so_far["line"].value).line
    user = f"""Direct two recordings of this line, in {LANGUAGE_NAMES[brief.language]}: {line}

- target_instruction: {_about(brief.category.key)}
- alternative_instruction: {_about(_other(brief))}
- Say in concrete terms what voice, breath and body do, and what is heard around the speaker. Never a judging word such as gentle, kind or
  polite."""
    return ask(user, "echomind-deliveries-1", lambda: _deliveries_sample(brief))


def _deliveries_sample(brief: BriefSpec) -> dict[str, Any]:
    return {
        "target_instruction": ATTRIBUTES[brief.category.key]["direct"][brief.language],
        "alternative_instruction": ATTRIBUTES[_other(brief)]["direct"][brief.language],
    }


def _deliveries_check(value: BaseModel, brief: BriefSpec, _so_far: SoFar) -> tuple[Criterion, ...]:
    draft = value.model_dump()
    vague = [
        f"{key}: {', '.join(found)}" for key, text in draft.items() if (found := vague_words(text, brief.language))
    ]
    alike = same_words(draft["target_instruction"], draft["alternative_instruction"])
    return (
        yes("no vague words", good=not vague, reason=f"Vague words instead of what is heard ({'; '.join(vague)})."),
        yes("deliveries differ", good=not alike, reason="The two instructions are the same."),
        language_check("direction language", draft.values(), brief.language),
    )


def _questions_prompt(brief: BriefSpec, so_far: SoFar, _rng: Random) -> Prompt:
    line = cast("EchoMindLine", so_far["line"].value).line
    first, second = brief.drawn.plan.split()
    user = f"""Somebody says: {line}
It is heard in one of three ways. target: {_about(brief.category.key)} alternative: {_about(_other(brief))} neutral: nothing special is heard.
Write in {LANGUAGE_NAMES[brief.language]}:

- reasoning: two questions, of the types {first} and {second}. The question never says what is heard. for_target is the right answer when the target
  is heard, for_alternative when the alternative is, for_neutral when nothing special is; distractor is never right. All four options differ
  and are alike in length and style.
- replies: one short spoken reply for each way; it takes up what is heard without naming it bluntly."""
    return ask(user, "echomind-questions-1", lambda: _questions_sample(brief, line))


def _questions_sample(brief: BriefSpec, line: str) -> dict[str, Any]:
    question = reply_question(brief.category.key, brief.language, line)
    kinds = brief.drawn.plan.split()
    replies = {name: question[f"for_{name}"] for name in ("target", "neutral", "alternative")}
    return {"reasoning": [{**question, "type": kind} for kind in kinds], "replies": replies}


def _questions_check(value: BaseModel, brief: BriefSpec, _so_far: SoFar) -> tuple[Criterion, ...]:
    draft = cast("EchoMindQuestions", value)
    found: list[Criterion] = []
    for number, question in enumerate(draft.reasoning, start=1):
        options = [question.for_target, question.for_neutral, question.for_alternative, question.distractor]
        lengths = sorted(len(option) for option in options)
        told = _named(brief.category.key, question.question, brief.language)
        found += [
            yes(
                f"question {number} options",
                good=len(options_unique(options)) == OPTIONS,
                reason=f"The four options of question {number} must differ.",
            ),
            yes(
                f"question {number} lengths",
                good=lengths[-1] <= LENGTHS_APART * lengths[0],
                reason=f"The options of question {number} differ too much in length.",
            ),
            yes(f"question {number} open", good=not told, reason=f"Question {number} says what is heard."),
        ]
    kinds = sorted(question.type for question in draft.reasoning)
    planned = sorted(brief.drawn.plan.split())
    replies = list(draft.replies.model_dump().values())
    alike = any(same_words(first, second) for first, second in combinations(replies, 2))
    return (
        *found,
        yes("question types", good=kinds == planned, reason=f"Write one question of each type: {', '.join(planned)}."),
        yes("replies differ", good=not alike, reason="Two of the replies are the same."),
        language_check("reply language", replies, brief.language),
    )


STAGES = (
    Stage(
        "line",
        EchoMindLine,
        _line_prompt,
        checks=(_line_check,),
        judge=Judge(EchoMindNeutrality, _neutrality_prompt, _neutrality_read),
        scene=lambda value: (cast("EchoMindLine", value).title, cast("EchoMindLine", value).line),
    ),
    Stage("deliveries", EchoMindDeliveries, _deliveries_prompt, checks=(_deliveries_check,)),
    Stage("questions", EchoMindQuestions, _questions_prompt, checks=(_questions_check,)),
)


def assemble(_brief: BriefSpec, results: Mapping[str, Written]) -> Assembled:
    """Line, deliveries, questions and replies are the script."""
    return Assembled({key: part for written in results.values() for key, part in written.value.model_dump().items()})
