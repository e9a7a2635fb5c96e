"""How a person comes into a study: by invitation, as a guest without an account or as who they are; and back in by their code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from eqstudio.access import GUEST, is_guest
from eqstudio.errors import Conflict, NotFound
from eqstudio.events import event_record
from eqstudio.ids import uid
from eqstudio.models import User
from evaluation.models import Invitation, Participant, PersonalDetails, Sitting, Study
from evaluation.selectors.participants import participant_by_code, sitting_of
from evaluation.services.invitations import invitation_use
from evaluation.services.participants import participant_ensure
from evaluation.services.sittings import person_ensure, sitting_open

LONGEST_NAME = 200
_PLACEHOLDER = re.compile(r"\{\{.*\}\}")
"""A place for a value that the platform did not fill in, as in an address copied from its settings."""


class Joined(NamedTuple):
    """Who sits, and where they go on."""

    user: User
    sitting: Sitting
    fresh: bool


def person_join(
    *,
    invitation: Invitation,
    user: User | None,
    crowd: Mapping[str, str],
    language: str,
    now: datetime,
) -> Joined:
    """Take a person into the study, or back to where they were. Nobody is twice in a study.

    ``user`` is who is signed in: a guest of this study goes on, somebody with an account sits as who they are. Else a guest is
    made: a person without role, name and password. ``crowd`` holds what the platform says of them by our names; it goes into
    the guarded table. Conflict, with the reason, when the link takes nobody any more, when it is a platform's and names no
    person, or when the platform's person is in already: then their code is the way back.
    """
    study = invitation.study
    known = _known(study, invitation, user)
    if known is not None:
        return Joined(_user(known), _sitting(known), fresh=False)
    refusal = crowd_refusal(invitation=invitation, user=user, crowd=crowd)
    if refusal:
        raise Conflict(refusal, field="crowd")
    crowd = {name: said for name, value in crowd.items() if (said := _filled(value))}
    identity = identity_of(study, crowd.get("person", ""))
    if identity and Participant.objects.filter(study=study, identity=identity).exists():
        raise _twice()
    try:
        with transaction.atomic():
            invitation_use(invitation=invitation, now=now)
            account = user if user is not None and not is_guest(user) else guest_create(language=language)
            respondent = person_ensure(study=study, user=account)
            participant = participant_ensure(
                respondent=respondent, invitation=invitation, identity=identity, language=language
            )
            _crowd_store(participant, crowd)
            sitting = sitting_open(study=study, user=account)
            event_record(actor=account, verb="study_join", entity=study, participant=participant.uid)
    except IntegrityError as error:
        if identity and Participant.objects.filter(study=study, identity=identity).exists():
            raise _twice() from error
        raise
    return Joined(account, sitting, fresh=True)


def person_resume(*, code: str) -> Joined:
    """The person behind a code, to go on with their sitting. NotFound, with one message whatever is wrong with the code.

    A code of somebody with an account is no way round their sign-in.
    """
    participant = participant_by_code(code)
    if participant is None or participant.respondent.user is None or not is_guest(participant.respondent.user):
        raise NotFound(
            _("No sitting has this code. Look at it again: three groups of four letters and digits."), field="code"
        )
    return Joined(participant.respondent.user, _sitting(participant), fresh=False)


def guest_create(*, language: str) -> User:
    """A person who may see their own sitting and nothing else."""
    guest = User(username=f"guest-{uid()}", display_name="", language=language)
    guest.set_unusable_password()
    guest.save()
    group, _created = Group.objects.get_or_create(name=GUEST)
    guest.groups.add(group)
    return guest


def identity_of(study: Study, person: str) -> str:
    """A keyed hash of what the platform calls a person, of this study only; empty for none."""
    name = person.strip()
    return salted_hmac("evaluation.identity", f"{study.pk}:{name}", algorithm="sha256").hexdigest() if name else ""


def crowd_refusal(*, invitation: Invitation, user: User | None, crowd: Mapping[str, str]) -> str:
    """Why a platform's link takes nobody as it was opened: it does not say who comes. Empty where it does, where the link is no
    platform's, and for who is in already.
    """
    if not invitation.parameters.get("person") or _filled(crowd.get("person", "")):
        return ""
    if _known(invitation.study, invitation, user) is not None:
        return ""
    return _(
        "This link has to be opened from the platform that offers the study: it adds the name that you have there, and the name is "
        "missing. Go back to the platform and open the study there. Nothing was kept."
    )


def _filled(value: str) -> str:
    text = value.strip()
    return "" if _PLACEHOLDER.fullmatch(text) else text


def _known(study: Study, invitation: Invitation, user: User | None) -> Participant | None:
    """Who is in already: the one signed in, or the one a personal link was for."""
    mine = Participant.objects.filter(study=study).select_related("respondent__user")
    if user is not None:
        found = mine.filter(respondent__user=user).first()
        if found is not None or not is_guest(user):
            return found
    if invitation.max_uses == 1 and invitation.uses and invitation.revoked_at is None:
        found = mine.filter(invitation=invitation).first()
        return found if found is not None and found.respondent.user and is_guest(found.respondent.user) else None
    return None


def _user(participant: Participant) -> User:
    user = participant.respondent.user
    if user is None:
        raise NotFound(_("There is no such sitting."))
    return user


def _sitting(participant: Participant) -> Sitting:
    return sitting_of(participant) or sitting_open(study=participant.study, user=_user(participant))


def _crowd_store(participant: Participant, crowd: Mapping[str, str]) -> None:
    kept = {name: value[:LONGEST_NAME] for name, value in crowd.items()}
    if kept:
        PersonalDetails.objects.get_or_create(participant=participant, defaults={"crowd": kept})


def _twice() -> Conflict:
    return Conflict(
        _("You are in this study already. Go on with the code you were given; nobody takes part twice."), field="code"
    )
