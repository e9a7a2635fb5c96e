"""Choices that several forms share."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from eqstudio.benchmarks import benchmark_get, benchmarks
from generation.words import benchmark_title, category_label

ANY = ("", _("any"))


def benchmark_choices() -> list[tuple[str, Any]]:
    """Any, then every benchmark by its title."""
    return [ANY, *((alias, benchmark_title(alias)) for alias in benchmarks)]


def category_choices() -> list[tuple[str, list[tuple[str, str]]]]:
    """Every category, under its benchmark."""
    return [
        (
            benchmark_title(alias),
            [(category.key, category_label(alias, category.key)) for category in benchmark_get(alias).categories],
        )
        for alias in benchmarks
    ]


def valence_choices() -> list[tuple[str, str]]:
    """Every valence that some benchmark knows."""
    return [(name, name) for name in sorted({name for alias in benchmarks for name in benchmark_get(alias).valences})]
