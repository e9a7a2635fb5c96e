"""EmoSBench and EmoDialogue in stages: what the user says, then four responses that a blind judge must be able to order."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import BaseModel, Field

from eqstudio.benchmarks.base import Assembled, BriefSpec, Prompt
from eqstudio.benchmarks.emosbench_script import Exchange, Line, Person, Response
from eqstudio.benchmarks.scripts import NoteText, ScriptPart, TitleText, same_words
from eqstudio.benchmarks.stages import Criterion, Judge, Piece, SoFar, Stage, Verdict, Written, letters_drawn, yes
from eqstudio.benchmarks.texts import rubrics_read, texts_load
from eqstudio.benchmarks.wording import word_count
from eqstudio.benchmarks.writing import (
    LANGUAGE_NAMES,
    ask,
    cast_checks,
    language_check,
    length_check,
    people_told,
    sample_entry,
    sample_rng,
    sample_scene,
    scene_checks,
    weigh,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

TEXTS = texts_load("emosbench")
RUBRICS = rubrics_read(TEXTS)
GRADES = ("grade_1", "grade_2", "grade_3", "grade_4")
ORDER_NEEDED = 0.8
"""Share of pairs of responses that the blind judge must put in the intended order; a tie counts half."""
SPREAD_NEEDED = 2
"""How many grades the judge must see between the worst and the best response."""
RATIONALE_WORDS = 4
LOUDNESS = ("low", "normal", "high")
Grade = Annotated[int, Field(ge=1, le=4)]


class EmoSBenchInput(ScriptPart):
    """Who talks to whom, what was said before, and what the user says now."""

    title: TitleText
    context: NoteText
    user: Person
    responder: Person
    opening: Annotated[list[Exchange], Field(max_length=2)]
    user_line: Line


class EmoSBenchResponses(ScriptPart):
    grade_1: Response
    grade_2: Response
    grade_3: Response
    grade_4: Response


class EmoSBenchGrades(ScriptPart):
    """A blind judge's grades, by letter."""

    A: Grade
    B: Grade
    C: Grade
    D: Grade
    why: NoteText


def _about(brief: BriefSpec) -> str:
    return f"Skill of the responder that is tested: {brief.category.label['en']}. {brief.category.description['en']}"


_HOW = "emotion, volume, rate, pitch and non_verbal (cough, sigh, laughter, sneeze, gasp or none) tell how a line is spoken."


def _input_prompt(brief: BriefSpec, _so_far: SoFar, rng: Random) -> Prompt:
    salt = rng.getrandbits(32)
    exchanges = {"0": "no exchange: leave opening empty", "1": "exactly one exchange", "2": "exactly two exchanges"}
    user = f"""Write what a user says to a responder, in {LANGUAGE_NAMES[brief.language]}.
{_about(brief)}
Mood: {brief.valence}. Setting: {brief.setting}. What it is about: {brief.drawn.topic}.
Use these people; names and genders exactly so:
{people_told(zip(("user", "responder"), brief.drawn.people, strict=True))}

- opening holds {exchanges[brief.drawn.plan]}; user_line is the line that is to be answered.
- title and context tell who talks to whom and where. They never tell how one ought to respond, nor name the skill.
- Each line has 4 to 25 words, as people talk. What the user feels is heard in the voice rather than said.
- {_HOW}"""
    return ask(user, "emosbench-input-1", lambda: _input_sample(brief, salt))


def _input_sample(brief: BriefSpec, salt: int) -> dict[str, Any]:
    entry = sample_entry(TEXTS["example"], brief)
    words = entry[brief.language]
    title, context = sample_scene(brief, salt)
    asked, said = words["opening"]
    opening = [{"user": _sample_line(asked, "neutral", "low"), "responder": _sample_line(said, "calm", "normal")}]
    first, second = ({"name": one.name, "gender": one.gender, "role": one.role} for one in brief.drawn.people)
    return {
        "title": title[:80],
        "context": context[:240],
        "user": first,
        "responder": second,
        "opening": opening * int(brief.drawn.plan),
        "user_line": _sample_line(words["user"], entry["emotion"], "normal"),
    }


