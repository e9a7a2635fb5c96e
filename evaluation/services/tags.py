"""What sort of error a wrong answer shows: tags that people put on one respondent's answers to one item."""

from __future__ import annotations

from django.db import transaction

from eqstudio.errors import InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.models import ErrorTag, Respondent, Study
from generation.models import Dialogue

TAGS = ("not_heard", "words_only", "context_missed", "wrong_feeling", "slot", "format", "key_doubtful", "other")


@transaction.atomic
def error_tag_set(
    *, study: Study, respondent: Respondent, dialogue: Dialogue, tag: str, on: bool, actor: User
) -> ErrorTag | None:
    """Put a tag on, or take it back; None where it stands so already. Inserts one ErrorTag and one Event."""
    if tag not in TAGS:
        raise InvalidInput(f"Unknown tag {tag!r}; known: {', '.join(TAGS)}.", field="tag")
    latest = ErrorTag.objects.filter(study=study, respondent=respondent, dialogue=dialogue, tag=tag).last()
    if (latest is not None and not latest.removed) == on:
        return None
    row = ErrorTag.objects.create(
        study=study, respondent=respondent, dialogue=dialogue, tag=tag, removed=not on, created_by=actor
    )
    event_record(
        actor=actor,
        verb="error_tag_set",
        entity=study,
        dialogue=dialogue.uid,
        respondent=respondent.name,
        tag=tag,
        on=on,
    )
    return row
