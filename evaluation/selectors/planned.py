"""What a power calculation of a study starts from: its own items, how they hang together, and what its protocol wants."""

from __future__ import annotations

from dataclasses import dataclass

from eqstudio.benchmarks import benchmark_get
from evaluation.domain.clusters import cluster_size
from evaluation.domain.protocol import Protocol
from evaluation.models import Study
from evaluation.selectors.facts import item_facts
from evaluation.selectors.sampled import sample_planned, sample_stored

PEOPLE = 5
"""Assumed where neither the protocol nor anybody who sat says more."""
CLAIM = 0.1


@dataclass(frozen=True)
class Planned:
    """``items`` and ``people`` of the plan, the mean size of an item's cluster, and the smallest difference that counts (a share);
    ``claimed`` is False where the protocol names none.
    """

    items: int
    people: int
    clusters: int
    cluster_size: float
    claim: float
    claimed: bool


def planned_of(*, study: Study, protocol: Protocol) -> Planned:
    """Reads the items that are asked, or that the plan would draw."""
    facts = item_facts(study=study, benchmark=benchmark_get(study.benchmark))
    if protocol.sampling.plan != "full" and not sample_stored(study):
        chosen = {one.item for one in sample_planned(study=study, sampling=protocol.sampling)}
        facts = {item: fact for item, fact in facts.items() if item in chosen}
    clusters = [fact.cluster for fact in facts.values()]
    sat = study.respondents.filter(kind="person").count()
    wanted = protocol.analysis.smallest_difference
    return Planned(
        items=len(facts),
        people=protocol.recruitment.people or sat or PEOPLE,
        clusters=len(set(clusters)),
        cluster_size=cluster_size(clusters),
        claim=wanted or CLAIM,
        claimed=bool(wanted),
    )
