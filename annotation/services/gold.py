"""Items become gold, training or qualification with a known answer here, and stop being it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import median_high
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils.translation import gettext as _

from annotation.domain.assignment import shuffle_place, twin_key
from annotation.models import Adjudication, Assignment, GoldAnswer, Grade, Judgement, Kind, Round, RoundItem
from annotation.selectors.judgements import live_judgements
from annotation.selectors.quality import KNOWN_KINDS, graded_uids
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.ids import uid
from eqstudio.models import User
from generation.domain.lifecycle import REVIEWABLE, DialogueState
from generation.models import Dialogue
from generation.services import dialogue_move

TOLERANCE_MOST = 3
GRADES = range(1, 5)


@transaction.atomic
def gold_set(
    *,
    item: RoundItem,
    kind: str = Kind.GOLD.value,
    verdict: str = "",
    grades: Mapping[str, int] | None = None,
    tolerance: int = 1,
    explanation: str = "",
    actor: User,
) -> GoldAnswer:
    """Give an item a known answer and ask for it as ``kind`` from now on; the latest answer counts, earlier ones stay.

    Judgements that were given as work before still count; those to come do not. Conflict while people are at work on it.
    An item that was waiting for work leaves the review, and its dialogue is ready again. Writes one Event.
    """
    grades = dict(grades or {})
    _answer_check(item, kind, verdict, grades, tolerance)
    _kind_set(item, kind, actor)
    made = GoldAnswer.objects.create(
        item=item,
        verdict=verdict,
        grades=grades,
        tolerance=tolerance,
        explanation=explanation.strip(),
        set_by=actor,
    )
    event_record(actor=actor, verb="set a known answer", entity=item, kind=kind, answer=made.uid)
    return made


def _answer_check(item: RoundItem, kind: str, verdict: str, grades: Mapping[str, Any], tolerance: int) -> None:
    if kind not in KNOWN_KINDS:
        raise InvalidInput(_("A known answer belongs to gold, training or qualification."), field="kind")
    if verdict and verdict not in Judgement.Verdict.values:
        raise InvalidInput(_("The known verdict is keep, reject, or none."), field="verdict")
    if not verdict and not grades:
        raise InvalidInput(_("Give a known verdict, a known grade, or both."), field="verdict")
    unknown = set(grades) - set(graded_uids(item))
    if unknown or any(grade not in GRADES or isinstance(grade, bool) for grade in grades.values()):
        raise InvalidInput(_("Known grades are 1 to 4, for versions of this item that are graded."), field="grades")
    if isinstance(tolerance, bool) or not 0 <= tolerance <= TOLERANCE_MOST:
        raise InvalidInput(_("The tolerance lies between 0 and 3 grades."), field="tolerance")


def _kind_set(item: RoundItem, kind: str, actor: User) -> None:
    row = RoundItem.objects.select_for_update().get(pk=item.pk)
    if row.kind == Kind.WORK:
        begun = row.assignments.filter(kind=Kind.WORK, state__in=Assignment.HOLDING)
        if row.closed_at is None and begun.exists():
            raise Conflict(
                _("People are at work on this item. It can become gold when it is closed, or before anybody has begun.")
            )
        if row.closed_at is None:
            _dialogue_move(row, DialogueState.IN_REVIEW, DialogueState.READY, actor)
    _kind_write(row, kind)
    item.kind = kind


def _kind_write(row: RoundItem, kind: str) -> None:
    """Change the kind of a locked row, and with it how many items of work its round has."""
    RoundItem.objects.filter(pk=row.pk).update(kind=kind)
    work = (kind == Kind.WORK) - (row.kind == Kind.WORK)
    if work:
        Round.objects.filter(pk=row.round_id).update(items_total=Greatest(F("items_total") + work, 0))


def _dialogue_move(item: RoundItem, before: DialogueState, after: DialogueState, actor: User) -> bool:
    dialogue = Dialogue.objects.get(pk=item.dialogue_id)
    if dialogue.state != before.value:
        return False
    dialogue_move(dialogue=dialogue, to=after, actor=actor, reason="known answer")
    return True


@transaction.atomic
def gold_add(*, round: Round, dialogue: Dialogue, actor: User, **answer: Any) -> GoldAnswer:  # noqa: A002
    """Take a dialogue into the round for its known answer alone; ``answer`` is what ``gold_set`` takes.

    The dialogue stays where it is. Conflict when it cannot be listened to.
    """
    if dialogue.state not in {state.value for state in REVIEWABLE}:
        raise Conflict(_("This dialogue is not ready to be listened to, so it cannot become gold."))
    found = round.items.filter(dialogue=dialogue).first() or _item_make(round, dialogue, answer.get("kind", "gold"))
    found.round, found.dialogue = round, dialogue
    return gold_set(item=found, actor=actor, **answer)


def _item_make(round_: Round, dialogue: Dialogue, kind: str) -> RoundItem:
    public_id = uid()
    batch = dialogue.brief.batch if dialogue.brief else None
    try:
        with transaction.atomic():
            return RoundItem.objects.create(
                uid=public_id,
                round=round_,
                dialogue=dialogue,
                kind=kind,
                category=dialogue.category,
                language=dialogue.language,
                author_id=batch.created_by_id if batch else None,
                twin_key=twin_key(benchmark=dialogue.benchmark, topic_key=dialogue.topic_key),
                shuffle=shuffle_place(seed=str(round_.seed), key=public_id),
                wanted=round_.people_per_item,
            )
    except IntegrityError as error:
        raise Conflict(_("Somebody took this dialogue into the round at the same moment. Look again.")) from error


def gold_from_decision(*, item: RoundItem, actor: User, kind: str = Kind.GOLD.value) -> GoldAnswer:
    """Make an item that an expert decided into gold: their verdict, their grades (or the median of those that count,
    the higher of two), their reason as the explanation. Conflict when nobody has decided it.
    """
    decision = item.adjudications.order_by("-pk").first()
    if decision is None or decision.action != Adjudication.Action.DECIDED:
        raise Conflict(_("No expert has decided this item, so there is no known answer to take over."))
    return gold_set(
        item=item,
        kind=kind,
        verdict=decision.verdict,
        grades=decision.grades or _medians(item),
        explanation=decision.reason,
        actor=actor,
    )


def _medians(item: RoundItem) -> dict[str, int]:
    found: dict[str, list[int]] = defaultdict(list)
    rows = Grade.objects.filter(judgement__in=live_judgements(item=item)).values_list("variant__uid", "value")
    for variant, value in rows:
        found[variant].append(value)
    return {variant: median_high(values) for variant, values in found.items()}


@transaction.atomic
def gold_remove(*, item: RoundItem, reason: str, actor: User) -> GoldAnswer:
    """No answer is known any more: nobody is asked for it, and what people said does not count for or against them.

    Inserts an empty answer. An item that was decided, or that can go back into the review, is work again; another stays
    aside. Writes one Event. Conflict when it has no known answer.
    """
    row = RoundItem.objects.select_for_update().get(pk=item.pk)
    if row.kind not in KNOWN_KINDS:
        raise Conflict(_("This item has no known answer."))
    made = GoldAnswer.objects.create(item=item, explanation=reason.strip(), set_by=actor)
    back = row.closed_at is not None or _back_to_review(row, actor)
    if back:
        _kind_write(row, Kind.WORK.value)
        item.kind = Kind.WORK.value
    event_record(actor=actor, verb="took the known answer away", entity=item, reason=reason.strip(), work_again=back)
    return made


def _back_to_review(item: RoundItem, actor: User) -> bool:
    """An item of the round's own corpus whose dialogue is ready can be asked for as work again."""
    own = Dialogue.objects.filter(pk=item.dialogue_id, corpus__rounds=item.round_id).exists()
    return own and _dialogue_move(item, DialogueState.READY, DialogueState.IN_REVIEW, actor)
