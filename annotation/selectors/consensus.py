"""What a rule needs to know beside the votes on one item, and the grades that a round agrees on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from annotation.domain.consensus import Context, Rule, chance_decided, rules
from annotation.domain.dawid_skene import DawidSkene, dawid_skene
from annotation.models import Grade, Judgement, Round, RoundItem
from annotation.selectors.coded import VERDICTS, round_arrays
from annotation.selectors.dimensions import GRADE, GRADES, VERDICT, Dimension, round_dimensions
from annotation.selectors.judgements import live_judgements


class GradeOf(NamedTuple):
    """What the people of an item agree on for one variant: ``value`` None on a tie; ``spread`` is highest less lowest."""

    variant: str
    grades: list[int]
    value: Hashable | None
    spread: int


def rule_of(name: str) -> Rule:
    """A consensus rule; UnknownAlias names those there are."""
    return rules.get(name)()


def item_votes(*, item: RoundItem) -> list[str]:
    """The verdicts that count."""
    return list(live_judgements(item=item).order_by("pk").values_list("verdict", flat=True))


def verdict_decided(*, item: RoundItem, votes: Sequence[str]) -> str | None:
    """What the round's rule makes of the votes on an item."""
    rule = rule_of(item.round.rule)
    likely = _likely(item.round, VERDICT).get(item.pk) if rule.whole_round else None
    decided = rule.decide(votes, Context(needed=item.round.agree_needed, likely=likely))
    return None if decided is None else str(decided)


def item_grades(*, item: RoundItem) -> list[GradeOf]:
    """The consensus grade of every graded variant of an item, by the round's rule over grades."""
    rows = Grade.objects.filter(judgement__in=live_judgements(item=item)).order_by("variant_id", "pk")
    by_variant: dict[tuple[int, str], list[int]] = defaultdict(list)
    for pk, uid, value in rows.values_list("variant_id", "variant__uid", "value"):
        by_variant[pk, uid].append(value)
    rule = rule_of(item.round.grade_rule)
    likely = _likely(item.round, GRADE) if rule.whole_round else {}
    needed = item.round.agree_needed
    return [
        GradeOf(uid, grades, rule.decide(grades, Context(needed, likely.get(pk))), max(grades) - min(grades))
        for (pk, uid), grades in by_variant.items()
    ]


def round_model(*, round: Round, question: str) -> tuple[Dimension, DawidSkene] | None:  # noqa: A002
    """Dawid and Skene's model of a round's grades or verdicts with the ratings it was fitted to; None without any."""
    arrays = round_arrays(round=round)
    key = ("dawid_skene", question)
    if key not in arrays.results:
        found = next((one for one in round_dimensions(round=round, arrays=arrays) if one.name == question), None)
        arrays.results[key] = None if found is None else (found, _fitted(found))
    fitted: tuple[Dimension, DawidSkene] | None = arrays.results[key]
    return fitted


def _fitted(found: Dimension) -> DawidSkene:
    item = np.unique(found.item, return_inverse=True)[1].reshape(-1)
    rater = np.unique(found.rater, return_inverse=True)[1].reshape(-1)
    return dawid_skene(item=item, rater=rater, value=found.value, values=len(found.domain))


def _likely(round_: Round, question: str) -> dict[int, dict[Hashable, float]]:
    fitted = round_model(round=round_, question=question)
    if fitted is None:
        return {}
    found, model = fitted
    domain = VERDICTS if question == VERDICT else GRADES
    items = np.unique(found.item)
    return {
        int(item): dict(zip(domain, shares, strict=True))
        for item, shares in zip(items.tolist(), model.posterior.tolist(), strict=True)
    }


def model_tables(*, round: Round, question: str) -> dict[str, Any] | None:  # noqa: A002
    """The model as a page shows it: how common each value is, and how each person confuses them."""
    fitted = round_model(round=round, question=question)
    if fitted is None:
        return None
    found, model = fitted
    raters = np.unique(found.rater).tolist()
    return {
        "values": list(found.domain),
        "priors": model.priors.tolist(),
        "people": [
            {"name": found.raters[code], "matrix": matrix}
            for code, matrix in zip(raters, model.confusion.tolist(), strict=True)
        ],
        "iterations": model.iterations,
        "converged": model.converged,
    }


def chance_of_rule(*, round: Round) -> float | None:  # noqa: A002
    """How often people who judge at random would decide an item by the round's rule; None where that has no meaning.

    Random judges say keep and reject in the shares that the round has seen, half each before it has seen any.
    """
    if round.rule != "k_of_n":
        return None
    arrays = round_arrays(round=round)
    counted = Counter(arrays.verdict[arrays.live].tolist())
    total = counted[0] + counted[1]
    share = counted[0] / total if total else 0.5
    return chance_decided(people=round.people_per_item, needed=round.agree_needed, share=share)


def judgements_of(*, item: RoundItem) -> list[Judgement]:
    """The judgements that count, with their authors and grades."""
    return list(live_judgements(item=item).select_related("annotator").prefetch_related("grades__variant"))
