"""The table behind every figure of agreement: one row per rating that counts, under pseudonyms."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC
from typing import Any

from django.db.models import Prefetch

from annotation.models import Grade, Round
from annotation.selectors.dimensions import GRADE, VERDICT
from annotation.selectors.imported import imported_ratings
from annotation.selectors.judgements import live_judgements

HEAD = (
    "item",
    "rater",
    "value",
    "dimension",
    "level",
    "machine",
    "dialogue",
    "category",
    "language",
    "given_at",
    "judgement",
)
_CHUNK = 2_000


def pseudonym(*, round: Round, person_uid: str) -> str:  # noqa: A002
    """A name for a person that is the same all through one round and says nothing in another."""
    return "p" + hashlib.blake2b(f"{round.uid}:{person_uid}".encode(), digest_size=5).hexdigest()


def long_table(*, round: Round) -> Iterator[tuple[Any, ...]]:  # noqa: A002
    """Rows of HEAD: every verdict and grade that counts, then every imported rating. Constant in memory.

    Times are UTC, ISO 8601 with offset; people go by pseudonyms, imported raters by the names they came with.
    """
    yield from _judged(round)
    machines = set(round.machine_raters.values_list("name", flat=True))
    rows = imported_ratings(round=round).order_by("pk")
    columns = ("item", "rater", "value", "dimension", "level")
    for item, rater, value, dimension, level in rows.values_list(*columns).iterator(chunk_size=_CHUNK):
        yield (item, rater, value, dimension, level, int(rater in machines), "", "", "", "", "")


def _judged(round_: Round) -> Iterator[tuple[Any, ...]]:
    grades = Prefetch("grades", Grade.objects.select_related("variant").order_by("variant_id"))
    live = live_judgements(round=round_).select_related("item__dialogue", "annotator").prefetch_related(grades)
    for given in live.order_by("pk").iterator(chunk_size=_CHUNK):
        dialogue = given.item.dialogue
        rater = pseudonym(round=round_, person_uid=given.annotator.uid)
        about = (
            0,
            dialogue.uid,
            dialogue.category,
            dialogue.language,
            given.created.astimezone(UTC).isoformat(),
            given.uid,
        )
        if given.verdict:
            yield (given.item.uid, rater, given.verdict, VERDICT, "nominal", *about)
        for grade in given.grades.all():
            yield (grade.variant.uid, rater, grade.value, GRADE, "ordinal", *about)