def _sample_line(text: str, emotion: str, volume: str) -> dict[str, str]:
    return {
        "text": text,
        "emotion": emotion,
        "volume": volume,
        "rate": "normal",
        "pitch": "normal",
        "non_verbal": "none",
    }


def _input_check(value: BaseModel, brief: BriefSpec, _so_far: SoFar) -> tuple[Criterion, ...]:
    draft = cast("EmoSBenchInput", value)
    wanted = int(brief.drawn.plan)
    lines = {"user_line": draft.user_line.text}
    for number, exchange in enumerate(draft.opening, start=1):
        lines |= {f"opening {number} user": exchange.user.text, f"opening {number} responder": exchange.responder.text}
    return (
        cast_checks([(one.name, one.gender) for one in (draft.user, draft.responder)], brief),
        *scene_checks(draft.title, draft.context, brief),
        yes(
            "turns",
            good=len(draft.opening) == wanted,
            reason=f"opening needs {wanted} exchanges and holds {len(draft.opening)}.",
        ),
        length_check("line length", lines, brief.language),
        language_check("line language", lines.values(), brief.language),
    )


def _told(so_far: SoFar) -> str:
    draft = cast("EmoSBenchInput", so_far["input"].value)
    lines = [f"{draft.title}. {draft.context}"]
    for exchange in draft.opening:
        lines += [f"{draft.user.name} ({_spoken(exchange.user)}): {exchange.user.text}"]
        lines += [f"{draft.responder.name} ({_spoken(exchange.responder)}): {exchange.responder.text}"]
    return "\n".join([*lines, f"{draft.user.name} ({_spoken(draft.user_line)}): {draft.user_line.text}"])


def _spoken(line: Line) -> str:
    sound = "" if line.non_verbal == "none" else f", with a {line.non_verbal}"
    return f"{line.emotion}, volume {line.volume}, rate {line.rate}, pitch {line.pitch}{sound}"


def _responses_prompt(brief: BriefSpec, so_far: SoFar, rng: Random) -> Prompt:
    scale = "\n".join(f"- grade_{level.grade}: {level.anchor['en']}" for level in RUBRICS[brief.category.key])
    longest = rng.choice(GRADES[:3])
    user = f"""Write four responses to the last line, one for each grade, in {LANGUAGE_NAMES[brief.language]}.
{_told(so_far)}
{_about(brief)}

{scale}
- Each response has 4 to 25 words and answers the same line in other words than the rest.
- {_HOW}
- Neither length nor loudness may tell the grade: {longest} is the longest response, and volume neither rises nor falls with the grade.
- rationale says in one sentence why the response deserves its grade by the scale above."""
    return ask(user, "emosbench-responses-1", lambda: _responses_sample(brief))


def _responses_sample(brief: BriefSpec) -> dict[str, Any]:
    words = sample_entry(TEXTS["example"], brief)[brief.language]
    rng = sample_rng(brief)
    volumes = rng.choice((("low", "high", "low", "normal"), ("high", "low", "normal", "low")))
    lead = {"en": "It is graded like this: {why}", "zh": "评分理由是这样的：{why}"}[brief.language]
    texts = _not_longest_last(list(words["responses"]), brief.language)
    return {
        grade: {**_sample_line(text, emotion, volume), "rationale": lead.format(why=why)}
        for grade, text, emotion, volume, why in zip(
            GRADES, texts, ("angry", "neutral", "warm", "warm"), volumes, words["rationale"], strict=True
        )
    }


def _not_longest_last(texts: list[str], language: str) -> list[str]:
    """The second response made the longest one."""
    more = {"en": " That is how it is done here.", "zh": "这里一向都是这么办的，规定就是规定。"}[language]
    while max(texts, key=lambda text: word_count(text, language)) == texts[3]:
        texts[1] += more
    return texts


