import heapq
from datetime import timedelta
from decimal import Decimal
from functools import partial
from threading import Barrier, Thread

import pytest
import time_machine
from django.db import connections
from django.urls import reverse
from django.utils import timezone

from eqstudio.errors import Conflict
from generation import tasks
from generation.models import Batch, Dialogue, ProviderCall, Variant
from generation.providers.scripted import Behaviour
from generation.providers.text.fake import FakeText
from generation.providers.transcriber.fake import FakeTranscriber
from generation.providers.voice.fake import FakeVoice
from generation.selectors import batch_progress, batches_spent, dialogues_due, production_now
from generation.services import (
    batch_cancel,
    dialogue_advance,
    dialogues_retry,
    dialogues_run,
    leases_reclaim,
)
from generation.services.leases import LEASE, lease_claim, process_is_gone, process_name
from tests.generation.factories import DialogueFactory
from tests.generation.pipeline import advance, batch_of, one_briefed

pytestmark = pytest.mark.django_db


def test_a_dialogue_is_claimed_once():
    dialogue, now = one_briefed(), timezone.now()

    first, second = (lease_claim(dialogue_id=dialogue.pk, now=now) for _ in range(2))

    assert first.lease_owner.startswith(process_name())
    assert second is None
    assert dialogue_advance(dialogue_id=dialogue.pk, now=now) is None
    assert dialogue_advance(dialogue_id=dialogue.pk, now=now + LEASE * 2) == "io"


def test_what_a_dead_process_held_comes_free_and_what_a_live_one_holds_does_not():
    now, batch = timezone.now(), batch_of(count=3)
    dead, live, elsewhere = Dialogue.objects.filter(brief__batch=batch)
    host = process_name().split(":")[0]
    for dialogue, owner in (
        (dead, f"{host}:999999999:1:word"),
        (live, f"{process_name()}:word"),
        (elsewhere, "other:1:1:word"),
    ):
        Dialogue.objects.filter(pk=dialogue.pk).update(lease_owner=owner, lease_until=now + LEASE)

    freed = leases_reclaim(now=now)

    assert freed == 1
    assert [d.pk for d in dialogues_due(now=now)] == [dead.pk]
    assert not process_is_gone("not a process")


def test_calling_a_batch_off_stops_the_step_and_keeps_what_is_made():
    dialogue = advance(one_briefed())
    batch = dialogue.brief.batch

    class Calling(list):
        def append(self, call):
            super().append(call)
            if len(self) == 3:
                batch_cancel(batch=batch, now=timezone.now())

    FakeVoice.calls = Calling()
    advance(dialogue)
    FakeVoice.calls = []
    advance(dialogue)

    assert (dialogue.state, dialogue.error, dialogue.lease_owner) == ("scripted", "", "")
    assert Variant.objects.filter(clip__isnull=False).count() == 3
    assert FakeVoice.calls == []
    assert dialogues_due(now=timezone.now()) == []
    with pytest.raises(Conflict):
        batch_cancel(batch=batch, now=timezone.now())


# --- retry, progress


def test_retry_goes_back_to_where_the_work_stopped_and_only_for_the_cause():
    batch = batch_of(count=4)
    written, spoken, bare, other = Dialogue.objects.filter(brief__batch=batch)
    advance(written)
    advance(spoken, times=2)
    Dialogue.objects.filter(pk__in=[written.pk, spoken.pk, bare.pk]).update(state="failed", error_cause="timeout")
    Dialogue.objects.filter(pk=other.pk).update(state="failed", error_cause="refused")

    moved = dialogues_retry(batch=batch, cause="timeout")

    assert moved == 3
    assert list(Dialogue.objects.order_by("pk").values_list("state", flat=True)) == [
        "scripted",
        "voiced",
        "briefed",
        "failed",
    ]


