"""People and models side by side: a sentence, a leaderboard, where they differ, and the items behind it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from eqstudio.errors import StudioError
from eqstudio.estimates import Estimate
from evaluation.domain.norms import NoNorm, Norm
from evaluation.figures.kinds import ranked
from evaluation.forms import NormForm
from evaluation.models import FrozenNorm, Study
from evaluation.selectors import efforts_of, item_facts, study_to_curate_for
from evaluation.services import items_apart, norm_freeze
from evaluation.services.comparison_rows import PEOPLE
from evaluation.services.comparisons import BY
from evaluation.views.asked import Seen, group_label, seen, systems_of
from evaluation.views.readings import readings_rows
from evaluation.views.replies_shown import shown_replies
from evaluation.words import (
    BY_WORDS,
    FAMILIES,
    NORMS,
    SLOT_LABELS,
    comparison_sentence,
    metric_label,
    respondent_words,
)
from evaluation.words_tests import TESTS
from generation.models import Dialogue
from generation.views.guards import curating, person

ITEMS_SHOWN = 20
EXPLORED_SHOWN = 12


@require_safe
@never_cache
@curating
def comparison(request: HttpRequest, uid: str) -> HttpResponse:
    study = study_to_curate_for(person(request), uid)
    at = seen(request, study)
    result, language = at.result, get_language() or "en"
    context = {
        "study": study,
        "benchmark": at.benchmark,
        "result": result,
        "sentence": comparison_sentence(result, at.metric, at.label),
        "metric": at.metric,
        "metric_label": at.label,
        "columns": [(one.name, metric_label(one, language)) for one in at.benchmark.metrics],
        "rows": _rows(at),
        "has_answers": any(entry["kind"] != "chance" for entry in result["respondents"]),
        **_pairs(at),
        "groups": _group_rows(at),
        "explored": _explored(at),
        "slots": _slots(at),
        "slot_labels": list(SLOT_LABELS.items()),
        **_grades(at),
        "ceiling": _ceiling(result),
        "weighted": _weighted(at),
        "effort_known": _effort_known(study),
        "filters": at.filters,
        "by": at.by,
        "by_words": [(name, BY_WORDS[name]) for name in BY],
        "choices": _choices(at),
        "unknown": _unknown(at),
        "query": request.GET.urlencode(),
        "systems": systems_of(result),
        "chosen": at.chosen,
        "apart": _apart(at),
        "has_people": any(entry["name"] == PEOPLE for entry in result["respondents"]),
        "norms": _norms(at),
        "norm_form": NormForm(),
        "with_key": at.asked.with_key,
        "readings": readings_rows(at),
        "judged": shown_replies(at.result["replies"]),
    }
    return render(request, "evaluation/comparison.html", context)


@require_POST
@curating
def norm_keep(request: HttpRequest, uid: str) -> HttpResponse:
    """Freeze the norm of the page under a name."""
    study = study_to_curate_for(person(request), uid)
    form = NormForm(request.POST)
    at = seen(request, study)
    found = at.result["norm"]
    if not form.is_valid():
        messages.error(request, _("A name is letters, digits and hyphens. Nothing was frozen."))
        return redirect("comparison", uid)
    norm = NoNorm(found["reason"]) if found and found.get("reason") else _norm_of(found)
    try:
        norm_freeze(study=study, name=form.cleaned_data["name"], norm=norm, actor=person(request))
    except StudioError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("The norm is frozen: systems to come are placed on it and move nobody."))
    return redirect("comparison", uid)


def _norm_of(found: dict[str, Any] | None) -> Norm | None:
    if not found:
        return None
    names = ("metric", "centre", "spread", "recipe", "item_set", "kind", "name", "sampled", "reliability")
    return Norm(population=tuple(found["population"]), **{name: found[name] for name in names})


def _rows(at: Seen) -> list[dict[str, Any]]:
    """The leaderboard: people, persons, models best first (those that cannot be read last), rules, chance."""
    rows = []
    for entry in ranked(at.result["respondents"], at.metric):
        figures = {name: Estimate(**figure) for name, figure in entry["estimates"].items()}
        read = entry["unparsed"]["value"]
        rows.append(
            {
                **entry,
                "cells": [figures[metric.name] for metric in at.benchmark.metrics],
                "headline": figures[at.benchmark.headline],
                "seq": figures.get("seq"),
                "read": None if read is None else 1 - read,
                "answers": entry["unparsed"]["n"],
                "shown_name": respondent_words(entry["name"], whole=True),
            }
        )
    return rows


def _pairs(at: Seen) -> dict[str, list[dict[str, Any]]]:
    """Those that people or the respondent looked at take part in come first, the others under a disclosure."""
    named = {PEOPLE, *([at.chosen["name"]] if at.chosen else [])}
    pairs = [
        {
            **pair,
            "difference": Estimate(**pair["difference"]),
            "test": TESTS[pair["test"]],
            "family": FAMILIES[pair["family"]],
        }
        for pair in at.result["pairs"]
    ]
    first = [pair for pair in pairs if named & {pair["a"], pair["b"]}]
    return {"pairs": first, "other_pairs": [pair for pair in pairs if pair not in first]}


def _group_rows(at: Seen) -> list[dict[str, Any]]:
    return [
        {
            "label": group_label(at.benchmark, at.by, next(iter(group["by"].values()))),
            "items": group["items"],
            "cells": [
                Estimate(**entry["estimates"][at.metric.name])
                for entry in group["respondents"]
                if entry["kind"] != "person"
            ],
        }
        for group in at.result["groups"]
    ]


def _explored(at: Seen) -> list[dict[str, Any]]:
    """People against the respondent looked at, group by group, most certain first."""
    name = at.chosen["name"] if at.chosen else ""
    found = [
        {**pair, "group": group_label(at.benchmark, at.by, pair["group"]), "difference": Estimate(**pair["difference"])}
        for pair in at.result["explored"]
        if pair["b"] == name
    ]
    return sorted(found, key=lambda pair: 1.0 if pair["p_bh"] is None else pair["p_bh"])[:EXPLORED_SHOWN]


def _weighted(at: Seen) -> list[dict[str, Any]]:
    """The headline figure as drawn and weighted to the split; empty where all items were equally likely."""
    found = at.result["weighted"]
    plain = {entry["name"]: entry["estimates"][at.metric.name] for entry in at.result["respondents"]}
    return [
        {"name": one["name"], "plain": Estimate(**plain[one["name"]]), "estimate": Estimate(**one["estimate"])}
        for one in (found["respondents"] if found else [])
    ]


def _slots(at: Seen) -> list[dict[str, Any]]:
    return [
        {
            "name": respondent_words(entry["name"], whole=True),
            "cells": [(name, Estimate(**entry["estimates"][name])) for name in SLOT_LABELS],
        }
        for entry in ranked(at.result["respondents"], at.metric)
        if "first_slot" in entry["estimates"] and entry["kind"] != "person"
    ]


def _grades(at: Seen) -> dict[str, Any]:
    """Kappa, rank correlation and recall of each grade, for the mean person and every system."""
    if at.benchmark.scale is None:
        return {}
    steps = range(at.benchmark.scale[0], at.benchmark.scale[1] + 1)
    names = ["qwk", "spearman", *(f"recall_{grade}" for grade in steps)]
    rows = [
        {
            "name": respondent_words(entry["name"], whole=True),
            "cells": [Estimate(**entry["estimates"][name]) for name in names],
        }
        for entry in ranked(at.result["respondents"], at.metric)
        if "qwk" in entry["estimates"] and entry["kind"] != "person"
    ]
    return {"grade_names": list(steps), "grade_rows": rows}


def _effort_known(study: Study) -> bool:
    """Whether anybody's time or cost was measured."""
    efforts = efforts_of(study=study, people=PEOPLE).values()
    return any(effort["seconds"] is not None or effort["cost"] is not None for effort in efforts)


