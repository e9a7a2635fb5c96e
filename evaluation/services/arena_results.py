"""What an arena came to: standings with intervals, how far raters agree, and every rating as a row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from annotation.domain.agreement import agreement
from annotation.domain.ratings import Rating
from evaluation.domain.arena import Rated, as_dicts, outcome_of
from evaluation.models import Arena, Panel, RationaleRating
from evaluation.models.arena import HIGHEST, LOWEST

AGREEMENT = ("alpha_ordinal", "alpha_interval", "qwk")
COLUMNS = ("rater", "item", "question", "system", "position", "rating", "key_access", "active_ms", "comment")


def arena_results(*, arena: Arena, with_key: bool = False) -> dict[str, Any]:
    """Standings, agreement and counts as plain data; reads only. Raters who can read the key stay out unless ``with_key``.

    The same arena always gives the same figures: the bootstrap is seeded by it.
    """
    names = dict(arena.contenders.values_list("respondent", "respondent__name"))
    kept = [row for row in _rows(arena) if with_key or not row["key_access"]]
    ratings = [Rated(row["panel"], row["item"], row["rater"], row["system"], row["value"]) for row in kept]
    digest = hashlib.sha256(f"{arena.seed}:{arena.uid}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    outcome = outcome_of(ratings, list(names), rng=rng)
    agreed = agreement(
        [Rating((row["question"], row["system"]), row["rater"], row["value"]) for row in kept],
        domain=range(LOWEST, HIGHEST + 1),
        clusters={(row["question"], row["system"]): row["item"] for row in kept},
        names=AGREEMENT,
    )
    wanted = arena.questions.count() * arena.wanted
    return {
        "arena": arena.name,
        "study": arena.study.name,
        "systems": [{**one, "name": names[one["system"]]} for one in as_dicts(outcome)],
        "comparisons": outcome.comparisons,
        "ties": outcome.ties,
        "nu": outcome.nu.as_dict(),
        "ratings": len(kept),
        "raters": len({row["rater"] for row in kept}),
        "panels": len({row["panel"] for row in kept}),
        "wanted": wanted,
        "key_access": len({row["rater"] for row in _rows(arena) if row["key_access"]}),
        "with_key": with_key,
        "agreement": {name: found.as_dict() for name, found in agreed.estimates.items()},
    }


def _rows(arena: Arena) -> list[dict[str, Any]]:
    found = RationaleRating.objects.filter(sheet__panel__arena=arena).order_by("pk")
    names = {
        "panel": "sheet__panel",
        "item": "sheet__panel__dialogue",
        "question": "sheet__panel__question",
        "rater": "sheet__panel__rater",
        "system": "respondent",
        "value": "value",
        "key_access": "sheet__panel__key_access",
    }
    return [dict(zip(names, row, strict=True)) for row in found.values_list(*names.values())]


def arena_ratings(*, arena: Arena) -> Iterator[tuple[Any, ...]]:
    """Every rating as a row of ``COLUMNS``, under pseudonyms of the raters; constant in memory."""
    raters = {
        rater: number
        for number, rater in enumerate(
            arena.panels.filter(state=Panel.State.RATED).order_by("rater").values_list("rater", flat=True).distinct(), 1
        )
    }
    found = (
        RationaleRating.objects.filter(sheet__panel__arena=arena)
        .select_related("sheet__panel__question__dialogue", "respondent")
        .prefetch_related("sheet__panel__systems")
        .order_by("pk")
    )
    for row in found.iterator(chunk_size=500):
        panel = row.sheet.panel
        position = next(one.position for one in panel.systems.all() if one.respondent_id == row.respondent_id)
        yield (
            f"Rater {raters[panel.rater_id]}",
            panel.question.dialogue.uid,
            panel.question.key,
            row.respondent.name,
            position + 1,
            row.value,
            int(panel.key_access),
            row.sheet.paradata.get("active_ms", ""),
            row.sheet.comment,
        )
