"""EchoMind: the same neutral words spoken in different ways; understand, reason, reply.

One recording per item is put before every respondent, drawn by the item's public id. Trial keys: ``asr``,
``mcq-understanding-<n>``, ``mcq-reasoning-<n>``, ``reply``.
"""

from __future__ import annotations

import unicodedata
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import jiwer

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
from eqstudio.benchmarks.echomind_questions import (
    ATTRIBUTES,
    TEXTS,
    coarse_question,
    fine_question,
    level_of,
    reasoning_question,
    reply_question,
)
from eqstudio.benchmarks.echomind_script import EchoMindScript
from eqstudio.benchmarks.echomind_writing import PLANS, STAGES, assemble
from eqstudio.benchmarks.scripts import pitch_range_safe, same_words, slug
from eqstudio.benchmarks.texts import categories_read, names_draw, reasons, rubrics_read, text_of
from eqstudio.benchmarks.trials import Design, Option, Outcome, Parsed, Segment, Trial, TrialKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from pydantic import BaseModel

    from eqstudio.benchmarks.base import Answered, ItemView, VariantView
    from eqstudio.benchmarks.stages import Written

RUBRICS = rubrics_read(TEXTS)
KEY = "mcq-"
LETTERS = "ABCDEFGH"
QUESTION_TYPES = {
    "coarse_grained": {"en": "What stands out", "zh": "总体听辨"},
    "gender": {"en": "Heard: gender", "zh": "听辨：性别"},
    "age_group": {"en": "Heard: age group", "zh": "听辨：年龄段"},
    "voice_style": {"en": "Heard: state of the voice", "zh": "听辨：嗓音状态"},
    "speech_emotion": {"en": "Heard: feeling", "zh": "听辨：情绪"},
    "speaking_pace": {"en": "Heard: pace", "zh": "听辨：语速"},
    "non_verbal_expression": {"en": "Heard: sound without words", "zh": "听辨：非语言声音"},
    "background_sound": {"en": "Heard: background", "zh": "听辨：背景声"},
    "multiple_people_detection": {"en": "Follows: how many people", "zh": "推断：人数"},
    "laughter_sentiment": {"en": "Follows: what the laughter says", "zh": "推断：笑声含义"},
    "shouting_sentiment": {"en": "Follows: what the shouting says", "zh": "推断：喊叫含义"},
    "audio_text_consistency": {"en": "Follows: do voice and words agree", "zh": "推断：声音与文字是否一致"},
    "response_style_matching": {"en": "Follows: style of the reply", "zh": "推断：回复风格"},
    "personalised_recommendation": {"en": "Follows: recommendation", "zh": "推断：个性化推荐"},
    "contextual_suggestion": {"en": "Follows: suggestion", "zh": "推断：情境建议"},
    "preceding_event": {"en": "Follows: what came before", "zh": "推断：先前事件"},
    "speaker_intent": {"en": "Follows: what the speaker wants", "zh": "推断：说话人意图"},
    "empathic_response": {"en": "Follows: which reply fits", "zh": "推断：共情回复"},
}
"""Types of closed question: what is heard, and what follows from it."""
TOPICS = (
    "school",
    "family",
    "work",
    "entertainment",
    "health",
    "beauty",
    "games",
    "food",
    "technology",
    "sports",
    "finance",
    "no_specific_topic",
)


def _accuracy(prefix: str) -> Callable[[Mapping[str, Score]], float | None]:
    def item(scores: Mapping[str, Score]) -> float | None:
        asked = [bool(score.correct) for key, score in scores.items() if key.startswith(prefix)]
        return sum(asked) / len(asked) if asked else None

    return item


def _above_chance(scores: Mapping[str, Score]) -> float | None:
    """Accuracy put on a scale from guessing (0) to all right (1), as questions have two to four options."""
    lifts = [
        (float(bool(score.correct)) - score.gold) / (1 - score.gold)
        for key, score in scores.items()
        if key.startswith(KEY) and score.gold is not None and score.gold < 1
    ]
    return sum(lifts) / len(lifts) if lifts else None


