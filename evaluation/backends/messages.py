"""How a question is put to a model: one wording for every backend, so that two models are told the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from eqstudio.benchmarks.base import TrialKind
from evaluation.backends.sounds import wav_joined, wav_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eqstudio.benchmarks.base import Option, Segment, Trial
    from evaluation.backends.base import ClipAudio, Clips, Evaluator, Exam

REASON = {"en": '"reason": "<one sentence>"', "zh": '"reason": "<一句话>"'}
ANSWER = {
    TrialKind.CHOICE: {"en": '"answer": "<letter of the option>"', "zh": '"answer": "<选项字母>"'},
    TrialKind.GRADE: {"en": '"answer": <a whole number from LOW to HIGH>', "zh": '"answer": <LOW 到 HIGH 的整数>'},
    TrialKind.REPLY: {"en": '"answer": "<your text>"', "zh": '"answer": "<你的文字>"'},
}
FORM = {
    "en": "Answer with one JSON object and nothing else: {{{fields}}}",
    "zh": "只用一个 JSON 对象回答，不要写别的内容：{{{fields}}}",
}
ALOUD = {
    "en": "Answer aloud: say your reply to the speaker, and nothing else.",
    "zh": "请用语音回答：直接说出你对说话人的回应，不要说别的内容。",
}
JOINED = {
    "en": {
        "head": "The recording holds {count} clips one after the other, with a second of silence between them.",
        "clip": "(clip {number})",
    },
    "zh": {"head": "录音里依次有 {count} 段音频，每两段之间有一秒静音。", "clip": "（第 {number} 段）"},
}
PAUSE_S = 1.0
WORDS = {
    "en": {"option": "Option {letter}", "scenario": "Situation"},
    "zh": {"option": "选项 {letter}", "scenario": "情境"},
}
MP3 = frozenset({"audio/mpeg", "audio/mp3"})
WAV = frozenset({"audio/wav", "audio/x-wav", "audio/wave"})


@dataclass(frozen=True)
class Part:
    """A piece of a question in the order shown: a text to read, or a clip to hear."""

    text: str = ""
    audio: ClipAudio | None = None


@dataclass(frozen=True)
class Message:
    """One question, whole: what the model is told once, and the question in its parts."""

    system: str
    parts: tuple[Part, ...]


def message_of(exam: Exam, evaluator: Evaluator, trial: Trial, clips: Clips, *, aloud: bool = False) -> Message:
    """The question as ``evaluator`` puts it: instructions and form of the answer, situation, lines, question, options.

    ``aloud``: the answer is wanted as speech.
    """
    system = evaluator.instructions(exam.instructions[trial.language], trial)
    form = ALOUD[trial.language] if aloud else contract(trial)
    return Message(f"{system}\n\n{form}", tuple(_parts(evaluator, trial, clips)))


def joined(message: Message, language: str) -> Message:
    """The same question with all its clips in one recording, for models that take no more than one.

    Where a clip stood its number stands. A question with one clip or none stays as it is.
    """
    heard = [part.audio for part in message.parts if part.audio is not None]
    if len(heard) < 2:  # noqa: PLR2004 -- nothing to join
        return message
    words, numbers = JOINED[language], count(1)
    parts = [Part(words["clip"].format(number=next(numbers))) if part.audio else part for part in message.parts]
    seconds = sum(clip.duration for clip in heard) + PAUSE_S * (len(heard) - 1)
    whole = replace(
        heard[0], media_type="audio/wav", duration=seconds, read=lambda: wav_joined([c.read() for c in heard], PAUSE_S)
    )
    return Message(message.system, (Part(words["head"].format(count=len(heard))), Part(audio=whole), *parts))


def contract(trial: Trial) -> str:
    """The form of the answer. Whether the reason stands before the answer is part of the question as stored."""
    kind = {TrialKind.MCQ: TrialKind.CHOICE, TrialKind.TRANSCRIBE: TrialKind.REPLY}.get(trial.kind, trial.kind)
    low, high = trial.scale or (1, 4)
    fields = [ANSWER[kind][trial.language].replace("LOW", str(low)).replace("HIGH", str(high))]
    if kind is not TrialKind.REPLY:
        fields.insert(0 if trial.order == "rationale_first" else 1, REASON[trial.language])
    return FORM[trial.language].format(fields=", ".join(fields))


def sound_of(clip: ClipAudio) -> tuple[bytes, str]:
    """The bytes of a clip and their form, ``wav`` or ``mp3``: endpoints take nothing else, so other forms become WAV."""
    data = clip.read()
    if clip.media_type in MP3:
        return data, "mp3"
    return (data, "wav") if clip.media_type in WAV else (wav_of(data), "wav")


def _parts(evaluator: Evaluator, trial: Trial, clips: Clips) -> Iterator[Part]:
    words = WORDS[trial.language]
    if trial.scenario:
        yield Part(f"{words['scenario']}: {trial.scenario}")
    for segment in trial.context:
        yield from _heard(evaluator, trial.language, segment.speaker, segment, clips)
    yield Part(trial.question)
    for option in trial.options:
        yield from _heard(evaluator, trial.language, words["option"].format(letter=option.letter), option, clips)


def _heard(evaluator: Evaluator, language: str, name: str, shown: Segment | Option, clips: Clips) -> Iterator[Part]:
    if shown.variant is None:
        yield Part(f"{name}: {shown.text}")
        return
    clip = clips(shown.variant)
    audio = evaluator.audio(clip)
    if audio is None:
        yield Part(f"{name}: {evaluator.words(clip, language)}")
        return
    yield Part(f"{name}:")
    yield Part(audio=audio)
