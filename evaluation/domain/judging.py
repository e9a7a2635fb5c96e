"""Open replies judged: EchoMind's four text scales and one vocal scale, how a judge model is asked, and whether it agrees
with people.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eqstudio.benchmarks.trials import Segment, Trial, TrialKind
from eqstudio.estimates import Estimate
from evaluation.domain.resampling import Floats, interval

LOW, HIGH = 1, 5
PROMPT_VERSION = "reply-judge-1"
REPLY = "reply"
REPLY_CLIP = "reply_clip"
"""Under which name the paradata of a spoken reply hold the SHA-256 of its sound."""
REPLICATES = 1_000
FEWEST = 3
FEW = "fewer than three replies were judged by both"
SAME = "one of the two always gave the same grade"
ONE_ITEM = 2


@dataclass(frozen=True)
class Scale:
    """One scale from 1 to 5. ``code`` is EchoMind's own; ``vocal``: judged by the sound of the reply."""

    name: str
    code: str
    label: dict[str, str]
    asks: dict[str, str]
    anchors: dict[str, tuple[str, str, str]]
    """What 1, 3 and 5 mean."""
    vocal: bool = False


SCALES = (
    Scale(
        "context_fit",
        "C1",
        {"en": "Fits the situation", "zh": "切合情境"},
        {
            "en": "Does the reply fit what was said and the situation it was said in?",
            "zh": "回应是否切合所说的话和说话的情境？",
        },
        {
            "en": ("beside the point", "fits roughly, misses something", "fits exactly"),
            "zh": ("文不对题", "大致切合，有所遗漏", "完全切合"),
        },
    ),
    Scale(
        "naturalness",
        "C2",
        {"en": "Natural", "zh": "自然"},
        {
            "en": "Does the reply read as a person would put it, smooth and without stiffness?",
            "zh": "回应是否像人会说的那样通顺、不生硬？",
        },
        {
            "en": ("stiff or broken", "understandable, somewhat stiff", "entirely natural"),
            "zh": ("生硬或不通", "能懂，略生硬", "完全自然"),
        },
    ),
    Scale(
        "colloquialism",
        "C3",
        {"en": "Colloquial", "zh": "口语化"},
        {
            "en": "Is the reply worded as in everyday talk rather than in writing?",
            "zh": "回应的措辞是否像日常谈话，而不是书面语？",
        },
        {
            "en": ("like a document", "half written, half spoken", "everyday talk"),
            "zh": ("像公文", "半书面半口语", "日常口语"),
        },
    ),
    Scale(
        "speech_relevance",
        "C4",
        {"en": "Takes up the voice", "zh": "回应声音信息"},
        {
            "en": "Does the reply take up what is heard besides the words (voice, sounds, surroundings)?",
            "zh": "回应是否顾及言语之外所听到的（嗓音、声响、环境）？",
        },
        {
            "en": ("as if nothing had been heard", "takes it up in general terms", "takes it up fully and fittingly"),
            "zh": ("仿佛什么也没听到", "笼统地顾及", "充分而恰当地顾及"),
        },
    ),
    Scale(
        "vocal_empathy",
        "VES",
        {"en": "Vocal empathy", "zh": "声音共情"},
        {
            "en": "Does the voice of the reply answer the speaker's state, in feeling, strength, pitch and rhythm?",
            "zh": "回应的声音在情感、强度、音高和节奏上是否回应了说话人的状态？",
        },
        {
            "en": ("flat or mechanical", "the right direction, but weak", "fully in tune"),
            "zh": ("平淡或机械", "方向对但较弱", "完全契合"),
        },
        vocal=True,
    ),
)
BY_NAME = {scale.name: scale for scale in SCALES}

SYSTEM = {
    "en": (
        "You judge replies to a short spoken message. You are given the message, and one reply to it. You judge the reply on "
        "one scale and on nothing else. A long reply is not better for its length."
    ),
    "zh": "你评判对一段简短语音的回应。你会得到这段语音和对它的一个回应。你只按一个量表评判，不考虑其他方面。回应并不因长而更好。",
}
_ASK = {
    "en": "{asks}\n1 = {one}\n3 = {three}\n5 = {five}\n2 and 4 lie between.\n\nThe reply:\n{reply}",
    "zh": "{asks}\n1 = {one}\n3 = {three}\n5 = {five}\n2 和 4 介于其间。\n\n回应：\n{reply}",
}
_SPOKEN = {"en": "(It is spoken; you hear it last.)", "zh": "（回应是语音，最后播放。）"}
_CUE = {"en": "Besides the words one hears: {cue}", "zh": "言语之外听到的是：{cue}"}
_NAMES = {"en": ("Speaker", "Reply"), "zh": ("说话人", "回应")}