def _error_rate(scores: Mapping[str, Score]) -> float | None:
    return scores["asr"].value if "asr" in scores else None


class EchoMind(Benchmark):
    alias: ClassVar = "echomind"
    title: ClassVar = "EchoMind"
    version: ClassVar = "1"
    categories: ClassVar = categories_read(TEXTS)
    valences: ClassVar = ("neutral",)
    settings: ClassVar = TOPICS
    script_schema: ClassVar[type[BaseModel]] = EchoMindScript
    review_form: ClassVar = ReviewForm(graded_roles=("critical",), question=text_of(TEXTS["review"]), reasons=reasons())
    metrics: ClassVar = (
        Metric("mcq", {"en": "Accuracy, all options questions", "zh": "选择题总正确率"}, _accuracy(KEY), binary=False),
        Metric(
            "mcq_understanding",
            {"en": "Accuracy, understanding", "zh": "理解题正确率"},
            _accuracy(KEY + "understanding"),
            binary=False,
        ),
        Metric(
            "mcq_reasoning",
            {"en": "Accuracy, reasoning", "zh": "推理题正确率"},
            _accuracy(KEY + "reasoning"),
            binary=False,
        ),
        Metric(
            "mcq_above_chance",
            {"en": "Accuracy above guessing", "zh": "高于猜测的正确率"},
            _above_chance,
            chance=0.0,
            binary=False,
        ),
        Metric(
            "wer",
            {"en": "Transcript errors (words, Chinese characters)", "zh": "转写错误率（英文按词，中文按字）"},
            _error_rate,
            higher_is_better=False,
            binary=False,
        ),
    )
    headline: ClassVar = "mcq"
    tasks: ClassVar = {
        "asr": {"en": "Transcript", "zh": "转写"},
        "mcq": {"en": "Questions with options", "zh": "选择题"},
        "reply": {"en": "Reply", "zh": "回应"},
    }
    asks: ClassVar = ("asr", "mcq", "reply")
    parts: ClassVar = QUESTION_TYPES
    parts_by_extras: ClassVar = True
    open_replies: ClassVar = True
    stages: ClassVar = STAGES
    speakers: ClassVar = 1

    def rubric(self, category: str) -> tuple[RubricLevel, ...]:
        return RUBRICS[category]

    def instructions(self, language: str, design: Design = DESIGN) -> str:
        told = TEXTS["instructions"]
        tasks = self.tasks_of(design)
        kinds = [text_of(told[task])[language] for task in tasks]
        listed = "\n".join(f"{number}. {text}" for number, text in enumerate(kinds, start=1))
        head = text_of(told["head"])[language].format(count=told["count"][language][len(tasks) - 1])
        return "\n\n".join([head, listed, text_of(told["tail"])[language]])

    def script_prompt(self, brief: BriefSpec, rng: Random) -> Prompt:
        entry = ATTRIBUTES[brief.category.key]
        kinds = rng.sample(("empathic_response", "speaker_intent", "preceding_event", "contextual_suggestion"), 2)
        user = PROMPT_USER.format(
            target=entry["about"]["en"],
            alternative=ATTRIBUTES[entry["alternative"]]["about"]["en"],
            language={"en": "English", "zh": "Simplified Chinese"}[brief.language],
            topic=brief.setting,
            kinds=" and ".join(kinds),
        )
        if brief.avoid:
            user += "\nDo not use these names or titles again: " + "; ".join(brief.avoid) + "."
        return Prompt(system=PROMPT_SYSTEM, user=user, version="echomind-script-1")

    def plans(self, _category: str) -> tuple[str, ...]:
        """Which two kinds of question are asked."""
        return PLANS

    def assemble(self, brief: BriefSpec, results: Mapping[str, Written]) -> Assembled:
        return assemble(brief, results)

    def script_example(self, brief: BriefSpec, rng: Random) -> dict[str, Any]:
        language = brief.language
        entry = ATTRIBUTES[brief.category.key]
        other = ATTRIBUTES[entry["alternative"]]
        (name, gender), _ = names_draw(language, rng)
        line = rng.choice(TEXTS["example"]["lines"][language])
        replies = {
            "target": entry["reply"][language],
            "neutral": TEXTS["plain"]["reply"][language],
            "alternative": other["reply"][language],
        }
        return {
            "title": line[:80],
            "topic": brief.setting or "no_specific_topic",
            "speaker": {"name": name, "gender": gender},
            "line": line,
            "target_instruction": entry["direct"][language],
            "alternative_instruction": other["direct"][language],
            "reasoning": [reply_question(brief.category.key, language, f"{line}{rng.random()}")],
            "replies": replies,
        }

    def script_read(self, script: BaseModel, brief: BriefSpec) -> DialogueSpec:
        script = cast("EchoMindScript", script)
        attribute, language = brief.category.key, brief.language
        other = ATTRIBUTES[attribute]["alternative"]
        deliveries = {"target": _delivery(attribute, script.target_instruction, language)}
        if level_of(attribute) != "speaker":
            deliveries["neutral"] = Delivery(instruction=TEXTS["plain"]["direct"][language])
        deliveries["alternative"] = _delivery(other, script.alternative_instruction, language)
        turn = TurnSpec(
            position=1,
            role="critical",
            speaker="speaker",
            speaker_name=script.speaker.name,
            gender=ATTRIBUTES[attribute].get("voice", {}).get("gender", script.speaker.gender),
            variants=tuple(VariantSpec(label, script.line, delivery) for label, delivery in deliveries.items()),
        )
        telling = [q.model_dump() for q in script.reasoning if not same_words(q.for_target, q.for_alternative)]
        questions = [
            coarse_question(attribute, language, script.line),
            fine_question(attribute, language, script.line),
            *(
                reasoning_question(number, written, attribute)
                for number, written in enumerate(telling or [reply_question(attribute, language, script.line)], start=1)
            ),
        ]
        replies = {label: text for label, text in script.replies.model_dump().items() if label in deliveries}
        return DialogueSpec(
            title=script.title,
            scenario={"title": script.title, "topic": script.topic, "speaker_name": script.speaker.name},
            valence=brief.valence,
            template_key=f"echomind:{attribute}:{brief.setting}",
            topic_key=slug(script.title),
            turns=(turn,),
            extras={"questions": questions, "replies": replies},
        )

    def part(self, key: str, extras: Mapping[str, Any]) -> str:
        asked = {KEY + question["key"]: question["type"] for question in extras.get("questions", ())}
        return str(asked.get(key, ""))

    def next_trial(
        self, item: ItemView, answers: Sequence[Answered], rng: Random, design: Design = DESIGN
    ) -> Trial | None:
        stimulus = _stimulus(item)
        if stimulus is None:
            return None
        given = {answer.trial.key for answer in answers}
        tasks = self.tasks_of(design)
        for trial in _trials(item, stimulus, rng):
            if trial.key.partition("-")[0] in tasks and trial.key not in given:
                return replace(trial, order=design.order)
        return None

    def score(self, item: ItemView, trial: Trial, parsed: Parsed) -> Score:
        variant = _heard(item, trial)
        answered = parsed.outcome is Outcome.ANSWERED
        if trial.kind is TrialKind.TRANSCRIBE:
            return (
                Score(value=_transcript_error(variant.text, str(parsed.value), item.language)) if answered else Score()
            )
        if trial.kind is not TrialKind.MCQ:
            return Score()
        chance = 1 / len(trial.options)
        if not answered:
            return Score(gold=chance)
        question = next(q for q in item.extras["questions"] if KEY + q["key"] == trial.key)
        chosen = next((option.text for option in trial.options if option.letter == parsed.value), None)
        return Score(correct=chosen is not None and chosen == question["answers"].get(variant.label), gold=chance)

    def cue(self, item: ItemView, trial: Trial) -> str:
        """What is to be heard besides the words in the recording of ``trial``, for who judges a reply that is in."""
        entry = ATTRIBUTES[item.category]
        about = {
            "target": entry["about"],
            "alternative": ATTRIBUTES[entry["alternative"]]["about"],
            "neutral": TEXTS["coarse"]["plain"],
        }
        return str(about.get(_heard(item, trial).label, TEXTS["coarse"]["plain"])[item.language])

    def reference(self, item: ItemView, trial: Trial) -> str:
        """The reply that was written for the recording of ``trial``; empty where there is none. For a reply that is in."""
        return str(item.extras.get("replies", {}).get(_heard(item, trial).label, ""))


