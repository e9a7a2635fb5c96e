"""Which item with a known answer, or which item again, comes before the next work."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BooleanField, Count, ExpressionWrapper, Q
from django.utils.crypto import salted_hmac

from annotation.domain.quality import QualityRules, gold_due, passed, repeat_due
from annotation.models import Assignment, Kind, Participation, Round, RoundItem
from annotation.selectors.candidates import HEARD
from annotation.selectors.quality import ANSWERED, checked, first_words, items_with_answers, last_words, rules_of
from annotation.services.participation_moves import after_training, participation_move
from eqstudio.prepared import Prepared

State = Participation.State
Lease = Assignment.State
NOT_TRAINED, NOT_QUALIFIED = "training", "qualification"
_GIVEN = Prepared[tuple[str, int]](
    lambda within, person: (
        Assignment.objects.filter(
            Q(kind=Kind.REPEAT) | Q(state__in=ANSWERED),
            kind__in=[Kind.GOLD, Kind.REPEAT],
            item__round_id=within,
            annotator_id=person,
        )
        .order_by()
        .values_list("kind")
        .annotate(n=Count("item_id", distinct=True))
    )
)
"""How many known answers a person has given in a round, and how many items they have met again."""
_NEVER_AGAIN = (Assignment.Skip.OTHERS.value, Assignment.Skip.UNJUDGEABLE.value)
REPEATS_FROM = 200
"""A repetition is drawn from this many of a person's older items."""


def special_next(*, participation: Participation, now: datetime) -> tuple[RoundItem, Kind] | None:
    """The training, qualification, gold or repeated item that is due for the person now; None when work is.

    Where nothing is left to train or qualify on, moves the person on. Running out of gold stops nobody.
    """
    rules = rules_of(participation.round)
    if participation.state == State.TRAINING:
        found = _unanswered(participation, Kind.TRAINING)
        if found is not None:
            return found, Kind.TRAINING
        training_progress(participation=participation, rules=rules)
    if participation.state == State.QUALIFYING:
        # Before the next item is asked for: what was skipped may have ended a try that is passed.
        qualification_progress(participation=participation, rules=rules)
        found = _qualification_next(participation, rules) if participation.state == State.QUALIFYING else None
        if found is not None:
            return found, Kind.QUALIFICATION
    if participation.state != State.ACTIVE:
        return None
    if not (rules.gold_first or rules.gold_every or rules.repeat_every):
        return None
    given = dict(_GIVEN.rows(within=participation.round_id, person=participation.annotator_id))
    gold = _gold_next(participation, rules, given.get(Kind.GOLD.value, 0), now)
    return gold or _repeat_next(participation, rules, given.get(Kind.REPEAT.value, 0))


def secret_seed(participation: Participation) -> str:
    """The person's own seed in the round, which nobody outside can compute."""
    return salted_hmac("annotation.specials", f"{participation.round.uid}:{participation.annotator.uid}").hexdigest()


def _leases(participation: Participation) -> Any:
    return Assignment.objects.filter(item__round_id=participation.round_id, annotator_id=participation.annotator_id)


def _unanswered(participation: Participation, kind: Kind) -> RoundItem | None:
    """The first item of a kind in order that the person has not answered; what they put off comes last."""
    return next(iter(_open_items(participation, kind)), None)


def _open_items(participation: Participation, kind: Kind) -> list[RoundItem]:
    rows = _leases(participation).filter(kind=kind).values_list("item_id", "state", "skip")
    answered = {item for item, state, _ in rows if state in ANSWERED}
    gone = {item for item, state, skip in rows if state == Lease.RELEASED and skip in _NEVER_AGAIN}
    later = {item for item, state, _ in rows if state == Lease.RELEASED}
    items = [
        item for item in items_with_answers(round=participation.round, kind=kind) if item.pk not in answered | gone
    ]
    return sorted(items, key=lambda item: item.pk in later)


def _results(participation: Participation, kind: Kind) -> list[bool]:
    """Right or wrong for each item of a kind in the order of their leases; one that was skipped for good is wrong."""
    words = first_words if kind == Kind.TRAINING else last_words
    judged = words(round=participation.round, kinds=[kind.value], annotator=participation.annotator)
    right = {row.item: row.right for row in checked(judged)}
    items = {item.pk for item in items_with_answers(round=participation.round, kind=kind)}
    over = Q(state__in=ANSWERED) | Q(skip__in=_NEVER_AGAIN)
    leases = _leases(participation).filter(over, kind=kind, item__in=items).order_by("pk")
    return [right.get(item, False) for item in dict.fromkeys(leases.values_list("item_id", flat=True))]


def training_progress(*, participation: Participation, rules: QualityRules) -> None:
    """Once every training item is over: on to qualification or work at the pass mark, else not qualified. Without
    training items everybody goes on.
    """
    if participation.state != State.TRAINING or _open_items(participation, Kind.TRAINING):
        return
    rights = _results(participation, Kind.TRAINING)
    _decide(participation, rights, rules.training_pass, to=after_training(rules), reason=NOT_TRAINED)


