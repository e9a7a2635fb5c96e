"""Is a clip fit to be judged? Each check gives one Finding: what was measured, against what, in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jiwer

from generation.domain.acoustics import Measures, pair_distance
from generation.domain.normalise import normalise, sound_letters

if TYPE_CHECKING:
    from collections.abc import Mapping


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
class Thresholds:
    """Where a check fails. ``transcript_error`` is per language: on good Chinese speech the small transcriber itself takes
    6 to 8 % of the characters for others that sound alike, and a short line makes one of them weigh much.
    """

    shortest_s: float = 0.3
    longest_s: float = 60.0
    quietest_lufs: float = -45.0
    pause_share: float = 0.7
    clipped_share: float = 0.001
    tail_db: float = -20.0
    transcript_error: float = 0.05
    pair_distance: float = 0.35
    pair_doubtful: float = 0.60
    pair_loudness_db: float = 6.0


DEFAULTS = Thresholds()


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
    transcript: str | None = None,
    slack: float = 0.0,
    thresholds: Thresholds = DEFAULTS,
) -> list[Finding]:
    """All checks of one clip. ``transcript`` is what a transcriber heard; None leaves that check out.

    ``slack`` is the share of letters that this transcriber is known to mistake on good speech: a line within
    it passes, since nothing but a word that sounds alike was heard.
    """
    found = [
        Finding("decodable", passed=True, value=measures.duration, threshold=None, message="The clip decodes whole."),
        _duration(measures, thresholds),
        _silence(measures, thresholds),
        _clipping(measures, thresholds),
        _tail(measures, thresholds),
    ]
    if transcript is not None:
        found.append(_transcript(text, transcript, language, slack, thresholds))
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
    return [_distinct(first, second, thresholds), _loudness_match(first, second, wanted_db, thresholds)]


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
            message=f"The clip is too quiet to hear: {heard}.",
        )
    share = 1.0 if measures.pause_share is None else measures.pause_share
    return Finding(
        "silence",
        passed=share <= limits.pause_share,
        value=share,
        threshold=limits.pause_share,
        message=f"{share:.0%} of the clip is pause.",
    )


def _clipping(measures: Measures, limits: Thresholds) -> Finding:
    return Finding(
        "clipping",
        passed=measures.clipped_share <= limits.clipped_share,
        value=measures.clipped_share,
        threshold=limits.clipped_share,
        message=f"{measures.clipped_share:.2%} of the samples are cut off at full scale.",
    )


def _tail(measures: Measures, limits: Thresholds) -> Finding:
    cut = measures.tail_db > limits.tail_db
    message = "The clip ends in sound: its last word may be cut off." if cut else "The clip fades out before its end."
    return Finding("tail", passed=not cut, value=measures.tail_db, threshold=limits.tail_db, message=message)


def _transcript(text: str, heard: str, language: str, slack: float, limits: Thresholds) -> Finding:
    error, letters = transcript_error(text, heard, language), letter_error(text, heard, language)
    limit = limits.transcript_error
    name, kind = ("CER", "characters") if language == "zh" else ("WER", "words")
    detail = {"metric": name.lower(), "heard": heard, "letters": letters, "slack": slack}
    if error is None or letters is None:
        message = f"The line holds no {kind} to listen for."
        return Finding("transcript", passed=False, value=None, threshold=limit, message=message, detail=detail)
    alike = slack > 0 and limit < error and letters <= slack
    message = f"{error:.0%} of the {kind} were heard otherwise ({name})."
    if not normalise(heard, language):
        message = "Nobody was heard speaking."
    elif alike:
        message += " It sounds alike, within what this transcriber is known to mistake."
    passed = error <= limit or alike
    return Finding("transcript", passed=passed, value=error, threshold=limit, message=message, detail=detail)


def _distinct(first: Measures, second: Measures, limits: Thresholds) -> Finding:
    pair = pair_distance(first, second)
    value = pair.distance
    if value < limits.pair_distance:
        message = f"The two deliveries hardly differ (D = {value:.2f})."
    elif value < limits.pair_doubtful:
        message = f"The two deliveries differ a little (D = {value:.2f}); listen to them."
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


def _loudness_match(first: Measures, second: Measures, wanted_db: float, limits: Thresholds) -> Finding:
    if first.loudness is None or second.loudness is None:
        message = "One of the two deliveries has no loudness to compare."
        return Finding("loudness match", passed=False, value=None, threshold=limits.pair_loudness_db, message=message)
    apart = first.loudness - second.loudness
    value = abs(apart - wanted_db)
    message = f"The two deliveries lie {abs(apart):.1f} LU apart in loudness."
    if wanted_db:
        message = f"The two deliveries lie {abs(apart):.1f} LU apart in loudness; {abs(wanted_db):.1f} were asked for."
    return Finding(
        "loudness match",
        passed=value <= limits.pair_loudness_db,
        value=value,
        threshold=limits.pair_loudness_db,
        message=message,
        detail={"apart": round(apart, 2), "wanted": wanted_db},
    )
