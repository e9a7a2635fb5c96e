"""Whether anything was said of items, decided about them or done to them while somebody was reading them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import Model

from annotation.models import Adjudication, Judgement, Round, Standing
from eqstudio.models import Event
from generation.models import Dialogue


class Mark(NamedTuple):
    """The last row of each kind of fact that a manifest rests on."""

    judgement: int
    standing: int
    adjudication: int
    event: int


def mark_now() -> Mark:
    return Mark(*(_last(kind) for kind in (Judgement, Standing, Adjudication, Event)))


def _last(kind: type[Model]) -> int:
    found: int | None = kind._default_manager.order_by("-pk").values_list("pk", flat=True).first()  # noqa: SLF001
    return found or 0


def changed_since(*, mark: Mark, rounds: Sequence[Round], keys: Sequence[int]) -> list[str]:
    """Public ids of those of the dialogues of which more was said, or to which more was done, after the mark."""
    touched: set[int] = set()
    if rounds:
        here = {"item__round__in": rounds}
        touched.update(
            *(
                facts.values_list(dialogue, flat=True)
                for facts, dialogue in (
                    (Judgement.objects.filter(pk__gt=mark.judgement, **here), "item__dialogue_id"),
                    (Adjudication.objects.filter(pk__gt=mark.adjudication, **here), "item__dialogue_id"),
                    (
                        Standing.objects.filter(pk__gt=mark.standing, judgement__item__round__in=rounds),
                        "judgement__item__dialogue_id",
                    ),
                )
            )
        )
    moved = Event.objects.filter(pk__gt=mark.event, entity="dialogue").values("entity_uid")
    touched.update(Dialogue.objects.filter(uid__in=moved).values_list("pk", flat=True))
    found = touched.intersection(keys)
    return sorted(Dialogue.objects.filter(pk__in=found).values_list("uid", flat=True)) if found else []
