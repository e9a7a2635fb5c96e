"""An item of a round is closed by consensus, set aside, opened again, or decided by an expert here."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.domain.consensus import disagreement
from annotation.models import Adjudication, Judgement, Kind, Round, RoundItem
from annotation.selectors.consensus import verdict_decided
from annotation.selectors.judgements import Tally, item_tally, live_judgements, required_clips
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from eqstudio.prepared import Prepared, PreparedUpdate
from generation.domain.lifecycle import DialogueState
from generation.models import Dialogue
from generation.services import dialogue_move

Outcome = RoundItem.Outcome
Action = Adjudication.Action
STATES = {
    Outcome.KEPT: DialogueState.KEPT,
    Outcome.REJECTED: DialogueState.REJECTED,
    Outcome.DISPUTED: DialogueState.DISPUTED,
}
_BY_VERDICT = {Judgement.Verdict.KEEP.value: Outcome.KEPT, Judgement.Verdict.REJECT.value: Outcome.REJECTED}
MOST_PEOPLE = 50
ROUND_CLOSED = "the round was closed"
_COUNTED = ("closed_at", "outcome", "wanted", "given", "disagreement")
_LAST_DECISION = Prepared[Adjudication](lambda item: Adjudication.objects.filter(item_id=item).order_by("-pk")[:1])
_COUNT = PreparedUpdate(
    lambda item, given, disagreement, wanted: (
        RoundItem.objects.filter(pk=item, closed_at=None),
        {"given": given, "disagreement": disagreement, "wanted": wanted},
    )
)


def last_decision(*, item: RoundItem) -> Adjudication | None:
    """What an expert last did with the item."""
    return _LAST_DECISION.first(item=item.pk)


def is_decided(*, item: RoundItem) -> bool:
    """Whether an expert's decision stands: then people's judgements of the item are frozen."""
    last = last_decision(item=item)
    return last is not None and last.action == Action.DECIDED


@transaction.atomic(savepoint=False)
def item_close(*, item: RoundItem, now: datetime) -> RoundItem:
    """Close an item once everybody asked for has judged it: the round's rule decides, else it is disputed.

    Keeps ``given`` and ``disagreement``. A judgement that is not usable leaves a gap, and one more person is asked; an
    undecided item of an adaptive round asks one more, up to the round's cap. In a closed round nobody else will come, so
    what too few have judged goes to an expert as soon as nobody holds it. Moves the dialogue and writes one Event when the
    item closes; an item that is closed already keeps its outcome.
    """
    tally = item_tally(item=item)
    votes = tally.votes
    counts = {"given": len(votes), "disagreement": disagreement(votes)}
    row = RoundItem.objects.filter(pk=item.pk)
    if item.kind != Kind.WORK or item.closed_at is not None:
        row.update(**counts)
        item.refresh_from_db(fields=_COUNTED)
        return item
    needed, decided = _needed(item, tally)
    counts["wanted"] = max(needed + tally.submitted - len(votes), tally.held)  # never below the leases that are held
    if not _COUNT.run(item=item.pk, **counts):  # closed meanwhile
        item.refresh_from_db(fields=_COUNTED)
        return item_close(item=item, now=now)
    for name, value in counts.items():
        setattr(item, name, value)
    if len(votes) >= needed:
        outcome = Outcome.DISPUTED if decided is None else _BY_VERDICT[decided]
        if _end(item, outcome, now=now, reason=f"round {item.round.name}"):
            event_record(actor=None, verb="closed", entity=item, outcome=outcome.value, votes=sorted(votes))
        item.refresh_from_db(fields=_COUNTED)
    elif votes and tally.closed_round and tally.held == tally.submitted:
        item_set_aside(item=item, reason=ROUND_CLOSED, now=now)
    return item


@transaction.atomic(savepoint=False)
def item_left(*, item_id: int, now: datetime) -> None:
    """See to an item whose lease of kind work has ended without an answer: in a closed round it may have been the last."""
    waiting = RoundItem.objects.filter(pk=item_id, closed_at=None, given__gte=1, round__state=Round.State.CLOSED)
    item = waiting.select_related("round", "dialogue").first()
    if item is not None:
        item_close(item=item, now=now)


def _needed(item: RoundItem, tally: Tally) -> tuple[int, str | None]:
    """How many judgements that count the item needs, and the verdict that the round's rule finds in those there are."""
    decided = verdict_decided(item=item, votes=tally.votes)
    last = last_decision(item=item) if tally.adjudicated else None
    return _people_needed(item, tally.votes, last, decided=decided is not None), decided


