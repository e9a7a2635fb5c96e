"""Is a clip fit to be judged? Each check gives one Finding: what was measured, against what, in a sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jiwer

from generation.domain.acoustics import Measures, pair_distance
from generation.domain.normalise import normalise, sound_letters
from generation.domain.thresholds import DEFAULTS, Thresholds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LANGUAGE_NAMES = {"en": "English", "zh": "Chinese"}
_CHINESE = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]+")
FOREIGN_SHARE = 0.5
"""A line is in the other language when at least this share of its words is written in the other script."""


@dataclass(frozen=True)
class Finding:
    """``value`` was held against ``threshold``; ``message`` says it in words, also when the check passed."""

    check_name: str
    passed: bool
    value: float | None
    threshold: float | None
    message: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Heard:
    """What a transcriber wrote down. ``language`` is the one it heard, empty where it does not tell; ``own_error`` is the
    share that it mistakes of good speech in this language, None where that is not known; ``slack`` the share of letters
    within which its mistakes only sound alike.
    """

    text: str
    language: str = ""
    own_error: float | None = None
    slack: float = 0.0


def wer(reference: str, heard: str, language: str = "en") -> float | None:
    """Word error rate after normalising; None when the reference holds no word."""
    said, got = normalise(reference, language), normalise(heard, language)
    return float(jiwer.wer(said, got)) if said else None


def cer(reference: str, heard: str, language: str = "zh") -> float | None:
    """Character error rate after normalising; None when the reference holds no character."""
    said, got = normalise(reference, language), normalise(heard, language)
    return float(jiwer.cer(said, got)) if said else None


def letter_error(reference: str, heard: str, language: str) -> float | None:
    """Letter error rate (of Pinyin, for Chinese): small where a word was taken for one that sounds alike."""
    said, got = sound_letters(reference, language), sound_letters(heard, language)
    return float(jiwer.cer(said, got)) if said else None


def transcript_error(reference: str, heard: str, language: str) -> float | None:
    """CER for Chinese, WER otherwise."""
    return cer(reference, heard, language) if language == "zh" else wer(reference, heard, language)


def findings(
    *,
    measures: Measures,
    text: str,
    language: str,
    heard: Heard | None = None,
    thresholds: Thresholds = DEFAULTS,
) -> list[Finding]:
    """All checks of one clip. ``heard`` None leaves out the one that compares words."""
    found = [
        Finding("decodable", passed=True, value=measures.duration, threshold=None, message="The clip decodes whole."),
        _duration(measures, thresholds),
        _silence(measures, thresholds),
        _clipping(measures, thresholds),
        _tail(measures, thresholds),
        _language(text, language, heard),
    ]
    if heard is not None:
        found.append(_transcript(text, heard, language, thresholds))
    return found


def finding_undecodable(message: str) -> Finding:
    """The finding for a clip whose bytes could not be decoded."""
    return Finding("decodable", passed=False, value=None, threshold=None, message=message)


def pair_findings(
    *, first: Measures, second: Measures, wanted_db: float = 0.0, thresholds: Thresholds = DEFAULTS
) -> list[Finding]:
    """Two deliveries of one line must differ to the ear, and in loudness by no more than was asked for.

    ``wanted_db`` is how much louder the first was to be: a whisper beside a shout is no accident.
    """
    return [_distinct(first, second, thresholds), _loudness_apart(first, second, wanted_db, thresholds)]


def finding_matched(*, levels: Sequence[float], thresholds: Thresholds = DEFAULTS) -> Finding:
    """Whether the copies that people hear of one line are equally loud. ``levels`` are theirs, in LUFS."""
    value = max(levels) - min(levels)
    passed = value <= thresholds.matched_lu
    return Finding(
        "matched loudness",
        passed=passed,
        value=value,
        threshold=thresholds.matched_lu,
        message=f"As people hear them, the deliveries lie {value:.2f} LU apart (at most {thresholds.matched_lu:g}).",
        detail={"levels": [round(level, 2) for level in levels]},
    )


def _duration(measures: Measures, limits: Thresholds) -> Finding:
    value = measures.duration
    short, long = value < limits.shortest_s, value > limits.longest_s
    message = f"The clip lasts {value:.2f} s."
    if short or long:
        message = (
            f"The clip lasts {value:.2f} s; between {limits.shortest_s:g} and {limits.longest_s:g} s are expected."
        )
    return Finding(
        "duration",
        passed=not (short or long),
        value=value,
        threshold=limits.longest_s if long else limits.shortest_s,
        message=message,
    )


def _silence(measures: Measures, limits: Thresholds) -> Finding:
    if measures.loudness is None or measures.loudness < limits.quietest_lufs:
        heard = "nothing" if measures.loudness is None else f"{measures.loudness:.1f} LUFS"
        return Finding(
            "silence",
            passed=False,
            value=measures.loudness,
            threshold=limits.quietest_lufs,
            message=f"The clip is too quiet to hear: {heard}; at least {limits.quietest_lufs:g} LUFS are expected.",
        )
    share = 1.0 if measures.pause_share is None else measures.pause_share
    passed = share <= limits.pause_share
    allowed = "" if passed else f"; at most {limits.pause_share:.0%} may be"
    return Finding(
        "silence",
        passed=passed,
        value=share,
        threshold=limits.pause_share,
        message=f"{share:.0%} of the clip is pause{allowed}.",
    )


def _clipping(measures: Measures, limits: Thresholds) -> Finding:
    passed = measures.clipped_share <= limits.clipped_share
    allowed = "" if passed else f"; at most {limits.clipped_share:.2%} may be"
    return Finding(
        "clipping",
        passed=passed,
        value=measures.clipped_share,
        threshold=limits.clipped_share,
        message=f"{measures.clipped_share:.2%} of the samples are cut off at full scale{allowed}.",
    )


def _tail(measures: Measures, limits: Thresholds) -> Finding:
    cut = measures.tail_db > limits.tail_db
    message = "The clip fades out before its end."
    if cut:
        message = (
            f"The clip ends in sound, {-measures.tail_db:.0f} dB below its loudest part ({-limits.tail_db:g} are "
            "expected): its last word may be cut off."
        )
    return Finding("tail", passed=not cut, value=measures.tail_db, threshold=limits.tail_db, message=message)


def foreign_share(text: str, language: str) -> float | None:
    """Share of a line that is written in the other script, a run of letters being a word; None when it has no word."""
    chinese, latin = len(_CHINESE.findall(text)), len(_LATIN.findall(text))
    if not chinese + latin:
        return None
    return (latin if language == "zh" else chinese) / (chinese + latin)


def _language(text: str, language: str, heard: Heard | None) -> Finding:
    """By the script of the line, and by the language that the transcriber heard if it tells."""
    expected = LANGUAGE_NAMES.get(language, language)
    share = foreign_share(text, language)
    if share is not None and share >= FOREIGN_SHARE:
        message = f"{share:.0%} of the line is not written in {expected}, the language of the dialogue."
        return Finding("language", passed=False, value=share, threshold=FOREIGN_SHARE, message=message)
    if heard is not None and heard.language and heard.language != language:
        spoken = LANGUAGE_NAMES.get(heard.language, heard.language)
        message = f"The clip is spoken in {spoken}; the dialogue is in {expected}."
        return Finding("language", False, share, FOREIGN_SHARE, message, {"heard": heard.language})  # noqa: FBT003
    return Finding("language", True, share, FOREIGN_SHARE, f"The line is in {expected}.")  # noqa: FBT003


def _transcript(text: str, heard: Heard, language: str, limits: Thresholds) -> Finding:
    """Words held against words. Above the limit a line still passes when only letters within the transcriber's own slack
    differ: then nothing but words that sound alike was heard.
    """
    error, letters = transcript_error(text, heard.text, language), letter_error(text, heard.text, language)
    limit = limits.transcript_error(language)
    name, kind = ("CER", "characters") if language == "zh" else ("WER", "words")
    detail: dict[str, Any] = {"metric": name.lower(), "heard": heard.text, "letters": letters, "slack": heard.slack}
    if heard.own_error is not None:
        detail["own_error"] = heard.own_error
    if error is None or letters is None:
        message = f"The line holds no {kind} to listen for."
        return Finding("transcript", passed=False, value=None, threshold=limit, message=message, detail=detail)
    alike = heard.slack > 0 and error > limit and letters <= heard.slack
    message = f"{error:.1%} of the {kind} were heard otherwise ({name}, at most {limit:.1%})."
    if not normalise(heard.text, language):
        message = f"Nobody was heard speaking ({name} 100%, at most {limit:.1%})."
    elif alike:
        message += " It sounds alike, within what this transcriber is known to mistake."
    elif error > limit and heard.own_error is not None and heard.own_error > limit / 2:
        message += (
            f" The transcriber itself mistakes about {heard.own_error:.0%} of the {kind} of good speech: listen before "
            "you decide, or give the batch another threshold."
        )
    passed = error <= limit or alike
    return Finding("transcript", passed=passed, value=error, threshold=limit, message=message, detail=detail)


def _distinct(first: Measures, second: Measures, limits: Thresholds) -> Finding:
    pair = pair_distance(first, second)
    value = pair.distance
    if value < limits.pair_distance:
        message = f"The two deliveries hardly differ (D = {value:.2f}, at least {limits.pair_distance:g})."
    elif value < limits.pair_doubtful:
        message = f"The two deliveries differ a little (D = {value:.2f}, doubtful below {limits.pair_doubtful:g}); listen to them."
    else:
        message = f"The two deliveries differ clearly (D = {value:.2f})."
    return Finding(
        "distinctiveness",
        passed=value >= limits.pair_distance,
        value=value,
        threshold=limits.pair_distance,
        message=message,
        detail={name: round(difference, 4) for name, difference in pair.differences.items()},
    )


def _loudness_apart(first: Measures, second: Measures, wanted_db: float, limits: Thresholds) -> Finding:
    limit = limits.pair_loudness_lu
    if first.loudness is None or second.loudness is None:
        message = "One of the two deliveries has no loudness to compare."
        return Finding("loudness match", passed=False, value=None, threshold=limit, message=message)
    apart = first.loudness - second.loudness
    value = abs(apart - wanted_db)
    message = f"As they were made, the two deliveries lie {abs(apart):.1f} LU apart in loudness (at most {limit:g})."
    if wanted_db:
        message = (
            f"As they were made, the two deliveries lie {abs(apart):.1f} LU apart in loudness; "
            f"{abs(wanted_db):.1f} were asked for (at most {limit:g} off)."
        )
    return Finding(
        "loudness match",
        passed=value <= limit,
        value=value,
        threshold=limit,
        message=message,
        detail={"apart": round(apart, 2), "wanted": wanted_db},
    )