def test_progress_counts_states_failures_cost_and_time_left(django_assert_num_queries):
    batch = batch_of(count=4)
    ready, _scripted, failed, _briefed = Dialogue.objects.filter(brief__batch=batch)
    advance(ready, times=3)
    Dialogue.objects.filter(pk=failed.pk).update(state="failed", error_cause="timeout", error="No answer.")
    Batch.objects.filter(pk=batch.pk).update(calls_done=34, cost_spent="0.25")
    took = ProviderCall.objects.filter(dialogue=ready).count()

    with django_assert_num_queries(6):
        progress = batch_progress(batch=batch, now=timezone.now() + timedelta(minutes=1))

    assert (progress.total, progress.done, progress.failed, progress.waiting) == (4, 1, 1, 2)
    assert [(f.cause, f.count, f.example) for f in progress.failures] == [("timeout", 1, "No answer.")]
    assert [(stage.state, stage.done) for stage in progress.stages] == [("briefed", 1), ("scripted", 1), ("voiced", 1)]
    assert float(progress.cost) == 0.25
    assert (progress.expected.calls, progress.expected.cost) == (3 * took, None)
    assert timedelta(minutes=1.9) < progress.eta < timedelta(minutes=2.2)
    assert progress.running
    assert production_now(now=timezone.now())["waiting"] == 2


def test_what_a_batch_will_take_is_told_stage_by_stage():
    batch = batch_of(count=10)
    rows = list(Dialogue.objects.filter(brief__batch=batch).order_by("pk"))
    price = {"text": Decimal("0.09"), "voice": Decimal("0.009"), "transcriber": Decimal("0.001")}
    states = [("ready", "text voice transcriber"), ("scripted", "text"), ("failed", "text")]

    def progress():
        return batch_progress(batch=batch, now=timezone.now()).expected

    for number, dialogue in enumerate(rows):
        state, kinds = states[0 if number == 9 else 2 if number == 8 else 1]
        Dialogue.objects.filter(pk=dialogue.pk).update(state=state)
        for kind in kinds.split():
            ProviderCall.objects.create(
                kind=kind, request_hash=f"{kind}{number}", cost=price[kind], outcome="ok", dialogue=dialogue
            )
        if number == 8:
            assert (progress().calls, progress().cost) == (None, None)  # nobody spoke yet

    assert (progress().calls, progress().cost) == (9 * 3 + 1, 9 * Decimal("0.1") + Decimal("0.09"))
    Batch.objects.filter(pk=batch.pk).update(cost_spent="0.91")
    spent = batches_spent(dialogues=Dialogue.objects.filter(brief__batch=batch))
    assert spent.cost_expected == progress().cost


def test_a_batch_that_was_called_off_is_not_tried_again():
    batch = batch_of(count=1)
    Dialogue.objects.filter(brief__batch=batch).update(state="failed", error_cause="timeout")
    batch_cancel(batch=batch, now=timezone.now())

    with pytest.raises(Conflict, match="was called off"):
        dialogues_retry(batch=batch, cause="timeout")
    assert Dialogue.objects.get(brief__batch=batch).state == "failed"


def test_what_is_tried_again_in_a_stopped_batch_is_said_to_wait(client, rita):
    batch = batch_of(count=1)
    Dialogue.objects.filter(brief__batch=batch).update(state="failed", error_cause="timeout")
    Batch.objects.filter(pk=batch.pk).update(stopped_at=timezone.now(), stopped_reason="5 of 5 calls are made.")
    client.force_login(rita)

    page = client.post(reverse("batch_retry", args=[batch.uid]), {"cause": "timeout"}, follow=True)

    assert "waits for a higher limit" in page.content.decode()
    assert Dialogue.objects.get(brief__batch=batch).state == "briefed"


def test_time_left_is_unknown_until_something_is_finished():
    assert batch_progress(batch=batch_of(), now=timezone.now()).eta is None


# --- tasks


def test_sweep_brings_a_batch_to_its_end(django_capture_on_commit_callbacks):
    batch_of(count=2)

    with django_capture_on_commit_callbacks(execute=True):
        tasks.production_sweep()

    assert set(Dialogue.objects.values_list("state", flat=True)) == {"ready"}
    assert ProviderCall.objects.filter(kind="voice", outcome="ok").count() == 16


def test_sweep_has_the_name_that_the_schedule_calls(settings):
    assert tasks.production_sweep.name == settings.CELERY_BEAT_SCHEDULE["generation-sweep"]["task"]


