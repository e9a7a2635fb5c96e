"""Worked examples in a round's guidelines."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotation.models import GuidelineExample, Round
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from generation.models import Variant

EXAMPLES_AT_MOST = 24


def example_add(
    *,
    round: Round,  # noqa: A002
    variant: Variant,
    grade: int,
    why: str,
    actor: User | None = None,
) -> GuidelineExample:
    """Put a spoken rendition with the grade it deserves, and why, at the end of a round's guidelines; one Event.

    InvalidInput for a silent rendition, a grade outside 1-4, no reason, or a dialogue that this round asks people to judge.
    """
    if variant.clip_id is None:
        raise InvalidInput(_("This version has no sound. Choose one that is spoken."), field="variant")
    if isinstance(grade, bool) or grade not in (1, 2, 3, 4):
        raise InvalidInput(_("A grade is 1, 2, 3 or 4."), field="grade")
    if not why.strip():
        raise InvalidInput(_("Say why it deserves this grade: that is what people learn from."), field="why")
    if round.items.filter(dialogue=variant.turn.dialogue_id).exists():
        raise InvalidInput(
            _("People judge this dialogue in this round, so it cannot be an example. Choose one that is not in it."),
            field="variant",
        )
    if round.examples.count() >= EXAMPLES_AT_MOST:
        raise Conflict(_("There are %(most)d examples already. Take one away first.") % {"most": EXAMPLES_AT_MOST})
    last = round.examples.order_by("-position").values_list("position", flat=True).first()
    try:
        with transaction.atomic():
            made = GuidelineExample.objects.create(
                round=round, variant=variant, grade=grade, why=why.strip(), position=0 if last is None else last + 1
            )
            event_record(actor=actor, verb="example added", entity=round, variant=variant.uid, grade=grade)
    except IntegrityError as error:
        raise Conflict(_("This version is an example already."), field="variant") from error
    return made


@transaction.atomic
def example_remove(*, example: GuidelineExample, actor: User | None = None) -> None:
    """Take an example out of the guidelines; one Event."""
    event_record(
        actor=actor, verb="example removed", entity=example.round, variant=example.variant.uid, grade=example.grade
    )
    example.delete()
