"""Calls to providers: how many at once, what is looked at before each, and which failures are ridden out."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
import time_machine
from django.db import connections
from django.utils import timezone

from eqstudio.errors import Conflict, ProviderError, Retry, StudioError
from generation.models import Dialogue, ProviderCall
from generation.providers.base import DROPPED, RATE_LIMITED, Usage
from generation.services import gates, ledger
from generation.services.gates import calls_share
from generation.services.leases import LEASE, lease_claim
from generation.services.ledger import Request, call_make
from tests.generation.pipeline import one_briefed

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Said:
    model: str = "m"
    usage: Usage = field(default_factory=Usage)


class Permits(threading.Semaphore):
    """Knows how many have asked for one."""

    asked = 0

    def __enter__(self) -> bool:
        self.asked += 1
        return self.acquire()


def request(number: int = 0, dialogue: Dialogue | None = None) -> Request:
    return Request(kind="text", provider="fake", model="m", content={"number": number}, dialogue=dialogue)


def failing(cause: str, after_s: float = 5):
    def call() -> Said:
        raise ProviderError("It failed.", cause=cause, decision=Retry(after_s))

    return call


def at_once(count: int, permits: Permits, call) -> list[StudioError]:
    """``count`` threads that share the permits make one call each; what stopped them."""
    problems = []

    def work(number: int) -> None:
        calls_share(permits)
        try:
            call_make(request(number), call)
        except StudioError as problem:
            problems.append(problem)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return problems


@pytest.mark.django_db(transaction=True)
def test_of_more_threads_than_permits_never_more_than_those_are_in_a_call():
    lock, full, now, most, made = threading.Lock(), threading.Event(), 0, 0, 0

    def call() -> Said:
        nonlocal now, most, made
        with lock:
            now, made = now + 1, made + 1
            most = max(most, now)
            if now == 2:
                full.set()
        full.wait(30)
        time.sleep(0.05)  # a third would come meanwhile
        with lock:
            now -= 1
        return Said()

    assert at_once(6, Permits(2), call) == []
    assert (most, made) == (2, 6)


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_a_permit_does_not_ask_a_provider_that_closed_its_gate_meanwhile():
    permits, made = Permits(1), []

    def call() -> Said:
        made.append(1)
        until = time.monotonic() + 30
        while permits.asked < 4 and time.monotonic() < until:
            time.sleep(0.01)
        return failing(RATE_LIMITED, after_s=30)()

    problems = at_once(4, permits, call)

    assert made == [1]
    assert sorted(type(problem).__name__ for problem in problems) == ["Busy", "Busy", "Busy", "ProviderError"]


class Waiting:
    """A permit that is waited for ``minutes`` long."""

    def __init__(self, clock, minutes: float) -> None:
        self.clock, self.wait = clock, timedelta(minutes=minutes)

    def __enter__(self) -> None:
        self.clock.shift(self.wait)

    def __exit__(self, *_details: object) -> None:
        """Nobody else waits."""


@pytest.fixture
def clock():
    with time_machine.travel(timezone.now(), tick=False) as travelled:
        yield travelled


def test_a_lease_that_ran_low_while_a_permit_was_waited_for_is_renewed(clock, monkeypatch):
    dialogue = lease_claim(dialogue_id=one_briefed().pk, now=timezone.now())
    monkeypatch.setattr(gates._lane, "permits", Waiting(clock, minutes=4), raising=False)

    call_make(request(dialogue=dialogue), Said)

    assert Dialogue.objects.get().lease_until == timezone.now() + LEASE


def test_a_dialogue_lost_while_a_permit_was_waited_for_is_not_paid_for(clock, monkeypatch):
    dialogue = lease_claim(dialogue_id=one_briefed().pk, now=timezone.now())
    monkeypatch.setattr(gates._lane, "permits", Waiting(clock, minutes=6), raising=False)
    Dialogue.objects.update(lease_owner="somebody else")
    made = []

    with pytest.raises(Conflict, match="no longer being worked on"):
        call_make(request(dialogue=dialogue), lambda: made.append(1))

    dialogue.brief.batch.refresh_from_db()
    assert (made, dialogue.brief.batch.calls_begun) == ([], 0)


@pytest.mark.parametrize(("took_s", "calls"), [(0.1, 3), (4.9, 3), (5, 1), (90, 1)])
def test_only_a_failure_that_came_soon_is_asked_again_at_once(clock, monkeypatch, took_s, calls):
    monkeypatch.setattr(ledger, "RIDE_OUT_S", (0, 0))
    now = [0.0]
    monkeypatch.setattr(ledger.time, "monotonic", lambda: now[0])
    made = []

    def call() -> Said:
        made.append(1)
        now[0] += took_s
        return failing(DROPPED)()

    with pytest.raises(ProviderError):
        call_make(request(), call)

    rows = ProviderCall.objects.values_list("outcome", "latency_ms")
    assert (len(made), set(rows)) == (calls, {("error", int(took_s * 1000))})