def _people_needed(item: RoundItem, votes: list[str], last: Adjudication | None, *, decided: bool) -> int:
    """How many judgements that count the item needs before it may close."""
    needed = item.round.people_per_item
    if last is not None and last.action == Action.MORE:
        # By the lease, for who has spoken before and changes their answer is nobody new.
        spoken = Judgement.objects.filter(item=item, created__lte=last.created).values("assignment")
        before = live_judgements(item=item).filter(assignment__in=spoken).count()
        needed = max(needed, before + last.more_people)
    cap = item.round.people_at_most
    if needed <= len(votes) and not decided and cap is not None and len(votes) < cap:
        needed = len(votes) + 1
    return needed


def _end(item: RoundItem, outcome: Outcome, *, now: datetime, reason: str) -> bool:
    """Close an open item and move its dialogue; False when it was closed already."""
    closed = RoundItem.objects.filter(pk=item.pk, closed_at=None).update(closed_at=now, outcome=outcome.value)
    if closed:
        dialogue = Dialogue.objects.get(pk=item.dialogue_id)
        dialogue_move(dialogue=dialogue, to=STATES[outcome], reason=reason)
    return bool(closed)


@transaction.atomic
def item_set_aside(*, item: RoundItem, reason: str, now: datetime) -> RoundItem:
    """Send an item that people say cannot be judged to an expert, although judgements are missing: disputed, not decided.

    Moves the dialogue and writes one Event; an item that is closed already stays as it is.
    """
    if _end(item, Outcome.DISPUTED, now=now, reason="set aside"):
        event_record(actor=None, verb="set aside", entity=item, reason=reason)
    item.refresh_from_db(fields=["closed_at", "outcome"])
    return item


@transaction.atomic
def item_reopen(*, item: RoundItem, actor: User | None, reason: str) -> RoundItem:
    """Open a closed item again before its judgements change, its dialogue back in review, with one Event.

    An open one stays as it is. So do the outcome of one that is no longer work, which would not be closed again, and that
    of one that was set aside: it waits for an expert, however those who could judge it change their minds.

    Conflict as in ``item_changeable``.
    """
    dialogue = item_changeable(item=item)
    if item.kind == Kind.WORK and not _is_set_aside(item):
        _reopen(item, dialogue, actor, reason)
    return item


def item_changeable(*, item: RoundItem) -> Dialogue:
    """The dialogue of an item whose judgements may change; Conflict when an expert has decided it or when it is part of a
    frozen split.
    """
    dialogue = _not_frozen(item, _("This item is part of a frozen split, so its judgements can no longer change."))
    if is_decided(item=item):
        raise Conflict(_("An expert has decided this item, so its judgements can no longer change."))
    return dialogue


def _is_set_aside(item: RoundItem) -> bool:
    """Whether the item went to an expert although judgements are missing."""
    if item.outcome != Outcome.DISPUTED:
        return False
    tally = item_tally(item=item)
    return len(tally.votes) < _needed(item, tally)[0]


def _reopen(item: RoundItem, dialogue: Dialogue, actor: User | None, reason: str) -> None:
    if RoundItem.objects.filter(pk=item.pk, closed_at__isnull=False).update(closed_at=None, outcome=""):
        dialogue_move(dialogue=dialogue, to=DialogueState.IN_REVIEW, actor=actor, reason=reason)
        event_record(actor=actor, verb="reopened", entity=item, reason=reason)
    item.refresh_from_db(fields=["closed_at", "outcome"])


def _not_frozen(item: RoundItem, message: str) -> Dialogue:
    dialogue = Dialogue.objects.get(pk=item.dialogue_id)
    if dialogue.state == DialogueState.FROZEN.value:
        raise Conflict(message)
    return dialogue


def _locked(item: RoundItem, reason: str) -> tuple[RoundItem, Dialogue, str]:
    if not reason.strip():
        raise InvalidInput(_("Say why: the reason is kept with the decision."), field="reason")
    found = RoundItem.objects.select_for_update(of=("self",)).select_related("round", "dialogue").get(pk=item.pk)
    dialogue = _not_frozen(found, _("This item is part of a frozen split, so its outcome can no longer change."))
    return found, dialogue, reason.strip()


