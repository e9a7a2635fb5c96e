"""The thresholds of a batch as form fields and as rows of a page."""

from __future__ import annotations

from typing import Any, NamedTuple

from django import forms
from django.utils.translation import gettext_lazy as _

from generation.domain.thresholds import DEFAULTS, NAMES, SHARES, Thresholds

LABELS = {
    "word_error": _("Words heard otherwise, English (WER)"),
    "character_error": _("Characters heard otherwise, Chinese (CER)"),
    "shortest_s": _("Shortest clip, seconds"),
    "longest_s": _("Longest clip, seconds"),
    "quietest_lufs": _("Quietest clip, LUFS"),
    "pause_share": _("Pauses, share of a clip"),
    "clipped_share": _("Clipped samples, share of a clip"),
    "tail_db": _("Sound at the very end, dB below the loudest part"),
    "pair_distance": _("Distance of two deliveries: too alike below"),
    "pair_doubtful": _("Distance of two deliveries: doubtful below"),
    "pair_loudness_lu": _("Loudness of two deliveries as made, LU apart"),
    "matched_lu": _("Loudness of two deliveries as heard, LU apart"),
    "voice_ratio": _("A clip may be this many times as far from its own speaker as from another"),
}
PREFIX = "limit_"


class LimitRow(NamedTuple):
    """One threshold of a batch; ``changed`` where it is not the default."""

    label: Any
    value: float
    changed: bool


def limit_rows(limits: Thresholds) -> list[LimitRow]:
    changed = limits.changed()
    return [LimitRow(LABELS[name], getattr(limits, name), name in changed) for name in NAMES]


def limit_fields() -> dict[str, forms.Field]:
    """A number per threshold, with its default; shares between 0 and 1."""
    return {
        PREFIX + name: forms.FloatField(
            label=LABELS[name],
            initial=getattr(DEFAULTS, name),
            required=False,
            min_value=0 if name in SHARES else None,
            max_value=1 if name in SHARES else None,
            widget=forms.NumberInput(attrs={"step": "any"}),
        )
        for name in NAMES
    }


def limits_given(cleaned: dict[str, Any]) -> dict[str, float]:
    """What was filled in; an empty field means the default."""
    return {name: cleaned[PREFIX + name] for name in NAMES if cleaned.get(PREFIX + name) is not None}
