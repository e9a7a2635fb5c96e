"""Choices that several forms share."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from eqstudio.benchmarks import benchmarks

ANY = ("", _("any"))


def benchmark_choices() -> list[tuple[str, Any]]:
    """Any, then every benchmark by its alias."""
    return [ANY, *benchmarks.choices()]
