"""How far the people of a study agree in their answers, by subscale, and who answers against the grain of the others."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from annotation.domain.agreement import agreement
from annotation.domain.ratings import Rating
from eqstudio.benchmarks import Benchmark, benchmark_get
from eqstudio.benchmarks.base import Text
from eqstudio.estimates import Estimate
from evaluation.domain.exclusions import Given, Sat
from evaluation.domain.person_fit import Fit, Said, fits_of
from evaluation.domain.plan import ITEM
from evaluation.domain.statistics import adjusted
from evaluation.models import Study
from evaluation.selectors import ItemFacts, item_facts

OPTIONS, GRADES = ("alpha_nominal", "percent_agreement"), ("alpha_ordinal", "percent_agreement")


@dataclass(frozen=True)
class Subscale:
    """Agreement on the questions of a group or category: Krippendorff's alpha and the share of pairs that agree. ``label`` is
    None for all of them; ``graded`` tells grades (ordinal) from options (nominal); ``n`` questions were answered by two or more.
    """

    label: Text | None
    group: bool
    graded: bool
    n: int
    people: int
    alpha: Estimate
    same: Estimate


class PersonFit(NamedTuple):
    """A person's fit with its p-value corrected (Holm) over all persons."""

    fit: Fit
    p_holm: float | None


@dataclass(frozen=True)
class Human:
    """What people's answers say about each other."""

    subscales: list[Subscale]
    fits: list[PersonFit]


def human_build(*, study: Study, sats: Mapping[int, Sat], out: Collection[int] = ()) -> Human:
    """From what ``sittings_told`` gives. Closed questions about items of the study; who is left out (``out``) or can read the key
    is not among the people. Reads only; agreement is over the options themselves, whatever the order they were shown in, and no
    key is asked.
    """
    benchmark = benchmark_get(study.benchmark)
    facts = item_facts(study=study, benchmark=benchmark)
    counted = {person: sat for person, sat in sats.items() if person not in out and not sat.key_access}
    said = [
        one
        for person, sat in counted.items()
        for given in sat.given
        if given.part == ITEM and given.item in facts and (one := _said(person, given, benchmark)) is not None
    ]
    fits = fits_of(said)
    tested = [one.p for one in fits if one.p is not None]
    corrected = iter(adjusted(tested))
    return Human(
        subscales=_subscales(said, facts, benchmark),
        fits=[PersonFit(one, None if one.p is None else next(corrected)) for one in fits],
    )


def _said(person: int, given: Given, benchmark: Benchmark) -> Said | None:
    if given.graded and given.number is not None and benchmark.scale is not None:
        low, high = benchmark.scale
        return Said(person, given.item, given.key, given.number, float(high - low))
    if given.chosen in given.among:
        return Said(person, given.item, given.key, float(given.among.index(given.chosen)))
    return None


def _subscales(said: list[Said], facts: Mapping[int, ItemFacts], benchmark: Benchmark) -> list[Subscale]:
    """All questions, then each group of the taxonomy with its categories; a group of one category is that category."""
    every = sorted({one.reach > 0 for one in said})
    found = [_subscale(said, facts, label=None, group=True, graded=graded) for graded in every]
    groups: dict[str, list[str]] = {}
    for category in benchmark.categories:
        groups.setdefault(category.group, []).append(category.key)
    for keys in groups.values():
        members = [benchmark.category(key) for key in keys]
        parts = [(members[0].group_label, True, set(keys))] if len(keys) > 1 else []
        parts += [(one.label, len(keys) == 1, {one.key}) for one in members]
        for label, is_group, wanted in parts:
            some = [one for one in said if facts[one.item].category in wanted]
            found += [
                _subscale(some, facts, label=label, group=is_group, graded=graded)
                for graded in sorted({one.reach > 0 for one in some})
            ]
    return found


def _subscale(
    said: list[Said], facts: Mapping[int, ItemFacts], *, label: Text | None, group: bool, graded: bool
) -> Subscale:
    some = [one for one in said if (one.reach > 0) == graded]
    ratings = [Rating((one.item, one.key), one.person, one.value) for one in some]
    clusters: dict[Hashable, Hashable] = {(one.item, one.key): facts[one.item].cluster for one in some}
    names = GRADES if graded else OPTIONS
    found = agreement(ratings, clusters=clusters, names=names).estimates
    alpha, same = (found[name] for name in names)
    return Subscale(label, group, graded, alpha.n, len({one.person for one in some}), alpha, same)
