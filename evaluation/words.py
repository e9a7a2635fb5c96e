"""A comparison in one sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from eqstudio.benchmarks.base import Metric
from evaluation.services.comparison_rows import PEOPLE

SYSTEMS = frozenset({"model", "imported"})
SURE = 0.05

RECIPES: dict[str, Any] = {
    "median, 1.4826 MAD": gettext_lazy("median, 1.4826 MAD"),
    "median, 1.2533 mean absolute deviation": gettext_lazy("median, 1.2533 mean absolute deviation"),
}
"""How the norm of a cohort was worked out; the stored words are part of its hash and stay English."""

BASELINES: dict[str, Any] = {
    "people (mean)": gettext_lazy("People: the mean person"),
    "people (median)": gettext_lazy("People: the median person"),
    "people (best)": gettext_lazy("People: the best person"),
    "people (majority)": gettext_lazy("People: the majority"),
    "experts (mean)": gettext_lazy("Experts: the mean person"),
    "chance": gettext_lazy("guessing"),
}
"""Which human baseline a row is; a majority of people is never what one answer of a model should be held against."""

SHORT: dict[str, Any] = {
    "people (mean)": gettext_lazy("people (mean)"),
    "people (median)": gettext_lazy("people (median)"),
    "people (best)": gettext_lazy("people (best)"),
    "people (majority)": gettext_lazy("people (majority)"),
    "experts (mean)": gettext_lazy("experts (mean)"),
    "chance": gettext_lazy("guessing"),
}
"""The same where there is little room: on the axis of a figure, in the head of a column."""

_PERSON = re.compile(r"^Person (\d+)$")
_CONSTANT = re.compile(r"^always grade (\d+)$")


def respondent_words(name: str, *, whole: bool = False) -> str:
    """What a reader calls a respondent (``whole``: where there is room). Names are stored in English; people stand under a
    number, systems under their own name.
    """
    named = BASELINES if whole else SHORT
    if name in named:
        return str(named[name])
    if person := _PERSON.match(name):
        return _("Person %(n)s") % {"n": person[1]}
    if constant := _CONSTANT.match(name):
        return _("always grade %(grade)s") % {"grade": constant[1]}
    return name


BY_WORDS: dict[str, Any] = {
    "category": gettext_lazy("category"),
    "composite": gettext_lazy("composite"),
    "language": gettext_lazy("language"),
    "source": gettext_lazy("source"),
    "voice": gettext_lazy("voice"),
}

FAMILIES: dict[str, Any] = {
    "people": gettext_lazy("people against each system"),
    "systems": gettext_lazy("systems against each other"),
    "explored": gettext_lazy("people against each system, in each group"),
}
"""The families within which p-values are corrected."""

NORMS: dict[str, Any] = {
    "cohort": gettext_lazy("the systems of this study and guessing (published recipe)"),
    "people": gettext_lazy("the people of this study"),
    "published": gettext_lazy("SpeechEQ's published table"),
}

SLOT_LABELS: dict[str, Any] = {
    "first_slot": gettext_lazy("First slot chosen"),
    "right_when_first": gettext_lazy("Right where the right one stood first"),
    "right_when_second": gettext_lazy("Right where it stood second"),
    "dprime": gettext_lazy("Sensitivity d′"),
    "criterion": gettext_lazy("Bias c (below 0: the first)"),
    "order_consistent": gettext_lazy("Same version in both orders"),
    "order_consistent_right": gettext_lazy("Right in both orders"),
    "one_slot": gettext_lazy("Same slot in both orders"),
}

KINDS: dict[str, Any] = {
    "people": gettext_lazy("people"),
    "person": gettext_lazy("people"),
    "model": gettext_lazy("model"),
    "rule": gettext_lazy("rule"),
    "imported": gettext_lazy("imported"),
    "chance": gettext_lazy("guessing"),
}
"""What sort of respondent a row is."""

WORDY = frozenset({"name", "kind", "group", "item", "category", "fit"})
"""Columns of a figure's table that hold no number."""
COLUMN_WORDS: dict[str, Any] = {
    "name": gettext_lazy("Respondent"),
    "kind": gettext_lazy("Kind"),
    "value": gettext_lazy("Value"),
    "lo": gettext_lazy("From"),
    "hi": gettext_lazy("To"),
    "n": gettext_lazy("n"),
    "fit": gettext_lazy("Fit for the leaderboard"),
    "group": gettext_lazy("Group"),
    "items": gettext_lazy("Items"),
    "item": gettext_lazy("Item"),
    "category": gettext_lazy("Category"),
    "people": gettext_lazy("People"),
    "model": gettext_lazy("Model"),
    "chance": gettext_lazy("Guessing"),
    "given": gettext_lazy("Given"),
    "intended": gettext_lazy("Intended"),
    "share": gettext_lazy("Share"),
    "seconds": gettext_lazy("Seconds an answer"),
    "tokens": gettext_lazy("Tokens an answer"),
    "cost": gettext_lazy("US dollars an answer"),
    **SLOT_LABELS,
}
"""The columns of a figure's table."""

TAG_WORDS: dict[str, Any] = {
    "not_heard": gettext_lazy("did not hear the voice"),
    "words_only": gettext_lazy("went by the words"),
    "context_missed": gettext_lazy("missed the situation"),
    "wrong_feeling": gettext_lazy("took the feeling for another"),
    "slot": gettext_lazy("went by the slot"),
    "format": gettext_lazy("answer in a wrong form"),
    "key_doubtful": gettext_lazy("the key is doubtful"),
    "other": gettext_lazy("something else"),
}
"""What sort of error an answer shows."""

