"""A round is made, filled and steered here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.domain.assignment import ORDERS, shuffle_place, twin_key
from annotation.domain.round_query import RoundQuery
from annotation.domain.round_rules import GRADE_RULES, VERDICT_RULES, questions_check, skills_check
from annotation.models import Assignment, Chore, Kind, Participation, Round, RoundItem
from annotation.selectors.fitting import dialogues_for_round
from annotation.services.chores import (
    AT_ONCE,
    chore_ask,
    chore_run,
    closing,
    items_close_full,
    items_full,
    items_of_closed,
    opening,
)
from annotation.services.item_sets import items_set_aside, items_take_back
from annotation.services.items import ROUND_CLOSED
from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import Conflict, InvalidInput, UnknownAlias
from eqstudio.events import event_record
from eqstudio.ids import uid
from eqstudio.models import User
from generation.domain.lifecycle import DialogueState
from generation.models import Corpus, Dialogue
from generation.services import dialogues_move

CHUNK = 200
OPENED_AGAIN = "round opened again"


class RoundRules(TypedDict, total=False):
    """What a researcher decides about a round; the fields of ``Round`` say what each means."""

    name: str
    query: dict[str, Any]
    opens_at: datetime | None
    closes_at: datetime | None
    people_per_item: int
    people_at_most: int | None
    agree_needed: int
    rule: str
    grade_rule: str
    gate_share: float
    lease_minutes: int
    undo_seconds: int
    show_transcript: bool
    show_feedback: bool
    questions: dict[str, Any]
    guidelines: str
    rubric_language: str
    order: str
    items_per_person: int | None
    items_per_day: int | None
    items_per_sitting: int | None
    sitting_break_minutes: int
    invited_only: bool
    skills_needed: list[str]
    language_needed: bool
    exclude_authors: bool
    exclude_twins: bool
    quality: dict[str, Any]


def round_create(
    *,
    corpus: Corpus | None,
    actor: User | None = None,
    benchmark: str = "",
    language: str = "",
    seed: int = 0,
    is_demo: bool = False,
    **rules: Unpack[RoundRules],
) -> Round:
    """Make an open round without items and write one Event; ``round_top_up`` fills it.

    InvalidInput names the field that is wrong, Conflict a name that is taken. The rubric version is the benchmark's.
    """
    new = Round(
        corpus=corpus,
        benchmark=benchmark,
        language=language,
        seed=seed,
        is_demo=is_demo,
        rubric_version=benchmark_get(benchmark).version if benchmark else "",
        created_by=actor,
        **rules,
    )
    _check(new)
    try:
        with transaction.atomic():
            new.save()
            event_record(actor=actor, verb="created", entity=new, name=new.name)
    except IntegrityError as error:
        raise _taken(new.name) from error
    return new


def _taken(name: str) -> Conflict:
    return Conflict(_("There is a round called %(name)s already. Choose another name.") % {"name": name}, field="name")


def _check(new: Round) -> None:
    """Look at a round whole before it is saved; what is kept as data is put into its one form."""
    _check_numbers(new)
    for field, alias, known in (
        ("order", new.order, ORDERS),
        ("rule", new.rule, VERDICT_RULES),
        ("grade_rule", new.grade_rule, GRADE_RULES),
    ):
        if alias not in known:
            raise UnknownAlias(kind=field, alias=alias, known=sorted(known))
    new.query = RoundQuery.from_dict(new.query).as_dict()
    new.questions = questions_check(new.questions)
    new.skills_needed = skills_check(new.skills_needed)
    if new.opens_at and new.closes_at and new.closes_at <= new.opens_at:
        raise InvalidInput(_("A round closes after it opens."), field="closes_at")
    try:
        new.clean_fields(exclude={"corpus", "created_by"})
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise InvalidInput(f"{field}: {' '.join(messages)}", field=field) from error


def _check_numbers(new: Round) -> None:
    if new.people_per_item < 1:
        raise InvalidInput(_("At least one person judges an item."), field="people_per_item")
    if new.people_at_most is not None and new.people_at_most < new.people_per_item:
        raise InvalidInput(
            _("The most people for an item cannot be fewer than the %(people)d it begins with.")
            % {"people": new.people_per_item},
            field="people_at_most",
        )
    if not 1 <= new.agree_needed <= new.people_per_item:
        raise InvalidInput(
            _("Between 1 and %(people)d people can be needed to agree.") % {"people": new.people_per_item},
            field="agree_needed",
        )
    if not 0 <= new.gate_share <= 1:
        raise InvalidInput(_("The share to be heard lies between 0 and 1."), field="gate_share")
    if new.lease_minutes < 1:
        raise InvalidInput(_("A reservation lasts at least one minute."), field="lease_minutes")
    for field in ("items_per_person", "items_per_day", "items_per_sitting"):
        if getattr(new, field) is not None and getattr(new, field) < 1:
            raise InvalidInput(_("A limit is at least 1; leave it empty for none."), field=field)


@transaction.atomic
def round_update(*, round: Round, actor: User | None = None, **rules: Unpack[RoundRules]) -> Round:  # noqa: A002
    """Change the rules of a round while people work in it, and write one Event with what they were before.

    More people per item: open items ask for them, closed ones stay decided. Fewer: never fewer than hold an item already,
    and what is then complete is closed. Another order begins everybody's walk anew. InvalidInput names a wrong field,
    Conflict a name that is taken; then nothing is changed.
    """
    locked = Round.objects.select_for_update(of=("self",)).get(pk=round.pk)
    before = {name: getattr(locked, name) for name in rules}
    for name, value in rules.items():
        setattr(locked, name, value)
    _check(locked)
    changed = {name: value for name, value in before.items() if getattr(locked, name) != value}
    if changed:
        if "name" in changed and Round.objects.filter(name=locked.name).exclude(pk=locked.pk).exists():
            raise _taken(locked.name)
        locked.save(update_fields=list(changed))
        told = {name: [str(value), str(getattr(locked, name))] for name, value in changed.items()}
        event_record(actor=actor, verb="rules changed", entity=locked, changed=told)
        if "order" in changed:
            Participation.objects.filter(round=locked).update(cursor=0)
        if "people_per_item" in changed:
            _people_set(locked, changed["people_per_item"], actor)
    round.refresh_from_db()
    return round


def _people_set(round_: Round, before: int, actor: User | None) -> None:
    """Let open items ask for ``people_per_item``; those that an undecided vote has given more keep them. What is then
    complete is closed, very many items by a chore.
    """
    items = round_.items.filter(kind=Kind.WORK, closed_at=None)
    after = round_.people_per_item
    items.filter(wanted__lt=after).update(wanted=after)
    if after > before:
        return
    lowered = items.filter(wanted=before)
    lowered.filter(held__lte=after).update(wanted=after)
    lowered.filter(held__gt=after).update(wanted=F("held"))
    full = items_full(round=round_)
    if (many := full.count()) > AT_ONCE // 5:  # each is closed by itself
        chore_ask(round=round_, work=Chore.Work.SETTLE, total=many, actor=actor)
        return
    for _seen in items_close_full(round=round_):
        pass


def round_top_up(*, round: Round, actor: User | None = None) -> int:  # noqa: A002 -- the word of the domain
    """Take the READY dialogues of the round's corpus that fit its benchmark, language and query into the round.

    They go in with their moves to IN_REVIEW, so many in one transaction; one that somebody else moved first is left alone.
    Writes one Event when anything was added. Returns how many were added. Conflict when the round is closed; one that is
    closed meanwhile takes no more.
    """
    _not_closed(round)
    added = 0
    for added in _filling(round, actor):  # noqa: B007 -- the last one is wanted
        pass
    return added


def round_top_up_ask(*, round: Round, actor: User | None = None) -> Chore | int:  # noqa: A002
    """As ``round_top_up``; where very many dialogues fit, ask for it as a chore instead and return that."""
    _not_closed(round)
    fitting = len(dialogues_for_round(round=round))
    if fitting <= AT_ONCE:
        return round_top_up(round=round, actor=actor)
    return chore_ask(round=round, work=Chore.Work.FILL, total=fitting, actor=actor)


def _not_closed(round_: Round) -> None:
    if round_.state == Round.State.CLOSED:
        raise Conflict(_("This round is closed. Open it again to take in what is ready."))


def _filling(round_: Round, actor: User | None, before: int = 0) -> Iterator[int]:
    """``before`` were added by a run that was cut off: the Event tells of all."""
    ids, added = dialogues_for_round(round=round_), 0
    for begin in range(0, len(ids), CHUNK):
        added += _items_add(round_.pk, ids[begin : begin + CHUNK], actor)
        yield added
    if before + added:
        round_.refresh_from_db(fields=["items_total"])
        event_record(actor=actor, verb="topped up", entity=round_, added=before + added)


@transaction.atomic
def _items_add(round_id: int, keys: Sequence[int], actor: User | None) -> int:
    """Take those of the dialogues that are still READY, as far as the round's limit goes; a closed round takes none.

    The round's row is held first, so that its rules and its number of items stay as they are read here; then the rows of
    the dialogues, so that nobody moves one in between.
    """
    round_ = Round.objects.select_for_update(no_key=True).get(pk=round_id)
    if round_.state == Round.State.CLOSED:
        return 0
    ready = Dialogue.objects.filter(pk__in=keys, state=DialogueState.READY.value).order_by("pk")
    if limit := RoundQuery.from_dict(round_.query).limit:
        ready = ready[: max(0, limit - round_.items.filter(kind=Kind.WORK).count())]
    found = list(ready.select_for_update(of=("self",)).select_related("brief__batch"))
    dialogues_move(
        keys=[dialogue.pk for dialogue in found],
        before=DialogueState.READY,
        to=DialogueState.IN_REVIEW,
        actor=actor,
        reason=f"round {round_.name}",
    )
    RoundItem.objects.bulk_create(RoundItem(**item_fields(round=round_, dialogue=dialogue)) for dialogue in found)
    if found:
        Round.objects.filter(pk=round_id).update(items_total=F("items_total") + len(found))
    return len(found)


def item_fields(*, round: Round, dialogue: Dialogue) -> dict[str, Any]:  # noqa: A002
    """What an item of kind work starts with; its place in the circle follows from the round's seed."""
    public_id = uid()
    batch = dialogue.brief.batch if dialogue.brief else None
    return {
        "uid": public_id,
        "round": round,
        "dialogue": dialogue,
        "category": dialogue.category,
        "language": dialogue.language,
        "author_id": batch.created_by_id if batch else None,
        "twin_key": twin_key(benchmark=dialogue.benchmark, topic_key=dialogue.topic_key),
        "shuffle": shuffle_place(seed=str(round.seed), key=public_id),
        "wanted": round.people_per_item,
    }


