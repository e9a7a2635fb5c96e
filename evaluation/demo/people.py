"""Who lives in the demo: three visitors with a password, and listeners who only ever act by themselves."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass

from django.conf import settings

from eqstudio.errors import Forbidden
from eqstudio.models import Role, User
from eqstudio.services import person_invite


@dataclass(frozen=True)
class SignIn:
    """How a visitor signs in."""

    username: str
    password: str
    role: str


@dataclass(frozen=True)
class Listener:
    """A demo annotator: how often a grade is off by one, and how often an exam question is answered rightly."""

    username: str
    name: str
    noise: float
    skill: float


VISITORS = {
    "demo-annotator": (Role.ANNOTATOR, "Demo annotator"),
    "demo-researcher": (Role.RESEARCHER, "Demo researcher"),
    "demo-admin": (Role.ADMIN, "Demo admin"),
}
LISTENERS = (
    Listener(username="demo-bea", name="Bea (demo)", noise=0.15, skill=0.9),
    Listener(username="demo-chen", name="Chen (demo)", noise=0.2, skill=0.85),
    Listener(username="demo-dara", name="Dara (demo)", noise=0.3, skill=0.75),
    Listener(username="demo-emil", name="Emil (demo)", noise=0.45, skill=0.8),
)


def demo_refuse_in_production() -> None:
    """Raise Forbidden where real data lives."""
    if settings.PRODUCTION:
        raise Forbidden("The demo is refused in production: EQSTUDIO_PRODUCTION is on. Nothing was changed.")


def demo_people_ensure() -> list[SignIn]:
    """Make whoever is missing (one Event each), give the visitors their passwords, and return the sign-ins."""
    demo_refuse_in_production()
    for listener in LISTENERS:
        _ensure(listener.username, listener.name, Role.ANNOTATOR)
    signs = []
    for username, (role, name) in VISITORS.items():
        person = _ensure(username, name, role)
        password = _password(username)
        if not person.check_password(password):
            person.set_password(password)
            person.save(update_fields=["password"])
        signs.append(SignIn(username=username, password=password, role=role.value))
    return signs


def _ensure(username: str, name: str, role: Role) -> User:
    found = User.objects.filter(username=username).first()
    if found is None:
        found = person_invite(username=username, name=name, roles=[role.value])
        found.is_demo = True
        found.save(update_fields=["is_demo"])
    return found


def _password(username: str) -> str:
    """From the installation's own secret: the same at every start, unknown elsewhere."""
    digest = hmac.new(settings.SECRET_KEY.encode(), f"demo:{username}".encode(), hashlib.sha256).digest()
    text = base64.b32encode(digest).decode().lower()
    return "-".join(text[start : start + 4] for start in (0, 4, 8))