def _heard(item: ItemView, trial: Trial) -> VariantView:
    heard = next(segment.variant for segment in reversed(trial.context) if segment.variant)
    return next(v for turn in item.turns for v in turn.variants if v.uid == heard)


def _stimulus(item: ItemView) -> VariantView | None:
    """The recording this item is asked about: the same for everybody, drawn by public ids alone."""
    turns = sorted((turn for turn in item.turns if turn.role == "critical"), key=lambda turn: turn.position)
    heard = [variant for turn in turns[:1] for variant in turn.variants if variant.has_audio]
    heard.sort(key=lambda variant: variant.uid)
    return heard[zlib.crc32(item.uid.encode()) % len(heard)] if heard else None


def _trials(item: ItemView, variant: VariantView, rng: Random) -> list[Trial]:
    """All questions in order. Category and name stay out: a dimension or a first name would answer for the ear."""
    language = item.language
    ask = TEXTS["ask"]
    context = (Segment(ask["speaker"][language], variant=variant.uid),)
    trials = [Trial("asr", TrialKind.TRANSCRIBE, "", language, ask["asr"][language], context=context)]
    for question in item.extras.get("questions", ()):
        options = sorted(question["options"])
        rng.shuffle(options)
        if variant.label not in question["answers"]:  # written for another delivery: it has no answer to this one
            continue
        trials.append(
            Trial(
                key=KEY + question["key"],
                kind=TrialKind.MCQ,
                category="",
                language=language,
                question=question["question"],
                context=context,
                options=tuple(Option(letter, text=text) for letter, text in zip(LETTERS, options, strict=False)),
            )
        )
    trials.append(Trial("reply", TrialKind.REPLY, "", language, ask["reply"][language], context=context))
    return trials


