"""Many at once: threads and processes write side by side, and nothing is lost, made twice or mixed up."""

from __future__ import annotations

import threading
import time
from collections import Counter
from threading import Barrier, Thread

import pytest
from django.db import connections

from generation.domain.lifecycle import DialogueState
from generation.models import Brief, Clip, Dialogue, ProviderCall, Variant
from generation.providers.scripted import Behaviour
from generation.providers.text.fake import FakeText
from generation.providers.voice.fake import FakeVoice
from generation.selectors.production import going
from generation.services import batch_create, dialogues_run, running
from generation.services.generating import processes_for
from generation.services.running import ids_of
from tests.generation.factories import CorpusFactory
from tests.generation.pipeline import batch_of, brief

pytestmark = pytest.mark.django_db(transaction=True)


def together(threads: int, work) -> None:
    start, problems = Barrier(threads), []

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as problem:  # noqa: BLE001 -- told in the thread of the test
            problems.append(problem)
        finally:
            connections.close_all()

    started = [Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert problems == []


def test_64_threads_writing_200_dialogues_each_leave_12800_distinct_ones():
    threads, batches, count = 64, 4, 50
    corpus = CorpusFactory()
    together(
        threads,
        lambda number: [
            batch_create(corpus=corpus, briefs=[brief(count=count, seed=number)]) for _four in range(batches)
        ],
    )
    assert Dialogue.objects.filter(corpus=corpus).count() == 12_800
    assert Dialogue.objects.values("uid").distinct().count() == 12_800
    assert Dialogue.objects.values("brief", "ordinal").distinct().count() == 12_800
    assert Brief.objects.values("uid").distinct().count() == threads * batches
    assert set(Counter(Dialogue.objects.values_list("brief", flat=True)).values()) == {count}


def test_a_run_with_many_connections_makes_everything_once():
    batch = batch_of(count=12)
    told = []
    dialogues_run(ids=Dialogue.objects.filter(brief__batch=batch), connections=8, told=told.append)
    assert sorted(told) == list(Dialogue.objects.order_by("pk").values_list("pk", flat=True))
    assert set(Dialogue.objects.values_list("state", flat=True)) == {"ready"}
    assert Variant.objects.filter(clip=None).count() == 0
    assert Counter(ProviderCall.objects.values_list("kind", "outcome")) == {
        ("text", "ok"): 12,
        ("voice", "ok"): 96,
        ("transcriber", "ok"): 96,
    }
    batch.refresh_from_db()
    assert (batch.calls_begun, batch.calls_done) == (204, 204)


def test_steps_that_wait_run_side_by_side_and_no_more_of_them_than_connections(monkeypatch):
    lock, full, now, most = threading.Lock(), threading.Event(), 0, 0
    write = FakeText.write

    def slow(self, **asked):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
            if now == 4:
                full.set()
        full.wait(60)
        time.sleep(0.1)  # a fifth would come meanwhile
        with lock:
            now -= 1
        return write(self, **asked)

    monkeypatch.setattr(FakeText, "write", slow)
    batch_of(count=6)
    dialogues_run(ids=Dialogue.objects.all(), connections=4)
    assert most == 4


def test_no_more_dialogues_are_open_than_a_few_for_each_connection(monkeypatch):
    seen = []
    begin = running._Run._begin

    def watched(self):
        more = begin(self)
        seen.append(self.under_way + len(self.later))
        return more

    monkeypatch.setattr(running._Run, "_begin", watched)
    monkeypatch.setattr(FakeText, "write", lambda self, **asked: time.sleep(0))
    batch = batch_of(count=40)
    Dialogue.objects.filter(brief__batch=batch).update(state=DialogueState.READY.value)
    Dialogue.objects.filter(ordinal__gte=20).update(state=DialogueState.BRIEFED.value, attempts=3)
    told = []
    dialogues_run(ids=Dialogue.objects.all(), connections=2, told=told.append)
    assert max(seen) == 2 * running.OPEN_PER_CONNECTION
    assert sorted(told) == list(ids_of(Dialogue.objects.all()))


def test_a_provider_that_asks_to_wait_is_waited_for(monkeypatch):
    monkeypatch.setattr("generation.providers.scripted.RETRY_AFTER_S", 0.5)
    FakeText.script.append(Behaviour.RATE_LIMIT)
    batch_of(count=5)
    dialogues_run(ids=Dialogue.objects.all(), connections=3)
    assert set(Dialogue.objects.values_list("state", flat=True)) == {"ready"}
    assert ProviderCall.objects.filter(kind="text", outcome="ok").count() == 5


def test_an_error_that_no_step_expects_ends_the_run_and_lets_go(monkeypatch):
    def broken(self, **_asked):
        raise ZeroDivisionError

    monkeypatch.setattr(FakeVoice, "speak", broken)
    batch_of(count=4)
    with pytest.raises(ZeroDivisionError):
        dialogues_run(ids=Dialogue.objects.all(), connections=4)
    assert not Dialogue.objects.exclude(lease_owner="").exists()
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("io-")] == []
    assert not Clip.objects.exists()


def test_ids_are_read_a_page_at_a_time(monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(running, "IDS_CHUNK", 3)
    batch_of(count=7)
    with django_assert_num_queries(4):
        found = list(ids_of(Dialogue.objects.filter(going())))
    assert found == sorted(Dialogue.objects.values_list("pk", flat=True))


@pytest.mark.parametrize(
    ("count", "connections", "expected"), [(1, 32, 1), (1000, 8, 1), (1000, 16, 2), (1000, 1, 1), (1000, 256, 4)]
)
def test_a_large_request_is_shared_by_a_process_for_each_core(monkeypatch, count, connections, expected):
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    assert processes_for(count=count, connections=connections) == expected
