"""Others are told what happens: signed, again until they take it, and never inside the house."""

import hashlib
import hmac
import http.server
import json
import threading
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Webhook, WebhookDelivery
from annotation.services.webhooks import (
    ATTEMPTS_AT_MOST,
    deliveries_due,
    delivery_send,
    events_collect,
    webhook_add,
    webhook_switch,
    webhook_test,
)
from annotation.tasks import annotation_sweep
from eqstudio.errors import InvalidInput
from eqstudio.events import event_record
from eqstudio.models import Event
from eqstudio.net import PrivateAddress, address_resolve
from tests.annotation.factories import lease, round_with, submit

pytestmark = pytest.mark.django_db
KEY = "a secret of the house"


class Elsewhere:
    """A program elsewhere: it answers with ``answers``, the last of them for ever, and keeps what it was sent."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, str]]] = [(200, {})]
        self.got: list[tuple[dict[str, str], bytes]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append((dict(self.headers), body))
                status, headers = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_args: object) -> None:
                """Tests say enough."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?x=1"


@pytest.fixture
def elsewhere(settings, monkeypatch):
    settings.WEBHOOK_PRIVATE = True
    monkeypatch.setenv("WEBHOOK_SECRET", KEY)
    there = Elsewhere()
    yield there
    there.server.shutdown()
    there.server.server_close()


def told(there, **fields) -> Webhook:
    return webhook_add(**{"url": there.url, "secret_name": "WEBHOOK_SECRET", **fields})


def test_what_happens_is_told_and_signed(elsewhere):
    hook = told(elsewhere, verbs=["judged"])
    made = round_with()
    submit(lease(made))

    annotation_sweep()
    (delivery,) = hook.deliveries.all()
    delivery_send(delivery_id=delivery.pk, now=timezone.now())

    ((headers, body),) = elsewhere.got
    said = json.loads(body)
    signed = hmac.new(KEY.encode(), f"{headers['X-Eqstudio-Timestamp']}.".encode() + body, hashlib.sha256).hexdigest()
    delivery.refresh_from_db()
    assert headers["X-Eqstudio-Signature"] == f"sha256={signed}"
    assert (said["verb"], said["entity"], said["uid"]) == ("judged", "rounditem", made.items.get().uid)
    assert (delivery.state, delivery.status, delivery.attempts) == ("delivered", 200, 1)
    assert headers["Host"] == f"127.0.0.1:{elsewhere.server.server_port}"


def test_it_is_tried_again_with_growing_pauses_and_as_asked(elsewhere):
    elsewhere.answers = [(503, {}), (429, {"Retry-After": "900"}), (204, {})]
    now = timezone.now()
    delivery = webhook_test(webhook=told(elsewhere), now=now)

    waits, states = [], []
    for _ in range(3):
        after = delivery_send(delivery_id=delivery.pk, now=now)
        states.append((after.state, after.status))
        waits.append(after.due_at - now)
        assert after.state != "waiting" or delivery_send(delivery_id=delivery.pk, now=now) is None
        now = after.due_at

    assert states == [("waiting", 503), ("waiting", 429), ("delivered", 204)]
    assert waits[:2] == [timedelta(seconds=30), timedelta(seconds=900)]
    assert len(elsewhere.got) == 3


def test_it_is_given_up_in_the_end(elsewhere):
    elsewhere.answers = [(500, {})]
    now = timezone.now()
    delivery = webhook_test(webhook=told(elsewhere), now=now)
    while (after := delivery_send(delivery_id=delivery.pk, now=now)) is not None and after.state == "waiting":
        assert after.due_at > now
        now = after.due_at

    assert (after.state, after.attempts, after.error) == ("given up", ATTEMPTS_AT_MOST, "HTTP 500")


def test_what_ended_its_sender_each_time_is_given_up_and_not_sent_again(elsewhere):
    now = timezone.now()
    delivery = webhook_test(webhook=told(elsewhere), now=now)
    WebhookDelivery.objects.update(attempts=ATTEMPTS_AT_MOST)

    assert delivery_send(delivery_id=delivery.pk, now=now) is None

    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, elsewhere.got) == ("given up", ATTEMPTS_AT_MOST, [])


@pytest.mark.parametrize(("status", "state"), [(410, "given up"), (301, "waiting"), (404, "waiting")])
def test_what_other_answers_mean(elsewhere, status, state):
    elsewhere.answers = [(status, {"Location": "http://127.0.0.1:9/"})]
    delivery = webhook_test(webhook=told(elsewhere), now=timezone.now())

    assert delivery_send(delivery_id=delivery.pk, now=timezone.now()).state == state
    assert len(elsewhere.got) == 1