def _ceiling(result: dict[str, Any]) -> dict[str, Estimate] | None:
    found = result["ceiling"]
    return {name: Estimate(**figure) for name, figure in found.items()} if found else None


def _choices(at: Seen) -> list[tuple[str, Any, list[tuple[str, str]]]]:
    """The values that occur in the split, for the filters that have a choice."""
    facts = item_facts(study=at.study, benchmark=at.benchmark).values()
    found = []
    for name in BY:
        values = sorted({value for fact in facts for value in fact.values(name)})
        if len(values) > 1:
            found.append((name, BY_WORDS[name], [(value, group_label(at.benchmark, name, value)) for value in values]))
    return found


def _unknown(at: Seen) -> list[str]:
    """What the address filters by that no item of the split has."""
    facts = item_facts(study=at.study, benchmark=at.benchmark).values()
    return [
        group_label(at.benchmark, name, value)
        for name, value in at.filters.items()
        if not any(value in fact.values(name) for fact in facts)
    ]


def _norms(at: Seen) -> list[tuple[str, Any]]:
    frozen = FrozenNorm.objects.filter(benchmark=at.study.benchmark).values_list("name", flat=True)
    return [*NORMS.items(), *((name, name) for name in frozen)]


def _apart(at: Seen) -> list[dict[str, Any]]:
    return apart_rows(at.study, at.chosen, at.filters, back=False)[:ITEMS_SHOWN]


def apart_rows(
    study: Study, chosen: dict[str, Any] | None, filters: dict[str, str], *, back: bool
) -> list[dict[str, Any]]:
    """The items on which people and the respondent are apart, with their dialogues."""
    if chosen is None:
        return []
    apart = items_apart(study=study, respondent=chosen["uid"], filters=filters, back=back)
    dialogues = Dialogue.objects.in_bulk([one.dialogue for one in apart])
    return [{"dialogue": dialogues[one.dialogue], "people": one.people, "model": one.respondent} for one in apart]
