"""Sittings: who sits, and what is asked next."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from eqstudio.access import can_curate
from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Answered, ItemView, Trial
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.domain.order import (
    CROSSED,
    MIRRORED,
    crossed_seed,
    options_seed,
    order_seed,
    trial_mirror,
    trial_rng,
)
from evaluation.models import Part, Respondent, Sitting, Study, TrialRecord
from evaluation.models.respondents import RUNS
from evaluation.selectors import order_of, protocol_of
from evaluation.selectors.plans import plan_missing
from evaluation.services.asked import design_for, evaluator_of
from evaluation.services.participants import consent_check, participant_ensure, participant_return
from evaluation.services.plans import plan_make, time_is_up
from evaluation.services.sampling import sample_ensure
from evaluation.services.scoring import response_parsed, response_score
from generation.models import Dialogue
from generation.selectors import item_view


def person_ensure(*, study: Study, user: User) -> Respondent:
    """The respondent row of a person in a study, made on the first call; the name is a pseudonym."""
    found = Respondent.objects.filter(study=study, user=user).first()
    if found is not None:
        return found
    for number in range(1 + study.respondents.filter(kind=Respondent.Kind.PERSON).count(), 10_000):
        try:
            with transaction.atomic():
                return Respondent.objects.create(
                    study=study, user=user, kind=Respondent.Kind.PERSON, name=f"Person {number}"
                )
        except IntegrityError:
            found = Respondent.objects.filter(study=study, user=user).first()
            if found is not None:
                return found
    raise Conflict("This study has too many people.")


def sitting_open(
    *,
    study: Study,
    user: User | None = None,
    respondent: Respondent | None = None,
    run: int = 0,
    limit: int | None = None,
) -> Sitting:
    """Begin a sitting, or return the one already begun. Exactly one of ``user`` and ``respondent`` says who sits.

    The sitting of a person who can read the key is marked as such; while the protocol says pilot, a sitting is a pilot's.
    """
    if (user is None) == (respondent is None):
        raise InvalidInput("A sitting needs either a person or a respondent.", field="respondent")
    if not study.is_open:
        raise Conflict("This study is closed; it takes no more answers.")
    sits = respondent or person_ensure(study=study, user=user)  # type: ignore[arg-type]
    protocol = protocol_of(study)
    if not protocol.execution.pilot:
        sample_ensure(study=study, sampling=protocol.sampling, actor=user)
    if sits.kind == Respondent.Kind.PERSON:
        participant_ensure(respondent=sits)
    pilot = protocol.execution.pilot
    fresh: dict[str, Any] = {"limit": limit, "order_seed": lambda: _order_seed(sits, run, pilot=pilot)}
    found, created = Sitting.objects.select_related("respondent__study__split").get_or_create(
        respondent=sits, run=run, pilot=pilot, defaults=fresh
    )
    if created and sits.kind == Respondent.Kind.PERSON:
        participant_return(respondent=sits)
    if user is not None:
        key_access_mark(sitting=found, user=user)
    return found


def key_access_mark(*, sitting: Sitting, user: User) -> bool:
    """Mark a sitting of somebody whose role shows the key; a mark stays, also when the role goes. True when it is marked."""
    if not sitting.key_access and can_curate(user):
        sitting.key_access = True
        sitting.save(update_fields=["key_access"])
    return sitting.key_access


def _order_seed(respondent: Respondent, run: int, *, pilot: bool) -> int:
    """A new sitting's seed. Of the two orders of options a person gets the one that fewer people of the study have, so that who
    joins next sees every item mirrored.
    """
    study = respondent.study
    seed = order_seed(study_seed=study.seed, respondent=_order_name(respondent), run=run % RUNS)
    if respondent.kind != Respondent.Kind.PERSON:
        return seed
    others = Sitting.objects.filter(
        respondent__study=study, respondent__kind=Respondent.Kind.PERSON, run=run, pilot=pilot, order_seed__gte=CROSSED
    ).exclude(state=Sitting.State.CANCELLED)
    mirrored = others.filter(order_seed__gte=MIRRORED).count()
    return crossed_seed(seed, mirrored=2 * mirrored < others.count())


def _order_name(respondent: Respondent) -> str:
    """Every person has an order of items of their own, but all answers from files share one, and so do all runs of one model: what it
    answers with its sound, without and with another can then be held against each other question by question.
    """
    if respondent.run_spec is not None:
        return f"{respondent.run_spec.content['backend']}/{respondent.run_spec.content['model']}"
    return "imported" if respondent.kind == Respondent.Kind.IMPORTED else respondent.uid


def trial_next(*, sitting: Sitting) -> TrialRecord | None:
    """The question that waits for an answer, or the next one; None at the end, when the sitting is finished.

    Inserts a TrialRecord for a new question, and before a person's first question the plan of the sitting. Two callers at once
    get the same one. A person whose time is up begins no further item; Conflict while consent is asked and was not given.
    """
    if sitting.state != Sitting.State.OPEN:
        return None
    if sitting.respondent.kind == Respondent.Kind.PERSON:
        consent_check(sitting=sitting)
    records = sitting.trials.select_related(
        "sitting__respondent__study__split", "sitting__respondent__user", "dialogue"
    )
    pending = records.filter(responses=None).first()
    if pending is not None:
        return pending
    if plan_missing(sitting=sitting):
        plan_make(sitting=sitting)
    begun = list(sitting.trials.order_by("pk").values_list("dialogue_id", "part"))
    known = set(begun)
    waiting = [] if time_is_up(sitting=sitting) else [one for one in order_of(sitting=sitting) if one not in known]
    for pk, part in [*begun[-1:], *waiting]:
        record = trial_of(sitting=sitting, dialogue=Dialogue.objects.get(pk=pk), part=Part(part))
        if record is not None:
            return record
    sitting_finish(sitting=sitting)
    return None


def trial_of(*, sitting: Sitting, dialogue: Dialogue, part: Part = Part.ITEM) -> TrialRecord | None:
    """The next question about one dialogue after the answers so far, stored as shown; None when it is through."""
    answered = answers_so_far(sitting=sitting, dialogue=dialogue, part=part)
    trial = trial_build(sitting=sitting, dialogue=dialogue, answered=answered, part=part)
    return None if trial is None else trial_store(sitting=sitting, dialogue=dialogue, trial=trial, part=part)


def trial_build(
    *,
    sitting: Sitting,
    dialogue: Dialogue,
    answered: list[Answered],
    part: Part = Part.ITEM,
    item: ItemView | None = None,
) -> Trial | None:
    """Ask the benchmark, in the variant of the protocol and as the evaluator of a model asks it.

    A second run of a model, every second person, and a repetition show the options in the opposite order. ``item`` is the
    dialogue's view where it was read already.
    """
    respondent = sitting.respondent
    seed = options_seed(sitting.order_seed, study_seed=respondent.study.seed)
    rng = trial_rng(seed=seed, dialogue=dialogue.uid)
    benchmark = benchmark_get(respondent.study.benchmark)
    evaluator = evaluator_of(respondent)
    design = design_for(respondent.study, evaluator, dialogue)
    trial = benchmark.next_trial(item or item_view(dialogue=dialogue), answered, rng, design)
    if trial is None:
        return None
    person = respondent.kind == Respondent.Kind.PERSON
    mirrored = bool(sitting.order_seed & MIRRORED) if person else sitting.run % 2 == 1
    if mirrored != (part == Part.REPEAT):
        trial = trial_mirror(trial)
    return trial if evaluator is None else evaluator.trial(trial)


def trial_store(*, sitting: Sitting, dialogue: Dialogue, trial: Trial, part: Part = Part.ITEM) -> TrialRecord:
    try:
        with transaction.atomic():
            return TrialRecord.objects.create(
                sitting=sitting, dialogue=dialogue, key=trial.key, part=part, shown=trial.as_dict()
            )
    except IntegrityError:
        return TrialRecord.objects.get(sitting=sitting, dialogue=dialogue, key=trial.key, part=part)


def answers_so_far(*, sitting: Sitting, dialogue: Dialogue, part: Part = Part.ITEM) -> list[Answered]:
    """What was asked about this dialogue and what was read from the answers; scores what was left unscored by a kill."""
    answered = []
    records = sitting.trials.filter(dialogue=dialogue, part=part).order_by("pk").prefetch_related("responses__scores")
    for record in records:
        for response in record.responses.all():
            if not response.scores.all():
                response_score(response=response)
                response = type(response).objects.prefetch_related("scores").get(pk=response.pk)  # noqa: PLW2901
            answered.append(Answered(trial=Trial.from_dict(record.shown), parsed=response_parsed(response=response)))
    return answered


def sitting_finish(*, sitting: Sitting) -> None:
    """The only writer of FINISHED: one conditional UPDATE, so a cancelled sitting stays cancelled."""
    now = timezone.now()
    Sitting.objects.filter(pk=sitting.pk, state=Sitting.State.OPEN).update(
        state=Sitting.State.FINISHED, finished_at=now, not_before=None, pauses=0
    )
    sitting.refresh_from_db(fields=["state", "finished_at", "not_before", "pauses"])


def sitting_cancel(*, sitting: Sitting, actor: User | None = None) -> bool:
    """Stop an open sitting for good; its answers stay. Writes one Event. False when it was no longer open."""
    moved = Sitting.objects.filter(pk=sitting.pk, state=Sitting.State.OPEN).update(state=Sitting.State.CANCELLED)
    sitting.refresh_from_db(fields=["state"])
    if moved:
        event_record(actor=actor, verb="sitting_cancel", entity=sitting)
    return moved == 1


def sitting_resume(*, sitting: Sitting, actor: User | None = None) -> bool:
    """Let a sitting go on that stopped with an error. Writes one Event. False when there was nothing to resume."""
    moved = (
        Sitting.objects.filter(pk=sitting.pk, state=Sitting.State.OPEN)
        .exclude(error="")
        .update(error="", pauses=0, not_before=None)
    )
    sitting.refresh_from_db(fields=["error", "pauses", "not_before"])
    if moved:
        event_record(actor=actor, verb="sitting_resume", entity=sitting)
    return moved == 1