def _delivery(attribute: str, instruction: str, language: str) -> Delivery:
    """The numbers come from the attribute, so that it is heard whatever words the script has for it."""
    voice = ATTRIBUTES[attribute].get("voice", {})
    return Delivery(
        instruction=instruction,
        pitch=voice.get("pitch", 0.0),
        pitch_range=pitch_range_safe(voice.get("range", 1.0), language),
        rate=voice.get("rate", 1.0),
        volume=voice.get("volume", 0.0),
        gender=voice.get("gender", ""),
    )


def _transcript_error(reference: str, given: str, language: str) -> float:
    """WER for English, CER for Chinese; case, width, punctuation and spacing do not count."""
    truth, answer = _plain(reference, language), _plain(given, language)
    if not truth:
        return 0.0 if not answer else 1.0
    return float(jiwer.cer(truth, answer) if language == "zh" else jiwer.wer(truth, answer))


def _plain(text: str, language: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", "")
    words = "".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in folded).split()
    return ("" if language == "zh" else " ").join(words)


PROMPT_SYSTEM = (
    "You write test items in which the same words mean something else when they are spoken otherwise. "
    "You answer with one JSON object that fits the given schema and nothing else."
)
PROMPT_USER = """Write one item in {language}. Topic: {topic}.
The line is spoken in several ways. target: {target} alternative: {alternative} neutral: nothing special is heard.

- line: 5 to 16 words somebody says to an assistant or a friend. The words are neutral and fit all ways of speaking.
- target_instruction and alternative_instruction direct the voice and the surroundings in concrete terms.
- reasoning: questions of the types {kinds}. The question never says what is heard. for_target is the right answer when the target is heard, for_alternative when the alternative is, for_neutral when nothing special is heard; distractor is never right. All four are alike in length and style.
- replies: one short spoken reply for each way of speaking; it takes up what is heard without naming it bluntly.
- name, place and things are particular and uncommon."""