@transaction.atomic
def round_set_state(
    *,
    round: Round,  # noqa: A002
    state: Round.State,
    actor: User | None = None,
    reason: str = "",
) -> Round:
    """Open, pause or close a round and write one Event; doing it twice is harmless. A closed round can be opened again.

    People read why it is paused. Work in progress stays with its people: what they hold can still be submitted. What was
    judged by too few when a round closes goes to an expert, and back to the queue when the round opens again; very many
    items by a chore.
    """
    reason = reason.strip()[:300] if state == Round.State.PAUSED else ""
    was = Round.objects.select_for_update().values_list("state", flat=True).get(pk=round.pk)
    changed = (
        Round.objects.filter(pk=round.pk)
        .exclude(state=state.value, paused_because=reason)
        .update(state=state.value, paused_because=reason)
    )
    round.state, round.paused_because = state.value, reason
    if changed:
        event_record(actor=actor, verb=f"set to {state.value}", entity=round, **({"reason": reason} if reason else {}))
    if changed and state == Round.State.CLOSED:
        _items_of_closed_end(round, actor)
    if was == Round.State.CLOSED and state != was:
        items = _too_few(round)
        if (many := items.count()) > AT_ONCE:
            chore_ask(round=round, work=Chore.Work.REOPEN, total=many, actor=actor)
        else:
            items_take_back(items=items, actor=actor, reason=OPENED_AGAIN)
            for _seen in items_close_full(round=round):  # fewer may be asked by now
                pass
    return round