def prompt_content() -> dict[str, Any]:
    """Everything a judge is told, whatever the reply: what the prompt's hash is taken over."""
    scales = {scale.name: {"asks": scale.asks, "anchors": scale.anchors} for scale in SCALES}
    return {"version": PROMPT_VERSION, "system": SYSTEM, "ask": _ASK, "cue": _CUE, "spoken": _SPOKEN, "scales": scales}


def hash_of(content: dict[str, Any]) -> str:
    """SHA-256 over the canonical JSON, in hexadecimal."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def judge_trial(*, scale: Scale, language: str, heard: str, reply: str, cue: str, reply_variant: str) -> Trial:
    """The question to a judge model. ``heard`` is the recording's variant, ``cue`` what it holds besides words (told to a judge
    that does not hear), ``reply_variant`` the sound of the reply for the vocal scale.
    """
    speaker, answers = _NAMES[language]
    context = [Segment(speaker, variant=heard)]
    if scale.vocal:
        context.append(Segment(answers, variant=reply_variant))
    one, three, five = scale.anchors[language]
    words = f"{reply}\n{_SPOKEN[language]}" if scale.vocal else reply
    question = _ASK[language].format(asks=scale.asks[language], one=one, three=three, five=five, reply=words)
    return Trial(
        key=f"judge-{scale.name}",
        kind=TrialKind.GRADE,
        category="",
        language=language,
        question=question,
        scenario=_CUE[language].format(cue=cue) if cue else "",
        context=tuple(context),
        scale=(LOW, HIGH),
    )


_APART = (np.arange(HIGH)[:, None] - np.arange(HIGH)[None, :]) ** 2
"""What quadratic kappa counts for each pair of grades."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One reply on one scale: what the judge gave, and what people did."""

    cluster: str
    judge: int
    people: tuple[int, ...]


def judge_agreement(judged: Sequence[Judged], *, rng: np.random.Generator) -> dict[str, Estimate]:
    """How far a judge agrees with people: quadratic kappa with each person (pairs pooled), Pearson's and Spearman's
    correlation with the mean person, and the judge's mean minus the people's. ``n`` counts replies. Intervals: clusters of
    items are drawn with replacement, and with them all their replies and people.
    """
    rows = [one for one in judged if one.people]
    names = ("qwk", "pearson", "spearman", "bias")
    if len(rows) < FEWEST:
        return {name: Estimate.undefined(FEW, n=len(rows)) for name in names}
    judge = np.asarray([one.judge for one in rows], dtype=float)
    people = np.asarray([np.mean(one.people) for one in rows])
    tables = np.stack([_table(one) for one in rows])
    items, index = np.unique([one.cluster for one in rows], return_inverse=True)
    members = [np.nonzero(index == place)[0] for place in range(len(items))]
    draws = [np.arange(len(rows))]
    if len(items) >= ONE_ITEM:
        picks = rng.integers(0, len(items), size=(REPLICATES, len(items)))
        draws += [np.concatenate([members[place] for place in picked]) for picked in picks]
    found = np.asarray([_figures(judge[at], people[at], tables[at].sum(axis=0)) for at in draws])
    return {name: _estimate(found[:, place], len(rows)) for place, name in enumerate(names)}


def _table(one: Judged) -> Floats:
    table = np.zeros((HIGH, HIGH))
    for value in one.people:
        table[one.judge - 1, value - 1] += 1.0
    return table


def _figures(judge: Floats, people: Floats, table: Floats) -> tuple[float, float, float, float]:
    expected = float((np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum() * _APART).sum())
    kappa = 1.0 - float((table * _APART).sum()) / expected if expected else float("nan")
    return (
        kappa,
        _correlation(judge, people),
        _correlation(_ranks(judge), _ranks(people)),
        float((judge - people).mean()),
    )


def _ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs. For a few values much quicker than scipy.stats.rankdata."""
    _values, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (counts.cumsum() - (counts - 1) / 2)[place]
    return ranks


def _correlation(a: Floats, b: Floats) -> float:
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.sqrt((a * a).mean()) * np.sqrt((b * b).mean()))
    return float((a * b).mean()) / spread if spread else float("nan")


def _estimate(found: Floats, n: int) -> Estimate:
    value = float(found[0])
    if not np.isfinite(value):
        return Estimate.undefined(SAME, n=n)
    lo, hi = interval(found[1:])
    return Estimate(value, lo, hi, n)
