"""The engine: how many questions are under way, what a backend that computes is given, what a worker tells of itself."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from eqstudio.benchmarks.base import Trial
from eqstudio.errors import GiveUp, ProviderError, Retry
from eqstudio.packed import pack, unpack
from evaluation.backends import Answer, Backend, backends
from evaluation.models import Response, RunCall, RunItem, RunWorker, ScoreRecord, Sitting, TrialRecord
from evaluation.selectors import marks_of, outcome_counts, run_pulse, sittings_due, sittings_progress
from evaluation.services import Limits, respondent_drive, sitting_advance, sitting_cancel, study_run
from evaluation.services.runs_queue import MAX_STOPS, items_claim, queue_fill
from evaluation.services.sittings import trial_next
from evaluation.tasks import sittings_sweep
from tests.eqstudio import factories
from tests.evaluation.factories import emosbench_study, speecheq_study

A = "ANSWER: A"

pytestmark = pytest.mark.django_db


def registered(monkeypatch, kind):
    monkeypatch.setitem(backends._entries, kind.alias, kind)
    monkeypatch.setitem(backends._loaded, kind.alias, kind)
    return kind


def drive(study, backend, **options):
    now = [timezone.now()]

    def sleep(seconds):
        now[0] += timedelta(seconds=seconds)

    respondent = study_run(study=study, backend=backend, runs=1, **options)
    (sitting,) = respondent_drive(respondent=respondent, clock=lambda: now[0], sleep=sleep)
    return sitting


@pytest.fixture
def together(monkeypatch):
    """A backend that answers only when as many questions are under way as it says it takes."""

    class Together(Backend):
        alias, kind, concurrency = "together", "model", 4
        gate = threading.Barrier(4, timeout=20)
        heard = []

        def answer(self, trial, clips):
            type(self).heard.append([clips(option.variant).variant for option in trial.options])
            type(self).gate.wait()
            return Answer(raw=A)

    return registered(monkeypatch, Together)


@pytest.fixture
def computing(monkeypatch):
    """A backend that takes batches of three, and remembers how often it was loaded and what it was given."""

    class Computing(Backend):
        alias, kind, queue, batch_size = "computing", "model", "gpu", 3
        loads = 0
        closed = 0
        batches = []
        fails = {}
        setting = "one"

        def parameters(self):
            return {"setting": type(self).setting}

        def load(self):
            type(self).loads += 1

        def close(self):
            type(self).closed += 1

        def answer(self, trial, clips):
            raise AssertionError("it takes batches")

        def answers(self, asked):
            number = len(type(self).batches)
            type(self).batches.append([trial.key for trial, _clips in asked])
            found = [Answer(raw=A) for _question in asked]
            if number in self.fails:
                found[0] = self.fails[number]
            return found

    return registered(monkeypatch, Computing)


def test_as_many_questions_are_under_way_as_the_backend_takes(together):
    sitting = drive(speecheq_study(items=4), "together")
    assert (sitting.state, Response.objects.count(), len(together.heard)) == ("finished", 8, 8)


def test_questions_of_one_dialogue_are_asked_in_their_order(together):
    study = speecheq_study(items=4)
    drive(study, "together")
    for dialogue in study.split.items.values_list("dialogue", flat=True):
        keys = list(TrialRecord.objects.filter(dialogue=dialogue).order_by("pk").values_list("key", flat=True))
        assert keys == ["s4", "s6"]
    second = TrialRecord.objects.filter(key="s6").first()
    first = TrialRecord.objects.get(key="s4", dialogue=second.dialogue)
    assert first.shown["options"][0]["variant"] in [segment["variant"] for segment in second.shown["context"]]


def test_the_same_run_asks_the_same_whether_one_by_one_or_many_at_once(together):
    study = speecheq_study(items=4)
    sitting = drive(study, "together")
    alone = {record.dialogue_id: record.shown for record in sitting.trials.filter(key="s4")}
    again = Sitting.objects.create(respondent=sitting.respondent, run=2, order_seed=sitting.order_seed)
    asked = trial_next(sitting=again)
    assert Trial.from_dict(asked.shown) == Trial.from_dict(alone[asked.dialogue_id])


def test_a_model_that_computes_is_loaded_once_and_given_batches(computing):
    study = emosbench_study(items=7)
    sitting = drive(study, "computing")
    assert sitting.state == "finished"
    assert Response.objects.count() == sum(len(batch) for batch in computing.batches)
    assert max(len(batch) for batch in computing.batches) == 3
    respondent = study_run(study=study, backend="computing", runs=2)
    respondent_drive(respondent=respondent)
    assert (computing.loads, computing.closed) == (1, 0)
    computing.setting = "two"
    drive(study, "computing")
    assert (computing.loads, computing.closed) == (2, 1)


def test_the_error_of_one_question_spoils_no_other_of_its_batch(computing):
    computing.fails = {0: ProviderError("too long", cause="too long", decision=GiveUp())}
    sitting = drive(speecheq_study(items=3), "computing")
    assert outcome_counts(sitting=sitting) == {"answered": 5, "error": 1}


def test_a_worker_tells_what_it_took(computing, client):
    sitting = drive(speecheq_study(items=2), "computing")
    worker = RunWorker.objects.get(sitting=sitting)
    assert (worker.answered, worker.calls) == (4, 4)
    assert worker.memory_mib > 10
    client.force_login(factories.researcher())
    page = client.get(reverse("run", args=[sitting.uid])).content.decode()
    assert worker.holder in page
    assert "no device" in page


def test_what_a_backend_throws_is_the_failure_of_its_question(monkeypatch):
    class Broken(Backend):
        alias, kind = "broken", "model"

        def answer(self, trial, clips):
            if trial.key == "s4":
                raise ZeroDivisionError("a bug in somebody's research code")
            return Answer(raw=A)

    registered(monkeypatch, Broken)
    sitting = drive(speecheq_study(items=2), "broken")
    assert outcome_counts(sitting=sitting) == {"answered": 2, "error": 2}
    assert set(RunCall.objects.filter(outcome="error").values_list("cause", flat=True)) == {"ZeroDivisionError"}


def test_a_model_that_cannot_be_loaded_stops_the_run_and_says_so(monkeypatch):
    class Absent(Backend):
        alias, kind, queue = "absent", "model", "gpu"

        def load(self):
            raise ImportError("No module named 'vllm'")

        def answer(self, trial, clips):
            raise AssertionError

    registered(monkeypatch, Absent)
    sitting = drive(speecheq_study(items=1), "absent")
    assert "vllm" in sitting.error
    assert not sittings_due(now=timezone.now()).exists()


def test_a_dialogue_that_kills_every_worker_is_given_up(computing):
    study = speecheq_study(items=2)
    respondent = study_run(study=study, backend="computing", runs=1)
    sitting = respondent.sittings.get()
    queue_fill(sitting=sitting)
    deadly = RunItem.objects.order_by("position").first()
    RunItem.objects.filter(pk=deadly.pk).update(stops=MAX_STOPS)
    respondent_drive(respondent=respondent)
    failed = Response.objects.filter(failure="error")
    assert set(failed.values_list("trial__dialogue", "paradata__cause")) == {(deadly.dialogue_id, "worker died")}
    assert Response.objects.filter(failure="").count() == 2


def test_an_answer_is_there_raw_before_it_is_read(monkeypatch, computing):
    study = speecheq_study(items=1)
    respondent = study_run(study=study, backend="computing", runs=1)

    def killed(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("evaluation.services.runs_store._scores_store", killed)
        with pytest.raises(KeyboardInterrupt):
            respondent_drive(respondent=respondent)
    assert (Response.objects.count(), ScoreRecord.objects.count()) == (1, 0)
    respondent_drive(respondent=respondent)
    assert (Response.objects.count(), ScoreRecord.objects.count()) == (2, 2)
    assert sum(len(batch) for batch in computing.batches) == 2


def test_a_run_under_way_is_left_when_it_is_cancelled(monkeypatch):
    class Cancelling(Backend):
        alias, kind = "cancelling", "model"
        sitting = None
        asked = 0

        def answer(self, trial, clips):
            type(self).asked += 1
            if type(self).asked == 3:
                raise ProviderError("later", cause="timeout", decision=Retry(1))
            return Answer(raw=A)

    registered(monkeypatch, Cancelling)
    respondent = study_run(study=speecheq_study(items=3), backend="cancelling", runs=1)
    sitting = respondent.sittings.get()
    sitting_advance(sitting_id=sitting.pk, seconds=0)
    assert sitting_cancel(sitting=sitting)
    respondent_drive(respondent=respondent)
    assert Cancelling.asked == Response.objects.count() == 0


def test_items_that_are_being_asked_do_not_count_yet(together):
    study = speecheq_study(items=4)
    respondent = study_run(study=study, backend="together", runs=1, limits=Limits(calls=4))
    respondent_drive(respondent=respondent)
    assert (Response.objects.count(), list(marks_of(study=study))) == (4, [])


def test_the_sweep_sends_workers_only_where_there_is_something_to_ask(together, django_capture_on_commit_callbacks):
    study = speecheq_study(items=4)
    sitting = study_run(study=study, backend="together", runs=1).sittings.get()
    now = timezone.now()
    assert list(sittings_due(now=now)) == [sitting]
    queue_fill(sitting=sitting)
    for number in range(4):
        items_claim(sitting=sitting, holder=f"elsewhere{number}:1:1:x", now=now, count=1)
    assert not sittings_due(now=now).exists()
    RunItem.objects.update(lease_until=None, lease_holder="")
    Sitting.objects.update(not_before=now + timedelta(minutes=1))
    assert not sittings_due(now=now).exists()
    assert sittings_due(now=now + timedelta(minutes=2)).exists()
    Sitting.objects.update(not_before=None)
    with django_capture_on_commit_callbacks(execute=True):
        sittings_sweep()
    assert Sitting.objects.get().state == "finished"


def test_pace_and_time_to_finish_follow_from_the_last_minute(together):
    study = speecheq_study(items=4)
    respondent = study_run(study=study, backend="together", runs=1, limits=Limits(calls=4))
    respondent_drive(respondent=respondent)
    Sitting.objects.update(error="", started=timezone.now() - timedelta(hours=1))
    sitting = Sitting.objects.select_related("respondent__study__split").get()
    RunItem.objects.order_by("position").first().delete()  # as if one dialogue were through
    progress = sittings_progress(sittings=[sitting])[sitting.pk]
    pulse = run_pulse(sitting=sitting, progress=progress, now=timezone.now())
    assert (progress.done, progress.total, pulse.rate, pulse.calls) == (1, 4, 4.0, 4)
    assert pulse.seconds_left == pytest.approx(3 * 4 / 4.0 * 60)


def test_a_question_as_shown_is_packed_and_comes_back_whole(together):
    drive(speecheq_study(items=4), "together")
    record = TrialRecord.objects.first()
    assert unpack(pack(record.shown)) == record.shown
    with connection.cursor() as cursor:
        cursor.execute("select max(length(shown)) from evaluation_trialrecord")
        assert cursor.fetchone()[0] < 450
    with pytest.raises(ValueError, match="this version does not know"):
        unpack(b"\x09abc")