def _responses_check(value: BaseModel, brief: BriefSpec, _so_far: SoFar) -> tuple[Criterion, ...]:
    drafts = cast("EmoSBenchResponses", value)
    responses = [cast("Response", getattr(drafts, grade)) for grade in GRADES]
    texts = {grade: response.text for grade, response in zip(GRADES, responses, strict=True)}
    alike = any(same_words(first, second) for first, second in combinations(texts.values(), 2))
    lengths = [word_count(text, brief.language) for text in texts.values()]
    volumes = [LOUDNESS.index(response.volume) for response in responses]
    thin = [
        grade
        for grade, response in zip(GRADES, responses, strict=True)
        if word_count(response.rationale, brief.language) < RATIONALE_WORDS
    ]
    return (
        yes("responses differ", good=not alike, reason="Two responses have the same words."),
        length_check("line length", texts, brief.language),
        language_check("line language", texts.values(), brief.language),
        yes(
            "length tells nothing",
            good=lengths[3] < max(lengths) or lengths.count(lengths[3]) > 1,
            reason="grade_4 is the longest response; make another one longer.",
        ),
        yes(
            "loudness tells nothing",
            good=not _one_way(volumes),
            reason="volume rises or falls with the grade; mix it.",
        ),
        yes("rationale", good=not thin, reason=f"The rationale says too little in {', '.join(thin)}."),
    )


def _one_way(values: Sequence[int]) -> bool:
    """Whether values never turn back, and are not all the same: they tell the order."""
    steps = [second - first for first, second in pairwise(values)]
    return any(steps) and (all(step >= 0 for step in steps) or all(step <= 0 for step in steps))


def _pieces(value: BaseModel, _brief: BriefSpec) -> tuple[Piece, ...]:
    return tuple(Piece(grade, getattr(value, grade).model_dump()) for grade in GRADES)


def _judge_prompt(value: BaseModel, brief: BriefSpec, so_far: SoFar, rng: Random) -> Prompt:
    letters = letters_drawn(GRADES, rng)
    responses = {letter: cast("Response", getattr(value, grade)) for letter, grade in letters.items()}
    told = "\n".join(f"{letter} ({_spoken(response)}): {response.text}" for letter, response in responses.items())
    scale = "\n".join(f"- {level.grade}: {level.anchor['en']}" for level in RUBRICS[brief.category.key])
    user = f"""{_told(so_far)}

Four responses, in no order:
{told}

{_about(brief)}
{scale}
Give each response its grade from 1 to 4 by this scale; why: one sentence on the hardest decision."""
    sample = {letter: int(grade[-1]) for letter, grade in letters.items()} | {"why": "They are plainly apart."}
    return weigh(user, "emosbench-judge-1", lambda: sample)


def concordance(given: Mapping[str, int]) -> float:
    """Share of pairs of responses that stand in the intended order; a tie counts half."""
    pairs = [(given[low], given[high]) for low, high in combinations(GRADES, 2)]
    return sum(1.0 if low < high else 0.5 if low == high else 0.0 for low, high in pairs) / len(pairs)


def _judge_read(_value: BaseModel, verdict: BaseModel, _brief: BriefSpec, _so_far: SoFar, rng: Random) -> Verdict:
    grades = cast("EmoSBenchGrades", verdict)
    given = {grade: int(getattr(grades, letter)) for letter, grade in letters_drawn(GRADES, rng).items()}
    seen = ", ".join(f"{grade} as {value}" for grade, value in given.items())
    spread = given["grade_4"] - given["grade_1"]
    return Verdict(
        criteria=(
            Criterion(
                "order recovered",
                concordance(given),
                ORDER_NEEDED,
                f"A blind judge could not recover the order: {seen}. {grades.why}",
            ),
            Criterion(
                "grades apart", spread, SPREAD_NEEDED, f"grade_1 and grade_4 are too close to a blind judge: {seen}."
            ),
        ),
        chosen=GRADES,
        scores={grade: {"grade": float(value)} for grade, value in given.items()},
    )


STAGES = (
    Stage(
        "input",
        EmoSBenchInput,
        _input_prompt,
        checks=(_input_check,),
        scene=lambda value: (cast("EmoSBenchInput", value).title, cast("EmoSBenchInput", value).context),
    ),
    Stage(
        "responses",
        EmoSBenchResponses,
        _responses_prompt,
        checks=(_responses_check,),
        pieces=_pieces,
        judge=Judge(EmoSBenchGrades, _judge_prompt, _judge_read),
    ),
)


def assemble(_brief: BriefSpec, results: Mapping[str, Written]) -> Assembled:
    """What the user says and the four responses are the script."""
    return Assembled({**results["input"].value.model_dump(), **results["responses"].value.model_dump()})
