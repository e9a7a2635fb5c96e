"""Others are told what happens in rounds: signed, in order of what is due, and again until they have taken it."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import httpx
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Max
from django.utils.translation import gettext as _

from annotation.models import Assignment, Round, RoundItem, Webhook, WebhookDelivery
from eqstudio.errors import InvalidInput, ProviderError
from eqstudio.events import event_record
from eqstudio.models import Event, User
from eqstudio.net import address_resolve, http_post_public, redact, retry_after, secret
from eqstudio.words import VERBS

State = WebhookDelivery.State
TOLD_OF = ("round", "rounditem", "assignment", "split", "export")
"""Entities whose events leave the studio; people and their accounts are nobody else's business."""
SECRET_NAME = re.compile(r"WEBHOOK_[A-Z0-9_]{1,60}")
LOOK_BACK = 200
"""Events may be committed out of their order; so many before the last one seen are looked at again."""
COLLECT_AT_MOST, DUE_AT_MOST = 1_000, 200
ATTEMPTS_AT_MOST = 10
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=30), timedelta(hours=6)
AT_WORK = timedelta(minutes=2)
"""While one process sends, no other takes the delivery up; when it dies, the next try comes after this."""


def webhook_add(
    *,
    url: str,
    secret_name: str,
    verbs: Sequence[str] = (),
    round: Round | None = None,  # noqa: A002 -- the word of the domain
    actor: User | None = None,
) -> Webhook:
    """Tell ``url`` of what happens from now on, and write one Event. The secret is named, never stored.

    InvalidInput for an address that is none or leads into the house, a name that is none, or a verb nobody uses.
    """
    address_resolve(url, private=settings.WEBHOOK_PRIVATE)
    if not SECRET_NAME.fullmatch(secret_name):
        raise InvalidInput(
            _("Name an environment variable that begins with WEBHOOK_, in capitals."), field="secret_name"
        )
    unknown = sorted(set(verbs) - set(VERBS))
    if unknown:
        raise InvalidInput(_("Nothing is ever called %(verb)s here.") % {"verb": unknown[0]}, field="verbs")
    last = Event.objects.aggregate(pk=Max("pk"))["pk"] or 0
    hook = Webhook(url=url, secret_name=secret_name, verbs=sorted(set(verbs)), round=round, seen=last, created_by=actor)
    try:
        hook.clean_fields(exclude={"round", "created_by", "verbs"})
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise InvalidInput(" ".join(messages), field=field) from error
    with transaction.atomic():
        hook.save()
        event_record(actor=actor, verb="webhook added", entity=hook, url=url)
    return hook


@transaction.atomic
def webhook_switch(*, webhook: Webhook, active: bool, actor: User | None = None) -> Webhook:
    """Stop telling an address, or begin again with what happens from now on; one Event."""
    if webhook.active != active:
        webhook.active = active
        webhook.seen = Event.objects.aggregate(pk=Max("pk"))["pk"] or 0
        webhook.save(update_fields=["active", "seen"])
        event_record(actor=actor, verb=f"webhook switched {'on' if active else 'off'}", entity=webhook)
    return webhook


@transaction.atomic
def webhook_remove(*, webhook: Webhook, actor: User | None = None) -> None:
    """Forget an address and what was sent to it; one Event stays."""
    event_record(actor=actor, verb="webhook removed", entity=webhook, url=webhook.url)
    webhook.delete()


@transaction.atomic
def webhook_test(*, webhook: Webhook, actor: User | None = None, now: datetime) -> WebhookDelivery:
    """Make an Event that is about the webhook itself, and a delivery of it that is due at once."""
    event = event_record(actor=actor, verb="webhook tested", entity=webhook)
    return WebhookDelivery.objects.create(webhook=webhook, event=event, due_at=now)


def events_collect(*, now: datetime) -> int:
    """Make a delivery for every event that an active webhook wants and has not been told of. Returns how many.

    Safe at any time and from several processes: a delivery exists once for each webhook and event.
    """
    made = 0
    for hook in Webhook.objects.filter(active=True).select_related("round"):
        with transaction.atomic():
            made += _collect(hook, now)
    return made


def _collect(hook: Webhook, now: datetime) -> int:
    fresh = Event.objects.filter(pk__gt=max(0, hook.seen - LOOK_BACK), created__gte=hook.created).order_by("pk")
    events = list(fresh[: LOOK_BACK + COLLECT_AT_MOST])
    if not events:
        return 0
    told = set(hook.deliveries.filter(event__in=events).values_list("event_id", flat=True))
    wanted = [event for event in events if event.pk not in told and _wants(hook, event)]
    inside = _inside(hook.round, wanted) if hook.round is not None else wanted
    WebhookDelivery.objects.bulk_create(
        [WebhookDelivery(webhook=hook, event=event, due_at=now) for event in inside], ignore_conflicts=True
    )
    Webhook.objects.filter(pk=hook.pk, seen__lt=events[-1].pk).update(seen=events[-1].pk)
    return len(inside)


