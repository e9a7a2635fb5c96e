"""Links into a study: signed, expiring, revocable, for so many people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import urlsplit

from django.core import signing
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from eqstudio.errors import Conflict, InvalidInput, NotFound
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.models import Invitation, Participant, Study

SALT = "evaluation.invitation"
MOST_AT_ONCE = 500
MOST_USES = 100_000
PARAMETERS = ("person", "study", "session")
"""What a crowd platform says in the address, by our names; theirs are configured for each invitation."""


@transaction.atomic
def invitations_create(
    *,
    study: Study,
    count: int = 1,
    max_uses: int = 1,
    label: str = "",
    expires_at: datetime | None = None,
    parameters: Mapping[str, str] | None = None,
    codes: Mapping[str, str] | None = None,
    return_url: str = "",
    actor: User | None = None,
) -> list[Invitation]:
    """Make ``count`` links, each for ``max_uses`` people. Writes one Event. InvalidInput names the field that is wrong."""
    if not 1 <= count <= MOST_AT_ONCE:
        raise InvalidInput(_("From 1 to %(most)s links at once.") % {"most": MOST_AT_ONCE}, field="count")
    if not 1 <= max_uses <= MOST_USES:
        raise InvalidInput(_("From 1 to %(most)s people by one link.") % {"most": MOST_USES}, field="max_uses")
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidInput(_("The link would have expired already."), field="expires_at")
    names = {name: value for name, value in (parameters or {}).items() if value}
    if set(names) - set(PARAMETERS):
        raise InvalidInput(f"Known parameters: {', '.join(PARAMETERS)}.", field="parameters")
    if names and "person" not in names:
        raise InvalidInput(
            _("Without the platform's name for the person nobody could be told apart or paid."), field="parameters"
        )
    shared = {name: value for name, value in (codes or {}).items() if value}
    if set(shared) - set(Participant.Outcome.values):
        raise InvalidInput(f"Known outcomes: {', '.join(Participant.Outcome.values)}.", field="codes")
    _codes_check(shared)
    _address_check(return_url)
    made = [
        Invitation.objects.create(
            study=study,
            label=label if count == 1 else f"{label} {number}".strip(),
            max_uses=max_uses,
            expires_at=expires_at,
            parameters=names,
            codes=shared,
            return_url=return_url,
            created_by=actor,
        )
        for number in range(1, count + 1)
    ]
    event_record(actor=actor, verb="invitations_create", entity=study, count=count, max_uses=max_uses)
    return made


def _codes_check(codes: Mapping[str, str]) -> None:
    """A platform pays by the code, so one code stands for one outcome."""
    met: dict[str, str] = {}
    for outcome in (value for value in Participant.Outcome.values if value in codes):
        same = met.setdefault(codes[outcome].strip().casefold(), outcome)
        if same != outcome:
            raise InvalidInput(
                _("%(code)s is the code for “%(outcome)s” already. Each outcome needs a code of its own.")
                % {"code": codes[outcome], "outcome": Participant.Outcome(same).label},
                field=f"code_{outcome}",
            )


def _address_check(address: str) -> None:
    parts = urlsplit(address)
    if address and (parts.scheme != "https" or not parts.hostname):
        raise InvalidInput(_("The way back is a whole address that begins with https://."), field="return_url")


def invitation_revoke(*, invitation: Invitation, actor: User | None = None) -> bool:
    """Nobody new comes in by this link; who is in goes on. Writes one Event; False when it was revoked before."""
    moved = Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=timezone.now())
    invitation.refresh_from_db(fields=["revoked_at"])
    if moved:
        event_record(actor=actor, verb="invitation_revoke", entity=invitation, study=invitation.study.name)
    return moved == 1


def invitation_token(invitation: Invitation) -> str:
    """What stands in the address: the id, signed, so that no address can be guessed or counted up."""
    return signing.Signer(salt=SALT).sign(invitation.uid).replace(":", ".")


def invitation_open(*, token: str) -> Invitation:
    """The invitation behind an address; NotFound when it was not made by this studio."""
    try:
        name = signing.Signer(salt=SALT).unsign(token.replace(".", ":"))
    except signing.BadSignature as error:
        raise _unknown() from error
    found = Invitation.objects.select_related("study__split").filter(uid=name).first()
    if found is None:
        raise _unknown()
    return found


def _unknown() -> NotFound:
    return NotFound(_("There is no such invitation. Look whether the whole address was copied."))


def invitation_refusal(*, invitation: Invitation, now: datetime) -> str:
    """Why nobody new comes in by this link, as a sentence; empty while somebody may."""
    if not invitation.study.is_open:
        return _("This study is closed; it takes no more answers.")
    if invitation.revoked_at is not None:
        return _("This invitation was taken back.")
    if invitation.expires_at is not None and invitation.expires_at <= now:
        return _("This invitation has expired.")
    if invitation.uses >= invitation.max_uses:
        return _("This invitation has been used by as many people as it was for.")
    return ""


def invitation_use(*, invitation: Invitation, now: datetime) -> None:
    """Claim one place, by one conditional UPDATE. Conflict, with the reason, where none is left."""
    free = Invitation.objects.filter(pk=invitation.pk, revoked_at=None, uses__lt=F("max_uses"), study__is_open=True)
    if invitation.expires_at is not None:
        free = free.filter(expires_at__gt=now)
    if not free.update(uses=F("uses") + 1):
        invitation.refresh_from_db()
        raise Conflict(
            invitation_refusal(invitation=invitation, now=now)
            or _("This invitation has been used by as many people as it was for.")
        )
    invitation.refresh_from_db(fields=["uses"])
