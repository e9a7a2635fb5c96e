"""The first half of writing SpeechEQ: who meets whom, and what they say."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from eqstudio.benchmarks.base import BriefSpec, Prompt
from eqstudio.benchmarks.scripts import (
    Gender,
    LineText,
    NameText,
    NoteText,
    ScriptPart,
    TitleText,
    same_words,
)
from eqstudio.benchmarks.stages import Criterion, Judge, SoFar, Stage, Verdict, yes
from eqstudio.benchmarks.texts import place_of, rubrics_read, texts_load
from eqstudio.benchmarks.writing import (
    LANGUAGE_NAMES,
    Score5,
    ask,
    cast_checks,
    language_check,
    length_check,
    neutral_check,
    people_told,
    sample_entry,
    sample_scene,
    scene_checks,
    score_criterion,
    weigh,
)

if TYPE_CHECKING:
    pass

TEXTS = texts_load("speecheq")
RUBRICS = rubrics_read(TEXTS)
CRITICAL = ("s4", "s6")
GOOD, FAIR = 4, 3
"""Of 5: what a judge must give to a strength, and to a part that only has to do."""


class SceneSpeaker(ScriptPart):
    name: NameText
    role: NameText
    gender: Gender
    persona: NoteText


class SceneSubject(ScriptPart):
    """Speaker 2 as three people: one who has the skill, two who lack it in their own ways."""

    name: NameText
    role: NameText
    gender: Gender
    persona_1: NoteText
    persona_2: NoteText
    persona_3: NoteText


class SpeechEQScene(ScriptPart):
    title: TitleText
    context: NoteText
    target_social_intent: NoteText
    speaker1: SceneSpeaker
    speaker2: SceneSubject


class SpeechEQLines(ScriptPart):
    """Six lines: s1, s3, s5 are speaker 1's, s2, s4, s6 speaker 2's."""

    s1: LineText
    s2: LineText
    s3: LineText
    s4: LineText
    s5: LineText
    s6: LineText


class SpeechEQLinesScores(ScriptPart):
    skill: Score5
    natural: Score5
    s4_neutral: Score5
    s6_neutral: Score5
    why: NoteText


def about(brief: BriefSpec) -> str:
    label = f"{brief.category.group_label['en']} - {brief.category.label['en']}"
    return f"Skill of speaker2 that is tested: {label}. {brief.category.description['en']}"


def _scene_prompt(brief: BriefSpec, _so_far: SoFar, rng: Random) -> Prompt:
    salt = rng.getrandbits(32)
    cast = brief.drawn
    user = f"""Write the scene of a six-line dialogue in {LANGUAGE_NAMES[brief.language]}.
{about(brief)}
Mood of the scene: {brief.valence}. Setting: {brief.setting}. What it is about: {cast.topic}.
Use these people; names and genders exactly so:
{people_told([("speaker1, who brings the situation in", cast.people[0]), ("speaker2, whose voice is in question", cast.people[1])])}

- title and context tell who meets where and what has happened. They never tell how speaker2 ought to react, nor name the skill.
- target_social_intent: what speaker1 needs from speaker2 in this scene.
- persona of speaker1: what drives them now.
- persona_1 of speaker2: somebody who has the skill. persona_2: somebody who {cast.archetypes[0]}. persona_3: somebody who {cast.archetypes[1]}."""
    return ask(user, "speecheq-scene-1", lambda: _scene_sample(brief, salt))


def _scene_sample(brief: BriefSpec, salt: int) -> dict[str, Any]:
    title, context = sample_scene(brief, salt)
    first, second = brief.drawn.people
    rubric = RUBRICS[brief.category.key]
    return {
        "title": title[:80],
        "context": context[:240],
        "target_social_intent": brief.category.description[brief.language][:240],
        "speaker1": {"name": first.name, "role": first.role, "gender": first.gender, "persona": brief.drawn.topic},
        "speaker2": {
            "name": second.name,
            "role": second.role,
            "gender": second.gender,
            "persona_1": rubric[3].anchor[brief.language],
            "persona_2": brief.drawn.archetypes[0],
            "persona_3": brief.drawn.archetypes[1],
        },
    }


def _scene_check(value: BaseModel, brief: BriefSpec, _so_far: SoFar) -> tuple[Criterion, ...]:
    scene = cast("SpeechEQScene", value)
    people = [(one.name, one.gender) for one in (scene.speaker1, scene.speaker2)]
    return (cast_checks(people, brief), *scene_checks(scene.title, scene.context, brief))


def scene_told(so_far: SoFar) -> str:
    scene = cast("SpeechEQScene", so_far["scene"].value)
    return f"""{scene.title}. {scene.context}
