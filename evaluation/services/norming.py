"""Norms of SEQ: which one a comparison uses, and freezing one so that later systems move nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.db import IntegrityError, transaction

from eqstudio.benchmarks import Benchmark
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.estimates import Estimate
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.domain.baselines import person_means
from evaluation.domain.norms import NoNorm, Norm, cohort_norm, people_norm, published_norm
from evaluation.models import FrozenNorm, Respondent, Study
from evaluation.services.comparison_rows import PEOPLE, Board

NORMED_METRIC = "acc_traj"
"""The figure that a SEQ is made from, where a benchmark has it."""
NORMING = frozenset({Respondent.Kind.MODEL.value, Respondent.Kind.IMPORTED.value})
COHORT, HUMAN, PUBLISHED = "cohort", "people", "published"
OWN_NORMS = (COHORT, HUMAN, PUBLISHED)


def is_normed(benchmark: Benchmark) -> bool:
    return NORMED_METRIC in {metric.name for metric in benchmark.metrics}


def norm_of(
    *, norm: str, benchmark: Benchmark, board: Board, table: Sequence[Mapping[str, Any]], item_set: str
) -> Norm | NoNorm | None:
    """The norm of that name, or why there is none; None where the benchmark has no SEQ.

    ``cohort``: chance, and the models and imported systems that sat the plain exam, answered every item and whose answers can be
    read (``cohort_left_out`` names the others). ``people``: the human baseline of the study.
    ``published``: SpeechEQ's table. Else a norm frozen under that name (InvalidInput names those there are).
    """
    if not is_normed(benchmark):
        return None
    if norm == COHORT:
        return cohort_norm(_cohort(table, len(board.items)), metric=NORMED_METRIC, item_set=item_set)
    if norm == HUMAN:
        return _people(benchmark, board, item_set)
    if norm == PUBLISHED:
        return published_norm()
    return _frozen(norm, benchmark)


def _cohort(table: Sequence[Mapping[str, Any]], items: int) -> dict[str, float]:
    figures = {entry["name"]: entry["estimates"][NORMED_METRIC] for entry in table if _norms(entry, items)}
    return {name: figure.value for name, figure in figures.items() if figure.value is not None}


def _norms(entry: Mapping[str, Any], items: int) -> bool:
    return entry["kind"] == "chance" or (entry["kind"] in NORMING and not _why_out(entry, items))


def _why_out(entry: Mapping[str, Any], items: int) -> str:
    """Why a system is not in the cohort, the first of the reasons that holds; empty where it is."""
    if entry["control"]:
        return "control"
    if not entry["fit"]:
        return "unfit"
    return "unfinished" if entry["estimates"][NORMED_METRIC].n != items else ""


def cohort_left_out(table: Sequence[Mapping[str, Any]], items: int) -> dict[str, list[str]]:
    """Names of the systems that the cohort norm does not rest on, by why: ``control`` (it was not asked the plain exam),
    ``unfit`` (more than 5 % of its answers could not be read), ``unfinished`` (it has not answered every item). Every reason is
    a key, also where it holds of nobody. ``table`` are entries with estimates.
    """
    found: dict[str, list[str]] = {"control": [], "unfit": [], "unfinished": []}
    for entry in table:
        why = _why_out(entry, items) if entry["kind"] in NORMING else ""
        if why:
            found[why].append(entry["name"])
    return found


def _people(benchmark: Benchmark, board: Board, item_set: str) -> Norm | NoNorm:
    row = next((row for row in board.rows if row.name == PEOPLE), None)
    if row is None:
        return NoNorm("no person has answered")
    metric = next(metric for metric in benchmark.metrics if metric.name == NORMED_METRIC)
    matrix = board.matrix(row, metric)
    means = person_means(matrix)
    counts = np.isfinite(matrix).sum(axis=1)
    known = [place for place in range(len(means)) if counts[place] > 1]
    errors = [float(np.nanstd(matrix[place], ddof=1) / np.sqrt(counts[place])) for place in known]
    return people_norm(
        [float(means[place]) for place in known],
        errors,
        names=[row.names[place] for place in known],
        metric=NORMED_METRIC,
        item_set=item_set,
    )


def _frozen(name: str, benchmark: Benchmark) -> Norm:
    found = FrozenNorm.objects.filter(name=name, benchmark=benchmark.alias).first()
    if found is None:
        frozen = FrozenNorm.objects.filter(benchmark=benchmark.alias).values_list("name", flat=True)
        raise InvalidInput(f"Unknown norm {name!r}; known: {', '.join([*OWN_NORMS, *frozen])}.", field="norm")
    return norm_read(found)


def norm_read(row: FrozenNorm) -> Norm:
    content = {**row.content, "population": tuple(row.content["population"])}
    return Norm(**content).frozen(row.name)


def norm_freeze(*, study: Study, name: str, norm: Norm | NoNorm | None, actor: User | None = None) -> FrozenNorm:
    """Keep a norm for good under ``name``; a later system is then placed on it and moves nobody. Writes one Event.

    InvalidInput where there is no norm to keep, Conflict where the name is taken.
    """
    if not isinstance(norm, Norm):
        reason = norm.reason if norm else "this benchmark has no SEQ"
        raise InvalidInput(f"There is no norm to freeze: {reason}.", field="norm")
    if name in OWN_NORMS:
        raise Conflict(f"{name} is the name of a norm that is worked out anew; choose another.", field="name")
    content = {
        key: getattr(norm, key)
        for key in ("metric", "centre", "spread", "recipe", "item_set", "sampled", "reliability")
    }
    content["population"] = list(norm.population)
    try:
        with transaction.atomic():
            row = FrozenNorm.objects.create(
                name=name, benchmark=study.benchmark, study=study, hash=norm.hash, content=content, created_by=actor
            )
            event_record(actor=actor, verb="norm_freeze", entity=study, norm=name, hash=norm.hash)
    except IntegrityError as error:
        raise Conflict(f"There is already a norm named {name}. Choose another name.", field="name") from error
    return row


def seq_add(entry: Mapping[str, Any], norm: Norm | NoNorm | None) -> None:
    figure = entry["estimates"].get(NORMED_METRIC)
    if figure is not None and norm is not None:
        entry["estimates"]["seq"] = (
            norm.estimate(figure) if isinstance(norm, Norm) else Estimate.undefined(norm.reason, n=figure.n)
        )
