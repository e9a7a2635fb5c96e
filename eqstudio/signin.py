"""Who is asking: the session and the person of a request, found by one prepared statement each.

Both are Django's own in everything but how they are read, so a session ends when its row goes, an account that is
switched off is out at once, and a changed password ends every session.
"""

from __future__ import annotations

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.contrib.sessions.models import Session
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.authentication import TokenAuthentication
from rest_framework.authtoken.models import Token
from rest_framework.exceptions import AuthenticationFailed

from eqstudio.models import User
from eqstudio.prepared import Prepared

_SESSION = Prepared[Session](lambda key, now: Session.objects.filter(session_key=key, expire_date__gt=now))
_TOKEN = Prepared[Token](lambda key: Token.objects.select_related("user").filter(key=key).order_by())
_PERSON = Prepared[User](lambda person: User.objects.filter(pk=person).order_by())


class SessionStore(DatabaseSessions):
    """Sessions in the database."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def _get_session_from_db(self) -> Session | None:
        key = (self.session_key or "").replace("\x00", "\ufffd")
        found = _SESSION.first(key=key, now=timezone.now()) if key else None
        if found is None:
            self._session_key = None
        return found


class _Reads:
    """How a backend finds the person of a session again."""

    def get_user(self, user_id: int) -> User | None:
        found = _PERSON.first(person=user_id)
        return found if found is not None and self.user_can_authenticate(found) else None  # type: ignore[attr-defined]


class PasswordBackend(_Reads, ModelBackend):
    """Sign-in by name and password."""


class AccountBackend(_Reads, AuthenticationBackend):  # type: ignore[misc]
    """Sign-in through allauth: by e-mail address, and for single sign-on."""


class TokenSignIn(TokenAuthentication):
    """A token of the API in the header ``Authorization: Token ...``."""

    def authenticate_credentials(self, key: str) -> tuple[User, Token]:
        found = _TOKEN.first(key=key.replace("\x00", "\ufffd"))
        if found is None:
            raise AuthenticationFailed(_("Invalid token."))
        if not found.user.is_active:
            raise AuthenticationFailed(_("User inactive or deleted."))
        return found.user, found


__all__: list[Any] = ["AccountBackend", "PasswordBackend", "SessionStore", "TokenSignIn"]