OUTCOMES: dict[str, Any] = {
    "answered": gettext_lazy("answered"),
    "unparsed": gettext_lazy("not readable"),
    "refused": gettext_lazy("refused"),
    "error": gettext_lazy("failed"),
    "not_heard": gettext_lazy("not heard"),
}
"""What became of a question, as a reader would say it."""


def metric_label(metric: Metric, language: str) -> str:
    """The name of a metric in the language of the page."""
    return metric.label["zh" if language.startswith("zh") else "en"]


def comparison_sentence(result: Mapping[str, Any], metric: Metric, label: str) -> str:
    """Who is ahead, by how much, whether that is more than chance and what this study could have seen."""
    best = _best(result, metric)
    if best is None:
        return _nobody_to_compare(result)
    pair = _pair(result, PEOPLE, best["name"], metric.name)
    if pair is None:
        return _against_chance(best, metric, label)
    return _people_against(pair, best["name"], metric, label)


def _nobody_to_compare(result: Mapping[str, Any]) -> str:
    kinds = {entry["kind"] for entry in result["respondents"]}
    if "people" in kinds:
        return _("No model has answered yet.")
    if "person" in kinds:
        return _("So far only people who can read the key have answered, and no model.")
    if "rule" in kinds:
        return _("Only rules that do not listen have answered yet: no person and no model.")
    if not kinds & SYSTEMS and any(result["left_out"].values()):
        return _("Everybody who has answered is left out of the figures: there is nobody to compare.")
    return _("Nobody has answered yet.")


def _people_against(pair: Mapping[str, Any], name: str, metric: Metric, label: str) -> str:
    figure = pair["difference"]
    if figure["value"] is None:
        return _("People and %(model)s have not answered the same items yet.") % {"model": name}
    words = {
        "model": name,
        "gap": _points(abs(figure["value"])),
        "metric": label,
        "p": _p(pair["p_holm"]),
    }
    if pair["p_holm"] is None:
        return (
            _(
                "On %(metric)s, people and %(model)s differ by %(gap)s points: it takes two people and two items to say more."
            )
            % words
        )
    if figure["lo"] is None:
        return (
            _("On %(metric)s, people and %(model)s differ by %(gap)s points, the same on every item (Holm p %(p)s).")
            % words
        )
    seen = _(" This study can see %(mde)s points.") % {"mde": _points(pair["mde"])} if pair["mde"] is not None else ""
    if pair["p_holm"] >= SURE or figure["lo"] * figure["hi"] <= 0:
        words |= {"lo": _points(figure["lo"]), "hi": _points(figure["hi"])}
        apart = _(
            "People and the best model, %(model)s, cannot be told apart on %(metric)s: people minus model is between %(lo)s and "
            "%(hi)s points (Holm p %(p)s)."
        )
        return apart % words + seen
    low, high = sorted((abs(figure["lo"]), abs(figure["hi"])))
    sign = 1 if metric.higher_is_better else -1
    words |= {"lo": _points(low), "hi": _points(high)}
    return _who_is_ahead(words, people=figure["value"] * sign > 0) + seen


def _who_is_ahead(words: Mapping[str, str], *, people: bool) -> str:
    if people:
        return (
            _(
                "People are ahead of the best model, %(model)s, by %(gap)s points (%(lo)s to %(hi)s) on %(metric)s; Holm p %(p)s."
            )
            % words
        )
    return (
        _(
            "The best model, %(model)s, is ahead of people by %(gap)s points (%(lo)s to %(hi)s) on %(metric)s; Holm p %(p)s."
        )
        % words
    )


def _against_chance(best: Mapping[str, Any], metric: Metric, label: str) -> str:
    figure = best["estimates"][metric.name]
    words = {"model": best["name"], "metric": label, "value": _points(figure["value"])}
    if figure["lo"] is None or metric.chance is None:
        return _("No person has answered yet. The best model is %(model)s with %(value)s %% on %(metric)s.") % words
    words |= {"lo": _points(figure["lo"]), "hi": _points(figure["hi"]), "chance": _points(metric.chance)}
    if figure["lo"] > metric.chance:
        return (
            _(
                "No person has answered yet. The best model is %(model)s with %(value)s %% (%(lo)s to %(hi)s) on %(metric)s, "
                "more than guessing gives (%(chance)s %%)."
            )
            % words
        )
    return (
        _(
            "No person has answered yet. The best model is %(model)s with %(value)s %% (%(lo)s to %(hi)s) on %(metric)s, which "
            "guessing (%(chance)s %%) could also give."
        )
        % words
    )


def _best(result: Mapping[str, Any], metric: Metric) -> Mapping[str, Any] | None:
    known = [
        entry
        for entry in result["respondents"]
        if entry["kind"] in SYSTEMS and entry["fit"] and entry["estimates"][metric.name]["value"] is not None
    ]
    pick = max if metric.higher_is_better else min
    return pick(known, key=lambda entry: entry["estimates"][metric.name]["value"]) if known else None


def _pair(result: Mapping[str, Any], a: str, b: str, metric: str) -> Mapping[str, Any] | None:
    return next((pair for pair in result["pairs"] if (pair["a"], pair["b"], pair["metric"]) == (a, b, metric)), None)


def _points(share: float) -> str:
    return f"{100 * share:.0f}"


def _p(p: float | None) -> str:
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"  # noqa: PLR2004 -- below this the digits mean nothing
