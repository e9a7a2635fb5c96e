"""A judgement is taken, revised, and taken back here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Min, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.domain.gate import FASTEST, heard_possible
from annotation.domain.questions import OFF, Questions
from annotation.models import Assignment, Flag, Grade, Judgement, Kind, Round, RoundItem
from annotation.selectors.comparison import comparisons
from annotation.services.answers import COMMENT_LIMIT, Answer, answer_check
from annotation.services.assignments import lease_late, participation_counted
from annotation.services.items import item_changeable, item_close, item_reopen
from annotation.services.participations import judgement_checked, participation_get
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.prepared import Prepared, PreparedUpdate, row_insert, rows_insert_few

State = Assignment.State
KEY_LENGTH = 64
IMPOSSIBLE = "impossible_listening"
_TRAINED = gettext_lazy("This was training, and its answer was shown, so it stays as it is.")
_ROUND_NOT_OPEN = gettext_lazy("The round is not open, so its judgements can no longer change. They stay as they are.")
_ELSEWHERE = gettext_lazy(
    "You have judged this item already, in another tab perhaps: what you said there stands. Change it under My judgements."
)


_ITEM_LOCKED = Prepared[RoundItem](
    lambda item: RoundItem.objects.select_for_update(of=("self",)).select_related("dialogue").filter(pk=item).order_by()
)
_SAID = Prepared[Judgement](
    lambda key, item, person: Judgement.objects.filter(Q(client_key=key) | Q(item_id=item), annotator_id=person)
)
_IN_TIME = PreparedUpdate(
    lambda lease, now: (
        Assignment.objects.filter(pk=lease, state=State.ACTIVE, lease_until__gt=now),
        {"state": State.SUBMITTED, "ended_at": now},
    )
)


class _Said(NamedTuple):
    """What is sent, as it is sent; ``grades`` by variant uid."""

    verdict: str
    grades: Mapping[str, int]
    reasons: Sequence[str]
    comment: str
    answers: Mapping[str, Any]


@transaction.atomic
def grade_submit(
    *,
    assignment: Assignment,
    client_key: str,
    verdict: str,
    grades: Mapping[str, int],
    reasons: Sequence[str] = (),
    comment: str = "",
    answers: Mapping[str, Any] | None = None,
    heard: Mapping[str, Any],
    active_ms: int = 0,
    now: datetime,
) -> Judgement:
    """Store one person's judgement of one item and close the item when enough are in.

    A replay with the same ``client_key`` returns the row that is there; one that says something else is a Conflict (two
    tabs share the key that comes with the draft). The listening gate is computed here from the
    played intervals (InvalidInput, field ``heard``); a keep needs a grade for every graded variant, a reject a reason, and
    what the round asks besides (``domain.questions``) an answer. More sound than the lease has lasted for is flagged.

    An answer that comes after its lease has ended is kept with ``late`` set. It counts when a slot of the item is still
    free; otherwise its lease becomes ``late`` and it is stored beside the judgements that count. Conflict when the person
    has submitted this lease before under another key.

    Inserts Judgement and Grades, updates the Assignment, writes one Event, may move the dialogue (``item_close``).
    """
    item = _item_locked(assignment, client_key)
    before = _said_before(assignment, client_key)
    if before.replayed is not None:
        return _same(before.replayed, item, _Said(verdict, grades, reasons, comment, answers or {}))
    answer = answer_check(
        item=item,
        verdict=verdict,
        grades=grades,
        reasons=reasons,
        comment=comment,
        answers=answers or {},
        heard=heard,
        active_ms=active_ms,
    )
    late = _lease_take(assignment, now)
    judgement = _insert(assignment, item, client_key, answer, late=late, revision=before.revisions)
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
    round_, annotator = item.round, assignment.annotator
    if before.first:
        participation = participation_counted(round=round_, annotator=annotator, now=now, kind=assignment.kind)
    else:
        participation = participation_get(round=round_, annotator=annotator)
    _listening_check(judgement, assignment, item, answer, now)
    judgement_checked(judgement=judgement, participation=participation, now=now)
    return judgement


class Before(NamedTuple):
    """What the person has said of the item so far: the row with the same key, whether this is the first word on the lease,
    and how many rows there are.
    """

    replayed: Judgement | None
    first: bool
    revisions: int


def _item_locked(lease: Assignment, client_key: str) -> RoundItem:
    if not 0 < len(client_key) <= KEY_LENGTH:
        raise InvalidInput(_("A judgement needs a key of 1 to 64 characters."), field="client_key")
    item = _ITEM_LOCKED.rows(item=lease.item_id)[0]
    item.round = lease.item.round
    return item


def _counts(assignment: Assignment) -> bool:
    return assignment.kind == Kind.WORK and assignment.state == State.SUBMITTED


def _said_before(lease: Assignment, client_key: str) -> Before:
    rows = _SAID.rows(key=client_key, item=lease.item_id, person=lease.annotator_id)
    replayed = next((row for row in rows if row.client_key == client_key), None)
    if replayed is not None and replayed.item_id != lease.item_id:
        raise Conflict(_("This key was used for another item; nothing was stored twice."), field="client_key")
    return Before(replayed, all(row.assignment_id != lease.pk for row in rows), len(rows))


def _same(stored: Judgement, item: RoundItem, said: _Said) -> Judgement:
    """The row that this key stored before; Conflict when it says something else."""
    if not _says(stored, said, comments=Questions.from_dict(item.round.questions).comment != OFF):
        raise Conflict(str(_ELSEWHERE), field="client_key")
    return stored


def _says(stored: Judgement, said: _Said, *, comments: bool) -> bool:
    """Whether a row says what is said now, read as ``answer_check`` reads it. One query."""
    return (
        stored.verdict == said.verdict
        and dict(stored.grades.values_list("variant__uid", "value")) == dict(said.grades)
        and (stored.verdict != Judgement.Verdict.REJECT or set(stored.reasons) == set(said.reasons))
        and (not comments or stored.comment == str(said.comment).strip()[:COMMENT_LIMIT])
        and all(said.answers.get(name) == value for name, value in stored.answers.items())
    )


def _lease_take(assignment: Assignment, now: datetime) -> bool:
    """Turn the lease into a submitted one, or a late one when its slot is gone. True when the answer came late."""
    if _IN_TIME.run(lease=assignment.pk, now=now):
        assignment.state, assignment.ended_at = State.SUBMITTED.value, now
        return False
    active = Assignment.objects.filter(pk=assignment.pk, state=State.ACTIVE)
    if not active.update(state=State.SUBMITTED, ended_at=now):
        assignment.refresh_from_db(fields=["state", "lease_until", "slot"])
        if assignment.state in (State.SUBMITTED, State.LATE):
            raise Conflict(str(_ELSEWHERE), field="client_key")
        lease_late(assignment=assignment, now=now)
    assignment.refresh_from_db(fields=["state", "slot", "lease_until", "ended_at"])
    return True


def _insert(
    assignment: Assignment, item: RoundItem, client_key: str, answer: Answer, *, late: bool, revision: int
) -> Judgement:
    judgement = row_insert(
        Judgement(
            item=item,
            annotator_id=assignment.annotator_id,
            assignment=assignment,
            revision=revision,
            late=late,
            client_key=client_key,
            verdict=answer.verdict,
            reasons=answer.reasons,
            comment=answer.comment,
            answers=answer.answers,
            heard=answer.heard,
            active_ms=answer.active_ms,
        )
    )
    rows_insert_few(
        [Grade(judgement=judgement, variant_id=variant, value=value) for variant, value in answer.grades.items()]
    )
    return judgement


def _listening_check(
    judgement: Judgement, assignment: Assignment, item: RoundItem, answer: Answer, now: datetime
) -> None:
    """Flag an answer that claims more sound than the time since the person first held the item has room for.

    It is kept: a researcher decides. What was heard on an earlier lease of the item comes back with the draft, so the
    clock starts at the first. Pretend listeners of a demo do not wait.
    """
    if item.round.is_demo or heard_possible(answer.heard_s, elapsed_s=(now - assignment.created).total_seconds()):
        return
    began = item.assignments.filter(annotator_id=assignment.annotator_id).aggregate(at=Min("created"))["at"]
    elapsed = (now - began).total_seconds()
    if not heard_possible(answer.heard_s, elapsed_s=elapsed):
        Flag.objects.create(
            round=item.round,
            annotator_id=assignment.annotator_id,
            judgement=judgement,
            code=IMPOSSIBLE,
            key=judgement.uid,
            evidence={"heard_s": round(answer.heard_s, 1), "elapsed_s": round(elapsed, 1), "fastest": FASTEST},
        )


@transaction.atomic
def judgement_revise(
    *,
    judgement: Judgement,
    client_key: str,
    verdict: str,
    grades: Mapping[str, int],
    reasons: Sequence[str] = (),
    comment: str = "",
    answers: Mapping[str, Any] | None = None,
    heard: Mapping[str, Any],
    active_ms: int = 0,
    actor: Any,
    now: datetime,
) -> Judgement:
    """Say something else about an item: a new row with the next revision, which counts from now on where the first did.

    Fields as in ``grade_submit``; a replay with the same ``client_key`` returns the row that is there. Conflict when the
    round is not open, the judgement is no longer the person's last word, the item was decided by an expert or frozen, or
    the person has been shown the answer (training) or how others judged (``Round.show_feedback``).

    Where the judgement counts, reopens a closed item and closes it anew, so that its outcome follows; writes one Event.
    """
    lease = Assignment.objects.select_related("annotator", "item__round").get(pk=judgement.assignment_id)
    item = _item_locked(lease, client_key)
    before = _said_before(lease, client_key)
    if before.replayed is not None:
        return _same(before.replayed, item, _Said(verdict, grades, reasons, comment, answers or {}))
    refused = revision_refused(judgement=judgement, item=item, now=now)
    if refused:
        raise Conflict(refused)
    answer = answer_check(
        item=item,
        verdict=verdict,
        grades=grades,
        reasons=reasons,
        comment=comment,
        answers=answers or {},
        heard=heard,
        active_ms=active_ms,
    )
    if _counts(lease):
        item_reopen(item=item, actor=actor, reason="revision")
    elif lease.kind == Kind.WORK:  # late: it changes, but nothing follows from it
        item_changeable(item=item)
    revised = _insert(lease, item, client_key, answer, late=judgement.late, revision=before.revisions)
    event_record(actor=actor, verb="revised", entity=item, judgement=revised.uid, replaces=judgement.uid)
    if _counts(lease):
        item_close(item=item, now=now)
    return revised


def revision_refused(*, judgement: Judgement, item: RoundItem, now: datetime) -> str:
    """Why this judgement can no longer be changed, in words; empty when it can. Who is frozen or decided is not asked here."""
    last = Judgement.objects.filter(assignment_id=judgement.assignment_id).order_by("-revision").first()
    if last is None or last.pk != judgement.pk or judgement.retracted:
        return _("This judgement was taken back or replaced already.")
    if item.round.state != Round.State.OPEN:
        return str(_ROUND_NOT_OPEN)
    if item.kind == Kind.TRAINING:
        return str(_TRAINED)
    if comparisons([judgement], now=now):
        return _("You have been shown how others judged this item, so your judgement stays as it is.")
    return ""


@transaction.atomic
def judgement_retract(*, judgement: Judgement, actor: Any, now: datetime) -> Assignment:
    """Take a judgement back within the round's undo window: a new row says so, and the person has the lease again.

    Opens the item again if it was closed by it. What was answered comes back as the draft. Conflict when the window is
    over, the round is not open, the judgement is no longer the person's last word, it came late and nothing is left to
    give back, or the item is decided or frozen. Writes one Event.
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
    if item.kind == Kind.TRAINING:
        raise Conflict(str(_TRAINED))
    if item.round.state != Round.State.OPEN:
        raise Conflict(str(_ROUND_NOT_OPEN))
    if lease.state == State.LATE:
        raise Conflict(
            _("This answer came after the item had gone to others, so it cannot be taken back, only changed.")
        )
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
    item_close(item=item, now=now)
    event_record(actor=actor, verb="retracted", entity=item, judgement=judgement.uid)
    return lease


def answer_draft(*, judgement: Judgement) -> dict[str, Any]:
    """What was answered, in the form of a draft. One query."""
    return {
        "verdict": judgement.verdict,
        "grades": dict(judgement.grades.values_list("variant__uid", "value")),
        "reasons": judgement.reasons,
        "comment": judgement.comment,
        "answers": judgement.answers,
        "heard": judgement.heard,
        "active_ms": judgement.active_ms,
    }


def _lease_return(lease: Assignment, judgement: Judgement, now: datetime) -> None:
    draft = answer_draft(judgement=judgement)
    until = now + timedelta(minutes=lease.item.round.lease_minutes)
    Assignment.objects.filter(pk=lease.pk, state=lease.state).update(
        state=State.ACTIVE, lease_until=until, ended_at=None, draft=draft
    )
    lease.refresh_from_db(fields=["state", "lease_until", "ended_at", "draft"])
