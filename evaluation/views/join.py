"""The ways into a study without an account: a signed link, and the code of somebody who is in already."""

from __future__ import annotations

from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from eqstudio.access import guests_welcome, is_guest
from eqstudio.errors import Conflict, NotFound
from eqstudio.middleware import GuestMiddleware
from eqstudio.rates import within_rate
from eqstudio.signin import PasswordBackend
from evaluation.models import Invitation
from evaluation.selectors import protocol_of
from evaluation.services.invitations import invitation_open, invitation_refusal
from evaluation.services.joining import Joined, crowd_refusal, person_join, person_resume
from evaluation.views.sit_question import page_language

BACKEND = f"{PasswordBackend.__module__}.{PasswordBackend.__qualname__}"
"""How the person of a session is found again; a guest has no password to sign in with."""
CODE_RATES = "10/10m/ip,60/d/ip"
"""How often one address may enter a code that is none."""
JOIN_RATES = "120/10m/ip"
"""How often one address may come in: a whole class behind one line, but no machine."""


@login_not_required
@guests_welcome
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def sit_join(request: HttpRequest, token: str) -> HttpResponse:
    """What the study is about, and the button that begins. Looking at the page uses nothing up."""
    invitation = invitation_open(token=token)
    user = request.user if request.user.is_authenticated else None
    now = timezone.now()
    crowd = _crowd(request, invitation)
    context = {
        "study": invitation.study,
        "protocol": protocol_of(invitation.study),
        "chinese": page_language() == "zh",
        "known_as": user if user is not None and not is_guest(user) else None,  # type: ignore[arg-type]
    }
    if request.method != "POST":
        refusal = _closed(invitation) or crowd_refusal(invitation=invitation, user=user, crowd=crowd)  # type: ignore[arg-type]
        return render(request, "evaluation/join.html", {**context, "refusal": refusal})
    if not within_rate(request, action="study_join", rates=JOIN_RATES):
        return render(request, "evaluation/join.html", {**context, "refusal": _too_often()}, status=429)
    try:
        joined = person_join(
            invitation=invitation,
            user=user,  # type: ignore[arg-type]
            crowd=crowd,
            language=get_language() or "en",
            now=now,
        )
    except Conflict as error:
        page = {**context, "refusal": error.message, "by_code": error.field == "code"}
        return render(request, "evaluation/join.html", page, status=error.status)
    return _enter(request, joined)


@login_not_required
@guests_welcome
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def sit_code(request: HttpRequest) -> HttpResponse:
    """Back into a sitting by its code, on any device. A wrong code, whatever is wrong with it, is answered the same."""
    if request.method != "POST":
        return render(request, "evaluation/join_code.html", {"here": _here(request)})
    if not within_rate(request, action="study_code", rates=CODE_RATES, count=False):
        return render(request, "evaluation/join_code.html", {"refusal": _too_often()}, status=429)
    code = request.POST.get("code", "")[:40]
    try:
        joined = person_resume(code=code)
    except NotFound as error:
        within_rate(request, action="study_code", rates=CODE_RATES)
        return render(request, "evaluation/join_code.html", {"refusal": error.message, "code": code}, status=422)
    return _enter(request, joined)


def _enter(request: HttpRequest, joined: Joined) -> HttpResponse:
    """A guest gets a session of their own; somebody with an account keeps theirs."""
    here = reverse("sit", args=[joined.sitting.uid])
    if is_guest(joined.user):
        if request.user != joined.user:
            login(request, joined.user, backend=BACKEND)
        request.session[GuestMiddleware.HOME] = here
    return redirect(here)


def _here(request: HttpRequest) -> str:
    """Where somebody goes on who is in already on this device."""
    return str(request.session.get(GuestMiddleware.HOME, "")) if is_guest(request.user) else ""  # type: ignore[arg-type]


def _closed(invitation: Invitation) -> str:
    """A personal link that was used is the way back for who used it, so it is not refused for that."""
    if invitation.max_uses == 1 and invitation.uses and invitation.revoked_at is None and invitation.study.is_open:
        return ""
    return invitation_refusal(invitation=invitation, now=timezone.now())


def _crowd(request: HttpRequest, invitation: Invitation) -> dict[str, str]:
    """What the platform added to the address, by our names."""
    return {ours: request.GET.get(theirs, "") for ours, theirs in invitation.parameters.items()}


def _too_often() -> str:
    return _("Too many tries from this connection. Wait ten minutes, then try again.")
