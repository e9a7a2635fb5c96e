"""Is a clip fit to be judged? Each check gives one Finding: what was measured, against what, in a sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jiwer

from generation.domain.acoustics import Measures, pair_distance
from generation.domain.normalise import normalise, sound_letters
from generation.domain.sayings import say
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
    """``value`` was held against ``threshold``; ``said`` names the sentence that tells it, also when the check passed, and
    ``figures`` are what stands in it.
    """

    check_name: str
    passed: bool
    value: float | None
    threshold: float | None
    said: str
    figures: Mapping[str, str] = field(default_factory=dict)
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def message(self) -> str:
        """The sentence in English."""
        return say(self.said, self.figures)


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
        Finding("decodable", passed=True, value=measures.duration, threshold=None, said="decodable"),
        _duration(measures, thresholds),
        _silence(measures, thresholds),
        _clipping(measures, thresholds),
        _tail(measures, thresholds),
        _language(text, language, heard),
    ]
    if heard is not None:
        found.append(_transcript(text, heard, language, thresholds))
    return found


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
        said="matched",
        figures={"value": f"{value:.2f}", "limit": f"{thresholds.matched_lu:g}"},
        detail={"levels": [round(level, 2) for level in levels]},
    )


def _duration(measures: Measures, limits: Thresholds) -> Finding:
    value = measures.duration
    short, long = value < limits.shortest_s, value > limits.longest_s
    figures = {"value": f"{value:.2f}", "short": f"{limits.shortest_s:g}", "long": f"{limits.longest_s:g}"}
    return Finding(
        "duration",
        passed=not (short or long),
        value=value,
        threshold=limits.longest_s if long else limits.shortest_s,
        said="duration.outside" if short or long else "duration",
        figures=figures,
    )


def _silence(measures: Measures, limits: Thresholds) -> Finding:
    if measures.loudness is None or measures.loudness < limits.quietest_lufs:
        level = {} if measures.loudness is None else {"value": f"{measures.loudness:.1f}"}
        return Finding(
            "silence",
            passed=False,
            value=measures.loudness,
            threshold=limits.quietest_lufs,
            said="silence.quiet" if level else "silence.nothing",
            figures={**level, "limit": f"{limits.quietest_lufs:g}"},
        )
    share = 1.0 if measures.pause_share is None else measures.pause_share
    passed = share <= limits.pause_share
    return Finding(
        "silence",
        passed=passed,
        value=share,
        threshold=limits.pause_share,
        said="silence" if passed else "silence.pauses",
        figures={"share": f"{share:.0%}", "limit": f"{limits.pause_share:.0%}"},
    )


def _clipping(measures: Measures, limits: Thresholds) -> Finding:
    passed = measures.clipped_share <= limits.clipped_share
    return Finding(
        "clipping",
        passed=passed,
        value=measures.clipped_share,
        threshold=limits.clipped_share,
        said="clipping" if passed else "clipping.much",
        figures={"share": f"{measures.clipped_share:.2%}", "limit": f"{limits.clipped_share:.2%}"},
    )


def _tail(measures: Measures, limits: Thresholds) -> Finding:
    cut = measures.tail_db > limits.tail_db
    figures = {"value": f"{-measures.tail_db:.0f}", "limit": f"{-limits.tail_db:g}"}
    said = "tail.cut" if cut else "tail"
    return Finding("tail", not cut, measures.tail_db, limits.tail_db, said, figures if cut else {})


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
        figures = {"share": f"{share:.0%}", "expected": expected}
        return Finding("language", False, share, FOREIGN_SHARE, "language.script", figures)  # noqa: FBT003
    if heard is not None and heard.language and heard.language != language:
        figures = {"spoken": LANGUAGE_NAMES.get(heard.language, heard.language), "expected": expected}
        detail = {"heard": heard.language}
        return Finding("language", False, share, FOREIGN_SHARE, "language.spoken", figures, detail)  # noqa: FBT003
    return Finding("language", True, share, FOREIGN_SHARE, "language", {"expected": expected})  # noqa: FBT003


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
    figures = {"name": name, "limit": f"{limit:.1%}"}
    if error is None or letters is None:
        said = f"transcript.empty.{kind}" if text.strip() else "transcript.missing"
        return Finding("transcript", passed=False, value=None, threshold=limit, said=said, detail=detail)
    alike = heard.slack > 0 and error > limit and letters <= heard.slack
    said = f"transcript.{kind}"
    if not normalise(heard.text, language):
        said = "transcript.silent"
    elif alike:
        said += ".alike"
    elif error > limit and heard.own_error is not None and heard.own_error > limit / 2:
        said += ".weak"
        figures["own"] = f"{heard.own_error:.0%}"
    figures["error"] = f"{error:.1%}"
    return Finding("transcript", error <= limit or alike, error, limit, said, figures, detail)


def _distinct(first: Measures, second: Measures, limits: Thresholds) -> Finding:
    pair = pair_distance(first, second)
    value = pair.distance
    said, limit = "distinct", limits.pair_doubtful
    if value < limits.pair_distance:
        said, limit = "distinct.hardly", limits.pair_distance
    elif value < limits.pair_doubtful:
        said = "distinct.little"
    return Finding(
        "distinctiveness",
        passed=value >= limits.pair_distance,
        value=value,
        threshold=limits.pair_distance,
        said=said,
        figures={"value": f"{value:.2f}", "limit": f"{limit:g}"},
        detail={name: round(difference, 4) for name, difference in pair.differences.items()},
    )


def _loudness_apart(first: Measures, second: Measures, wanted_db: float, limits: Thresholds) -> Finding:
    limit = limits.pair_loudness_lu
    if first.loudness is None or second.loudness is None:
        return Finding("loudness match", passed=False, value=None, threshold=limit, said="loudness.none")
    apart = first.loudness - second.loudness
    value = abs(apart - wanted_db)
    figures = {"apart": f"{abs(apart):.1f}", "wanted": f"{abs(wanted_db):.1f}", "limit": f"{limit:g}"}
    return Finding(
        "loudness match",
        passed=value <= limit,
        value=value,
        threshold=limit,
        said="loudness.asked" if wanted_db else "loudness",
        figures=figures,
        detail={"apart": round(apart, 2), "wanted": wanted_db},
    )
