"""What an answer took: time of people and models, tokens, and money where a price is known."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import Avg, FloatField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from evaluation.models import Respondent, Response, Study
from evaluation.selectors.marks import counting
from generation.providers.calls import cost

Effort = dict[str, float | None]


def efforts_of(*, study: Study, people: str) -> dict[str, Effort]:
    """Mean seconds, tokens and US dollars an answer by respondent, and of persons together under the name ``people``.

    People's seconds are those they were active on the page; a model's are its latency. None where nothing is known. Two queries.
    """
    answers = Response.objects.filter(counting(study), failure="")
    measured = {name: Avg(_number(name)) for name in ("active_ms", "latency_ms", "tokens_in", "tokens_out", "cost")}
    named = ("trial__sitting__respondent__name", "trial__sitting__respondent__run_spec__content__model")
    rows = answers.order_by().values(*named).annotate(**measured)
    found = {row[named[0]]: _effort(row, row[named[1]]) for row in rows}
    persons = answers.filter(
        trial__sitting__respondent__kind=Respondent.Kind.PERSON, trial__sitting__key_access=False
    ).aggregate(**measured)
    if persons["active_ms"] is not None:
        found[people] = _effort(persons, None)
    return found


def _number(name: str) -> Cast:
    return Cast(KeyTextTransform(name, "paradata"), FloatField())


def _effort(row: dict[str, Any], model: str | None) -> Effort:
    spent = row["active_ms"] if row["active_ms"] is not None else row["latency_ms"]
    given, written = row["tokens_in"], row["tokens_out"]
    tokens = None if given is None and written is None else (given or 0.0) + (written or 0.0)
    return {"seconds": None if spent is None else spent / 1000, "tokens": tokens, "cost": _cost(row, model)}


def _cost(row: dict[str, Any], model: str | None) -> float | None:
    """What the answers say they cost, else by the price list."""
    if row["cost"] is not None:
        return float(row["cost"])
    if model not in settings.PRICES or row["tokens_in"] is None or row["tokens_out"] is None:
        return None
    found = cost(str(model), tokens_in=round(row["tokens_in"]), tokens_out=round(row["tokens_out"]))
    return None if found is None else float(found)
