"""What a figure is, and its ways out of the studio."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eqstudio.benchmarks import Benchmark
from eqstudio.benchmarks.base import Metric

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True)
class View:
    """What a figure is drawn from: the comparison, which respondent is looked at, and what it takes to name things.

    ``extra`` holds what only some figures need, made when they ask for it: difficulties of items, confusion, effort.
    """

    result: Mapping[str, Any]
    benchmark: Benchmark
    metric: Metric
    label: str
    chosen: str
    group_label: Callable[[str], str]
    extra: Mapping[str, Callable[[], Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """A table of ``rows`` with these ``columns``, and how it is drawn (``narrow``: for a phone)."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    draw: Callable[[bool], str]


def csv_of(figure: Figure) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(figure.columns)
    writer.writerows([[cell_safe(row.get(column)) for column in figure.columns] for row in figure.rows])
    return buffer.getvalue()


def cell_safe(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula is marked as text; nothing is an empty cell."""
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t"} else value


def latex_of(figure: Figure) -> str:
    """A table for the booktabs package; numbers to three decimals."""
    numeric = [all(_is_number(row.get(column)) for row in figure.rows) for column in figure.columns]
    lines = [
        rf"\begin{{tabular}}{{{''.join('r' if is_number else 'l' for is_number in numeric)}}}",
        r"\toprule",
        _line(figure.columns),
        r"\midrule",
        *[_line([_cell(row.get(column)) for column in figure.columns]) for row in figure.rows],
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _cell(value: Any) -> str:
    if value is None:
        return "--"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _line(cells: Sequence[str]) -> str:
    return " & ".join("".join(_LATEX.get(char, char) for char in cell) for cell in cells) + r" \\"
