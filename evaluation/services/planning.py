"""What the answers so far tell about a study's own power."""

from __future__ import annotations

from statistics import fmean

from eqstudio.benchmarks import benchmark_get
from evaluation.domain.clusters import likeness
from evaluation.models import Study
from evaluation.selectors import item_facts
from evaluation.services.comparison_rows import rows_of
from evaluation.services.comparisons import headline_of


def likeness_observed(*, study: Study) -> float | None:
    """How alike items of one prompt or script came out (intraclass correlation of their mean headline figure over everybody who
    listened); None while that cannot be told. Reads only.
    """
    benchmark = benchmark_get(study.benchmark)
    clusters = {item: fact.cluster for item, fact in item_facts(study=study, benchmark=benchmark).items()}
    if len(set(clusters.values())) == len(clusters):
        return None
    metric, found = headline_of(benchmark), dict[int, list[float]]()
    for row in rows_of(study):
        if row.how == "" and row.kind != "rule":
            for item, value in row.figures(metric)[0].items():
                if item in clusters:
                    found.setdefault(item, []).append(value)
    return likeness({item: fmean(values) for item, values in found.items()}, clusters)
