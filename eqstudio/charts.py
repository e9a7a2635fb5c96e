"""Charts as SVG: Altair writes the specification, vl-convert draws it. The page shows the same numbers in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

INK = "#22303a"
SOFT = "#5b6a74"
GRID = "#e3e0d8"
COLOURS = {
    "people": "#0f6b6b",
    "baseline": "#0f6b6b",
    "person": "#7fb0ae",
    "model": "#8a5a00",
    "imported": "#8a5a00",
    "rule": "#8b949b",
    "chance": "#8b949b",
}
SERIES = ("#0f6b6b", "#8a5a00", "#5b6a74", "#7a3e6d")
DARK = {
    INK: "#e7e4db",
    SOFT: "#a7aeae",
    GRID: "#30373a",
    "#0f6b6b": "#6cc7c3",
    "#7fb0ae": "#4f8f8c",
    "#8a5a00": "#f0c268",
    "#8b949b": "#98a1a5",
    "#7a3e6d": "#d9a3cb",
    "#ddd": "#30373a",
}
"""What each colour becomes on a dark page."""
PAPER = "#fffefb"
FONT = "system-ui, sans-serif"
ROW_HEIGHT = 24
WIDTH = 560
CHART_HEIGHT = 220
NARROW_WIDTH, NARROW_LABELS = 150, 110
"""What fits a phone at the letters' own size."""
NARROW_TIME_WIDTH, NARROW_NUMBERS = 170, 50
NARROW_TICKS = 3
"""More than 0, a half and 1 would touch on a phone."""
LEGEND_LINE = 16
PADDING = {"left": 60, "right": 12, "top": 6, "bottom": 6}
NARROW_PADDING = PADDING | {"left": 24}
"""Room on the left: the reader's font may be wider than the one the labels were measured with."""


def leaderboard_svg(rows: Sequence[Mapping[str, Any]], *, axis: str, chance: float | None, narrow: bool = False) -> str:
    """One interval a respondent on one axis; ``rows`` have name, kind, value, lo, hi and stand in their order.

    ``narrow`` draws for a phone, so that the letters keep their size.
    """
    import altair as alt  # noqa: PLC0415 -- slow import

    names = list(dict.fromkeys(row["name"] for row in rows))
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=_labels(narrow)))
    chart = alt.layer(*_intervals(rows, y=y, axis=axis, chance=chance, narrow=narrow))
    return _svg(chart.properties(width=_width(narrow), height=ROW_HEIGHT * max(1, len(names))), narrow=narrow)


def forest_svg(rows: Sequence[Mapping[str, Any]], *, axis: str, chance: float | None, narrow: bool = False) -> str:
    """One line a group, in it one interval a respondent; ``rows`` also have ``group``."""
    import altair as alt  # noqa: PLC0415 -- slow import

    names = list(dict.fromkeys(row["name"] for row in rows))
    groups = list(dict.fromkeys(row["group"] for row in rows))
    y = alt.Y("group:N", sort=groups, title=None, axis=alt.Axis(labelLimit=_labels(narrow)))
    offset = alt.YOffset("name:N", sort=names)
    chart = alt.layer(*_intervals(rows, y=y, axis=axis, chance=chance, offset=offset, shapes=names, narrow=narrow))
    height = max(1, len(groups)) * (10 + 12 * max(1, len(names)))
    return _svg(chart.properties(width=_width(narrow), height=height), narrow=narrow)


def _width(narrow: bool) -> int:  # noqa: FBT001 -- asked by the charts of this file
    return NARROW_WIDTH if narrow else WIDTH


def legend_of(narrow: bool, lines: int, left: int = NARROW_LABELS) -> dict[str, Any]:  # noqa: FBT001
    """Where a legend stands, as Altair's Legend takes it: on a phone one name under another, from the left edge on, so that
    a long one has the whole width.
    """
    if not narrow:
        return {"orient": "top", "labelLimit": 260}
    above = -LEGEND_LINE * lines - 14
    return {"orient": "none", "direction": "vertical", "legendX": -left, "legendY": above, "labelLimit": 230}


def ticks_of(narrow: bool) -> dict[str, int]:  # noqa: FBT001
    """How many ticks an axis of numbers has, as Altair's Axis takes it."""
    return {"tickCount": NARROW_TICKS} if narrow else {}


def _labels(narrow: bool) -> int:  # noqa: FBT001
    return NARROW_LABELS if narrow else 260


