"""Sign-in is by invitation: nobody creates an account for themselves."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class InvitedOnlyAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Accounts are made by an admin (``people`` page) or arrive through single sign-on."""
        return False
