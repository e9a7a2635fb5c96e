"""EmoSBench: grade a spoken response to somebody's words and voice from 1 to 4.

One trial per candidate response, key ``grade-<variant uid>``; what was said before is the context, the response is the
only option.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from eqstudio.benchmarks.base import (
    DESIGN,
    Assembled,
    Benchmark,
    BriefSpec,
    Delivery,
    DialogueSpec,
    Metric,
    Prompt,
    ReviewForm,
    RubricLevel,
    Score,
    TurnSpec,
    VariantSpec,
)
from eqstudio.benchmarks.emosbench_script import EmoSBenchScript, Line, Person
from eqstudio.benchmarks.emosbench_writing import STAGES, assemble
from eqstudio.benchmarks.scripts import PITCH, RATE, VOLUME, pitch_range_safe, slug
from eqstudio.benchmarks.texts import (
    categories_read,
    names_draw,
    place_of,
    reasons,
    rubrics_read,
    text_of,
    texts_load,
)
from eqstudio.benchmarks.trials import Design, Option, Outcome, Parsed, Segment, Trial, TrialKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from pydantic import BaseModel

    from eqstudio.benchmarks.base import Answered, ItemView, TurnView, VariantView
    from eqstudio.benchmarks.stages import Written

TEXTS = texts_load("emosbench")
RUBRICS = rubrics_read(TEXTS)
KEY = "grade-"
CHANCE = {"exact": 0.25, "within1": 0.625, "mae": 1.25}
"""What an even guess over 1-4 gives when every grade is the right one equally often."""


def _graded(scores: Mapping[str, Score]) -> list[Score]:
    """The grades asked for that have an intended grade to be held against."""
    return [score for key, score in scores.items() if key.startswith(KEY) and score.gold is not None]


def _share(within: float) -> Callable[[Mapping[str, Score]], float | None]:
    """How many grades are off by at most ``within``; one that was not given counts as wrong."""

    def item(scores: Mapping[str, Score]) -> float | None:
        hits = [
            score.value is not None and score.gold is not None and abs(score.value - score.gold) <= within
            for score in _graded(scores)
        ]
        return sum(hits) / len(hits) if hits else None

    return item


def _errors(scores: Mapping[str, Score]) -> list[float]:
    return [score.value - score.gold for score in _graded(scores) if score.value is not None and score.gold is not None]


def _mae(scores: Mapping[str, Score]) -> float | None:
    errors = [abs(error) for error in _errors(scores)]
    return sum(errors) / len(errors) if errors else None


def _bias(scores: Mapping[str, Score]) -> float | None:
    errors = _errors(scores)
    return sum(errors) / len(errors) if errors else None


class EmoSBench(Benchmark):
    alias: ClassVar = "emosbench"
    title: ClassVar = "EmoSBench"
    version: ClassVar = "1"
    categories: ClassVar = categories_read(TEXTS)
    script_schema: ClassVar[type[BaseModel]] = EmoSBenchScript
    review_form: ClassVar = ReviewForm(graded_roles=("response",), question=text_of(TEXTS["review"]), reasons=reasons())
    metrics: ClassVar = (
        Metric("exact", {"en": "Exact grade", "zh": "完全一致率"}, _share(0), CHANCE["exact"], binary=False),
        Metric(
            "within1", {"en": "Within one grade", "zh": "相差不超过一级"}, _share(1), CHANCE["within1"], binary=False
        ),
        Metric(
            "mae",
            {"en": "Mean absolute error", "zh": "平均绝对误差"},
            _mae,
            CHANCE["mae"],
            higher_is_better=False,
            binary=False,
        ),
        Metric(
            "bias",
            {"en": "Bias (given minus intended; best at 0)", "zh": "偏差（所给减预期，越接近 0 越好）"},
            _bias,
            higher_is_better=False,
            binary=False,
        ),
    )
    headline: ClassVar = "exact"
    tasks: ClassVar = {"grade": {"en": "Grade a response", "zh": "为回应打分"}}
    asks: ClassVar = ("grade",)
    scale: ClassVar = (1, 4)
    stages: ClassVar = STAGES

    def rubric(self, category: str) -> tuple[RubricLevel, ...]:
        return RUBRICS[category]

    def instructions(self, language: str, design: Design = DESIGN) -> str:  # noqa: ARG002 -- there is one variant
        return text_of(TEXTS["instructions"])[language]

    def script_prompt(self, brief: BriefSpec, rng: Random) -> Prompt:
        scale = "\n".join(f"- grade_{level.grade}: {level.anchor['en']}" for level in self.rubric(brief.category.key))
        longest = rng.choice(("grade_1", "grade_2", "grade_3"))
        user = PROMPT_USER.format(
            label=brief.category.label["en"],
            about=brief.category.description["en"],
            scale=scale,
            longest=longest,
            language={"en": "English", "zh": "Simplified Chinese"}[brief.language],
            valence=brief.valence,
            setting=brief.setting,
            opening="one or two exchanges" if brief.category.group == "understanding" else "no or one exchange",
        )
        if brief.avoid:
            user += "\nDo not use these names or titles again: " + "; ".join(brief.avoid) + "."
        return Prompt(system=PROMPT_SYSTEM, user=user, version="emosbench-script-1")

    def plans(self, category: str) -> tuple[str, ...]:
        """How many exchanges go before the last line: none, or as many as a change over turns needs."""
        return {"perceiving": ("0",), "understanding": ("1", "2")}.get(self.category(category).group, ("0", "1"))

    def assemble(self, brief: BriefSpec, results: Mapping[str, Written]) -> Assembled:
        return assemble(brief, results)

    def script_example(self, brief: BriefSpec, rng: Random) -> dict[str, Any]:
        fitting = [entry for entry in TEXTS["example"] if entry["valence"] == brief.valence]
        entry = rng.choice(fitting or TEXTS["example"])
        words = entry[brief.language]
        (name1, gender1), (name2, gender2) = names_draw(brief.language, rng)
        fill = {"a": name1, "b": name2, "place": place_of(brief.language, brief.setting)}
        roles = {"en": ("caller", "adviser"), "zh": ("来访者", "接待员")}[brief.language]
        multi = brief.category.group == "understanding" or rng.random() < 0.5  # noqa: PLR2004 -- an even draw
        asked, said = words["opening"]
        opening = [{"user": _example_line(asked, "neutral", rng), "responder": _example_line(said, "calm", rng)}]
        emotions = (rng.choice(("angry", "disgusted", "neutral")), "neutral", "warm", "warm")
        return {
            "title": words["title"].format(**fill),
            "context": words["context"].format(**fill),
            "user": {"name": name1, "role": roles[0], "gender": gender1},
            "responder": {"name": name2, "role": roles[1], "gender": gender2},
            "opening": opening if multi else [],
            "user_line": _example_line(words["user"], entry["emotion"], rng),
            **{
                f"grade_{grade}": {**_example_line(text, emotion, rng), "rationale": why}
                for grade, (text, emotion, why) in enumerate(
                    zip(words["responses"], emotions, words["rationale"], strict=True), start=1
                )
            },
        }

    def script_read(self, script: BaseModel, brief: BriefSpec) -> DialogueSpec:
        script = cast("EmoSBenchScript", script)
        context: list[tuple[str, Person, Line]] = []
        for exchange in script.opening:
            context.append(("user", script.user, exchange.user))
            context.append(("responder", script.responder, exchange.responder))
        context.append(("user", script.user, script.user_line))
        turns = [
            TurnSpec(
                position=position,
                role="context",
                speaker=speaker,
                speaker_name=person.name,
                gender=person.gender,
                variants=(VariantSpec("only", line.text, _delivery(line, brief.language)),),
            )
            for position, (speaker, person, line) in enumerate(context, start=1)
        ]
        turns.append(
            TurnSpec(
                position=len(turns) + 1,
                role="response",
                speaker="responder",
                speaker_name=script.responder.name,
                gender=script.responder.gender,
                variants=tuple(
                    VariantSpec(str(grade), line.text, _delivery(line, brief.language), grade, line.rationale)
                    for grade, line in enumerate(script.responses(), start=1)
                ),
            )
        )
        return DialogueSpec(
            title=script.title,
            scenario={
                "title": script.title,
                "context": script.context,
                **{f"user_{key}": value for key, value in script.user.model_dump().items()},
                **{f"responder_{key}": value for key, value in script.responder.model_dump().items()},
            },
            valence=brief.valence,
            template_key=f"emosbench:{brief.category.key}:{brief.valence}:{brief.setting}",
            topic_key=slug(script.title),
            turns=tuple(turns),
        )

    def next_trial(
        self, item: ItemView, answers: Sequence[Answered], rng: Random, design: Design = DESIGN
    ) -> Trial | None:
        given = {answer.trial.key for answer in answers}
        candidates = sorted(
            (
                (variant.uid, turn)
                for turn in item.turns
                if turn.role == "response"
                for variant in turn.variants
                if variant.has_audio
            ),
            key=lambda pair: pair[0],
        )
        rng.shuffle(candidates)
        for uid, turn in candidates:
            if KEY + uid not in given:
                return replace(self._question(item, turn, uid), order=design.order)
        return None

    def _question(self, item: ItemView, turn: TurnView, uid: str) -> Trial:
        category = self.category(item.category)
        language = item.language
        ask = text_of(TEXTS["ask"])[language].format(
            label=category.label[language], about=category.description[language]
        )
        scale = [f"{level.grade}: {level.anchor[language]}" for level in self.rubric(item.category)]
        earlier = sorted((t for t in item.turns if t.position < turn.position), key=lambda t: t.position)
        return Trial(
            key=KEY + uid,
            kind=TrialKind.GRADE,
            category=item.category,
            language=language,
            question="\n".join([ask, *scale]),
            scenario="\n".join(str(item.scenario[key]) for key in ("title", "context") if item.scenario.get(key)),
            context=tuple(_segment(item, t, t.variants[0]) for t in earlier if t.role == "context" and t.variants),
            options=(Option(letter="A", variant=uid),),
            scale=(1, 4),
        )

    def score(self, item: ItemView, trial: Trial, parsed: Parsed) -> Score:
        uid = trial.key.removeprefix(KEY)
        grade = next((v.grade for turn in item.turns for v in turn.variants if v.uid == uid), None)
        gold = None if grade is None else float(grade)
        if parsed.outcome is not Outcome.ANSWERED or parsed.value is None:
            return Score(gold=gold)
        value = float(parsed.value)
        return Score(correct=None if gold is None else value == gold, value=value, gold=gold)


def _segment(item: ItemView, turn: TurnView, variant: VariantView) -> Segment:
    """The line as heard; as read only where it has no sound."""
    speaker = str(item.scenario.get(f"{turn.speaker}_name") or turn.speaker)
    return Segment(speaker, variant=variant.uid) if variant.has_audio else Segment(speaker, text=variant.text)


def _delivery(line: Line, language: str) -> Delivery:
    """Words for a voice that follows them; numbers from the feeling, moved by the three levels."""
    direct, emotion = TEXTS["direct"], TEXTS["emotion"][line.emotion]
    level = direct["level"][language]
    return Delivery(
        instruction=direct[language].format(
            emotion=emotion[language],
            rate=level[line.rate],
            pitch=level[line.pitch],
            volume=level[line.volume],
            sound=direct["sound"][language][line.non_verbal],
        ),
        pitch=emotion["pitch"] + PITCH[line.pitch],
        pitch_range=pitch_range_safe(emotion["range"], language),
        rate=RATE[line.rate],
        volume=VOLUME[line.volume],
    )


def _example_line(text: str, emotion: str, rng: Random) -> dict[str, str]:
    """Volume, rate and pitch are drawn, so that none of them tells the grade."""
    return {
        "text": text,
        "emotion": emotion,
        "volume": rng.choice(("low", "normal", "high")),
        "rate": rng.choice(("slow", "normal", "fast")),
        "pitch": rng.choice(("low", "normal", "high")),
        "non_verbal": "none",
    }


PROMPT_SYSTEM = (
    "You write short, believable spoken exchanges for a listening test of emotional intelligence. "
    "You answer with one JSON object that fits the given schema and nothing else."
)
PROMPT_USER = """Write one exchange in {language}: what a user says, and four responses to it, one for each grade.
Skill of the responder that is tested: {label}. {about}
Mood of the scene: {valence}. Setting: {setting}. Before the last line of the user put {opening} into opening.

The four responses:
{scale}
- Names, roles and the place are particular and uncommon; the two people have different names.
- title and context tell who talks to whom and where. They never tell how one ought to respond.
- Each line has 4 to 25 words, as people talk. All responses answer the same line in different words.
- emotion, volume, rate, pitch and non_verbal tell how a line is spoken; what the user feels is heard in them rather than said.
- Length and loudness must not tell the grade: here {longest} is the longest response.
- rationale says in one sentence why the response deserves its grade."""