def test_without_its_secret_nothing_leaves(elsewhere, monkeypatch):
    monkeypatch.delenv("WEBHOOK_SECRET")
    delivery = webhook_test(webhook=told(elsewhere), now=timezone.now())

    after = delivery_send(delivery_id=delivery.pk, now=timezone.now())

    assert (after.state, elsewhere.got) == ("waiting", [])
    assert "WEBHOOK_SECRET is not set; it should hold the secret that signs this webhook" in after.error


def test_nobody_there_is_no_end(elsewhere):
    hook = told(elsewhere)
    elsewhere.server.server_close()
    elsewhere.server.shutdown()

    after = delivery_send(delivery_id=webhook_test(webhook=hook, now=timezone.now()).pk, now=timezone.now())

    assert (after.state, after.status) == ("waiting", None)
    assert after.error


def test_each_event_is_told_once_and_only_those_that_are_wanted(elsewhere, alice):
    one, other = round_with(), round_with()
    everything, of_one = told(elsewhere), told(elsewhere, round=one)
    first, second = lease(one), lease(other)
    submit(first)
    submit(second)
    event_record(actor=None, verb="roles set", entity=alice)

    made = events_collect(now=timezone.now())

    assert events_collect(now=timezone.now()) == 0
    assert made == WebhookDelivery.objects.count() == 3
    assert set(of_one.deliveries.values_list("event__entity_uid", flat=True)) == {first.item.uid}
    assert set(everything.deliveries.values_list("event__entity", flat=True)) == {"rounditem"}


def test_an_event_that_is_committed_out_of_order_is_not_lost(elsewhere):
    hook = told(elsewhere)
    made = round_with()
    submit(lease(made))
    last = Event.objects.latest("pk")
    Webhook.objects.filter(pk=hook.pk).update(seen=last.pk + 1)

    assert events_collect(now=timezone.now()) > 0


def test_what_happened_while_it_was_off_is_not_told(elsewhere):
    hook = told(elsewhere)
    webhook_switch(webhook=hook, active=False)
    submit(lease(round_with()))
    events_collect(now=timezone.now())

    assert hook.deliveries.count() == 0
    assert deliveries_due(now=timezone.now()) == []


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost:8000/",
        "http://[::1]/",
        "http://169.254.169.254/latest",
        "http://10.0.0.7/",
        "http://0.0.0.0/",
        "http://2130706433/",
    ],
)
def test_nothing_is_sent_into_the_house(url):
    with pytest.raises(InvalidInput):
        webhook_add(url=url, secret_name="WEBHOOK_SECRET")
    with pytest.raises(InvalidInput):
        address_resolve(url, private=False)


def test_an_address_that_turned_private_is_refused_when_it_is_sent_to(elsewhere, settings):
    delivery = webhook_test(webhook=told(elsewhere), now=timezone.now())
    settings.WEBHOOK_PRIVATE = False

    after = delivery_send(delivery_id=delivery.pk, now=timezone.now())

    assert (after.state, elsewhere.got) == ("waiting", [])
    assert "private address" in after.error
    with pytest.raises(PrivateAddress):
        address_resolve(elsewhere.url, private=False)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"url": "ftp://127.0.0.1/"}, "url"),
        ({"url": "http://name:word@127.0.0.1/"}, "url"),
        ({"secret_name": "OPENAI_API_KEY"}, "secret_name"),
        ({"verbs": ["sang"]}, "verbs"),
    ],
)
def test_a_webhook_that_cannot_be_is_refused(elsewhere, changes, field):
    with pytest.raises(InvalidInput) as caught:
        told(elsewhere, **changes)

    assert caught.value.field == field


def test_an_admin_adds_tests_switches_and_removes_one(client, ada, elsewhere):
    client.force_login(ada)
    sent = {"url": elsewhere.url, "secret_name": "WEBHOOK_SECRET", "verbs": ["judged"]}

    refused = client.post(reverse("webhooks"), {**sent, "secret_name": "nothing"})
    client.post(reverse("webhooks"), sent)
    hook = Webhook.objects.get()
    act = reverse("webhook_act", args=[hook.uid])
    for action in ("test", "off", "on"):
        assert client.post(act, {"action": action})["Location"] == reverse("webhook", args=[hook.uid])
    delivery_send(delivery_id=hook.deliveries.get().pk, now=timezone.now())

    assert refused.status_code == 422
    assert client.post(act, {"action": "sing"}).status_code == 400
    assert "delivered" in client.get(reverse("webhook", args=[hook.uid])).content.decode()
    assert elsewhere.url in client.get(reverse("webhooks")).content.decode()
    client.post(act, {"action": "remove"})
    assert Webhook.objects.count() == 0
