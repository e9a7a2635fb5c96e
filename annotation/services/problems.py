"""A listener says that something is wrong with what they heard."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Assignment, AudioProblem
from eqstudio.errors import InvalidInput
from eqstudio.events import event_record
from generation.models import Variant

PROBLEMS = ("silent", "noise", "cut_off", "crackle", "wrong_words", "wrong_voice", "level", "not_playing", "other")
DETAIL_LIMIT = 2_000


@transaction.atomic
def audio_problem_report(
    *, assignment: Assignment, variant_uid: str, problem: str, detail: str = "", actor: Any
) -> AudioProblem:
    """Store a report on one clip of a lease's item, or on the item when ``variant_uid`` is empty. The judgement goes on.

    InvalidInput names the field: an unknown kind, a clip of another item, ``other`` without words. The same report of the
    same person again returns the row that is there. Writes one Event.
    """
    if problem not in PROBLEMS:
        raise InvalidInput(_("Say what is wrong: one of %(known)s.") % {"known": ", ".join(PROBLEMS)}, field="problem")
    said = detail.strip()[:DETAIL_LIMIT]
    if problem == "other" and not said:
        raise InvalidInput(_("Say in words what is wrong."), field="detail")
    variant = None
    if variant_uid:
        own = Variant.objects.filter(turn__dialogue_id=assignment.item.dialogue_id, uid=variant_uid)
        variant = own.first()
        if variant is None:
            raise InvalidInput(_("There is no such clip in this item."), field="variant")
    same = AudioProblem.objects.filter(
        item=assignment.item, variant=variant, annotator=actor, problem=problem, detail=said
    )
    found = same.first()
    if found is not None:
        return found
    report = AudioProblem.objects.create(
        item=assignment.item, variant=variant, annotator=actor, problem=problem, detail=said
    )
    event_record(actor=actor, verb="reported a sound", entity=assignment.item, problem=problem, clip=variant_uid)
    return report
