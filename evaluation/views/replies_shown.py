"""The figures of open replies as a page shows them."""

from __future__ import annotations

from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from eqstudio.estimates import Estimate
from evaluation.domain.judging import BY_NAME, SCALES, Scale
from evaluation.domain.text_metrics import TEXT_METRICS
from evaluation.words import BASELINES, FAMILIES, OUTCOMES
from evaluation.words_tests import TESTS


def page_language() -> str:
    return "zh" if (get_language() or "en").startswith("zh") else "en"


def shown_replies(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """The figures as a page shows them: agreement of each judge first, and beside every figure that a judge gave."""
    if found is None:
        return None
    language = page_language()
    asked = [scale for scale in SCALES if any(_given(row, scale.name) for row in found["rows"])]
    return {
        **found,
        "scales": [(scale.name, scale.code, scale.label[language]) for scale in asked],
        "human": [
            (BY_NAME[name].label[language], [Estimate(**figures[key]) for key in ("alpha_ordinal", "qwk")])
            for name, figures in found["people"]["agreement"].items()
        ],
        "judges": [_judge(judge, language) for judge in found["judges"]],
        "lines": [line for row in found["rows"] for line in _lines(row, asked, found["judges"])],
        "metrics": list(TEXT_METRICS.values()),
        "pairs": _pairs(found["pairs"], language),
    }


def _given(row: dict[str, Any], scale: str) -> bool:
    figures = [row["people"][scale], *(by[scale] for by in row["judges"].values() if scale in by)]
    return any(figure["value"] is not None for figure in figures)


def _judge(judge: dict[str, Any], language: str) -> dict[str, Any]:
    return {
        **judge,
        "lost": [(OUTCOMES[name], n) for name, n in judge["outcomes"].items() if name != "answered"],
        "agreed": [
            (
                BY_NAME[name].label[language],
                [Estimate(**figures[key]) for key in ("qwk", "pearson", "spearman", "bias")],
            )
            for name, figures in judge["agreement"].items()
        ],
    }


def _lines(row: dict[str, Any], asked: list[Scale], judges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line by people and one by each judge; a judge's figure carries its agreement with people on that scale."""
    name = BASELINES.get(row["name"], row["name"])
    words = [Estimate(**row[metric]) for metric in TEXT_METRICS]
    cells = [{"figure": Estimate(**row["people"][scale.name]), "beside": None} for scale in asked]
    found = [{"name": name, "by": "", "cells": cells, "words": words, "replies": row["replies"]}]
    for judge in judges:
        given = row["judges"].get(judge["name"], {})
        cells = [
            {
                "figure": Estimate(**given[scale.name]) if scale.name in given else None,
                "beside": Estimate(**judge["agreement"][scale.name]["qwk"]) if scale.name in given else None,
            }
            for scale in asked
        ]
        found.append({"name": name, "by": judge["name"], "cells": cells, "words": [], "replies": row["replies"]})
    return found


def _pairs(pairs: list[dict[str, Any]], language: str) -> list[dict[str, Any]]:
    """Who differs from whom: a table for each scale and assessor, in the order they were worked out."""
    tables: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for pair in pairs:
        row = {
            **pair,
            "difference": Estimate(**pair["difference"]),
            "test": TESTS[pair["test"]],
            "family": FAMILIES[pair["family"]],
        }
        tables.setdefault((pair["scale"], pair["by"]), []).append(row)
    return [
        {"scale": BY_NAME[scale].label[language], "by": by or _("people"), "rows": rows}
        for (scale, by), rows in tables.items()
    ]