speaker1: {scene.speaker1.name}, {scene.speaker1.role}. {scene.speaker1.persona}
speaker2: {scene.speaker2.name}, {scene.speaker2.role}. What speaker1 needs: {scene.target_social_intent}"""


def lines_told(so_far: SoFar) -> str:
    lines = cast("SpeechEQLines", so_far["lines"].value)
    return "\n".join(f"{key}: {text}" for key, text in lines.model_dump().items())


def _lines_prompt(brief: BriefSpec, so_far: SoFar, _rng: Random) -> Prompt:
    user = f"""Write the six lines of this dialogue in {LANGUAGE_NAMES[brief.language]}.
{scene_told(so_far)}
{about(brief)} Mood of the scene: {brief.valence}.

- speaker1 speaks s1, s3 and s5; speaker2 speaks s2, s4 and s6. Each line has 4 to 20 words, as people talk.
- s1 to s3 lead to the emotional peak in s3; s5 takes it up again.
- s4 and s6 are neutral: words that fit warm, cold, cheerful or angry speech alike. No exclamation mark, no word of feeling, no
  praise, comfort, apology or reproach."""
    return ask(user, "speecheq-lines-1", lambda: _lines_sample(brief))


def _lines_sample(brief: BriefSpec) -> dict[str, Any]:
    entry = sample_entry([one for one in TEXTS["example"] if _neutral_entry(one, brief.language)], brief)
    first, second = brief.drawn.people
    fill = {"a": first.name, "b": second.name, "place": place_of(brief.language, brief.setting)}
    lines = [line.format(**fill) for line in entry[brief.language]["lines"]]
    return {f"s{number}": line for number, line in enumerate(lines, start=1)}


def _neutral_entry(entry: dict[str, Any], language: str) -> bool:
    lines = entry[language]["lines"]
    return all(neutral_check("", lines[at], language).passed for at in (3, 5))


def _lines_check(value: BaseModel, brief: BriefSpec, _so_far: SoFar) -> tuple[Criterion, ...]:
    lines = value.model_dump()
    repeated = any(same_words(first, second) for first, second in pairwise(lines.values()))
    return (
        yes("lines differ", good=not repeated, reason="Two lines that follow each other are the same."),
        length_check("line length", lines, brief.language),
        language_check("line language", lines.values(), brief.language),
        *(neutral_check(f"{key} neutral words", lines[key], brief.language) for key in CRITICAL),
    )


def _lines_judge_prompt(value: BaseModel, brief: BriefSpec, so_far: SoFar, _rng: Random) -> Prompt:
    lines = "\n".join(f"{key}: {text}" for key, text in value.model_dump().items())
    user = f"""{scene_told(so_far)}
{lines}

{about(brief)}
Give 1 to 5 each:
- skill: how far the moment after s3 and after s5 calls for this very skill of speaker2.
- natural: how much the lines sound like people talking.
- s4_neutral and s6_neutral: 5 if these words alone leave quite open in which mood they are said, 1 if they give it away.
- why: one sentence on the lowest score."""
    sample = {"skill": 5, "natural": 5, "s4_neutral": 5, "s6_neutral": 5, "why": "It does."}
    return weigh(user, "speecheq-lines-judge-1", lambda: sample)


def _lines_judge_read(
    _value: BaseModel, verdict: BaseModel, _brief: BriefSpec, _so_far: SoFar, _rng: Random
) -> Verdict:
    scores = cast("SpeechEQLinesScores", verdict)
    why = scores.why
    return Verdict(
        criteria=(
            score_criterion("skill", scores.skill, GOOD, "The scene hardly calls for the skill", why),
            score_criterion("natural", scores.natural, FAIR, "The lines do not sound natural", why),
            score_criterion("s4 neutral", scores.s4_neutral, GOOD, "The words of s4 give the mood away", why),
            score_criterion("s6 neutral", scores.s6_neutral, GOOD, "The words of s6 give the mood away", why),
        ),
        chosen=("",),
    )


SCENE = Stage(
    "scene",
    SpeechEQScene,
    _scene_prompt,
    checks=(_scene_check,),
    scene=lambda value: (cast("SpeechEQScene", value).title, cast("SpeechEQScene", value).context),
)
LINES = Stage(
    "lines",
    SpeechEQLines,
    _lines_prompt,
    checks=(_lines_check,),
    judge=Judge(SpeechEQLinesScores, _lines_judge_prompt, _lines_judge_read),
)
