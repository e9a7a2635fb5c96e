"""The drawings that are no intervals on an axis: Altair specifications, drawn as the others are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eqstudio.charts import COLOURS, INK, NARROW_WIDTH, SOFT, WIDTH, legend_of, ticks_of
from eqstudio.charts import _svg as svg_of

SQUARE, NARROW_SQUARE = 340, 200
ON_PALE = "#22303b"
"""Ink on a pale cell, which stays pale on a dark page."""
CELL, NARROW_CELL = 64, 46
Rows = Sequence[Mapping[str, Any]]


def item_map_svg(rows: Rows, *, people: str, model: str, narrow: bool) -> str:
    """Difficulty of items for people against a model; equal places are one point whose size tells how many."""
    import altair as alt  # noqa: PLC0415 -- slow import

    counts: dict[tuple[float, float], int] = {}
    for row in rows:
        place = (round(row["people"], 3), round(row["model"], 3))
        counts[place] = counts.get(place, 0) + 1
    points = [{"people": at[0], "model": at[1], "n": n} for at, n in counts.items()]
    scale = alt.Scale(domain=[-0.05, 1.05], nice=False)
    dots = (
        alt.Chart(alt.Data(values=points))
        .mark_circle(color=COLOURS["people"], opacity=0.65)
        .encode(
            x=alt.X("people:Q", title=people, scale=scale),
            y=alt.Y("model:Q", title=model, scale=scale),
            size=alt.Size("n:Q", scale=alt.Scale(range=[30, 700]), legend=None),
        )
    )
    line = alt.Data(values=[{"at": 0.0}, {"at": 1.0}])
    equal = alt.Chart(line).mark_line(strokeDash=[4, 4], color=SOFT).encode(x="at:Q", y="at:Q")
    side = NARROW_SQUARE if narrow else SQUARE
    return svg_of(alt.layer(equal, dots).properties(width=side, height=side), narrow=narrow)


def slots_svg(rows: Rows, *, first: str, second: str, axis: str, narrow: bool) -> str:
    """Accuracy where the right option stood first and where it stood second; an honest listener's two ends meet."""
    import altair as alt  # noqa: PLC0415 -- slow import

    ends = [
        {"name": row["name"], "where": where, "value": row[key]}
        for row in rows
        for where, key in ((first, "right_when_first"), (second, "right_when_second"))
        if row[key] is not None
    ]
    names = [row["name"] for row in rows]
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=110 if narrow else 260))
    x = alt.Axis(title=axis, **ticks_of(narrow))
    data = alt.Data(values=ends)
    scale = alt.Scale(domain=[0, 1], nice=False)
    legend = alt.Legend(title=None, **{"direction": "vertical"} | legend_of(narrow, 2))
    ends_of = {"sort": [first, second], "legend": legend}  # alike for both, or the legend stands there twice
    colours = alt.Scale(domain=[first, second], range=[COLOURS["people"], COLOURS["model"]])
    colour = alt.Color("where:N", scale=colours, **ends_of)
    shape = alt.Shape("where:N", scale=alt.Scale(domain=[first, second], range=["circle", "square"]), **ends_of)
    span = (
        alt.Chart(data)
        .mark_line(color=SOFT, strokeWidth=2)
        .encode(x=alt.X("value:Q", axis=x, scale=scale), y=y, detail="name:N")
    )
    dots = (
        alt.Chart(data)
        .mark_point(size=80, filled=True, opacity=1)
        .encode(x=alt.X("value:Q", axis=x, scale=scale), y=y, color=colour, shape=shape)
    )
    width = NARROW_WIDTH if narrow else WIDTH
    return svg_of(alt.layer(span, dots).properties(width=width, height=24 * max(1, len(names))), narrow=narrow)


def confusion_svg(rows: Rows, *, given: str, intended: str, narrow: bool) -> str:
    """How often each grade was given where another was intended; shade by the share of the intended grade."""
    import altair as alt  # noqa: PLC0415 -- slow import

    data = alt.Data(values=[dict(row) for row in rows])
    x = alt.X("intended:O", title=intended, axis=alt.Axis(labelAngle=0))
    y = alt.Y("given:O", title=given, sort="descending")
    shade = alt.Color("share:Q", scale=alt.Scale(domain=[0, 1], range=["#f4f1ea", COLOURS["people"]]), legend=None)
    cells = alt.Chart(data).mark_rect(stroke="#fffefb").encode(x=x, y=y, color=shade)
    ink = alt.condition("datum.share > 0.5", alt.value("white"), alt.value(ON_PALE))
    words = alt.Chart(data).mark_text().encode(x=x, y=y, text="n:Q", color=ink)
    steps = len({row["intended"] for row in rows})
    side = (NARROW_CELL if narrow else CELL) * max(1, steps)
    return svg_of(alt.layer(cells, words).properties(width=side, height=side), narrow=narrow)


def around(values: Sequence[float]) -> list[float]:
    """An axis that holds ``values`` with room on both sides, so that also equal ones stand between ticks that tell their
    place. It does not leave 0 to 1 where no value does.
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = max((high - low) * 0.1, 0.05)
    if low >= 0 and high <= 1:
        return [max(0.0, low - room), min(1.0, high + room)]
    return [low - room, high + room]


def cost_svg(rows: Rows, *, cost: str, axis: str, narrow: bool) -> str:
    """What an answer costs against how good it is; people and models on the same axes.

    Single persons are dots without a name: they stand close together, and the table beside names them. A name stands on the
    side of its dot where there is room.
    """
    import altair as alt  # noqa: PLC0415 -- slow import

    known = [dict(row) for row in rows if row["effort"] is not None and row["value"] is not None]
    colours = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    base = alt.Chart(alt.Data(values=known))
    x = alt.X("effort:Q", axis=alt.Axis(title=cost, **ticks_of(narrow)), scale=alt.Scale(zero=True, nice=True))
    y = alt.Y("value:Q", title=axis, scale=alt.Scale(domain=around([row["value"] for row in known]), nice=False))
    dots = base.mark_point(size=80, filled=True, opacity=1).encode(
        x=x, y=y, color=alt.Color("kind:N", scale=colours, legend=None)
    )
    named = [row for row in known if row["kind"] != "person"]
    middle = max((row["effort"] for row in named), default=0) / 2
    words = [
        alt.Chart(alt.Data(values=side))
        .mark_text(align=align, dx=dx, color=INK, limit=90 if narrow else 200)
        .encode(x=x, y=y, text="name:N")
        for side, align, dx in (
            ([row for row in named if row["effort"] <= middle], "left", 8),
            ([row for row in named if row["effort"] > middle], "right", -8),
        )
    ]
    side = NARROW_SQUARE if narrow else SQUARE
    width = side if narrow else 520
    return svg_of(alt.layer(dots, *words).properties(width=width, height=side), narrow=narrow)
