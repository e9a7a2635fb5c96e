"""People are invited, given roles, switched off and on again; every change leaves an Event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from rest_framework.authtoken.models import Token

from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import Role, User

if TYPE_CHECKING:
    from collections.abc import Iterable


def person_invite(
    *,
    username: str,
    name: str = "",
    email: str = "",
    roles: Iterable[str] = (),
    language: str = "en",
    skills: Iterable[str] = (),
    speaks: Iterable[str] = (),
    actor: User | None = None,
) -> User:
    """Create a person who has no password yet; a sign-in link lets them choose one. Writes an Event."""
    wanted = _roles(roles)
    if User.objects.filter(username__iexact=username).exists():
        raise InvalidInput(_("There is already somebody called %(name)s here.") % {"name": username}, field="username")
    if email and User.objects.filter(email__iexact=email).exists():
        raise InvalidInput(_("Somebody here already has this e-mail address."), field="email")
    person = User(
        username=username,
        display_name=name,
        email=email,
        language=language,
        skills=sorted(set(skills)),
        speaks=sorted(set(speaks)),
    )
    person.set_unusable_password()
    try:
        with transaction.atomic():
            person.save()
            person.groups.set(Group.objects.filter(name__in=wanted))
            event_record(actor=actor, verb="person invited", entity=person, username=username, roles=wanted)
    except IntegrityError as error:
        raise InvalidInput(
            _("There is already somebody called %(name)s here.") % {"name": username}, field="username"
        ) from error
    return person


@transaction.atomic
def person_roles_set(*, person: User, roles: Iterable[str], actor: User | None = None) -> User:
    """Give ``person`` exactly these roles. The last admin keeps theirs (Conflict). Writes an Event when something changed."""
    wanted = _roles(roles)
    before = sorted(person.groups.values_list("name", flat=True))
    if before == wanted:
        return person
    if Role.ADMIN.value in before and Role.ADMIN.value not in wanted:
        _another_admin_require(person)
    person.groups.set(Group.objects.filter(name__in=wanted))
    event_record(actor=actor, verb="roles set", entity=person, before=before, after=wanted)
    return person


@transaction.atomic
def person_update(
    *,
    person: User,
    name: str,
    email: str | None = None,
    language: str | None = None,
    skills: Iterable[str] | None = None,
    speaks: Iterable[str] | None = None,
    actor: User | None = None,
) -> User:
    """Change how ``person`` is called, reached and spoken to, and what rounds may ask of them; None leaves a value as it
    is. Writes an Event.
    """
    fields: dict[str, Any] = {
        "display_name": name,
        "email": email,
        "language": language,
        "skills": None if skills is None else sorted(set(skills)),
        "speaks": None if speaks is None else sorted(set(speaks)),
    }
    changed = [field for field, value in fields.items() if value is not None and value != getattr(person, field)]
    if not changed:
        return person
    if email and User.objects.filter(email__iexact=email).exclude(pk=person.pk).exists():
        raise InvalidInput(_("Somebody here already has this e-mail address."), field="email")
    for field in changed:
        setattr(person, field, fields[field])
    person.save(update_fields=changed)
    event_record(actor=actor, verb="person changed", entity=person, fields=changed)
    return person


@transaction.atomic
def person_activation_set(*, person: User, active: bool, actor: User | None = None) -> User:
    """Switch an account off or on. Off ends every session and token at their next request; what the person did stays."""
    if person.is_active == active:
        return person
    if not active:
        _another_admin_require(person)
    person.is_active = active
    person.save(update_fields=["is_active"])
    event_record(actor=actor, verb="account switched on" if active else "account switched off", entity=person)
    return person


@transaction.atomic
def token_renew(*, person: User) -> str:
    """Make a new API token for ``person`` and end the old one. Writes an Event (without the token)."""
    Token.objects.filter(user=person).delete()
    key: str = Token.objects.create(user=person).key
    event_record(actor=person, verb="API access renewed", entity=person)
    return key


@transaction.atomic
def token_remove(*, person: User) -> None:
    """End ``person``'s API token. Writes an Event when there was one."""
    deleted, _by_model = Token.objects.filter(user=person).delete()
    if deleted:
        event_record(actor=person, verb="API access ended", entity=person)


def _roles(roles: Iterable[str]) -> list[str]:
    wanted = sorted(set(roles))
    unknown = [role for role in wanted if role not in Role.values]
    if unknown:
        raise InvalidInput(
            _("Unknown role %(role)s. Known: %(known)s.") % {"role": unknown[0], "known": ", ".join(Role.values)},
            field="roles",
        )
    return wanted


def _another_admin_require(person: User) -> None:
    in_group = Group.objects.filter(name=Role.ADMIN.value).values("user")  # no join: PostgreSQL locks no DISTINCT rows
    admins = User.objects.select_for_update().filter(Q(is_superuser=True) | Q(pk__in=in_group), is_active=True)
    if list(admins.values_list("pk", flat=True)) == [person.pk]:
        raise Conflict(_("%(name)s is the only admin. Make somebody else an admin first.") % {"name": person})
