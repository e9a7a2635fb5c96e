"""From a stored answer to a score: can be done again at any time without asking again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.db import IntegrityError, transaction

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Benchmark, Outcome, Parsed, Trial, TrialKind
from eqstudio.benchmarks.parsing import PARSER_VERSION
from evaluation.models import Response, ScoreRecord, Study
from evaluation.selectors.marks import IMPORTED
from generation.selectors import item_view


def score_version(benchmark: Benchmark) -> str:
    return f"parser-{PARSER_VERSION}+{benchmark.alias}-{benchmark.version}"[:40]


def response_score(*, response: Response) -> ScoreRecord:
    """Parse and score one answer by the present versions; a second call inserts nothing."""
    trial_record = response.trial
    benchmark = benchmark_get(trial_record.sitting.respondent.study.benchmark)
    version = score_version(benchmark)
    existing = response.scores.filter(version=version).first()
    if existing is not None:
        return existing
    trial = Trial.from_dict(trial_record.shown)
    parsed = Parsed(Outcome(response.failure)) if response.failure else benchmark.parse(trial, response.raw)
    score = benchmark.score(item_view(dialogue=trial_record.dialogue), trial, parsed)
    try:
        with transaction.atomic():
            return ScoreRecord.objects.create(
                response=response,
                version=version,
                outcome=parsed.outcome.value,
                value="" if parsed.value is None else str(parsed.value),
                rule=parsed.rule,
                span=None if parsed.span is None else list(parsed.span),
                correct=score.correct,
                number=score.value,
                gold=score.gold,
            )
    except IntegrityError:
        return response.scores.get(version=version)


def score_that_counts(scores: Iterable[ScoreRecord]) -> ScoreRecord | None:
    """The verdict a file brought, if there is one; else the latest reading."""
    rows = sorted(scores, key=lambda row: (row.rule == IMPORTED, row.pk))
    return rows[-1] if rows else None


def response_parsed(*, response: Response) -> Parsed:
    """What was read from an answer, as ``next_trial`` looks at it."""
    score = score_that_counts(response.scores.all())
    if score is None or score.outcome != Outcome.ANSWERED:
        return Parsed(Outcome(score.outcome) if score else Outcome.UNPARSED)
    kind = TrialKind(response.trial.shown["kind"])
    value: str | int = int(score.value) if kind is TrialKind.GRADE else score.value
    return Parsed(Outcome.ANSWERED, value, score.rule)


def responses_rescore(*, study: Study) -> dict[str, int]:
    """Read and score every stored answer of a study by the present parser and benchmark; asks nobody again.

    Inserts a ScoreRecord where this version has none. Constant in memory.
    """
    version = score_version(benchmark_get(study.benchmark))
    scored = changed = kept = 0
    for response in _responses(study):
        before = score_that_counts(response.scores.all())
        if any(row.version == version for row in response.scores.all()):
            kept += 1
            continue
        after = response_score(response=response)
        scored += 1
        changed += before is not None and (before.outcome, before.value) != (after.outcome, after.value)
    return {"scored": scored, "changed": changed, "kept": kept}


def _responses(study: Study) -> Iterator[Response]:
    found = Response.objects.filter(trial__sitting__respondent__study=study).select_related(
        "trial__sitting__respondent__study", "trial__dialogue"
    )
    yield from found.prefetch_related("scores").order_by("pk").iterator(chunk_size=200)
