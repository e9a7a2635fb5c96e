"""A judgement is taken, and taken back, here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotation.domain.gate import heard_share, intervals_check
from annotation.models import Assignment, Grade, Judgement, Kind, RoundItem
from annotation.selectors.judgements import RequiredClip, required_clips
from annotation.services.assignments import free_slots
from annotation.services.items import item_close, item_reopen
from annotation.services.participations import judgement_checked, participation_get
from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record

State = Assignment.State
Verdict = Judgement.Verdict
OTHER = "other"
COMMENT_LIMIT = 5_000
KEY_LENGTH = 64
LONGEST_MS = 24 * 3600 * 1000


@dataclass(frozen=True)
class _Answer:
    verdict: str
    grades: dict[int, int]
    reasons: list[str]
    comment: str
    heard: dict[str, list[list[float]]]
    active_ms: int


@transaction.atomic
def grade_submit(
    *,
    assignment: Assignment,
    client_key: str,
    verdict: str,
    grades: Mapping[str, int],
    reasons: Sequence[str] = (),
    comment: str = "",
    heard: Mapping[str, Any],
    active_ms: int = 0,
    now: datetime,
) -> Judgement:
    """Store one person's judgement of one item and close the item when enough are in.

    A replay with the same ``client_key`` returns the row that is there. The listening gate is computed here from the
    played intervals (InvalidInput, field ``heard``); a keep needs a grade for every graded variant, a reject a reason.

    An answer that comes after its lease has ended is kept with ``late`` set. It counts when a slot of the item is still
    free; otherwise its lease becomes ``late`` and it is stored beside the judgements that count. Conflict when the person
    has submitted this lease before under another key.

    Inserts Judgement and Grades, updates the Assignment, writes one Event, may move the dialogue (``item_close``).
    """
    if not 0 < len(client_key) <= KEY_LENGTH:
        raise InvalidInput(_("A judgement needs a key of 1 to 64 characters."), field="client_key")
    item = (
        RoundItem.objects.select_for_update(of=("self",)).select_related("round", "dialogue").get(pk=assignment.item_id)
    )
    replayed = _replayed(assignment, client_key)
    if replayed is not None:
        return replayed
    comment = str(comment).strip()[:COMMENT_LIMIT]
    if verdict not in Verdict.values:
        raise InvalidInput(_("Say keep or reject."), field="verdict")
    clips = required_clips(dialogue=item.dialogue)
    answer = _Answer(
        verdict=verdict,
        heard=_heard_check(clips, heard, item.round.gate_share),
        grades=_grades_check(clips, grades, complete=verdict == Verdict.KEEP),
        reasons=_reasons_check(item, verdict, reasons, comment),
        comment=comment,
        active_ms=min(max(0, int(active_ms)), LONGEST_MS),
    )
    late = _lease_take(assignment, item, now)
    judgement = _insert(assignment, item, client_key, answer, late=late)
    event_record(
        actor=assignment.annotator,
        verb="judged",
        entity=item,
        judgement=judgement.uid,
        late=late,
        counted=_counts(assignment),
    )
    if _counts(assignment):
        item_close(item=item, now=now)
    participation = participation_get(round=item.round, annotator=assignment.annotator)
    judgement_checked(judgement=judgement, participation=participation, now=now)
    return judgement


def _counts(assignment: Assignment) -> bool:
    return assignment.kind == Kind.WORK and assignment.state == State.SUBMITTED


def _replayed(assignment: Assignment, client_key: str) -> Judgement | None:
    found = Judgement.objects.filter(annotator_id=assignment.annotator_id, client_key=client_key).first()
    if found is not None and found.item_id != assignment.item_id:
        raise Conflict(_("This key was used for another item; nothing was stored twice."), field="client_key")
    return found


def _lease_take(assignment: Assignment, item: RoundItem, now: datetime) -> bool:
    """Turn the lease into a submitted one, or a late one when its slot is gone. True when the answer came late."""
    row = Assignment.objects.filter(pk=assignment.pk)
    assignment.refresh_from_db(fields=["state", "lease_until", "slot"])
    in_time = assignment.state == State.ACTIVE and assignment.lease_until > now
    if not row.filter(state=State.ACTIVE).update(state=State.SUBMITTED, ended_at=now):
        if assignment.state in (State.SUBMITTED, State.LATE):
            raise Conflict(_("You have judged this item already. Take that judgement back first to change it."))
        _late_take(assignment, item, now)
    assignment.refresh_from_db(fields=["state", "slot", "ended_at"])
    return not in_time


def _late_take(assignment: Assignment, item: RoundItem, now: datetime) -> None:
    """Take any slot that is free; without one the lease is late. A newer lease of the same person on the item is ended,
    because this answer stands for it.
    """
    Assignment.objects.filter(item=item, annotator_id=assignment.annotator_id, state=State.ACTIVE).update(
        state=State.EXPIRED, ended_at=now
    )
    row = Assignment.objects.filter(pk=assignment.pk, state__in=[State.EXPIRED, State.RELEASED])
    for slot in free_slots(item=item, people=item.round.people_per_item):
        try:
            with transaction.atomic():
                if row.update(state=State.SUBMITTED, slot=slot, ended_at=now):
                    return
        except IntegrityError:
            continue
    row.update(state=State.LATE, ended_at=now)


def _insert(assignment: Assignment, item: RoundItem, client_key: str, answer: _Answer, *, late: bool) -> Judgement:
    revision = Judgement.objects.filter(item=item, annotator_id=assignment.annotator_id).count()
    judgement = Judgement.objects.create(
        item=item,
        annotator_id=assignment.annotator_id,
        assignment=assignment,
        revision=revision,
        late=late,
        client_key=client_key,
        verdict=answer.verdict,
        reasons=answer.reasons,
        comment=answer.comment,
        heard=answer.heard,
        active_ms=answer.active_ms,
    )
    Grade.objects.bulk_create(
        Grade(judgement=judgement, variant_id=variant, value=value) for variant, value in answer.grades.items()
    )
    return judgement


def _heard_check(clips: list[RequiredClip], heard: Mapping[str, Any], gate: float) -> dict[str, list[list[float]]]:
    if not isinstance(heard, Mapping):
        raise InvalidInput(_("What was heard should be an object: variant to played intervals."), field="heard")
    kept: dict[str, list[list[float]]] = {}
    missing = 0
    for clip in clips:
        intervals = intervals_check(heard.get(clip.uid, []))
        missing += heard_share(intervals, duration=clip.duration) + 1e-6 < gate
        kept[clip.uid] = [[start, end] for start, end in intervals]
    if missing:
        raise InvalidInput(
            _(
                "Listen first: %(missing)d of %(all)d clips have not been heard to %(share)d %%. Your answer is kept as a draft."
            )
            % {"missing": missing, "all": len(clips), "share": round(gate * 100)},
            field="heard",
        )
    return kept


def _grades_check(clips: list[RequiredClip], grades: Mapping[str, int], *, complete: bool) -> dict[int, int]:
    graded = {clip.uid: clip.pk for clip in clips if clip.graded}
    if not isinstance(grades, Mapping) or set(grades) - set(graded):
        raise InvalidInput(_("There is a grade for something that is not graded in this item."), field="grades")
    if any(isinstance(value, bool) or value not in (1, 2, 3, 4) for value in grades.values()):
        raise InvalidInput(_("A grade is 1, 2, 3 or 4."), field="grades")
    if complete and set(grades) != set(graded):
        raise InvalidInput(
            _("%(missing)d grades are missing: to keep an item, grade every version of it.")
            % {"missing": len(graded) - len(grades)},
            field="grades",
        )
    return {graded[uid]: int(value) for uid, value in grades.items()}


def _reasons_check(item: RoundItem, verdict: str, reasons: Sequence[str], comment: str) -> list[str]:
    if verdict != Verdict.REJECT:
        return []
    known = [reason.code for reason in benchmark_get(item.dialogue.benchmark).review_form.reasons]
    chosen = [code for code in known if code in set(reasons)]
    if set(reasons) - set(known) or not chosen:
        raise InvalidInput(
            _("To reject an item choose at least one reason: %(known)s.") % {"known": ", ".join(known)}, field="reasons"
        )
    if OTHER in chosen and not comment:
        raise InvalidInput(_("For another reason say in the comment what it is."), field="comment")
    return chosen


@transaction.atomic
def judgement_retract(*, judgement: Judgement, actor: Any, now: datetime) -> Assignment:
    """Take a judgement back within the round's undo window: a new row says so, and the person has the lease again.

    Opens the item again if it was closed by it. What was answered comes back as the draft. Conflict when the window is
    over, the judgement is no longer the person's last word, or the item is decided or frozen. Writes one Event.
    """
    item = (
        RoundItem.objects.select_for_update(of=("self",)).select_related("round", "dialogue").get(pk=judgement.item_id)
    )
    lease = Assignment.objects.select_related("item__round", "item__dialogue", "annotator").get(
        pk=judgement.assignment_id
    )
    last = lease.judgements.order_by("-revision").first()
    if last is None or last.pk != judgement.pk or judgement.retracted:
        raise Conflict(_("This judgement was taken back or replaced already."))
    if now - judgement.created > timedelta(seconds=item.round.undo_seconds):
        raise Conflict(_("The time to take this judgement back is over; it stays as it is."))
    if lease.kind == Kind.WORK:  # what is said of an item as gold or again never closed it
        item_reopen(item=item, actor=actor, reason="undo")
    _lease_return(lease, judgement, now)
    Judgement.objects.create(
        item=item,
        annotator_id=judgement.annotator_id,
        assignment=lease,
        revision=Judgement.objects.filter(item=item, annotator_id=judgement.annotator_id).count(),
        retracted=True,
        late=judgement.late,
        client_key=f"undo-{judgement.uid}",
    )
    event_record(actor=actor, verb="retracted", entity=item, judgement=judgement.uid)
    return lease


def _lease_return(lease: Assignment, judgement: Judgement, now: datetime) -> None:
    draft = {
        "verdict": judgement.verdict,
        "grades": dict(judgement.grades.values_list("variant__uid", "value")),
        "reasons": judgement.reasons,
        "comment": judgement.comment,
        "heard": judgement.heard,
        "active_ms": judgement.active_ms,
    }
    state = State.ACTIVE if lease.state == State.SUBMITTED else State.EXPIRED
    until = now + timedelta(minutes=lease.item.round.lease_minutes)
    Assignment.objects.filter(pk=lease.pk, state=lease.state).update(
        state=state, lease_until=until, ended_at=None if state == State.ACTIVE else now, draft=draft
    )
    lease.refresh_from_db(fields=["state", "lease_until", "ended_at", "draft"])
