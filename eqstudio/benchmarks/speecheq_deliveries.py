"""The second half of writing SpeechEQ: how every line is spoken, and which two deliveries make the pair.

The judge does not know whose delivery is whose; it finds the most fitting and the most damaging one.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from eqstudio.benchmarks.base import BriefSpec, Prompt
from eqstudio.benchmarks.scripts import (
    NoteText,
    ScriptPart,
    Tone,
)
from eqstudio.benchmarks.stages import Criterion, Judge, Piece, SoFar, Stage, Verdict, letters_drawn, yes
from eqstudio.benchmarks.wording import PHYSICAL_NEEDED, physical_kinds, vague_words
from eqstudio.benchmarks.writing import (
    LANGUAGE_NAMES,
    Score5,
    ask,
    direction_checks,
    score_criterion,
    weigh,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

from eqstudio.benchmarks.speecheq_scene import (
    CRITICAL,
    FAIR,
    GOOD,
    RUBRICS,
    SpeechEQScene,
    about,
    lines_told,
    scene_told,
)

DIRECTED = ("s1", "s2", "s3", "s5")
DELIVERIES = ("resonant", "dissonant_2", "dissonant_3")
FEATURES = ("pace", "pitch", "melody")
DIFFERENCES_NEEDED = 2


class SpeechEQDirections(ScriptPart):
    s1: Tone
    s2: Tone
    s3: Tone
    s5: Tone


class Deliveries(ScriptPart):
    resonant: Tone
    dissonant_2: Tone
    dissonant_3: Tone


class SpeechEQDeliveries(ScriptPart):
    s4: Deliveries
    s6: Deliveries


class DeliveryScore(ScriptPart):
    fits: Score5
    damages: Score5


class LineScores(ScriptPart):
    A: DeliveryScore
    B: DeliveryScore
    C: DeliveryScore


class SpeechEQPairScores(ScriptPart):
    s4: LineScores
    s6: LineScores
    why: NoteText


def _directions_prompt(brief: BriefSpec, so_far: SoFar, _rng: Random) -> Prompt:
    user = f"""Direct the voices for s1, s2, s3 and s5 of this dialogue, in {LANGUAGE_NAMES[brief.language]}.
{scene_told(so_far)}
{lines_told(so_far)}

{_DIRECT}
Speaker1 carries the {brief.valence} mood of the scene up to the peak in s3. s2 stays plain."""
    return ask(user, "speecheq-directions-1", lambda: _directions_sample(brief))


_DIRECT = """- instruction: what body and voice do, in concrete terms: pace, pitch, volume, breath, pauses, tension, timbre, articulation; at least
  two of them. Never a judging word such as polite, gentle, kind, sincere or rude. Rather extreme than lukewarm.
- pace, pitch and melody must agree with the instruction."""

SAMPLE_TONES = {
    "en": {
        "slow": "Drag the pace, let the pitch fall at the end and leave a pause before the last word.",
        "fast": "Rush the pace, push the pitch up and cut every breath short.",
        "normal": "Keep a steady pace, an open throat and a small pause in the middle.",
    },
    "zh": {
        "slow": "语速放慢，句尾音高压低，最后一个词前停顿一下。",
        "fast": "语速加快，音高升高，换气很短。",
        "normal": "语速平稳，喉咙放松，中间稍作停顿。",
    },
}


def _sample_tone(language: str, pace: str, pitch: str, melody: str) -> dict[str, str]:
    return {"instruction": SAMPLE_TONES[language][pace], "pace": pace, "pitch": pitch, "melody": melody}


def _directions_sample(brief: BriefSpec) -> dict[str, Any]:
    return {key: _sample_tone(brief.language, "normal", "normal", "normal") for key in DIRECTED}


def _directions_check(value: BaseModel, brief: BriefSpec, _so_far: SoFar) -> tuple[Criterion, ...]:
    directions = {key: getattr(value, key).instruction for key in DIRECTED}
    return direction_checks(directions, brief.language)


def _deliveries_prompt(brief: BriefSpec, so_far: SoFar, _rng: Random) -> Prompt:
    scene = cast("SpeechEQScene", so_far["scene"].value)
    rubric = RUBRICS[brief.category.key]
    user = f"""Direct three deliveries of s4 and three of s6 of this dialogue, in {LANGUAGE_NAMES[brief.language]}. The words stay the same.
{scene_told(so_far)}
{lines_told(so_far)}