def _items_of_closed_end(round_: Round, actor: User | None) -> None:
    """Close what is complete and send the rest to an expert; by a chore where very many items may be either."""
    items = items_of_closed(round=round_)
    settling = round_.chores.filter(work=Chore.Work.SETTLE).exclude(state=Chore.State.DONE)
    many = items.count()
    if many > AT_ONCE or (many and settling.exists()):
        chore_ask(round=round_, work=Chore.Work.CLOSE, total=many, actor=actor)
        return
    for _seen in items_close_full(round=round_):
        pass
    items_set_aside(items=items, reason=ROUND_CLOSED, now=timezone.now())


def _too_few(round_: Round) -> QuerySet[RoundItem]:
    """Items that went to an expert because the round closed, and that none has looked at; those in a frozen split stay."""
    waiting = round_.items.filter(kind=Kind.WORK, outcome=RoundItem.Outcome.DISPUTED, given__lt=F("wanted"))
    waiting = waiting.exclude(dialogue__state=DialogueState.FROZEN.value)
    unjudgeable = Assignment.objects.filter(item=OuterRef("pk"), skip=Assignment.Skip.UNJUDGEABLE)
    return waiting.filter(~Exists(unjudgeable), adjudications=None)


def round_chore_run(*, chore_id: int, now: datetime) -> Chore:
    """Do what was asked for of very many items of a round. Run twice, it is done once."""
    steps = {
        Chore.Work.FILL.value: lambda chore: _filling(chore.round, chore.created_by, chore.done),
        Chore.Work.CLOSE.value: lambda chore: closing(chore, ROUND_CLOSED),
        Chore.Work.REOPEN.value: lambda chore: opening(chore, _too_few(chore.round), OPENED_AGAIN),
        Chore.Work.SETTLE.value: lambda chore: items_close_full(round=chore.round),
    }
    return chore_run(chore_id=chore_id, steps=steps, now=now)