def _decide(participation: Participation, rights: Sequence[bool], mark: float, *, to: State, reason: str) -> None:
    if passed(rights, mark):
        participation_move(participation=participation, to=to, actor=None, evidence=_counted_from(participation))
    else:
        evidence = {"right": sum(rights), "asked": len(rights), "mark": mark}
        participation_move(
            participation=participation, to=State.NOT_QUALIFIED, actor=None, reason=reason, evidence=evidence
        )


def _counted_from(participation: Participation) -> dict[str, int]:
    return {key: value for key, value in participation.evidence.items() if key == "counted_from"}


def _tries(participation: Participation, rules: QualityRules) -> tuple[int, int]:
    """Items in one try, and how many items all tries together may take."""
    items = len(items_with_answers(round=participation.round, kind=Kind.QUALIFICATION))
    size = min(items, rules.qualification_items) if rules.qualification_items else items
    return size, size * min(rules.qualification_tries, items // size) if size else 0


def _qualification_next(participation: Participation, rules: QualityRules) -> RoundItem | None:
    """The next item of the present try; None when the tries are used up or too few items are left for another."""
    _, allowed = _tries(participation, rules)
    used = len(_results(participation, Kind.QUALIFICATION))
    return _unanswered(participation, Kind.QUALIFICATION) if used < allowed else None


def qualification_progress(*, participation: Participation, rules: QualityRules) -> None:
    """After each whole try: active at the pass mark; not qualified when no try is left. Without items all are active."""
    if participation.state != State.QUALIFYING:
        return
    size, allowed = _tries(participation, rules)
    rights = _results(participation, Kind.QUALIFICATION)
    over = len(rights) >= allowed
    if over or (len(rights) and len(rights) % size == 0 and passed(rights[-size:], rules.qualification_pass)):
        latest = rights[-size:] if size else []
        _decide(participation, latest, rules.qualification_pass, to=State.ACTIVE, reason=NOT_QUALIFIED)


def _gold_next(
    participation: Participation, rules: QualityRules, given: int, now: datetime
) -> tuple[RoundItem, Kind] | None:
    seed = secret_seed(participation)
    if not gold_due(rules, since=participation.since_gold, given=given, seed=seed):
        return None
    round_ = participation.round
    offered = [item for item in items_with_answers(round=round_, kind=Kind.GOLD) if _suits(item, participation)]
    fresh = _not_seen(participation, offered, round_, now)
    return (min(fresh, key=lambda item: _place(seed, item)), Kind.GOLD) if fresh else None


def _suits(item: RoundItem, participation: Participation) -> bool:
    """What holds for work holds for gold: not one's own, and in a language one speaks where the round asks for it."""
    round_, annotator = participation.round, participation.annotator
    if round_.exclude_authors and item.author_id == annotator.pk:
        return False
    return not round_.language_needed or item.language in annotator.speaks


def _not_seen(
    participation: Participation, items: Sequence[RoundItem], round_: Round, now: datetime
) -> list[RoundItem]:
    """Items the person has neither judged, in whatever kind, nor given back, nor heard in a twin. What they put off may
    come again after the length of a lease.
    """
    met = Q(item__in=[item.pk for item in items])
    if round_.exclude_twins:
        met |= Q(item__twin_key__in={item.twin_key for item in items if item.twin_key})
    rows = _leases(participation).filter(met)
    rows = rows.annotate(heard=ExpressionWrapper(HEARD, output_field=BooleanField()))
    rows = list(rows.values_list("item_id", "state", "skip", "ended_at", "item__twin_key", "heard"))
    again = now - timedelta(minutes=round_.lease_minutes)
    seen = {
        item
        for item, state, skip, ended, _, _ in rows
        if state in (Lease.ACTIVE, *ANSWERED)
        or (state == Lease.RELEASED and (skip in _NEVER_AGAIN or ended is None or ended > again))
    }
    heard = defaultdict(set)
    for item, state, _, _, key, sound in rows:
        if round_.exclude_twins and key and (state in ANSWERED or sound):
            heard[key].add(item)
    return [item for item in items if item.pk not in seen and not heard[item.twin_key] - {item.pk}]


def _repeat_next(participation: Participation, rules: QualityRules, given: int) -> tuple[RoundItem, Kind] | None:
    seed = secret_seed(participation)
    if not repeat_due(rules, since=participation.since_repeat, given=given, seed=seed):
        return None
    repeats = set(_leases(participation).filter(kind=Kind.REPEAT).values_list("item_id", flat=True))
    work = _leases(participation).filter(kind=Kind.WORK, state__in=ANSWERED).order_by("-ended_at", "-pk")
    gap = rules.repeat_gap
    older = [pk for pk in work.values_list("item_id", flat=True)[gap : gap + REPEATS_FROM] if pk not in repeats]
    items = RoundItem.objects.select_related("dialogue").filter(pk__in=older, kind=Kind.WORK)
    chosen = min(items, key=lambda item: _place(seed, item), default=None)
    return (chosen, Kind.REPEAT) if chosen is not None else None


def _place(seed: str, item: RoundItem) -> bytes:
    return hashlib.blake2b(f"{seed}:{item.uid}".encode(), digest_size=8).digest()
