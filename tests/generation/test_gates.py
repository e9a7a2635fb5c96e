"""Providers are asked within their limits, by all workers together; a batch keeps within its budget."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from decimal import Decimal
from threading import Barrier, Thread

import pytest
import time_machine
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connections
from django.urls import reverse
from django.utils import timezone

from eqstudio.errors import Conflict, InvalidInput
from eqstudio.limits import limits_checked, prices_checked
from eqstudio.models import Event
from generation import tasks
from generation.models import Batch, Clip, Dialogue, ProviderCall, ProviderGate, ProviderSlot, Variant
from generation.providers.base import Usage
from generation.providers.scripted import Behaviour
from generation.providers.text.fake import FakeText
from generation.providers.voice.fake import FakeVoice
from generation.selectors import batch_progress, dialogues_due
from generation.services import (
    Budget,
    Busy,
    batch_cancel,
    budget_set,
    dialogue_step,
    dialogues_run,
    gates,
    slots_reclaim,
)
from generation.services.gates import gate_close, gate_pass, limits_of
from tests.generation.pipeline import advance, batch_of, one_briefed

pytestmark = pytest.mark.django_db


def passes(alias: str = "fake") -> None:
    with gate_pass(kind="text", alias=alias):
        pass


# --- gates


def test_a_provider_without_limits_is_let_through_and_leaves_no_row():
    passes()
    assert not ProviderGate.objects.exists()
    assert not ProviderSlot.objects.exists()


def test_nobody_asks_before_the_time_that_a_provider_named():
    with time_machine.travel(timezone.now(), tick=False) as clock:
        gate_close(kind="text", alias="fake", after_s=30)
        gate_close(kind="text", alias="fake", after_s=10)
        clock.shift(timedelta(seconds=20))
        with pytest.raises(Busy) as caught:
            passes()
        with gate_pass(kind="voice", alias="fake"):
            pass
        clock.shift(timedelta(seconds=11))
        passes()
    assert round(caught.value.after_s) == 10
    assert caught.value.message == "text:fake asked not to be called again for another 10 seconds."


def test_a_rate_limited_provider_holds_every_dialogue_back_and_fails_none():
    first, second = Dialogue.objects.filter(brief__batch=batch_of(count=2))
    FakeText.script.extend([Behaviour.RATE_LIMIT] * 5)
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for _again in range(5):
            advance(first, now=timezone.now())
            waits = dialogue_step(dialogue_id=second.pk, now=timezone.now())
            clock.shift(timedelta(seconds=7.1))
        advance(first, now=timezone.now())
    assert waits.again_in_s == pytest.approx(7.0)
    assert len(FakeText.calls) == 6
    assert (first.state, first.attempts) == ("scripted", 0)
    assert ProviderCall.objects.filter(outcome="error", result__cause="rate limited").count() == 5


def test_a_limit_a_minute_lets_a_second_of_calls_through_and_spaces_the_rest(settings):
    settings.PROVIDER_LIMITS = {"fake": {"per_minute": 120}}
    let, told = 0, []
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for _tenth in range(100):
            try:
                passes()
                let += 1
            except Busy as busy:
                told.append(busy.after_s)
            clock.shift(timedelta(seconds=0.1))
    assert 20 <= let <= 22
    assert min(told) >= 1.0


def test_slots_are_taken_and_given_back(settings, monkeypatch):
    settings.PROVIDER_LIMITS = {"text:fake": {"concurrency": 2}}
    monkeypatch.setattr(gates, "PATIENCE_S", 0.05)
    with gate_pass(kind="text", alias="fake"), gate_pass(kind="text", alias="fake"):
        held = set(ProviderSlot.objects.exclude(holder="").values_list("number", flat=True))
        with pytest.raises(Busy, match="is asked 2 times at once already"):
            passes()
    passes()
    assert held == {0, 1}
    assert not ProviderSlot.objects.exclude(holder="").exists()


def test_a_higher_limit_makes_more_slots_and_a_lower_one_uses_fewer(settings, monkeypatch):
    monkeypatch.setattr(gates, "PATIENCE_S", 0.05)
    settings.PROVIDER_LIMITS = {"fake": {"concurrency": 1}}
    with gate_pass(kind="text", alias="fake"):
        settings.PROVIDER_LIMITS = {"fake": {"concurrency": 2}}
        passes()
        settings.PROVIDER_LIMITS = {"fake": {"concurrency": 1}}
        with pytest.raises(Busy):
            passes()


def test_slots_of_a_dead_process_come_free(settings):
    settings.PROVIDER_LIMITS = {"fake": {"concurrency": 1}}
    passes()
    host = gates.process_name().split(":")[0]
    until = timezone.now() + gates.SLOT
    ProviderSlot.objects.update(holder=f"{host}:999999999:1:word", until=until)
    assert slots_reclaim(now=timezone.now()) == 1
    ProviderSlot.objects.update(holder="elsewhere:1:1:word", until=until)
    assert slots_reclaim(now=timezone.now()) == 0
    with time_machine.travel(until + timedelta(seconds=1)):
        passes()


def test_a_call_that_fails_gives_its_slot_back(settings):
    settings.PROVIDER_LIMITS = {"fake": {"concurrency": 1}}
    FakeText.script.append(Behaviour.FAIL)
    advance(one_briefed())
    assert not ProviderSlot.objects.exclude(holder="").exists()


@pytest.mark.django_db(transaction=True)
def test_of_many_threads_no_more_than_allowed_ask_at_once(settings):
    settings.PROVIDER_LIMITS = {"fake": {"concurrency": 3}}
    lock, now, most, done = threading.Lock(), 0, 0, 0
    start = Barrier(12)

    def work() -> None:
        nonlocal now, most, done
        try:
            start.wait()
            for _call in range(5):
                with gate_pass(kind="text", alias="fake"):
                    with lock:
                        now += 1
                        most = max(most, now)
                    time.sleep(0.01)
                    with lock:
                        now -= 1
                        done += 1
        finally:
            connections.close_all()

    threads = [Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, done) == (3, 60)
    assert not ProviderSlot.objects.exclude(holder="").exists()


def test_a_step_that_is_put_off_is_handed_out_again_after_the_pause(monkeypatch):
    sent = []
    monkeypatch.setattr(tasks.dialogue_step_io, "apply_async", lambda args, **options: sent.append((args, options)))
    monkeypatch.setattr(tasks.transaction, "on_commit", lambda call, **_options: call())
    dialogue = one_briefed()
    FakeText.script.append(Behaviour.RATE_LIMIT)
    tasks.dialogue_step_io(dialogue.pk)
    assert sent == [((dialogue.pk,), {"countdown": 7.05})]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ([], "must be JSON like"),
        ({"openai": 3}, "must be JSON like"),
        ({"openai": {"at_once": 3}}, "openai has 'at_once'; known are concurrency, per_minute."),
        ({"openai": {"concurrency": "3"}}, "which is not a number"),
        ({"openai": {"concurrency": 0}}, "at least 1"),
        ({"openai": {"per_minute": 1.5}}, "a whole number"),
    ],
)
def test_nonsense_in_the_limits_stops_the_start(limits, said):
    with pytest.raises(ImproperlyConfigured, match="EQSTUDIO_PROVIDER_LIMITS") as caught:
        limits_checked(limits)
    assert said in str(caught.value)


def test_nonsense_in_the_prices_stops_the_start():
    for prices, said in (({"m": {"in": -1}}, "not below zero"), ({"m": {"hour": 1}}, "known are characters, in")):
        with pytest.raises(ImproperlyConfigured) as caught:
            prices_checked(prices)
        assert said in str(caught.value)


def test_a_limit_of_one_kind_goes_before_that_of_the_alias(settings):
    settings.PROVIDER_LIMITS = {"fake": {"concurrency": 8}, "voice:fake": {"concurrency": 2}}
    assert limits_of(kind="text", alias="fake").concurrency == 8
    assert limits_of(kind="voice", alias="fake").concurrency == 2
    assert limits_of(kind="text", alias="openai").concurrency is None


# --- budgets


def limited(count: int = 2, **budget) -> Batch:
    return budget_set(batch=batch_of(count=count), budget=Budget(**budget))


def run(batch: Batch) -> None:
    dialogues_run(ids=list(Dialogue.objects.filter(brief__batch=batch).values_list("pk", flat=True)))


def test_a_batch_stops_at_its_last_call_and_goes_on_when_it_may_make_more():
    batch = limited(calls=20)
    run(batch)
    batch.refresh_from_db()
    made = len(FakeText.calls) + len(FakeVoice.calls) + ProviderCall.objects.filter(kind="transcriber").count()
    assert (batch.calls_begun, batch.calls_done, made) == (20, 20, 20)
    assert batch.stopped_reason == "20 of 20 calls are made."
    assert sorted(Dialogue.objects.values_list("state", "error", "attempts")) == [("ready", "", 0), ("scripted", "", 0)]
    assert dialogues_due(now=timezone.now()) == []
    assert not batch_progress(batch=batch, now=timezone.now()).running
    assert Event.objects.filter(verb="budget used up").count() == 1

    budget_set(batch=batch, budget=Budget(calls=34))
    run(batch)
    batch.refresh_from_db()

    assert set(Dialogue.objects.values_list("state", flat=True)) == {"ready"}
    assert (batch.calls_begun, batch.stopped_at) == (34, None)
    assert ProviderCall.objects.filter(outcome="ok").count() == 34
    assert Variant.objects.filter(clip=None).count() == 0


def test_a_higher_limit_that_is_used_up_too_leaves_the_batch_stopped():
    batch = limited(calls=5)
    run(batch)
    still = budget_set(batch=batch, budget=Budget(calls=4))
    assert still.stopped_reason == "5 of 5 calls are made."
    assert budget_set(batch=batch, budget=Budget()).stopped_at is None


def test_tokens_and_dollars_stop_a_batch_when_they_are_spent(monkeypatch):
    speak = FakeVoice.speak

    def priced(self, **asked):
        answer = speak(self, **asked)
        return type(answer)(**{**answer.__dict__, "usage": Usage(tokens_in=30, tokens_out=10, cost=Decimal("0.25"))})

    monkeypatch.setattr(FakeVoice, "speak", priced)
    by_cost = limited(cost=Decimal("1.00"))
    run(by_cost)
    by_cost.refresh_from_db()
    assert by_cost.cost_spent == Decimal("1.00")
    assert by_cost.stopped_reason == "1.0000 of 1.0000 dollars are spent."
    assert Clip.objects.count() == 4
    budget_set(batch=by_cost, budget=Budget(tokens=by_cost.tokens_spent + 40))
    run(by_cost)
    by_cost.refresh_from_db()
    assert by_cost.stopped_reason.endswith("tokens are used.")
    assert Clip.objects.count() == 5


def test_a_failed_call_counts_in_the_ledger_and_in_the_batch():
    FakeText.script.append(Behaviour.REFUSE)
    dialogue = advance(one_briefed())
    batch = dialogue.brief.batch
    batch.refresh_from_db()
    assert (batch.calls_begun, batch.calls_done, ProviderCall.objects.count()) == (1, 1, 1)


@pytest.mark.parametrize("limits", [{"calls": 0}, {"tokens": -1}, {"cost": Decimal(0)}])
def test_a_limit_of_nothing_is_refused(limits):
    with pytest.raises(InvalidInput, match="A limit is more than zero"):
        budget_set(batch=batch_of(), budget=Budget(**limits))


def test_a_batch_that_was_called_off_takes_no_limits():
    batch = batch_of()
    batch_cancel(batch=batch, now=timezone.now())
    with pytest.raises(Conflict, match="called off"):
        budget_set(batch=batch, budget=Budget(calls=3))


def test_the_page_says_why_a_batch_stopped_and_lets_it_go_on(client, rita, django_capture_on_commit_callbacks):
    batch = limited(calls=5)
    run(batch)
    client.force_login(rita)
    page = client.get(reverse("batch", args=[batch.uid])).content.decode()
    assert "5 of 5 calls are made." in page
    assert "stopped: the budget is used up" in page
    wrong = client.post(reverse("batch_budget", args=[batch.uid]), {"max_calls": "many"}, follow=True)
    assert "Calls at most: Enter a whole number." in wrong.content.decode()
    low = client.post(reverse("batch_budget", args=[batch.uid]), {"max_calls": 5}, follow=True)
    assert "used up already: 5 of 5 calls are made." in low.content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("batch_budget", args=[batch.uid]), {"max_calls": 100})
    assert set(Dialogue.objects.values_list("state", flat=True)) == {"ready"}


def test_an_outsider_sets_no_budget(client, alice):
    batch = batch_of()
    client.force_login(alice)
    assert client.post(reverse("batch_budget", args=[batch.uid]), {"max_calls": 1}).status_code == 403
    batch.refresh_from_db()
    assert batch.max_calls is None


def test_the_command_stops_at_the_limit_says_so_and_goes_on_with_a_higher_one(capsys):
    asked = {"benchmark": "speecheq", "per_category": 1, "category": ["interpersonal_empathy"], "text": "fake"}
    asked |= {"voice": "fake", "transcriber": "fake"}
    call_command("dialogues_generate", **asked, max_calls=3)
    first = capsys.readouterr().out
    call_command("dialogues_generate", **asked, max_calls=100)
    second = capsys.readouterr().out
    assert "Stopped: 3 of 3 calls are made. With a higher limit the same command goes on." in first
    assert "1 dialogues (1 ready), 0 of them new." in second
    assert "Stopped" not in second