- resonant: as persona_1 says it ({scene.speaker2.persona_1}). {rubric[3].anchor["en"]}
- dissonant_2: as persona_2 says it ({scene.speaker2.persona_2}). {rubric[0].anchor["en"]}
- dissonant_3: as persona_3 says it ({scene.speaker2.persona_3}). {rubric[0].anchor["en"]}
{_DIRECT}
- Each dissonant delivery differs from the resonant one in at least two of pace, pitch and melody. A mood that clashes (cheer in grief, a
  snap in joy) is better than a flat voice. Loudness must not tell them apart."""
    return ask(user, "speecheq-deliveries-1", lambda: _deliveries_sample(brief))


def _deliveries_sample(brief: BriefSpec) -> dict[str, Any]:
    slow = _sample_tone(brief.language, "slow", "low", "normal")
    fast = _sample_tone(brief.language, "fast", "high", "lively")
    one = {"resonant": fast if brief.valence == "positive" else slow}
    other = slow if brief.valence == "positive" else fast
    line = {**one, "dissonant_2": other, "dissonant_3": _sample_tone(brief.language, "normal", "normal", "flat")}
    return {"s4": line, "s6": line}


def _pieces(value: BaseModel, brief: BriefSpec) -> tuple[Piece, ...]:
    drafts = cast("SpeechEQDeliveries", value)
    found = []
    for line in CRITICAL:
        deliveries: Deliveries = getattr(drafts, line)
        for name in DELIVERIES:
            tone: Tone = getattr(deliveries, name)
            refused = _refused(tone, None if name == "resonant" else deliveries.resonant, brief.language)
            found.append(Piece(f"{line}.{name}", tone.model_dump(), refused))
    return tuple(found)


def _refused(tone: Tone, resonant: Tone | None, language: str) -> str:
    """Why a delivery cannot be used, by its words alone: vague, flat on paper, or too close to the resonant one."""
    vague = vague_words(tone.instruction, language)
    if vague:
        return f"Vague words: {', '.join(vague)}."
    if len(physical_kinds(tone.instruction, language)) < PHYSICAL_NEEDED:
        return "It says fewer than two bodily things."
    if resonant and sum(getattr(tone, name) != getattr(resonant, name) for name in FEATURES) < DIFFERENCES_NEEDED:
        return "It differs from the resonant delivery in fewer than two of pace, pitch and melody."
    return ""


def _usable(value: BaseModel, brief: BriefSpec) -> tuple[list[str], list[str]]:
    """Resonant deliveries that cannot be used, and the dissonant ones usable in both lines."""
    refused = {piece.key: piece.refused for piece in _pieces(value, brief)}
    bad = [f"{line}: {refused[f'{line}.resonant']}" for line in CRITICAL if refused[f"{line}.resonant"]]
    return bad, [name for name in DELIVERIES[1:] if not any(refused[f"{line}.{name}"] for line in CRITICAL)]


def _deliveries_check(value: BaseModel, brief: BriefSpec, _so_far: SoFar) -> tuple[Criterion, ...]:
    bad, usable = _usable(value, brief)
    faulty = " ".join(dict.fromkeys(piece.refused for piece in _pieces(value, brief) if piece.refused))
    return (
        yes("resonant usable", good=not bad, reason=f"A resonant delivery cannot be used ({' '.join(bad)})"),
        Criterion("dissonant usable", len(usable), 1, f"No dissonant delivery can be used in both lines. {faulty}"),
    )


def _orders(rng: Random) -> dict[str, dict[str, str]]:
    return {line: letters_drawn(DELIVERIES, rng) for line in CRITICAL}


def _pair_prompt(value: BaseModel, brief: BriefSpec, so_far: SoFar, rng: Random) -> Prompt:
    orders = _orders(rng)
    told = []
    for line, letters in orders.items():
        deliveries: Deliveries = getattr(value, line)
        told.append(f"{line} may be spoken as")
        for letter, name in letters.items():
            tone: Tone = getattr(deliveries, name)
            told.append(f"  {letter}: {tone.instruction} Pace {tone.pace}, pitch {tone.pitch}, melody {tone.melody}.")
    listed = "\n".join(told)
    user = f"""{scene_told(so_far)}
{lines_told(so_far)}

{listed}

{about(brief)}
Give each delivery of s4 and of s6 two scores from 1 to 5:
- fits: how well it suits the moment and what speaker1 needs.
- damages: how much it harms the moment; a clash of mood harms more than a flat voice.
- why: one sentence on what is weakest."""
    return weigh(user, "speecheq-pair-judge-1", lambda: _pair_sample(orders))


def _pair_sample(orders: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    scores = {
        "resonant": {"fits": 5, "damages": 1},
        "dissonant_2": {"fits": 1, "damages": 5},
        "dissonant_3": {"fits": 2, "damages": 3},
    }
    told = {line: {letter: {**scores[name]} for letter, name in letters.items()} for line, letters in orders.items()}
    return {**told, "why": "Each is plain to tell."}


def _pair_read(value: BaseModel, verdict: BaseModel, brief: BriefSpec, _so_far: SoFar, rng: Random) -> Verdict:
    scores = cast("SpeechEQPairScores", verdict)
    given = {
        f"{line}.{name}": cast("DeliveryScore", getattr(getattr(scores, line), letter))
        for line, letters in _orders(rng).items()
        for letter, name in letters.items()
    }
    _bad, usable = _usable(value, brief)
    low = max(usable, key=lambda name: sum(given[f"{line}.{name}"].damages for line in CRITICAL))
    criteria: list[Criterion] = []
    for line in CRITICAL:
        best = given[f"{line}.resonant"].fits
        rival = max(given[f"{line}.{name}"].fits for name in DELIVERIES[1:])
        lead = best - rival
        criteria += [
            score_criterion(
                f"{line} resonant fits", best, GOOD, f"The resonant delivery of {line} hardly fits", scores.why
            ),
            Criterion(
                f"{line} resonant leads",
                lead,
                1,
                f"A dissonant delivery of {line} fits as well as the resonant one. {scores.why}",
            ),
            score_criterion(
                f"{line} dissonant harms",
                given[f"{line}.{low}"].damages,
                FAIR,
                f"No dissonant delivery of {line} harms the moment",
                scores.why,
            ),
        ]
    return Verdict(
        criteria=tuple(criteria),
        chosen=tuple(f"{line}.{name}" for line in CRITICAL for name in ("resonant", low)),
        scores={key: {"fits": one.fits, "damages": one.damages} for key, one in given.items()},
    )


DIRECTIONS = Stage("directions", SpeechEQDirections, _directions_prompt, checks=(_directions_check,))
PAIRS = Stage(
    "deliveries",
    SpeechEQDeliveries,
    _deliveries_prompt,
    checks=(_deliveries_check,),
    pieces=_pieces,
    judge=Judge(SpeechEQPairScores, _pair_prompt, _pair_read),
)
