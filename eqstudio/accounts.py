"""Sign-in is by invitation: nobody creates an account for themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.core.exceptions import ImproperlyConfigured
from django.urls import reverse
from django.utils.translation import gettext as _

from eqstudio.errors import InvalidInput

if TYPE_CHECKING:
    from django.http import HttpRequest

    from eqstudio.models import User


class InvitedOnlyAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002 -- the adapter's signature
        """Accounts are made by an admin (``people`` page) or arrive through single sign-on."""
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """Whose tries are counted together. A request that came past the proxies counts by the address that it came from."""
        try:
            told: str = super().get_client_ip(request)
        except ImproperlyConfigured:  # fewer addresses in X-Forwarded-For than there are proxies
            told = request.META.get("REMOTE_ADDR", "")
        return told

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> NoReturn:  # noqa: ARG002 -- the adapter's signature
        raise InvalidInput(_("The studio sends no e-mail. Ask an admin for a new sign-in link."))


class SingleSignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:  # noqa: ARG002 -- the adapter's signature
        """Whoever the organisation's own sign-in vouches for gets an account, without a role until an admin gives one."""
        return True


def sign_in_link(*, user: User, request: HttpRequest) -> str:
    """A link that works once and lets ``user`` choose a password; it ends with the next sign-in or after three days."""
    keys = {"uidb36": user_pk_to_url_str(user), "key": default_token_generator.make_token(user)}
    return request.build_absolute_uri(reverse("account_reset_password_from_key", kwargs=keys))
