"""The results with and without those whom the exclusion rules left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from eqstudio.benchmarks import benchmark_get
from eqstudio.estimates import Estimate, wilson
from evaluation.domain.exclusions import Finding, Sat, same_again
from evaluation.domain.plan import ITEM, REPEAT
from evaluation.models import Study
from evaluation.selectors.exclusions import findings_of
from evaluation.services.comparison_pairs import pairs_build
from evaluation.services.comparison_rows import PEOPLE, estimate_of
from evaluation.services.comparisons import Asked, board_build, headline_of, items_asked

ALL, RULES = "nobody", "rules"
SYSTEMS = frozenset({"model", "imported"})


@dataclass(frozen=True)
class Variant:
    """The human baseline on the headline figure with some people left out. ``rule`` is ``nobody``, ``rules`` (all that were
    declared: what every other page shows) or the name of one rule; ``gap`` is people minus ``system``.
    """

    rule: str
    excluded: int
    people: int
    figure: Estimate
    system: str = ""
    gap: Estimate | None = None


def robustness_build(*, study: Study) -> list[Variant]:
    """The same figures with nobody left out, by all declared rules, and by each alone. Empty without a declared rule; reads only."""
    findings = findings_of(study)
    rules = sorted({found.rule for one in findings.values() for found in one})
    if not rules:
        return []
    flagged = {rule: _flagged(findings, {rule}) for rule in rules}
    sets: list[tuple[str, set[int]]] = [(ALL, set()), (RULES, _flagged(findings, set(rules)))]
    sets += [(rule, out) for rule, out in flagged.items() if len(rules) > 1]
    return [_variant(study, rule, out) for rule, out in sets]


def _flagged(findings: dict[int, list[Finding]], rules: set[str]) -> set[int]:
    return {one for one, found in findings.items() if any(each.flagged and each.rule in rules for each in found)}


def _variant(study: Study, rule: str, without: Collection[int]) -> Variant:
    asked = Asked()
    metric = headline_of(benchmark_get(study.benchmark))
    board = board_build(study, asked, items_asked(study, asked), without=without)
    people = next((row for row in board.rows if row.name == PEOPLE), None)
    if people is None:
        return Variant(rule, len(without), 0, Estimate.undefined("no person has answered"))
    systems = [row for row in board.rows if row.kind in SYSTEMS]
    known = [(estimate_of(board, row, metric).value, row.name) for row in systems]
    sign = 1 if metric.higher_is_better else -1
    best = max(((sign * value, name) for value, name in known if value is not None), default=None)
    pairs = pairs_build(board, [metric]) if best else []
    pair = next((one for one in pairs if best and {one["a"], one["b"]} == {PEOPLE, best[1]}), None)
    gap = Estimate(**pair["difference"]) if pair else None
    return Variant(
        rule, len(without), len(people.sheets), estimate_of(board, people, metric), best[1] if best else "", gap
    )


def retest_build(*, sats: Iterable[Sat]) -> Estimate:
    """The share of repeated questions that were answered the same the second time, over all people, with Wilson's interval."""
    same = asked = 0
    for sat in sats:
        first = {(given.item, given.key): given for given in sat.given if given.part == ITEM}
        for given in sat.given:
            before = first.get((given.item, given.key)) if given.part == REPEAT else None
            if before is not None:
                asked += 1
                same += same_again(before, given)
    if not asked:
        return Estimate.undefined("nothing was repeated")
    lo, hi = wilson(same, asked)
    return Estimate(same / asked, lo, hi, asked)
