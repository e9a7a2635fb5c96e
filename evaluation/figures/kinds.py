"""The figures of the comparison page. A new one is a function and a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from eqstudio.benchmarks.base import Metric
from eqstudio.charts import forest_svg, leaderboard_svg
from evaluation.figures.base import Figure, View
from evaluation.figures.drawing import confusion_svg, cost_svg, item_map_svg, slots_svg
from evaluation.services.comparison_rows import PEOPLE
from evaluation.words import respondent_words

ORDER = {"people": 0, "person": 1, "model": 2, "imported": 2, "rule": 3, "chance": 4}
EDGES = ("value", "lo", "hi", "n")


def ranked(entries: Sequence[Mapping[str, Any]], metric: Metric) -> list[Mapping[str, Any]]:
    """People first, then systems fit for the leaderboard best first, those that are not, rules, chance."""
    sign = -1 if metric.higher_is_better else 1

    def rank(entry: Mapping[str, Any]) -> tuple[int, bool, float]:
        value = entry["estimates"][metric.name]["value"]
        pooled = entry["kind"] == "people"
        worth = 0.0 if pooled else float("inf") if value is None else sign * value
        return ORDER[entry["kind"]], not entry["fit"], worth

    return sorted(entries, key=rank)


def interval_rows(entries: Sequence[Mapping[str, Any]], metric: Metric) -> list[dict[str, Any]]:
    return [
        {
            "name": entry["name"],
            "kind": entry["kind"],
            "fit": entry["fit"],
            **{edge: entry["estimates"][metric.name][edge] for edge in EDGES},
        }
        for entry in ranked(entries, metric)
        if entry["estimates"][metric.name]["value"] is not None
    ]


def _told(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with respondents named as a reader names them; tables that leave the studio keep the stored names."""
    return [{**row, "name": respondent_words(row["name"])} for row in rows]


def leaderboard(view: View) -> Figure:
    rows = interval_rows(view.result["respondents"], view.metric)
    return Figure(
        "leaderboard",
        ("name", "kind", *EDGES, "fit"),
        tuple(rows),
        lambda narrow: leaderboard_svg(_told(rows), axis=view.label, chance=view.metric.chance, narrow=narrow),
    )


def forest(view: View) -> Figure:
    shown = {PEOPLE, view.chosen}
    rows = [
        {**row, "group": view.group_label(next(iter(group["by"].values()))), "items": group["items"]}
        for group in view.result["groups"]
        for row in interval_rows(group["respondents"], view.metric)
        if row["name"] in shown
    ]
    return Figure(
        "forest",
        ("group", "items", "name", *EDGES),
        tuple(rows),
        lambda narrow: forest_svg(_told(rows), axis=view.label, chance=view.metric.chance, narrow=narrow),
    )


def item_map(view: View) -> Figure:
    rows = view.extra["items"]()
    return Figure(
        "items",
        ("item", "category", "people", "model"),
        tuple(rows),
        lambda narrow: item_map_svg(rows, people=_("People"), model=respondent_words(view.chosen), narrow=narrow),
    )


SLOT_FIGURES = (
    "first_slot",
    "right_when_first",
    "right_when_second",
    "dprime",
    "criterion",
    "order_consistent",
    "order_consistent_right",
    "one_slot",
)


def slots(view: View) -> Figure:
    rows = [
        {
            "name": entry["name"],
            "kind": entry["kind"],
            **{key: entry["estimates"][key]["value"] for key in SLOT_FIGURES},
        }
        for entry in ranked(view.result["respondents"], view.metric)
        if "first_slot" in entry["estimates"]
    ]
    return Figure(
        "slots",
        ("name", "kind", *SLOT_FIGURES),
        tuple(rows),
        lambda narrow: slots_svg(
            _told(rows),
            first=_("the right one stood first"),
            second=_("the right one stood second"),
            axis=_("Share of right answers"),
            narrow=narrow,
        ),
    )


def confusion(view: View) -> Figure:
    rows = view.extra["confusion"]()
    return Figure(
        "confusion",
        ("given", "intended", "n", "share"),
        tuple(rows),
        lambda narrow: confusion_svg(rows, given=_("Given"), intended=_("Intended"), narrow=narrow),
    )


def cost(view: View) -> Figure:
    efforts = view.extra["effort"]()
    by_cost = any(effort["cost"] is not None for effort in efforts.values())
    rows = []
    for entry in ranked(view.result["respondents"], view.metric):
        effort = efforts.get(entry["name"])
        if effort is not None:
            value = entry["estimates"][view.metric.name]["value"]
            used = effort["cost"] if by_cost else effort["seconds"]
            rows.append({"name": entry["name"], "kind": entry["kind"], "value": value, "effort": used, **effort})
    title = _("US dollars an answer") if by_cost else _("Seconds an answer")
    return Figure(
        "cost",
        ("name", "kind", "value", "seconds", "tokens", "cost"),
        tuple(rows),
        lambda narrow: cost_svg(_told(rows), cost=title, axis=view.label, narrow=narrow),
    )


def parts(view: View) -> Figure:
    """By turn or type of question, against what guessing gives each."""
    shown = {PEOPLE, view.chosen}
    kinds = {entry["name"]: entry["kind"] for entry in view.result["respondents"]}
    rows = [
        {
            "group": part["label"][_language_key()],
            "chance": part["chance"],
            "name": one["name"],
            "kind": kinds[one["name"]],
            **{edge: one["accuracy"][edge] for edge in EDGES},
        }
        for part in view.result["parts"]
        for one in part["respondents"]
        if one["name"] in shown and one["accuracy"]["value"] is not None
    ]
    return Figure(
        "parts",
        ("group", "chance", "name", *EDGES),
        tuple(rows),
        lambda narrow: forest_svg(_told(rows), axis=_("Share of right answers"), chance=None, narrow=narrow),
    )


def _language_key() -> str:
    return "zh" if (get_language() or "en").startswith("zh") else "en"


figures: dict[str, Callable[[View], Figure]] = {
    "leaderboard": leaderboard,
    "forest": forest,
    "items": item_map,
    "slots": slots,
    "confusion": confusion,
    "cost": cost,
    "parts": parts,
}