def _wants(hook: Webhook, event: Event) -> bool:
    return event.entity in TOLD_OF and (not hook.verbs or event.verb in hook.verbs)


def _inside(round_: Round, events: list[Event]) -> list[Event]:
    """Of ``events`` those about a round, its items or their leases."""
    uids = [event.entity_uid for event in events]
    known = {("round", round_.uid)}
    known |= {("rounditem", uid) for uid in _uids(RoundItem.objects.filter(round=round_, uid__in=uids))}
    known |= {("assignment", uid) for uid in _uids(Assignment.objects.filter(item__round=round_, uid__in=uids))}
    return [event for event in events if (event.entity, event.entity_uid) in known]


def _uids(rows: Any) -> list[str]:
    return list(rows.values_list("uid", flat=True))


def deliveries_due(*, now: datetime) -> list[int]:
    """Ids of deliveries whose time has come, oldest first."""
    due = WebhookDelivery.objects.filter(state=State.WAITING, due_at__lte=now, webhook__active=True)
    return list(due.order_by("due_at", "pk").values_list("pk", flat=True)[:DUE_AT_MOST])


def delivery_send(*, delivery_id: int, now: datetime) -> WebhookDelivery | None:
    """Try one delivery that is due, once; None when it is not due or another process has it.

    What answers 2xx has taken it. Else it is tried again after a pause that grows, never sooner than Retry-After asks, and
    given up after ten tries or when the address answers that it is gone.
    """
    row = WebhookDelivery.objects.filter(pk=delivery_id, state=State.WAITING, due_at__lte=now)
    spent = {"state": State.GIVEN_UP, "error": "whoever tried it last did not come back"}
    row.filter(attempts__gte=ATTEMPTS_AT_MOST).update(**spent)
    if not row.filter(attempts__lt=ATTEMPTS_AT_MOST).update(due_at=now + AT_WORK, attempts=F("attempts") + 1):
        return None
    delivery = WebhookDelivery.objects.select_related("webhook", "event").get(pk=delivery_id)
    status, error, wait = _post(delivery, now)
    if not error:
        result: dict[str, Any] = {"state": State.DELIVERED, "status": status, "error": ""}
    else:
        given_up = delivery.attempts >= ATTEMPTS_AT_MOST or status == httpx.codes.GONE
        pause = min(FIRST_PAUSE * 2 ** (2 * (delivery.attempts - 1)), LONGEST_PAUSE)
        result = {
            "state": State.GIVEN_UP if given_up else State.WAITING,
            "status": status,
            "error": error[:300],
            "due_at": now + max(pause, timedelta(seconds=wait)),
        }
    WebhookDelivery.objects.filter(pk=delivery_id, state=State.WAITING).update(**result)
    delivery.refresh_from_db()
    return delivery


def _post(delivery: WebhookDelivery, now: datetime) -> tuple[int | None, str, float]:
    """Send it: the status that came, what went wrong ('' for nothing), and the seconds we were asked to wait."""
    body = payload(delivery)
    try:
        key = secret(delivery.webhook.secret_name, holds="the secret that signs this webhook")
        headers = signature_headers(body=body, key=key, now=now)
        answer = http_post_public(
            delivery.webhook.url,
            content=body,
            headers={**headers, "Content-Type": "application/json", "X-Eqstudio-Delivery": delivery.uid},
            private=settings.WEBHOOK_PRIVATE,
        )
    except httpx.HTTPStatusError as error:
        told = error.response.headers.get("retry-after", "")
        return error.response.status_code, f"HTTP {error.response.status_code}", retry_after(told) if told else 0.0
    except httpx.HTTPError as error:
        return None, redact(str(error) or type(error).__name__), 0.0
    except (InvalidInput, ProviderError) as error:
        return None, error.message, 0.0
    return answer.status_code, "", 0.0


def payload(delivery: WebhookDelivery) -> bytes:
    """The body of a delivery: what happened to what, and when; who did it is not told."""
    event = delivery.event
    told = {
        "delivery": delivery.uid,
        "event": event.pk,
        "verb": event.verb,
        "entity": event.entity,
        "uid": event.entity_uid,
        "created": event.created.isoformat(),
        "detail": event.detail,
    }
    return json.dumps(told, ensure_ascii=False, sort_keys=True).encode()


def signature_headers(*, body: bytes, key: str, now: datetime) -> dict[str, str]:
    """HMAC-SHA256 over ``<seconds since 1970>.<body>``: whoever takes it should refuse old times and wrong signatures."""
    timestamp = str(int(now.timestamp()))
    digest = hmac.new(key.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return {"X-Eqstudio-Timestamp": timestamp, "X-Eqstudio-Signature": f"sha256={digest}"}
