"""What SpeechEQ asks, and in which variants.

``choice``: two critical turns, keys ``s4`` and ``s6``. Both are put in the same words; they differ in what was heard before:
the rendition that was chosen, the right one, or nothing. ``tone``: keys ``tone-text-s4`` (hear one rendition, choose its
description) and ``tone-clip-s4`` (read a description, choose the rendition).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eqstudio.benchmarks.base import Score
from eqstudio.benchmarks.scripts import same_words
from eqstudio.benchmarks.texts import text_of, texts_load
from eqstudio.benchmarks.trials import Design, Option, Outcome, Parsed, Segment, Trial, TrialKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from random import Random

    from eqstudio.benchmarks.base import Answered, ItemView, TurnView, VariantView

TEXTS = texts_load("speecheq")
RIGHT, WRONG = "high", "low"
TONE_TEXT, TONE_CLIP = "tone-text", "tone-clip"
DESCRIPTIONS = 4
"""How many descriptions there are to choose from, where other items give enough."""
LETTERS = "ABCDEFGH"


def instructions(language: str, design: Design) -> str:
    """What is told before the first question; a study of tones only says nothing of conversations."""
    told = TEXTS["instructions"]
    choice = text_of(told)[language].format(history=text_of(told["history"][design.history])[language])
    tone = text_of(told["tone"])[language]
    asked = design.tasks or ("choice",)
    return "\n\n".join([*([choice] if "choice" in asked else []), *([tone] if "tone" in asked else [])])


def next_trial(item: ItemView, answers: Sequence[Answered], rng: Random, design: Design) -> Trial | None:
    """The first question that has no answer yet. Tones come last: they say what was to be heard."""
    given = {answer.trial.key: answer for answer in answers}
    asked = design.tasks or ("choice",)
    if "choice" in asked:
        trial = _choice(item, given, rng, design)
        if trial is not None:
            return trial
    tones = _tones(item, rng, design) if "tone" in asked else iter(())
    return next((trial for trial in tones if trial.key not in given), None)


def score(item: ItemView, trial: Trial, parsed: Parsed) -> Score:
    """Hold an answer against the labels, or a tone against the one that was asked for."""
    chosen = next((option for option in trial.options if option.letter == parsed.value), None)
    answered = parsed.outcome is Outcome.ANSWERED
    if not trial.key.startswith((TONE_TEXT, TONE_CLIP)):
        right = {variant.uid for turn in item.turns for variant in turn.variants if variant.label == RIGHT}
        return Score(correct=chosen is not None and chosen.variant in right) if answered else Score()
    chance = 1 / len(trial.options)
    if not answered:
        return Score(gold=chance)
    tones = {variant.uid: variant.tone for turn in item.turns for variant in turn.variants}
    if trial.key.startswith(TONE_TEXT):
        heard = next(segment.variant for segment in trial.context if segment.variant)
        return Score(correct=chosen is not None and chosen.text == tones.get(heard), gold=chance)
    uid = chosen.variant if chosen else None
    return Score(correct=uid is not None and trial.question == _asked_tone(item, tones.get(uid, "")), gold=chance)


def _choice(item: ItemView, given: Mapping[str, Answered], rng: Random, design: Design) -> Trial | None:
    history: list[Segment] = []
    for turn in sorted(item.turns, key=lambda turn: turn.position):
        if turn.role != "critical":
            history += [_segment(item, turn, variant.uid) for variant in turn.variants[:1]]
            continue
        order = _shuffled(turn, rng)
        if len(order) < max(len(turn.variants), 2):  # nothing to choose from: it is told as context
            history += [_segment(item, turn, uid) for uid in (order or _uids(turn))[:1]]
            continue
        trial = Trial(
            key=f"s{turn.position}",
            kind=TrialKind.CHOICE,
            category=item.category,
            language=item.language,
            question=text_of(TEXTS["ask"])[item.language].format(name=_speaker(item, turn)),
            scenario="\n".join(str(item.scenario[key]) for key in ("title", "context") if item.scenario.get(key)),
            context=() if design.history == "none" else tuple(history),
            options=tuple(Option(letter, variant=uid) for letter, uid in zip(LETTERS, order, strict=False)),
            order=design.order,
        )
        answer = given.get(trial.key)
        if answer is None:
            return trial
        history.append(_segment(item, turn, _heard_after(turn, answer, order, design)))
    return None


def _heard_after(turn: TurnView, answer: Answered, order: Sequence[str], design: Design) -> str:
    """Which rendition of an answered turn is heard from now on. Besides ``score`` the only reader of labels: the right one
    is looked up when its question has been answered, never before.
    """
    if design.history == "gold":
        right = next((variant.uid for variant in turn.variants if variant.label == RIGHT), None)
        if right is not None:
            return right
    chosen = answer.chosen
    return chosen.variant if chosen and chosen.variant else order[0]


def _tones(item: ItemView, rng: Random, design: Design) -> Iterator[Trial]:
    """Two questions about each pair of renditions whose descriptions differ."""
    for turn in sorted(item.turns, key=lambda turn: turn.position):
        order = _shuffled(turn, rng) if turn.role == "critical" else []
        heard, described, texts = rng.random(), rng.random(), list(design.foils)
        rng.shuffle(texts)
        by_uid = {variant.uid: variant for variant in turn.variants}
        pair = [by_uid[uid] for uid in order]
        if len({variant.tone.strip().casefold() for variant in pair} - {""}) < max(len(pair), 2):
            continue
        yield _clip_question(item, turn, pair, pair[int(described * len(pair))].tone, design)
        options = _descriptions(item, turn, pair, texts)
        rng.shuffle(options)
        yield Trial(
            key=f"{TONE_TEXT}-s{turn.position}",
            kind=TrialKind.MCQ,
            category="",
            language=item.language,
            question=text_of(TEXTS["ask"]["tone_text"])[item.language],
            context=(Segment(_speaker(item, turn), variant=pair[int(heard * len(pair))].uid),),
            options=tuple(Option(letter, text=text) for letter, text in zip(LETTERS, options, strict=False)),
            order=design.order,
        )


def _clip_question(item: ItemView, turn: TurnView, pair: Sequence[VariantView], tone: str, design: Design) -> Trial:
    return Trial(
        key=f"{TONE_CLIP}-s{turn.position}",
        kind=TrialKind.CHOICE,
        category="",
        language=item.language,
        question=_asked_tone(item, tone),
        options=tuple(Option(letter, variant=one.uid) for letter, one in zip(LETTERS, pair, strict=False)),
        order=design.order,
    )


def _asked_tone(item: ItemView, tone: str) -> str:
    return text_of(TEXTS["ask"]["tone_clip"])[item.language].format(tone=tone)


def _descriptions(item: ItemView, turn: TurnView, pair: Sequence[VariantView], foils: Sequence[str]) -> list[str]:
    """The descriptions of the pair, then wrong ones: of other items, or of this item's other critical lines."""
    near = [
        variant.tone for one in item.turns if one is not turn and one.role == "critical" for variant in one.variants
    ]
    kept = sorted(variant.tone for variant in pair)
    for text in [*foils, *near]:
        if len(kept) < DESCRIPTIONS and text and not any(same_words(text, other) for other in kept):
            kept.append(text)
    return kept


def _shuffled(turn: TurnView, rng: Random) -> list[str]:
    """The renditions that can be heard, in an order that no label has a part in."""
    order = sorted(variant.uid for variant in turn.variants if variant.has_audio)
    rng.shuffle(order)
    return order


def _uids(turn: TurnView) -> list[str]:
    return sorted(variant.uid for variant in turn.variants)


def _speaker(item: ItemView, turn: TurnView) -> str:
    """The name in the story; the part (``speaker2``) only where no name is known."""
    return str(item.scenario.get(f"{turn.speaker}_name") or turn.speaker)


def _segment(item: ItemView, turn: TurnView, uid: str) -> Segment:
    """The line as heard; as read only where it has no sound."""
    variant = next(variant for variant in turn.variants if variant.uid == uid)
    speaker = _speaker(item, turn)
    return Segment(speaker, variant=uid) if variant.has_audio else Segment(speaker, text=variant.text)