def _intervals(
    rows: Sequence[Mapping[str, Any]],
    *,
    y: Any,
    axis: str,
    chance: float | None,
    offset: Any = None,
    shapes: Sequence[str] = (),
    narrow: bool = False,
) -> list[Any]:
    import altair as alt  # noqa: PLC0415 -- slow import

    values = [{**row, "lo": _or(row["lo"], row["value"]), "hi": _or(row["hi"], row["value"])} for row in rows]
    base = alt.Chart(alt.Data(values=values))
    scale = alt.Scale(domain=_domain(values, chance), nice=False)
    x = alt.Axis(title=axis, **ticks_of(narrow))
    colours = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    common = {"y": y, "color": alt.Color("kind:N", scale=colours, legend=None)}
    if offset is not None:
        common["yOffset"] = offset
    marks = dict(common)
    if shapes:
        place = legend_of(narrow, len(shapes))
        marks["shape"] = alt.Shape("name:N", sort=list(shapes), legend=alt.Legend(title=None, **place))
    layers: list[Any] = [
        base.mark_rule(strokeWidth=2.5).encode(x=alt.X("lo:Q", axis=x, scale=scale), x2="hi:Q", **common),
        base.mark_point(size=70, filled=True, opacity=1).encode(x=alt.X("value:Q", axis=x, scale=scale), **marks),
    ]
    if chance is not None:
        layers.append(base.mark_rule(strokeDash=[4, 4], color=SOFT).encode(x=alt.XDatum(chance)))
    return layers


def _svg(chart: Any, *, narrow: bool = False) -> str:
    import vl_convert  # noqa: PLC0415 -- slow import

    styled = (
        chart.configure(background="transparent", font=FONT, padding=NARROW_PADDING if narrow else PADDING)
        .configure_axis(
            labelColor=INK,
            titleColor=SOFT,
            gridColor=GRID,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
        )
        .configure_legend(
            labelColor=INK, labelFontSize=12, symbolFillColor=INK, symbolStrokeColor=INK, columnPadding=24
        )
    )
    svg: str = vl_convert.vegalite_to_svg(styled.to_dict())
    return svg


def svg_themed(svg: str) -> str:
    """The drawing for a page that may be dark: shown as an image it takes the colour scheme of the page around it.

    Files keep the plain drawing, which is for paper.
    """
    rules = "".join(
        f'[{attribute}="{light}"]{{{attribute}:{dark}}}'
        for light, dark in DARK.items()
        for attribute in ("fill", "stroke")
    )
    head, mark, rest = svg.partition(">")
    return f"{head}{mark}<style>@media (prefers-color-scheme: dark){{{rules}}}</style>{rest}"


def png_of(svg: str) -> bytes:
    """The drawing as a picture on paper, twice as many dots as its size says."""
    import vl_convert  # noqa: PLC0415 -- slow import

    head, mark, rest = svg.partition(">")
    png: bytes = vl_convert.svg_to_png(f'{head}{mark}<rect width="100%" height="100%" fill="{PAPER}"/>{rest}', scale=2)
    return png


def _or(value: float | None, instead: float) -> float:
    return instead if value is None else value


def _domain(values: Sequence[Mapping[str, Any]], chance: float | None) -> list[float]:
    edges = [edge for row in values for edge in (row["lo"], row["hi"])] + ([] if chance is None else [chance])
    low, high = min(edges, default=0.0), max(edges, default=1.0)
    if low >= 0 and high <= 1:
        return [0.0, 1.0]
    return [low - (high - low or 1) * 0.05, high + (high - low or 1) * 0.05]


def over_time_svg(rows: Sequence[Mapping[str, Any]], *, axis: str, narrow: bool = False) -> str:
    """A figure with its interval on one day after the other; ``rows`` have label, name, value, lo, hi in order of time."""
    import altair as alt  # noqa: PLC0415 -- slow import

    values = [{**row, "lo": _or(row["lo"], row["value"]), "hi": _or(row["hi"], row["value"])} for row in rows]
    names = list(dict.fromkeys(row["name"] for row in rows))
    labels = sorted({row["label"] for row in rows})
    base = alt.Chart(alt.Data(values=values))
    x = alt.X("label:N", sort=labels, title=None, axis=alt.Axis(labelAngle=-40, labelOverlap=True, labelLimit=120))
    scale = alt.Scale(domain=_domain(values, None), nice=False)
    colours = alt.Scale(domain=names, range=[SERIES[place % len(SERIES)] for place in range(len(names))])
    legend = (
        alt.Legend(title=None, symbolOpacity=1, **legend_of(narrow, len(names), NARROW_NUMBERS)) if names[1:] else None
    )
    common = {"x": x, "color": alt.Color("name:N", scale=colours, legend=legend)}
    y = alt.Y("value:Q", title=axis, scale=scale)
    layers = [
        base.mark_area(opacity=0.16).encode(y=alt.Y("lo:Q", title=axis, scale=scale), y2="hi:Q", **common),
        base.mark_line(strokeWidth=2).encode(y=y, **common),
        base.mark_point(size=45, filled=True, opacity=1).encode(
            y=y, shape=alt.Shape("name:N", sort=names, legend=None), **common
        ),
    ]
    width = NARROW_TIME_WIDTH if narrow else WIDTH
    return _svg(alt.layer(*layers).properties(width=width, height=CHART_HEIGHT), narrow=narrow)