@transaction.atomic
def item_adjudicate(
    *, item: RoundItem, verdict: str, reason: str, actor: User, grades: Mapping[str, int] | None = None
) -> Adjudication:
    """Record an expert's decision on a closed item, set its outcome, move its dialogue, and write one Event.

    ``grades`` are the expert's own, by variant uid, where given. Only once all judgements are in (Conflict), with a reason
    (InvalidInput); the latest decision counts. The judgements stay as they are, under their authors, and can no longer be
    changed.
    """
    if verdict not in Judgement.Verdict.values:
        raise InvalidInput(_("Decide keep or reject."), field="verdict")
    item, dialogue, reason = _locked(item, reason)
    if item.closed_at is None:
        raise Conflict(_("Not everybody has judged this item yet, so there is nothing to decide."))
    own = _own_grades(item, grades or {})
    decision = Adjudication.objects.create(item=item, decided_by=actor, verdict=verdict, reason=reason, grades=own)
    outcome = _BY_VERDICT[verdict]
    RoundItem.objects.filter(pk=item.pk).update(outcome=outcome.value)
    _move(dialogue, STATES[outcome], actor)
    event_record(actor=actor, verb="adjudicated", entity=item, verdict=verdict, reason=reason)
    return decision


def _own_grades(item: RoundItem, grades: Mapping[str, int]) -> dict[str, int]:
    graded = {clip.uid for clip in required_clips(dialogue=item.dialogue) if clip.graded}
    if set(grades) - graded:
        raise InvalidInput(_("There is a grade for something that is not graded in this item."), field="grades")
    if any(isinstance(value, bool) or value not in (1, 2, 3, 4) for value in grades.values()):
        raise InvalidInput(_("A grade is 1, 2, 3 or 4."), field="grades")
    return dict(grades)


def _move(dialogue: Dialogue, to: DialogueState, actor: User) -> None:
    """Move a dialogue to where the decision puts it; from kept to rejected and back by way of disputed."""
    if dialogue.state == to.value:
        return
    if DialogueState.DISPUTED.value not in (dialogue.state, to.value):
        dialogue_move(dialogue=dialogue, to=DialogueState.DISPUTED, actor=actor, reason="adjudication")
    dialogue_move(dialogue=dialogue, to=to, actor=actor, reason="adjudication")


@transaction.atomic
def item_ask_more(*, item: RoundItem, people: int, reason: str, actor: User, now: datetime) -> Adjudication:
    """Send a closed item to ``people`` more people: it is open again, its dialogue back in review. Writes one Event.

    InvalidInput for a number outside 1 to 50 or without a reason, Conflict when the item is still open, when a decision
    stands (open that again first), or when the item is frozen.
    """
    if not 1 <= people <= MOST_PEOPLE:
        raise InvalidInput(_("Ask 1 to %(most)d more people.") % {"most": MOST_PEOPLE}, field="people")
    item, dialogue, reason = _locked(item, reason)
    if item.closed_at is None:
        raise Conflict(_("This item is still being judged; nobody more is needed yet."))
    if is_decided(item=item):
        raise Conflict(_("This item is decided. Open the decision again first."))
    asked = Adjudication.objects.create(
        item=item, decided_by=actor, action=Action.MORE, more_people=people, reason=reason
    )
    _reopen(item, dialogue, actor, reason)
    event_record(actor=actor, verb="asked for more judgements", entity=item, people=people, reason=reason)
    item_close(item=item, now=now)
    return asked


@transaction.atomic
def item_decision_reopen(*, item: RoundItem, reason: str, actor: User) -> Adjudication:
    """Take an expert's decision back: the item is disputed again and its judgements are no longer frozen. The decision
    stays in the trail. Conflict when no decision stands. Writes one Event.
    """
    item, dialogue, reason = _locked(item, reason)
    if not is_decided(item=item):
        raise Conflict(_("No decision stands on this item, so there is nothing to open again."))
    taken = Adjudication.objects.create(item=item, decided_by=actor, action=Action.REOPENED, reason=reason)
    RoundItem.objects.filter(pk=item.pk).update(outcome=Outcome.DISPUTED.value)
    _move(dialogue, DialogueState.DISPUTED, actor)
    event_record(actor=actor, verb="decision reopened", entity=item, reason=reason)
    return taken
