"""Admins say who outside is told what happens, try it, and see what was taken."""

from __future__ import annotations

from functools import partial
from typing import cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.forms.webhooks import WebhookForm
from annotation.models import Webhook
from annotation.services.webhooks import webhook_add, webhook_remove, webhook_switch, webhook_test
from annotation.tasks import delivery_run
from eqstudio.access import can_administer, role_require
from eqstudio.errors import InvalidInput, StudioError
from eqstudio.models import User

PER_PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
@role_require(can_administer)
def webhooks(request: HttpRequest) -> HttpResponse:
    """The addresses that are told, and the form for another one."""
    form = WebhookForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = webhook_add(**form.cleaned_data, actor=cast("User", request.user))
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            messages.success(request, _("The address is told from now on. Send it a test."))
            return redirect("webhook", made.uid)
    context = {"form": form, "hooks": Webhook.objects.select_related("round")}
    return render(request, "annotation/webhooks.html", context, status=422 if form.errors else 200)


@require_safe
@role_require(can_administer)
def webhook(request: HttpRequest, uid: str) -> HttpResponse:
    """One address and what was sent to it, newest first."""
    hook = get_object_or_404(Webhook.objects.select_related("round"), uid=uid)
    page = Paginator(hook.deliveries.select_related("event").order_by("-pk"), PER_PAGE).get_page(
        request.GET.get("page")
    )
    return render(request, "annotation/webhook.html", {"hook": hook, "page_obj": page})


@require_POST
@role_require(can_administer)
def webhook_act(request: HttpRequest, uid: str) -> HttpResponse:
    """Send a test, switch it off or on, or forget it."""
    hook, actor = get_object_or_404(Webhook, uid=uid), cast("User", request.user)
    match request.POST.get("action"):
        case "test":
            made = webhook_test(webhook=hook, actor=actor, now=timezone.now())
            transaction.on_commit(partial(delivery_run.delay, made.pk), robust=True)
            messages.success(request, _("A test is on its way. Load the page again to see whether it was taken."))
        case "on" | "off" as wanted:
            webhook_switch(webhook=hook, active=wanted == "on", actor=actor)
        case "remove":
            webhook_remove(webhook=hook, actor=actor)
            messages.success(request, _("The address is told nothing any more."))
            return redirect("webhooks")
        case _other:
            raise InvalidInput(_("Test it, switch it on or off, or remove it."), field="action")
    return redirect("webhook", hook.uid)