class Broker:
    """Holds what was handed out, and gives each queue's lowest number first, then what came first."""

    def __init__(self, monkeypatch):
        self.waiting = {queue: [] for queue in tasks.STEP_TASKS}
        monkeypatch.setattr(tasks.transaction, "on_commit", lambda call, **_options: call())
        for queue, task in tasks.STEP_TASKS.items():
            monkeypatch.setattr(task, "apply_async", partial(self.put, queue))

    def put(self, queue, arguments, *, priority):
        heapq.heappush(self.waiting[queue], (priority, len(self.waiting[queue]), *arguments))

    def work(self, queue):
        _priority, _number, dialogue_id = heapq.heappop(self.waiting[queue])
        tasks.STEP_TASKS[queue](dialogue_id)


def test_sweep_hands_out_a_waiting_dialogue_once_until_the_mark_runs_out(monkeypatch):
    broker, now = Broker(monkeypatch), timezone.now()
    dialogue = one_briefed()

    tasks.production_sweep()
    tasks.production_sweep()
    Dialogue.objects.filter(pk=dialogue.pk).update(lease_until=now - timedelta(seconds=1))
    tasks.production_sweep()

    assert [dialogue_id for _priority, _number, dialogue_id in broker.waiting["io"]] == [dialogue.pk, dialogue.pk]


def test_the_first_dialogue_is_whole_before_the_second_is_spoken(monkeypatch):
    monkeypatch.setattr(FakeVoice, "queue", "cpu")
    monkeypatch.setattr(FakeTranscriber, "queue", "cpu")
    broker = Broker(monkeypatch)
    batch_of(count=4)

    tasks.production_sweep()
    while broker.waiting["io"]:
        broker.work("io")
    for _step in range(4):
        broker.work("cpu")

    assert sorted(Dialogue.objects.values_list("state", flat=True)) == ["ready", "ready", "scripted", "scripted"]


def test_a_dialogue_under_way_goes_before_one_that_begins_in_its_own_queue(monkeypatch):
    broker = Broker(monkeypatch)
    batch_of(count=2)

    tasks.production_sweep()
    for _step in range(3):
        broker.work("io")

    assert sorted(Dialogue.objects.values_list("state", flat=True)) == ["briefed", "ready"]


def test_no_more_than_a_bounded_number_wait_at_the_broker(monkeypatch):
    batch_of(count=5)
    now = timezone.now()

    first = dialogues_due(now=now, limit=3)
    Dialogue.objects.filter(pk=first[0].pk).update(lease_owner="queued", lease_until=now + LEASE)
    second = dialogues_due(now=now, limit=3)

    assert len(first) == 3
    assert len(second) == 2
    assert first[0] not in second


def test_a_step_that_was_handed_out_twice_is_done_once():
    dialogue = one_briefed()

    tasks.dialogue_step_io(dialogue.pk)
    tasks.dialogue_step_io(dialogue.pk)
    tasks.dialogue_step_io(dialogue.pk)
    tasks.dialogue_step_io(dialogue.pk)

    assert len(FakeText.calls) == 1
    assert len(FakeVoice.calls) == 8


def test_imported_dialogues_are_never_handed_out():
    DialogueFactory(state="voiced")

    assert dialogues_due(now=timezone.now()) == []


def test_run_finishes_what_is_left_and_waits_for_what_is_put_off():
    batch = batch_of(count=2)
    FakeText.script.append(Behaviour.RATE_LIMIT)
    told = []

    with time_machine.travel(timezone.now(), tick=False) as clock:
        dialogues_run(
            ids=[d.pk for d in Dialogue.objects.filter(brief__batch=batch)],
            sleep=lambda _seconds: clock.shift(timedelta(seconds=10)),
            told=told.append,
        )

    assert set(Dialogue.objects.values_list("state", flat=True)) == {"ready"}
    assert sorted(told) == list(Dialogue.objects.order_by("pk").values_list("pk", flat=True))


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_at_once_one_does_the_step():
    dialogue = one_briefed()
    start, done = Barrier(4), []

    def work():
        try:
            start.wait()
            done.append(dialogue_advance(dialogue_id=dialogue.pk, now=timezone.now()))
        finally:
            connections.close_all()

    workers = [Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    dialogue.refresh_from_db()
    assert sorted(done, key=str) == [None, None, None, "io"]
    assert (dialogue.state, len(FakeText.calls)) == ("scripted", 1)
