"""What a person has heard of a question's clips."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext

from eqstudio.benchmarks.base import Trial
from eqstudio.errors import InvalidInput
from evaluation.models import TrialRecord
from generation.selectors import variants_by_uid


def clips_of(trial: Trial) -> list[tuple[str, str]]:
    """Variant uid and the name a person sees, for every clip of a question, in the order shown."""
    context = [
        (segment.variant, gettext("line %(number)s") % {"number": number})
        for number, segment in enumerate(trial.context, start=1)
        if segment.variant
    ]
    return [*context, *((option.variant, option.letter) for option in trial.options if option.variant)]


def heard_share(intervals: Iterable[Any], duration: float) -> float:
    """The share of ``duration`` that the union of ``intervals`` ([start, end] in seconds) covers."""
    if duration <= 0:
        return 1.0
    covered = reached = 0.0
    for start, end in sorted(_interval(pair, duration) for pair in intervals):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered / duration


def _interval(pair: Any, duration: float) -> tuple[float, float]:
    try:
        start, end = (float(value) for value in pair)
    except (TypeError, ValueError) as error:
        raise InvalidInput("What was heard must be pairs of start and end in seconds.", field="heard") from error
    return max(0.0, min(start, duration)), max(0.0, min(end, duration))


def unheard_in(*, trial: TrialRecord, heard: Mapping[str, Any], share: float) -> list[str]:
    """Names of the clips of a question that were heard less than ``share``."""
    clips = clips_of(Trial.from_dict(trial.shown))
    variants = variants_by_uid(uids=[uid for uid, _name in clips])
    missing = []
    for uid, name in clips:
        variant = variants.get(uid)
        if variant is None or variant.clip is None:
            continue
        if heard_share(heard.get(uid, []), variant.clip.duration) < share:
            missing.append(name)
    return missing
