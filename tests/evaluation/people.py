"""How tests bring people into a study and let them answer."""

import json

from django.utils import timezone

from evaluation.selectors import protocol_of
from evaluation.services import (
    protocol_save,
    response_record,
    trial_next,
)
from evaluation.services.invitations import invitations_create
from evaluation.services.joining import person_join
from evaluation.services.specials import specials_set
from tests.evaluation.factories import (
    heard_all,
    right_answer,
)
from tests.generation.factories import speecheq_dialogue

NOW = timezone.now


def protocol(study, **blocks):
    """Save a protocol with these changes to the one that stands, as {block: {field: value}}."""
    content = protocol_of(study).model_dump(mode="json")
    for block, fields in blocks.items():
        content[block] |= fields
    return protocol_save(study=study, content=content)


def join(study, *, invitation=None, user=None, crowd=None, **link):
    invitation = invitation or invitations_create(study=study, **link)[0]
    return person_join(invitation=invitation, user=user, crowd=crowd or {}, language="en", now=NOW())


def answer_all(sitting, choose=right_answer, *, stop=None):
    """Answer what is asked, in order; the parts of what was asked."""
    parts = []
    while (record := trial_next(sitting=sitting)) is not None and len(parts) != stop:
        response_record(trial=record, raw=json.dumps({"answer": choose(record)}), heard=heard_all(record))
        parts.append(record.part)
    return parts


def specials(study, purpose, count):
    made = [speecheq_dialogue() for _ in range(count)]
    specials_set(study=study, chosen={purpose: [one.uid for one in made]})
    return made
