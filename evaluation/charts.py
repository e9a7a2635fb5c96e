"""Charts as SVG: Altair writes the specification, vl-convert draws it. The page shows the same numbers in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

INK = "#22303a"
SOFT = "#5b6a74"
GRID = "#e3e0d8"
COLOURS = {
    "people": "#0f6b6b",
    "person": "#7fb0ae",
    "model": "#8a5a00",
    "imported": "#8a5a00",
    "rule": "#8b949b",
    "chance": "#8b949b",
}
FONT = "system-ui, sans-serif"
ROW_HEIGHT = 24
WIDTH = 560


def leaderboard_svg(rows: Sequence[Mapping[str, Any]], *, axis: str, chance: float | None) -> str:
    """One interval a respondent on one axis; ``rows`` have name, kind, value, lo, hi and stand in their order."""
    return _draw(rows, axis=axis, chance=chance, facet=None)


def forest_svg(rows: Sequence[Mapping[str, Any]], *, axis: str, chance: float | None, facet: str) -> str:
    """Intervals by group: ``rows`` also have ``group``; one panel a group."""
    return _draw(rows, axis=axis, chance=chance, facet=facet)


def _draw(rows: Sequence[Mapping[str, Any]], *, axis: str, chance: float | None, facet: str | None) -> str:
    import altair as alt  # noqa: PLC0415 -- slow import
    import vl_convert  # noqa: PLC0415 -- slow import

    names = list(dict.fromkeys(row["name"] for row in rows))
    values = [{**row, "lo": _or(row["lo"], row["value"]), "hi": _or(row["hi"], row["value"])} for row in rows]
    base = alt.Chart(alt.Data(values=values))
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=240))
    colour = alt.Color("kind:N", scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())), legend=None)
    scale = alt.Scale(domain=_domain(values, chance), nice=False)
    x = alt.X("lo:Q", title=axis, scale=scale)
    layers = [
        base.mark_rule(strokeWidth=3).encode(x=x, x2="hi:Q", y=y, color=colour),
        base.mark_circle(size=90, opacity=1).encode(x=alt.X("value:Q", title=axis, scale=scale), y=y, color=colour),
    ]
    if chance is not None:
        layers.append(base.mark_rule(strokeDash=[4, 4], color=SOFT).encode(x=alt.XDatum(chance)))
    chart: Any = alt.layer(*layers).properties(width=WIDTH, height=ROW_HEIGHT * max(1, len(names)))
    if facet is not None:
        order = list(dict.fromkeys(row["group"] for row in rows))
        chart = chart.facet(
            row=alt.Row("group:N", sort=order, title=facet, header=alt.Header(labelAngle=0, labelAlign="left"))
        )
    chart = chart.configure(background="transparent", font=FONT).configure_axis(
        labelColor=INK, titleColor=SOFT, gridColor=GRID, labelFontSize=12, titleFontSize=12
    )
    svg: str = vl_convert.vegalite_to_svg(chart.to_dict())
    return svg


def _or(value: float | None, instead: float) -> float:
    return instead if value is None else value


def _domain(values: Sequence[Mapping[str, Any]], chance: float | None) -> list[float]:
    edges = [edge for row in values for edge in (row["lo"], row["hi"])] + ([] if chance is None else [chance])
    low, high = min(edges, default=0.0), max(edges, default=1.0)
    if low >= 0 and high <= 1:
        return [0.0, 1.0]
    return [low - (high - low or 1) * 0.05, high + (high - low or 1) * 0.05]
