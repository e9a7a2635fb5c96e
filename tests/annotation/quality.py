"""Items with known answers, leases of a chosen kind, and people at a chosen point of a round."""

from datetime import timedelta

from django.utils import timezone

from annotation.models import Assignment, Kind, RoundItem
from annotation.selectors.quality import graded_uids
from annotation.services.gold import gold_add
from annotation.services.participations import participation_get, special_next
from eqstudio.models import User
from generation.models import Variant
from tests.annotation.factories import round_with, submit
from tests.eqstudio.factories import researcher
from tests.generation.factories import CorpusFactory, speecheq_dialogue


def quality_round(*, items: int = 0, gold: int = 0, training: int = 0, qualification: int = 0, **fields):
    """An open round with these rules, ``items`` of work, and items with the known answer keep, 3 for every grade."""
    rules = fields.pop("quality", {})
    made = round_with(items=items, **fields)
    made.quality = rules
    made.save(update_fields=["quality"])
    for kind, number in (("gold", gold), ("training", training), ("qualification", qualification)):
        for _ in range(number):
            known_item(made, kind=kind)
    return made


def known_item(round_, *, kind="gold", verdict="keep", grade=3, tolerance=0, **fields) -> RoundItem:
    """A dialogue of another corpus, taken in for its known answer."""
    dialogue = speecheq_dialogue(corpus=CorpusFactory())
    uids = variant_uids(dialogue)
    answer = gold_add(
        round=round_,
        dialogue=dialogue,
        actor=researcher(),
        kind=kind,
        verdict=verdict,
        grades=dict.fromkeys(uids, grade) if grade else {},
        tolerance=tolerance,
        **fields,
    )
    return answer.item


def variant_uids(dialogue) -> list[str]:
    return graded_uids(RoundItem(dialogue=dialogue))


def lease_on(item: RoundItem, person: User, kind: str = "work", *, minutes_ago: float = 10) -> Assignment:
    """A lease of a chosen kind, given so many minutes ago, with the renditions in the order of their rows."""
    shown: dict[str, list[str]] = {}
    rows = Variant.objects.filter(turn__dialogue=item.dialogue_id).order_by("turn__position", "pk")
    for position, uid in rows.values_list("turn__position", "uid"):
        shown.setdefault(str(position), []).append(uid)
    made = Assignment.objects.create(
        item=item,
        annotator=person,
        kind=kind,
        slot=item.assignments.count(),
        lease_until=timezone.now() + timedelta(minutes=20),
        shown=shown,
    )
    Assignment.objects.filter(pk=made.pk).update(created=timezone.now() - timedelta(minutes=minutes_ago))
    if kind == Kind.WORK:
        RoundItem.objects.filter(pk=item.pk).update(held=item.held + 1)
    return Assignment.objects.select_related("item__round", "item__dialogue", "annotator").get(pk=made.pk)


def judge(item: RoundItem, person: User, kind: str = "work", **answer):
    """A judgement of a chosen kind, checked as it comes in."""
    minutes_ago = answer.pop("minutes_ago", 10)
    return submit(lease_on(item, person, kind, minutes_ago=minutes_ago), **answer)


def answer_special(round_, person: User, **answer):
    """Answer the special item that is due; the judgement, or None when work is due."""
    participation = participation_get(round=round_, annotator=person)
    found = special_next(participation=participation, now=timezone.now())
    return None if found is None else judge(found[0], person, found[1].value, **answer)


def place(round_, person: User):
    """Where the person stands, read again."""
    return participation_get(round=round_, annotator=person)


def work(round_, person: User, times: int, **answer) -> None:
    """Judge the next items of work."""
    for _ in range(times):
        taken = Assignment.objects.filter(annotator=person).values("item_id")
        item = round_.items.filter(kind="work").exclude(pk__in=taken).order_by("pk").first()
        judge(item, person, **answer)
