"""SpeechEQ: which of two deliveries of the same words suits the moment, twice in one conversation.

The rendition chosen first becomes the context of the second question. Trial keys are ``s4`` and ``s6``; ``speecheq_trials``
tells the variants.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, cast

from pydantic import Field, model_validator

from eqstudio.benchmarks.base import (
    DESIGN,
    Assembled,
    Benchmark,
    BriefSpec,
    DialogueSpec,
    Metric,
    Prompt,
    ReviewForm,
    RubricLevel,
    Score,
    TurnSpec,
    VariantSpec,
)
from eqstudio.benchmarks.scripts import (
    Gender,
    LineText,
    NameText,
    NoteText,
    ScriptPart,
    TitleText,
    Tone,
    coin,
    same_words,
    slug,
    tone_delivery,
)
from eqstudio.benchmarks.speecheq_trials import RIGHT, TONE_CLIP, TONE_TEXT, WRONG, instructions, next_trial, score
from eqstudio.benchmarks.speecheq_writing import STAGES, assemble
from eqstudio.benchmarks.texts import (
    categories_read,
    names_draw,
    place_of,
    reasons,
    rubrics_read,
    text_of,
    texts_load,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from pydantic import BaseModel

    from eqstudio.benchmarks.base import Answered, ItemView
    from eqstudio.benchmarks.stages import Written
    from eqstudio.benchmarks.trials import Design, Parsed, Trial

TEXTS = texts_load("speecheq")
RUBRICS = rubrics_read(TEXTS)
OPPOSITE = {
    "pace": {"slow": "fast", "fast": "slow"},
    "pitch": {"low": "high", "high": "low"},
    "melody": {"flat": "lively", "lively": "flat"},
}
MISPLACED = {
    "positive": {"pace": "slow", "pitch": "low", "melody": "flat"},
    "negative": {"pace": "fast", "pitch": "high", "melody": "lively"},
    "conflict": {"pace": "fast", "pitch": "high", "melody": "flat"},
}
"""What a deaf ear does to a scene: dullness to joy, cheer to grief, a cold snap to a quarrel."""
DIFFERENCES_NEEDED = 2


class Person(ScriptPart):
    name: NameText
    role: NameText
    gender: Gender


class Catalyst(Person):
    """Speaker 1, who brings the situation in."""

    persona: NoteText


class Subject(Person):
    """Speaker 2, whose voice is in question: once as somebody skilled, once as somebody who is not."""

    persona_high: NoteText
    persona_low: NoteText


class Scenario(ScriptPart):
    title: TitleText
    context: NoteText
    speaker1: Catalyst
    speaker2: Subject


class ContextLine(ScriptPart):
    text: LineText
    tone: Tone


class CriticalLine(ScriptPart):
    """One text, spoken in two ways. Tones that are alike are not refused (a small model would never get through):
    ``script_read`` sets them apart.
    """

    text: LineText
    high: Tone
    low: Tone


class SpeechEQScript(ScriptPart):
    """Six lines that alternate by construction: s1, s3, s5 are speaker 1's, s2, s4, s6 are speaker 2's."""

    scenario: Scenario
    s1: Annotated[ContextLine, Field(description="speaker1 opens")]
    s2: Annotated[ContextLine, Field(description="speaker2 answers")]
    s3: Annotated[ContextLine, Field(description="speaker1 reaches the emotional peak")]
    s4: Annotated[CriticalLine, Field(description="speaker2, neutral words, two deliveries")]
    s5: Annotated[ContextLine, Field(description="speaker1 goes on")]
    s6: Annotated[CriticalLine, Field(description="speaker2, neutral words, two deliveries")]

    @model_validator(mode="after")
    def parts_differ(self) -> Self:
        if same_words(self.scenario.speaker1.name, self.scenario.speaker2.name):
            raise ValueError("The two speakers need different names.")
        lines = [line.text for line in self.lines()]
        if any(same_words(first, second) for first, second in pairwise(lines)):
            raise ValueError("Two lines that follow each other must not be the same.")
        return self

    def lines(self) -> tuple[ContextLine | CriticalLine, ...]:
        return (self.s1, self.s2, self.s3, self.s4, self.s5, self.s6)


def subscale_key(label: str) -> str:
    """The category of a label such as ``Self-Perception - Self-Regard``; KeyError if there is none."""
    return SpeechEQ().category(re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")).key


def subscale_label(key: str) -> str:
    """The English label ``Composite - Subscale`` of a category."""
    category = SpeechEQ().category(key)
    return f"{category.group_label['en']} - {category.label['en']}"


def _accuracy(key: str) -> Callable[[Mapping[str, Score]], float | None]:
    def item(scores: Mapping[str, Score]) -> float | None:
        return float(bool(scores[key].correct)) if key in scores else None

    return item


def _trajectory(scores: Mapping[str, Score]) -> float | None:
    if "s4" not in scores or "s6" not in scores:
        return None
    return float(bool(scores["s4"].correct) and bool(scores["s6"].correct))


def _all(scores: Mapping[str, Score]) -> float | None:
    asked = [bool(scores[key].correct) for key in ("s4", "s6") if key in scores]
    return sum(asked) / len(asked) if asked else None


class SpeechEQ(Benchmark):
    alias: ClassVar = "speecheq"
    title: ClassVar = "SpeechEQ"
    version: ClassVar = "1"
    categories: ClassVar = categories_read(TEXTS)
    script_schema: ClassVar[type[BaseModel]] = SpeechEQScript
    review_form: ClassVar = ReviewForm(graded_roles=("critical",), question=text_of(TEXTS["review"]), reasons=reasons())
    metrics: ClassVar = (
        Metric("acc1", {"en": "Accuracy, first choice", "zh": "第一次选择正确率"}, _accuracy("s4"), chance=0.5),
        Metric("acc2", {"en": "Accuracy, second choice", "zh": "第二次选择正确率"}, _accuracy("s6"), chance=0.5),
        Metric("acc_traj", {"en": "Both choices right", "zh": "两次均正确"}, _trajectory, chance=0.25),
        Metric("acc_all", {"en": "Accuracy, all choices", "zh": "总体正确率"}, _all, chance=0.5, binary=False),
    )
    headline: ClassVar = "acc_traj"
    parts: ClassVar = {
        "s4": {"en": "Turn 4", "zh": "第 4 轮"},
        "s6": {"en": "Turn 6", "zh": "第 6 轮"},
        TONE_TEXT: {"en": "Tone: description of a voice", "zh": "语气：为声音选描述"},
        TONE_CLIP: {"en": "Tone: voice of a description", "zh": "语气：为描述选声音"},
    }
    tasks: ClassVar = {
        "choice": {"en": "Choose between two deliveries", "zh": "在两种说法中选择"},
        "tone": {"en": "Match voice and description", "zh": "声音与描述配对"},
    }
    asks: ClassVar = ("choice",)
    stages: ClassVar = STAGES
    shortcut_pairs: ClassVar = (RIGHT, WRONG)

    def rubric(self, category: str) -> tuple[RubricLevel, ...]:
        return RUBRICS[category]

    def instructions(self, language: str, design: Design = DESIGN) -> str:
        return instructions(language, design)

    def part(self, key: str, extras: Mapping[str, Any]) -> str:
        kind = key.rpartition("-")[0]
        return kind if kind in self.parts else super().part(key, extras)

    def script_prompt(self, brief: BriefSpec, rng: Random) -> Prompt:
        rubric = self.rubric(brief.category.key)
        archetype = rng.choice(TEXTS["archetypes"][brief.language])
        user = PROMPT_USER.format(
            subscale=subscale_label(brief.category.key),
            about=brief.category.description["en"],
            best=rubric[3].anchor["en"],
            worst=rubric[0].anchor["en"],
            archetype=archetype,
            language={"en": "English", "zh": "Simplified Chinese"}[brief.language],
            valence=brief.valence,
            setting=brief.setting,
        )
        if brief.avoid:
            user += "\nDo not use these names or titles again: " + "; ".join(brief.avoid) + "."
        return Prompt(system=PROMPT_SYSTEM, user=user, version="speecheq-script-1")

    def archetypes(self, language: str) -> tuple[str, ...]:
        return tuple(TEXTS["archetypes"][language])

    def assemble(self, _brief: BriefSpec, results: Mapping[str, Written]) -> Assembled:
        return assemble(results)

    def script_example(self, brief: BriefSpec, rng: Random) -> dict[str, Any]:
        fitting = [entry for entry in TEXTS["example"] if entry["valence"] == brief.valence]
        entry = rng.choice(fitting or TEXTS["example"])
        language = brief.language
        (name1, gender1), (name2, gender2) = names_draw(language, rng)
        fill = {"a": name1, "b": name2, "place": place_of(language, brief.setting)}
        rubric = self.rubric(brief.category.key)
        lines = [line.format(**fill) for line in entry[language]["lines"]]
        high, low = _example_tones(rubric, entry["valence"], language)
        spoken = [{"text": text, "tone": _example_tone(language)} for text in lines]
        spoken[3] = {"text": lines[3], "high": high, "low": low}
        spoken[5] = {"text": lines[5], "high": high, "low": low}
        roles = {"en": ("visitor", "friend"), "zh": ("来访者", "朋友")}[language]
        return {
            "scenario": {
                "title": entry[language]["title"].format(**fill),
                "context": entry[language]["context"].format(**fill),
                "speaker1": {"name": name1, "role": roles[0], "gender": gender1, "persona": roles[0]},
                "speaker2": {
                    "name": name2,
                    "role": roles[1],
                    "gender": gender2,
                    "persona_high": rubric[3].anchor[language],
                    "persona_low": rng.choice(TEXTS["archetypes"][language]),
                },
            },
            **{f"s{number}": line for number, line in enumerate(spoken, start=1)},
        }

    def script_read(self, script: BaseModel, brief: BriefSpec) -> DialogueSpec:
        script = cast("SpeechEQScript", script)
        first, second = script.scenario.speaker1, script.scenario.speaker2
        turns = []
        for position, line in enumerate(script.lines(), start=1):
            person: Person = first if position % 2 else second
            turns.append(
                TurnSpec(
                    position=position,
                    role="critical" if isinstance(line, CriticalLine) else "context",
                    speaker="speaker1" if position % 2 else "speaker2",
                    speaker_name=person.name,
                    gender=person.gender,
                    variants=_variants(line, brief),
                )
            )
        return DialogueSpec(
            title=script.scenario.title,
            scenario={
                "title": script.scenario.title,
                "context": script.scenario.context,
                "scenario_valence": brief.valence,
                "eq_skill_tested": subscale_label(brief.category.key),
                **{f"speaker1_{key}": value for key, value in first.model_dump().items()},
                **{f"speaker2_{key}": value for key, value in second.model_dump().items()},
            },
            valence=brief.valence,
            template_key=f"speecheq:{brief.category.key}:{brief.valence}:{brief.setting}",
            topic_key=slug(script.scenario.title),
            turns=tuple(turns),
        )

    def next_trial(
        self, item: ItemView, answers: Sequence[Answered], rng: Random, design: Design = DESIGN
    ) -> Trial | None:
        return next_trial(item, answers, rng, design)

    def score(self, item: ItemView, trial: Trial, parsed: Parsed) -> Score:
        return score(item, trial, parsed)


def _variants(line: ContextLine | CriticalLine, brief: BriefSpec) -> tuple[VariantSpec, ...]:
    if isinstance(line, ContextLine):
        return (VariantSpec("only", line.text, tone_delivery(line.tone, brief.language)),)
    low = _set_apart(line.high, line.low, brief.valence)
    volume = coin(line.text)  # by the words, so that "pick the quieter one" finds the key half of the time
    return (
        VariantSpec(RIGHT, line.text, tone_delivery(line.high, brief.language, volume)),
        VariantSpec(WRONG, line.text, tone_delivery(low, brief.language, -volume)),
    )


def _set_apart(high: Tone, low: Tone, valence: str) -> Tone:
    """``low``, moved away from ``high`` where the two would sound alike; the direction then says so as well."""
    features = ("pace", "pitch", "melody")
    if sum(getattr(high, name) != getattr(low, name) for name in features) >= DIFFERENCES_NEEDED:
        return low
    misplaced = MISPLACED.get(valence, MISPLACED["conflict"])
    moved = {name: OPPOSITE[name].get(getattr(high, name), misplaced[name]) for name in features}
    return low.model_copy(update=moved)


def _example_tone(language: str) -> dict[str, str]:
    text = {
        "en": "Speak as one does in an ordinary talk, with clear feeling.",
        "zh": "像平常说话那样，带着真实的感受。",
    }
    return {"instruction": text[language], "pace": "normal", "pitch": "normal", "melody": "normal"}


def _example_tones(
    rubric: tuple[RubricLevel, ...], valence: str, language: str
) -> tuple[dict[str, str], dict[str, str]]:
    misplaced = MISPLACED.get(valence, MISPLACED["conflict"])
    fitting = {name: OPPOSITE[name][value] for name, value in misplaced.items()}
    return (
        {"instruction": rubric[3].anchor[language], **fitting},
        {"instruction": rubric[0].anchor[language], **misplaced},
    )


PROMPT_SYSTEM = (
    "You write short, believable spoken dialogues for a listening test of emotional intelligence. "
    "You answer with one JSON object that fits the given schema and nothing else."
)
PROMPT_USER = """Write one dialogue of six lines in {language}.
Skill of speaker2 that is tested: {subscale}. {about}
Mood of the scene: {valence}. Setting: {setting}.

speaker1 brings the situation in and speaks s1, s3 and s5. speaker2 speaks s2, s4 and s6.
- Names, roles and the place are particular and uncommon; the two people have different names.
- title and context tell who meets where and what has happened. They never tell how speaker2 ought to react.
- Each line has 4 to 20 words, as people talk.
- s4 and s6: the words are neutral and would fit either way of speaking. No exclamation mark, no word of feeling.
- high is the delivery of persona_high: {best}
- low is the delivery of persona_low, somebody who {archetype}: {worst}
- Every tone says in bodily terms what the voice does (pace, pitch, breath, pauses, tension). No vague words such as polite or gentle.
- pace, pitch and melody must agree with the instruction, and high and low must differ in at least two of them.
- Which of the two is slower, higher or livelier depends on the scene. Loudness must not tell them apart."""
