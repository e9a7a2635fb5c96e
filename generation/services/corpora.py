"""Corpora come into being here."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from generation.models import Corpus


def corpus_create(*, name: str, actor: User | None = None, licence: str = "", is_demo: bool = False) -> Corpus:
    """Make an empty corpus and write one Event. InvalidInput for a bad name, Conflict for one that is taken."""
    _name_check(name)
    try:
        with transaction.atomic():
            corpus = Corpus.objects.create(name=name, licence=licence, is_demo=is_demo, created_by=actor)
            event_record(actor=actor, verb="created", entity=corpus, name=name)
    except IntegrityError as error:
        raise Conflict(
            _("There is a corpus called %(name)s already. Choose another name.") % {"name": name}, field="name"
        ) from error
    return corpus


def corpus_ensure(*, name: str, actor: User | None = None, is_demo: bool = False) -> Corpus:
    """The corpus called ``name``; made (with its Event) if there is none. Safe when two ask at once."""
    found = Corpus.objects.filter(name=name).first()
    if found is not None:
        return found
    try:
        return corpus_create(name=name, actor=actor, is_demo=is_demo)
    except Conflict:
        return Corpus.objects.get(name=name)


def _name_check(name: str) -> None:
    try:
        Corpus(name=name).clean_fields(exclude={"licence", "created_by"})
    except ValidationError as error:
        raise InvalidInput(
            _("%(name)r cannot name a corpus: letters, digits, hyphens and underscores only, at most 80 of them.")
            % {"name": name},
            field="name",
        ) from error
