"""Writing in stages: every call in the ledger, every candidate kept, every stage decided once.

A stage is decided when the rows of a try with a chosen candidate are there. Its requests follow from the brief, the draw and
what was decided before, so after a kill the ledger answers what was paid for already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import BaseModel

from eqstudio.benchmarks import Benchmark
from eqstudio.benchmarks.base import BriefSpec, DialogueSpec
from eqstudio.benchmarks.stages import (
    REGENERATIONS,
    Criterion,
    Piece,
    SoFar,
    Stage,
    Verdict,
    Written,
    faults,
    prompt_again,
)
from eqstudio.benchmarks.variety import NEAR, nearest
from eqstudio.errors import GiveUp, ProviderError
from generation.models import Brief, Candidate, Corpus, Dialogue, ProviderCall
from generation.providers import TextProvider
from generation.selectors.writing import scenes_earlier
from generation.services.asking import Desk, asked, asked_again
from generation.services.casting import dialogue_cast
from generation.services.ledger import ANSWERED_BADLY
from generation.services.seeds import dialogue_seed

STAGE_REFUSED = "refused by the checks of writing"
"""The cause of a dialogue one of whose stages was refused each time."""


JUST_NOW = timedelta(minutes=2)
"""Scenes of others that came in while this one was being held against the corpus; clocks may differ a little."""


@dataclass(frozen=True)
class Outcome:
    """What became of one try at a stage; ``value`` is None when the answer could not be read."""

    value: BaseModel | None
    pieces: tuple[Piece, ...]
    criteria: tuple[Criterion, ...]
    verdict: Verdict | None
    call: ProviderCall | None
    reason: str


def script_in_stages(
    *, dialogue: Dialogue, brief: Brief, benchmark: Benchmark, provider: TextProvider, spec: BriefSpec
) -> DialogueSpec:
    """Write a dialogue stage by stage, and read it whole. What was decided before is not asked for again.

    Side effects: the draw; per call a ledger row; per try its candidates, and the title once the scene is decided. A stage
    that is refused four times gives the dialogue up, with the reasons. The dialogue's attempts start over with every call.
    """
    cast = dialogue_cast(dialogue=dialogue, brief=brief, benchmark=benchmark)
    spec = replace(spec, valence=cast.valence, setting=cast.setting, avoid=(), cast=cast)
    desk = Desk(dialogue, brief, benchmark, provider, spec)
    results: SoFar = {}
    for stage in benchmark.stages:
        results[stage.name] = _stage_run(desk, stage, results)
    return _assembled(desk, results)


def _assembled(desk: Desk, results: SoFar) -> DialogueSpec:
    try:
        assembled = desk.benchmark.assemble(desk.spec, results)
        script = desk.benchmark.script_schema.model_validate(assembled.script)
    except ValueError as error:
        raise ProviderError(
            _("The parts of the script do not fit together: %(error)s") % {"error": error},
            cause=STAGE_REFUSED,
            decision=GiveUp(),
        ) from error
    written = desk.benchmark.script_read(script, desk.spec)
    return replace(written, scenario={**written.scenario, **assembled.scenario})


def _stage_run(desk: Desk, stage: Stage, so_far: SoFar) -> Written:
    reasons: list[str] = []
    for attempt in range(REGENERATIONS + 1):
        rows = _rows(desk, stage, attempt)
        if not rows:
            outcome = _try(desk, stage, so_far, attempt, reasons)
            rows = _decide(desk, stage, attempt, outcome)
        chosen = tuple(row.key for row in rows if row.chosen)
        if chosen:
            return Written(stage.schema.model_validate(_call_of(rows).result["script"]), chosen)
        reasons += [row.reason for row in rows if row.reason][:1]
    raise ProviderError(
        _("%(stage)s was written %(n)d times and refused each time. Last: %(reason)s")
        % {"stage": stage.name, "n": REGENERATIONS + 1, "reason": reasons[-1]},
        cause=_cause(desk, stage),
        decision=GiveUp(),
    )


def _cause(desk: Desk, stage: Stage) -> str:
    """Why the last try failed: by the answer itself, or by the checks."""
    seed = dialogue_seed(desk.dialogue, f"{stage.name}:{REGENERATIONS}")
    bad = desk.dialogue.calls.filter(seed=seed, outcome="error", result__cause__in=ANSWERED_BADLY).first()
    return str(bad.result["cause"]) if bad else STAGE_REFUSED


def _rows(desk: Desk, stage: Stage, attempt: int) -> list[Candidate]:
    mine = desk.dialogue.candidates.filter(take=desk.dialogue.takes, stage=stage.name, attempt=attempt)
    return list(mine.select_related("call").order_by("pk"))


def _call_of(rows: Sequence[Candidate]) -> ProviderCall:
    call = rows[0].call
    if call is None:
        raise ProviderError(
            _("The ledger row behind a finished stage is gone."), cause="ledger row missing", decision=GiveUp()
        )
    return call


def _try(desk: Desk, stage: Stage, so_far: SoFar, attempt: int, reasons: Sequence[str]) -> Outcome:
    """One try: write, check, and if nothing is wrong have it judged."""
    rng = _rng(dialogue_seed(desk.dialogue, f"{stage.name}:{attempt}"))
    prompt = prompt_again(stage.prompt(desk.spec, so_far, rng), reasons)
    try:
        call = asked(desk, prompt, stage.schema, f"{stage.name}:{attempt}")
    except ProviderError as error:
        if error.cause not in ANSWERED_BADLY:
            raise
        return Outcome(None, (), (), None, None, error.message)
    value = stage.schema.model_validate(call.result["script"])
    criteria = stage.checked(value, desk.spec, so_far)
    if stage.scene:
        criteria = (*criteria, _new(desk, *stage.scene(value)))
    verdict = None if faults(criteria) else _judged(desk, stage, value, so_far, attempt=attempt)
    judged = (*criteria, *(verdict.criteria if verdict else ()))
    return Outcome(value, stage.pieces(value, desk.spec), judged, verdict, call, faults(judged))


def _judged(desk: Desk, stage: Stage, value: BaseModel, so_far: SoFar, *, attempt: int) -> Verdict | None:
    judge = stage.judge
    if judge is None:
        return None
    purpose = f"{stage.name}:{attempt}:judge"
    order = dialogue_seed(desk.dialogue, f"{purpose}:order")
    prompt = judge.prompt(value, desk.spec, so_far, _rng(order))
    call = asked_again(desk, prompt, judge.schema, purpose)
    return judge.read(value, judge.schema.model_validate(call.result["script"]), desk.spec, so_far, _rng(order))


def _decide(desk: Desk, stage: Stage, attempt: int, outcome: Outcome) -> list[Candidate]:
    """Write down what became of a try; the rows of another process that decided the same try meanwhile count.

    A good scene gives the dialogue its title, unless another dialogue got one too much like it a moment ago.
    """
    try:
        with transaction.atomic():
            if stage.scene and outcome.value is not None and not outcome.reason:
                outcome = _scene_claim(desk, outcome, *stage.scene(outcome.value))
            Candidate.objects.bulk_create(_candidates(desk, stage, attempt, outcome))
    except IntegrityError:
        desk.dialogue.refresh_from_db(fields=["title", "scenario"])
    return _rows(desk, stage, attempt)


def _candidates(desk: Desk, stage: Stage, attempt: int, outcome: Outcome) -> list[Candidate]:
    pieces = outcome.pieces or (Piece("", {}),)
    taken = {piece.key for piece in pieces} if outcome.verdict is None else set(outcome.verdict.chosen)
    given = outcome.verdict.scores if outcome.verdict else {}
    told = [
        {"name": one.name, "score": one.score, "threshold": one.threshold, "passed": one.passed}
        for one in outcome.criteria
    ]
    return [
        Candidate(
            dialogue=desk.dialogue,
            call=outcome.call,
            take=desk.dialogue.takes,
            stage=stage.name,
            attempt=attempt,
            key=piece.key,
            content=dict(piece.content),
            scores=[
                *(told if number == 0 else []),
                *({"name": name, "score": score} for name, score in given.get(piece.key, {}).items()),
            ],
            chosen=not outcome.reason and piece.key in taken,
            reason=outcome.reason
            or ("" if piece.key in taken else piece.refused or _("Another candidate was chosen.")),
        )
        for number, piece in enumerate(pieces)
    ]


def _scene_claim(desk: Desk, outcome: Outcome, title: str, context: str) -> Outcome:
    """Give the dialogue its title; part of the caller's transaction, one dialogue of a corpus after the other."""
    Corpus.objects.select_for_update().get(pk=desk.dialogue.corpus_id)
    again = _new(desk, title, context, since=timezone.now() - JUST_NOW)
    if not again.passed:
        return replace(outcome, criteria=(*outcome.criteria, again), reason=again.reason)
    people = {f"speaker{number}_name": one.name for number, one in enumerate(desk.spec.drawn.people, start=1)}
    desk.dialogue.title = title[:300]
    desk.dialogue.scenario = {"title": title, "context": context, **people}
    desk.dialogue.save(update_fields=["title", "scenario", "updated"])
    return outcome


def _new(desk: Desk, title: str, context: str, since: datetime | None = None) -> Criterion:
    """A scene must not be a near-duplicate of one in the corpus (of those touched ``since``)."""
    names = [one.name for one in desk.spec.drawn.people]
    earlier = scenes_earlier(dialogue=desk.dialogue, since=since)
    near = nearest(title, context, earlier, desk.spec.language, names=names)
    if near is None:
        return Criterion("new scene", 1.0, 1 - NEAR, "")
    reason = f"The scene is too much like an earlier one, {near.title!r} ({near.score:.0%} alike); write another one."
    return Criterion("new scene", 1 - near.score, 1 - NEAR, reason)


def _rng(seed: int) -> Random:
    return Random(seed)  # noqa: S311 -- variety, not secrecy
