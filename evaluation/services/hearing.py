"""What a person has heard of a question's clips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from annotation.domain.gate import heard_share, intervals_check
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


def unheard_in(*, trial: TrialRecord, heard: Mapping[str, Any], share: float) -> list[str]:
    """Names of the clips of a question that were heard less than ``share``."""
    return unheard_among(clips=clips_of(Trial.from_dict(trial.shown)), heard=heard, share=share)


def unheard_among(*, clips: Sequence[tuple[str, str]], heard: Mapping[str, Any], share: float) -> list[str]:
    """Names of those of ``clips`` (variant uid and name) that were heard less than ``share``."""
    if not isinstance(heard, Mapping):
        raise InvalidInput("What was heard should be played intervals by clip.", field="heard")
    variants = variants_by_uid(uids=[uid for uid, _name in clips])
    missing = []
    for uid, name in clips:
        variant = variants.get(uid)
        if variant is None or variant.clip is None:
            continue
        played = intervals_check(heard.get(uid, []))
        if heard_share(played, duration=variant.clip.duration) < share:
            missing.append(name)
    return missing
