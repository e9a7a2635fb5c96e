"""One dialogue of a split as plain data, with what people said about it under pseudonyms. A few queries for each chunk."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from statistics import median
from typing import Any, NamedTuple

from django.db.models import Count, Sum
from django.utils.translation import gettext as _

from annotation.models import Grade, Split, SplitItem
from annotation.selectors import live_judgements
from annotation.selectors.splits import pseudonym, split_rounds
from eqstudio.errors import InvalidInput
from generation.importers.tables import unstorable
from generation.models import Turn

CHUNK = 64
"""Dialogues that one round of queries reads."""
EXTENSIONS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/mpeg": "mp3",
    "audio/flac": "flac",
    "audio/x-flac": "flac",
    "audio/ogg": "ogg",
    "audio/mp4": "m4a",
    "audio/aac": "aac",
    "audio/webm": "webm",
    "audio/aiff": "aiff",
    "audio/basic": "au",
    "audio/x-caf": "caf",
    "audio/x-w64": "w64",
}
_DIALOGUE = (
    "uid",
    "external_id",
    "benchmark",
    "category",
    "language",
    "source",
    "valence",
    "title",
    "scenario",
    "extras",
    "template_key",
    "topic_key",
)
_TURN = ("position", "role", "speaker", "speaker_name", "gender", "voice")
_VARIANT = ("uid", "label", "text", "tone", "delivery", "intended_grade", "rationale")
_CLIP = ("sha256", "media_type", "size", "duration", "loudness", "pitch")


_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


class Place(NamedTuple):
    """An item of a split and how many bytes of audio it brings."""

    pk: int
    size: int


def split_places(split: Split) -> dict[str, list[Place]]:
    """The items by side, in order."""
    found: dict[str, list[Place]] = defaultdict(list)
    sizes = split.items.annotate(size=Sum("dialogue__turns__variants__clip__size")).order_by("position")
    for pk, side, size in sizes.values_list("pk", "side", "size").iterator():
        found[side].append(Place(pk, size or 0))
    return dict(sorted(found.items()))


def repeated_ids(split: Split) -> set[str]:
    """External ids that several items of the split bear: a corpus has each once, several corpora may not."""
    ids = split.items.order_by().exclude(dialogue__external_id="").values_list("dialogue__external_id")
    return set(ids.annotate(items=Count("pk")).filter(items__gt=1).values_list("dialogue__external_id", flat=True))


def split_records(split: Split, places: Sequence[Place] | None = None) -> Iterator[dict[str, Any]]:
    """The items in order, each as one row without its audio. InvalidInput names an item whose text is no text.

    ``external_id`` is empty where another item of the split bears the same, so that whoever takes it for a name, or the
    public id in its stead, has a name that is there once.
    """
    wanted = iter(
        places if places is not None else [place for found in split_places(split).values() for place in found]
    )
    names, repeated = Names(split), repeated_ids(split)
    while chunk := [place.pk for place in islice(wanted, CHUNK)]:
        for row in _chunk(split, chunk, names):
            yield {**row, "external_id": ""} if row["external_id"] in repeated else row


class Names:
    """Pseudonyms of one split, each worked out once."""

    def __init__(self, split: Split) -> None:
        self._split = split
        self._known: dict[int, str] = {}

    def __getitem__(self, person: int) -> str:
        if person not in self._known:
            self._known[person] = pseudonym(split=self._split, person=person)
        return self._known[person]


@dataclass
class _Judged:
    """What people said of some dialogues: verdicts by dialogue, grades by variant, each with who said it."""

    verdicts: dict[int, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    grades: dict[int, list[tuple[str, int]]] = field(default_factory=lambda: defaultdict(list))


def _judged(split: Split, dialogues: Sequence[int], names: Names) -> _Judged:
    found = _Judged()
    if not (rounds := split_rounds(split=split)):
        return found
    live = live_judgements().filter(item__round__in=rounds, item__dialogue_id__in=dialogues).order_by("pk")
    rows = live.values_list("annotator_id", "item__dialogue_id", "verdict", "reasons", "answers")
    for person, dialogue, verdict, reasons, answers in rows:
        said = {"rater": names[person], "verdict": verdict, "reasons": reasons, "answers": told(answers)}
        found.verdicts[dialogue].append(said)
    grades = Grade.objects.filter(judgement__in=live).order_by("judgement_id", "pk")
    for person, variant, value in grades.values_list("judgement__annotator_id", "variant_id", "value"):
        found.grades[variant].append((names[person], value))
    return found


def told(document: Any) -> str:
    """A JSON document in one spelling."""
    return _JSON.encode(document)


def _chunk(split: Split, items: list[int], names: Names) -> Iterator[dict[str, Any]]:
    rows = SplitItem.objects.filter(pk__in=items).order_by("position")
    dialogues = list(rows.values_list("dialogue_id", "side", "entry", *(f"dialogue__{name}" for name in _DIALOGUE)))
    pks = [pk for pk, *_rest in dialogues]
    judged = _judged(split, pks, names)
    turns = _turns(pks, judged)
    for pk, side, entry, *values in dialogues:
        row: dict[str, Any] = dict(zip(_DIALOGUE, values, strict=True))
        row = {"dialogue_id": row.pop("uid"), **row}
        row |= {"scenario": told(row["scenario"]), "extras": told(row["extras"])}
        row |= {
            "side": side,
            "outcome": entry["judgements"].get("outcome", ""),
            "turns": turns.get(pk, []),
            "judgements": sorted(judged.verdicts.get(pk, []), key=lambda said: said["rater"]),
        }
        _text_check(row)
        yield row


def _text_check(row: dict[str, Any]) -> None:
    try:
        told(row).encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            _("Dialogue %(uid)s cannot be exported. %(what)s Correct its text, then freeze and export again.")
            % {"uid": row["dialogue_id"], "what": unstorable(row) or error.reason},
            field="text",
        ) from error


def _turns(dialogues: list[int], judged: _Judged) -> dict[int, list[dict[str, Any]]]:
    rows = (
        Turn.objects.filter(dialogue_id__in=dialogues)
        .order_by("dialogue_id", "position", "variants__pk")
        .values_list(
            "dialogue_id",
            *_TURN,
            "variants__pk",
            *(f"variants__{name}" for name in _VARIANT),
            *(f"variants__clip__{name}" for name in _CLIP),
        )
    )
    head = 1 + len(_TURN)
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for key, lines in groupby(rows, key=lambda row: row[:head]):
        variants = [_variant(line[head:], judged) for line in lines if line[head] is not None]
        found[key[0]].append({**dict(zip(_TURN, key[1:], strict=True)), "variants": variants})
    return found


def _variant(values: tuple[Any, ...], judged: _Judged) -> dict[str, Any]:
    pk, *said = values
    variant = dict(zip((*_VARIANT, *_CLIP), said, strict=True))
    given = sorted(judged.grades.get(pk, []))
    grades = [value for _rater, value in given]
    variant["delivery"] = told(variant["delivery"] or {})
    return {
        "variant_id": variant.pop("uid"),
        **variant,
        "file": file_name(variant["sha256"], variant["media_type"]),
        "grades": grades,
        "graded_by": [rater for rater, _value in given],
        "median_grade": float(median(grades)) if grades else None,
    }


def file_name(sha256: str | None, media_type: str | None) -> str | None:
    """A name that says what the file holds and nothing about where it lay; None for a line without sound."""
    return f"{sha256[:24]}.{EXTENSIONS.get(media_type or '', 'bin')}" if sha256 else None


def variants_of(row: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every (turn, variant) of a row, in order."""
    for turn in row["turns"]:
        for variant in turn["variants"]:
            yield turn, variant
