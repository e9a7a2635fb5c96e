"""What the declared exclusion rules find in the people of a study, from what is stored. Nothing is deleted by it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from django.db.models import Prefetch

from annotation.models import HeadphoneCheck
from eqstudio.benchmarks.base import Outcome, Trial, TrialKind
from eqstudio.models import Event
from evaluation.domain.exclusions import Finding, Given, Sat, finding
from evaluation.models import Part, PlanEntry, Respondent, Response, ScoreRecord, Sitting, Study
from evaluation.selectors.exposure import exposures
from evaluation.selectors.progress import in_the_middle
from evaluation.selectors.protocols import protocol_of
from generation.models import Variant

UNBLIND = "study_unblind"


def unblinded(study: Study) -> bool:
    """Whether somebody has opened who was left out by which rule; until then only counts are shown."""
    return Event.objects.filter(verb=UNBLIND, entity="study", entity_uid=study.uid).exists()


def excluded_of(study: Study, *, rules: Iterable[str] | None = None) -> set[int]:
    """Primary keys of the respondents whom a declared rule (or one of ``rules`` among the declared) leaves out."""
    only = None if rules is None else set(rules)
    return {
        respondent
        for respondent, findings in findings_of(study).items()
        if any(found.flagged for found in findings if only is None or found.rule in only)
    }


def findings_of(study: Study, *, sats: Mapping[int, Sat] | None = None) -> dict[int, list[Finding]]:
    """By respondent, what each declared rule found. Without a declared rule nothing is read; nor where ``sats`` is at hand."""
    declared = protocol_of(study).analysis.exclusions
    if not declared:
        return {}
    return {
        respondent: [finding(one.rule, one.threshold, sat) for one in declared]
        for respondent, sat in (sittings_told(study=study) if sats is None else sats).items()
    }


def sittings_told(*, study: Study, sittings: Iterable[Sitting] | None = None) -> dict[int, Sat]:
    """By respondent, everything the rules look at. People only; pilots, stopped sittings and who withdrew are not looked at."""
    chosen = Sitting.objects.filter(
        respondent__study=study, respondent__kind=Respondent.Kind.PERSON, pilot=False
    ).exclude(state=Sitting.State.CANCELLED)
    chosen = chosen.exclude(respondent__participant__withdrawn_at__isnull=False)
    rows = list(chosen.select_related("respondent") if sittings is None else sittings)
    answers = _answers(rows)
    sounds = _sounds(answers)
    planned, unfinished = _planned(rows), in_the_middle(study)
    checks = _checks(rows)
    since = {row.respondent.user_id: row.started for row in rows if row.respondent.user_id is not None}
    met = exposures(study=study, dialogues={one for items in planned.values() for one in items}, since=since)
    found: dict[int, Sat] = {}
    for row in rows:
        given = tuple(_given(answer, sounds, study.gate_share) for answer in answers[row.pk])
        items, user = planned.get(row.pk, set()), row.respondent.user_id
        begun = {answer.trial.dialogue_id for answer in answers[row.pk] if answer.trial.part == Part.ITEM}
        found[row.respondent_id] = Sat(
            given=given,
            planned=len(items) or len(begun),
            done=sum((row.pk, dialogue) not in unfinished for dialogue in begun),
            headphones=checks.get(user) if user is not None else None,
            exposed=len(met[user] & items) if user is not None else 0,
            key_access=row.key_access,
        )
    return found


def _answers(rows: Iterable[Sitting]) -> Mapping[int, list[Response]]:
    found: dict[int, list[Response]] = defaultdict(list)
    answers = Response.objects.filter(trial__sitting__in=list(rows)).select_related("trial").order_by("pk")
    scores = Prefetch("scores", ScoreRecord.objects.order_by("pk"))
    for answer in answers.prefetch_related(scores):
        found[answer.trial.sitting_id].append(answer)
    return found


def _sounds(answers: Mapping[int, list[Response]]) -> dict[str, float]:
    """Seconds by variant, of every clip that was in a question."""
    uids = {
        part["variant"]
        for given in answers.values()
        for answer in given
        for part in (*answer.trial.shown["context"], *answer.trial.shown["options"])
        if part["variant"]
    }
    return dict(Variant.objects.filter(uid__in=uids, clip__isnull=False).values_list("uid", "clip__duration"))


def _planned(rows: Iterable[Sitting]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    entries = PlanEntry.objects.filter(sitting__in=list(rows), part=Part.ITEM)
    for sitting, dialogue in entries.values_list("sitting_id", "dialogue_id"):
        found[sitting].add(dialogue)
    return found


def _checks(rows: Iterable[Sitting]) -> dict[int, tuple[int, bool]]:
    """The best headphone check of each person who made one."""
    found: dict[int, tuple[int, bool]] = {}
    people = [row.respondent.user_id for row in rows if row.respondent.user_id is not None]
    checks = HeadphoneCheck.objects.filter(annotator__in=people)
    for person, right, passed in checks.values_list("annotator_id", "right", "passed"):
        best, ever = found.get(person, (0, False))
        found[person] = (max(best, right), ever or passed)
    return found


def _given(answer: Response, sounds: Mapping[str, float], share: float) -> Given:
    trial = Trial.from_dict(answer.trial.shown)
    score = max(answer.scores.all(), key=lambda row: row.pk, default=None)
    read = score if score is not None and score.outcome == Outcome.ANSWERED else None
    value = read.value if read else ""
    option = next((one for one in trial.options if one.letter == value), None)
    clips = [part.variant for part in trial.context if part.variant]
    clips += [part.variant for part in trial.options if part.variant]
    return Given(
        item=answer.trial.dialogue_id,
        key=trial.key,
        value=value,
        chosen=(option.variant or option.text or value) if option else value,
        part=answer.trial.part,
        right=read.correct if read else None,
        number=read.number if read else None,
        gold=score.gold if score else None,
        graded=trial.kind is TrialKind.GRADE,
        offered=len(trial.options),
        among=tuple(sorted(one.variant or one.text or one.letter for one in trial.options)),
        seconds=None if answer.failure else (answer.created - answer.trial.created).total_seconds(),
        sound=share * sum(sounds.get(uid, 0.0) for uid in clips),
    )


def left_out(study: Study) -> dict[str, int]:
    """How many people are in no figure, by why: sat a pilot only, withdrew, or are left out by a declared rule. Counts alone."""
    people = Respondent.objects.filter(
        study=study, kind=Respondent.Kind.PERSON, sittings__trials__responses__isnull=False
    )
    counting = people.filter(sittings__pilot=False).distinct().count()
    return {
        "pilot": people.distinct().count() - counting,
        "withdrawn": people.filter(participant__withdrawn_at__isnull=False).distinct().count(),
        "rules": len(excluded_of(study)),
    }
