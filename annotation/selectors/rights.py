"""What may be done with the items of a split: their licences, and the consent of those who speak."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from annotation.models import Split
from generation.importers.flat import NO
from generation.models import Corpus, Dialogue

_PEOPLE_SPEAK = (Dialogue.Source.RECORDED, Dialogue.Source.IMPORTED)


def split_corpora(*, split: Split) -> list[Corpus]:
    """The corpora that the items are of, by name. One query."""
    return list(Corpus.objects.filter(dialogues__split_items__split=split).order_by("name").distinct())


def split_licences(*, split: Split) -> list[str]:
    """Every licence that an item is under: its corpus's, and the one that came with its recording. Two queries."""
    found = {corpus.licence for corpus in split_corpora(split=split)}
    found |= {licence for _corpus, licence in _recording_licences(split)}
    return sorted({licence.strip() for licence in found} - {""})


def corpora_unlicensed(*, split: Split) -> list[str]:
    """The names of corpora of the split that have no licence and hold an item whose recording brought none either."""
    bare = {corpus for corpus, licence in _recording_licences(split) if not licence}
    return [corpus.name for corpus in split_corpora(split=split) if not corpus.licence.strip() and corpus.pk in bare]


def _recording_licences(split: Split) -> set[tuple[int, str]]:
    """By corpus, what its items of the split say in ``extras.recording.licence``, as imports write it; '' for nothing."""
    inside = Dialogue.objects.filter(split_items__split=split).order_by()
    rows = inside.values_list("corpus_id", "extras__recording__licence").distinct()
    return {(corpus, licence.strip() if isinstance(licence, str) else "") for corpus, licence in rows}


def without_consent(*, split: Split) -> Iterator[str]:
    """The recorded and imported items that do not say that their speakers agreed, by public id, in order."""
    rows = Dialogue.objects.filter(split_items__split=split, source__in=_PEOPLE_SPEAK).order_by("split_items__position")
    for uid, extras in rows.values_list("uid", "extras").iterator():
        if not _consents(extras):
            yield uid


def _consents(extras: Any) -> bool:
    """Whether ``consent`` stands there or in ``recording``, where imports put it, and none of the two says no."""
    here = extras if isinstance(extras, Mapping) else {}
    beside = here.get("recording")
    said = [here.get("consent"), beside.get("consent") if isinstance(beside, Mapping) else None]
    words = [str(one).strip().lower() for one in said if one not in (None, "", [], {})]
    return any(words) and NO.isdisjoint(words)
