"""Model runs: leased, resumable, every question answered once, failures told apart."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from eqstudio.blobs import blob_key, blob_put, blob_read
from eqstudio.errors import Conflict, GiveUp, InvalidInput, ProviderError, Refused, Retry, UnknownAlias
from evaluation.backends import Answer, Backend, backends
from evaluation.models import Respondent, Response, RunSpec, ScoreRecord, Sitting, TrialRecord
from evaluation.selectors import failures_by_cause, outcome_counts, runs_listed
from evaluation.services import (
    respondent_drive,
    sitting_advance,
    sitting_cancel,
    sitting_resume,
    study_close,
    study_run,
)
from evaluation.services.runs import Step
from evaluation.services.runs_queue import items_claim, queue_fill
from evaluation.tasks import sitting_step, sittings_sweep
from generation.models import Variant
from generation.services.leases import process_name
from tests.databases import sqlite_copy
from tests.evaluation.factories import speecheq_study

ROOT = Path(__file__).resolve().parents[2]


class Scripted(Backend):
    """Does what its script says, then answers A."""

    alias = "scripted"
    kind = "model"
    script: list = []
    asked = 0
    setting = "one"

    def parameters(self):
        return {"setting": type(self).setting}

    def answer(self, trial, clips):
        type(self).asked += 1
        step = type(self).script.pop(0) if type(self).script else "ANSWER: A"
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, Answer) else Answer(raw=step)


@pytest.fixture
def scripted(monkeypatch):
    monkeypatch.setitem(backends._entries, "scripted", Scripted)
    Scripted.script, Scripted.asked, Scripted.setting = [], 0, "one"
    return Scripted


class Clock:
    """Time that moves only when somebody sleeps."""

    def __init__(self):
        self.now = timezone.now()
        self.slept = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)


def drive(respondent):
    clock = Clock()
    sittings = respondent_drive(respondent=respondent, clock=clock, sleep=clock.sleep)
    return sittings, clock


def failure(cause, decision):
    return ProviderError(f"It went wrong: {cause}.", cause=cause, decision=decision)


pytestmark = pytest.mark.django_db


def test_a_run_asks_everything_once(scripted):
    study = speecheq_study(items=2)
    sittings, _clock = drive(study_run(study=study, backend="scripted", runs=2))
    assert [sitting.state for sitting in sittings] == ["finished", "finished"]
    assert (Scripted.asked, Response.objects.count()) == (8, 8)


def test_the_same_run_again_resumes_and_asks_nothing_twice(scripted):
    study = speecheq_study(items=2)
    first = study_run(study=study, backend="scripted", limit=1)
    drive(first)
    again = study_run(study=study, backend="scripted", limit=1)
    drive(again)
    assert (again, Scripted.asked) == (first, 4)
    drive(study_run(study=study, backend="scripted"))
    assert (Scripted.asked, Respondent.objects.count()) == (8, 1)


def test_a_run_stops_where_a_sound_is_gone_and_goes_on_when_it_is_back(scripted, monkeypatch):
    def listen(self, trial, clips):
        for option in trial.options:
            clips(option.variant).read()
        return Answer(raw="ANSWER: A")

    monkeypatch.setattr(Scripted, "answer", listen)
    respondent = study_run(study=speecheq_study(items=1), backend="scripted", runs=1)
    variant = Variant.objects.filter(turn__position=6).select_related("clip", "turn__dialogue").first()
    data = blob_read(variant.clip.sha256)
    default_storage.delete(blob_key(variant.clip.sha256))

    (sitting,), _clock = drive(respondent)
    assert f"line 6 of {variant.turn.dialogue} (dialogue {variant.turn.dialogue.uid}) is missing" in sitting.error
    assert (sitting.state, Response.objects.count()) == ("open", 1)

    blob_put(data)
    sitting_resume(sitting=sitting)
    (sitting,), _clock = drive(respondent)
    assert (sitting.state, Response.objects.count()) == ("finished", 2)


def test_what_made_the_answers_is_the_identity_of_the_run(scripted):
    study = speecheq_study(items=1)
    first = study_run(study=study, backend="scripted")
    Scripted.setting = "two"
    second = study_run(study=study, backend="scripted")
    assert first != second
    assert second.name == f"scripted {second.run_spec.hash[:8]}"
    content = RunSpec.objects.get(pk=first.run_spec_id).content
    assert set(content) == {
        "study", "benchmark", "split", "instructions_hash", "seed", "backend", "evaluator", "model", "parameters",
        "parser_version", "git_revision", "packages", "design",
    }  # fmt: skip
    assert content["split"]["manifest_hash"] == study.split.manifest_hash


def test_a_run_does_not_go_on_as_another_model(scripted):
    study = speecheq_study(items=1)
    respondent = study_run(study=study, backend="scripted", runs=1)
    Scripted.setting = "two"
    sittings, _clock = drive(respondent)
    assert "begun with scripted" in sittings[0].error
    assert not Response.objects.exists()


@pytest.mark.parametrize("call", [{"runs": 0}, {"limit": 0}])
def test_nonsense_is_refused(scripted, call):
    with pytest.raises(InvalidInput):
        study_run(study=speecheq_study(items=1), backend="scripted", **call)


def test_unknown_kinds_name_those_there_are():
    study = speecheq_study(items=1)
    with pytest.raises(UnknownAlias, match="rule-quieter"):
        study_run(study=study, backend="oracle")
    with pytest.raises(UnknownAlias, match="Known: mcq, "):
        study_run(study=study, backend="first", evaluator="smell")


def test_a_fake_is_refused_in_production(settings):
    settings.PRODUCTION = True
    with pytest.raises(InvalidInput, match="refused in production"):
        study_run(study=speecheq_study(items=1), backend="fake")
    assert not Respondent.objects.exists()


def test_a_closed_study_takes_no_run(scripted):
    with pytest.raises(Conflict):
        study_run(study=study_close(study=speecheq_study(items=1)), backend="scripted")


def test_a_passing_failure_is_tried_again_after_the_time_asked_for(scripted):
    Scripted.script = [failure("rate limited", Retry(7)), failure("timeout", Retry(2))]
    study = speecheq_study(items=1)
    sittings, clock = drive(study_run(study=study, backend="scripted", runs=1))
    assert (sittings[0].state, sum(clock.slept)) == ("finished", pytest.approx(9, abs=0.2))
    assert (Scripted.asked, Response.objects.filter(failure="").count()) == (4, 2)
    assert Response.objects.first().paradata["attempts"] == 3


def test_a_step_leaves_while_it_must_wait(scripted):
    Scripted.script = [failure("rate limited", Retry(60))]
    sitting = study_run(study=speecheq_study(items=1), backend="scripted", runs=1).sittings.get()
    clock = Clock()
    step = sitting_advance(sitting_id=sitting.pk, clock=clock)
    assert (step.state, step.due) == ("wait", clock.now + timedelta(seconds=60))
    assert sitting_advance(sitting_id=sitting.pk, clock=clock) == Step("wait", due=step.due)
    clock.now += timedelta(seconds=61)
    assert sitting_advance(sitting_id=sitting.pk, clock=clock).state == "done"


def test_a_question_that_keeps_failing_is_an_error_and_the_run_goes_on(scripted):
    Scripted.script = [failure("timeout", Retry(1))] * 5
    study = speecheq_study(items=1)
    sittings, _clock = drive(study_run(study=study, backend="scripted", runs=1))
    assert outcome_counts(sitting=sittings[0]) == {"answered": 1, "error": 1}
    assert runs_listed().get().failures == 1
    assert failures_by_cause(sitting=sittings[0]) == [
        {"failure": "error", "cause": "timeout", "n": 1, "example": "It went wrong: timeout."}
    ]


def test_an_unreachable_provider_stops_the_run_and_spoils_nothing(scripted):
    Scripted.script = ["ANSWER: B", *[failure("unreachable", Retry(1))] * 5]
    study = speecheq_study(items=2)
    respondent = study_run(study=study, backend="scripted", runs=1)
    sittings, _clock = drive(respondent)
    assert sittings[0].state == Sitting.State.OPEN
    assert "unreachable" in sittings[0].error
    assert "kept" in sittings[0].error
    assert Response.objects.count() == 1
    sittings_sweep()
    assert Response.objects.count() == 1
    assert sitting_resume(sitting=sittings[0])
    drive(respondent)
    assert (Response.objects.count(), Response.objects.filter(failure="").count()) == (4, 4)


@pytest.mark.parametrize("cause", ["HTTP 401", "HTTP 404", "client"])
def test_what_would_befall_every_question_stops_the_run_at_once(scripted, cause):
    Scripted.script = [failure(cause, GiveUp())]
    sittings, _clock = drive(study_run(study=speecheq_study(items=1), backend="scripted", runs=1))
    assert (cause in sittings[0].error, Scripted.asked, Response.objects.exists()) == (True, 1, False)


def test_a_refusal_is_an_outcome_and_never_retried(scripted):
    Scripted.script = [Refused("The provider declined.")]
    sittings, _clock = drive(study_run(study=speecheq_study(items=1), backend="scripted", runs=1))
    assert outcome_counts(sitting=sittings[0]) == {"answered": 1, "refused": 1}
    assert (Scripted.asked, ScoreRecord.objects.filter(outcome="refused").count()) == (2, 1)
    assert runs_listed().get().failures == 0


def test_five_failures_in_a_row_stop_the_run(scripted):
    Scripted.script = [failure("HTTP 400", GiveUp())] * 5
    sittings, _clock = drive(study_run(study=speecheq_study(items=4), backend="scripted", runs=1))
    assert "5 failures in a row" in sittings[0].error
    assert Response.objects.count() == 5


def test_what_one_worker_holds_another_does_not_ask(scripted):
    sitting = study_run(study=speecheq_study(items=2), backend="scripted", runs=1).sittings.get()
    queue_fill(sitting=sitting)
    now = timezone.now()
    held = items_claim(sitting=sitting, holder="elsewhere:1:1:claim", now=now, count=1)
    step = sitting_advance(sitting_id=sitting.pk)
    assert (step.state, step.answered, step.due) == ("wait", 2, held[0].lease_until)
    sittings_sweep()
    assert set(Response.objects.values_list("trial__dialogue", flat=True)).isdisjoint({held[0].dialogue_id})
    later = Clock()
    later.now += timedelta(minutes=4)
    assert sitting_advance(sitting_id=sitting.pk, clock=later).state == "done"
    assert Response.objects.count() == 4


def test_two_claims_at_once_never_get_the_same_dialogue(scripted):
    sitting = study_run(study=speecheq_study(items=3), backend="scripted", runs=1).sittings.get()
    assert (queue_fill(sitting=sitting), queue_fill(sitting=Sitting.objects.get(pk=sitting.pk))) == (3, 0)
    now = timezone.now()
    first = items_claim(sitting=sitting, holder="a:1:1:x", now=now, count=2)
    second = items_claim(sitting=sitting, holder="b:1:1:y", now=now, count=2)
    assert ([item.position for item in first], [item.position for item in second]) == ([0, 1], [2])


def test_what_a_dead_process_of_this_host_held_is_free_at_once(scripted):
    sitting = study_run(study=speecheq_study(items=1), backend="scripted", runs=1).sittings.get()
    queue_fill(sitting=sitting)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        items_claim(sitting=sitting, holder=f"{process_name(process.pid)}:claim", now=timezone.now(), count=1)
        assert sitting_advance(sitting_id=sitting.pk).state == "wait"
        process.kill()
    assert sitting_advance(sitting_id=sitting.pk).state == "done"


def test_a_cancelled_run_asks_no_more(scripted):
    sitting = study_run(study=speecheq_study(items=1), backend="scripted", runs=1).sittings.get()
    assert sitting_cancel(sitting=sitting)
    assert sitting_advance(sitting_id=sitting.pk).state == "done"
    assert Scripted.asked == 0


def test_the_sweep_finds_what_is_due_and_the_task_can_run_twice(scripted, django_capture_on_commit_callbacks):
    study = speecheq_study(items=1)
    study_run(study=study, backend="scripted", runs=2)
    with django_capture_on_commit_callbacks(execute=True):
        sittings_sweep()
    assert set(Sitting.objects.values_list("state", flat=True)) == {"finished"}
    sitting_step(Sitting.objects.first().pk)
    assert (Scripted.asked, TrialRecord.objects.count()) == (4, 4)


RUNNER = """
import sys, time
import django
django.setup()
from django.core.management import call_command
from evaluation.backends import Answer, Backend, backends

class Slow(Backend):
    alias, kind = "slow", "model"
    def answer(self, trial, clips):
        time.sleep(0.15)
        return Answer(raw="ANSWER: A")

backends._entries["slow"] = Slow
if sys.argv[1] == "prepare":
    from tests.evaluation.factories import speecheq_study
    speecheq_study(items=8, name="killed")
else:
    call_command("study_run", "killed", "--model", "slow", "--runs", "2", "--json")
"""


def test_a_killed_run_goes_on_and_answers_everything_once(tmp_path):
    environment = {**os.environ, "EQSTUDIO_DATA": str(tmp_path), "DJANGO_SETTINGS_MODULE": "eqstudio.settings"}
    environment.pop("DATABASE_URL", None)
    command = [sys.executable, "-c", RUNNER]

    def count(database):
        return database.execute("select count(*) from evaluation_response").fetchone()[0]

    sqlite_copy(tmp_path / "studio.sqlite3")
    subprocess.run([*command, "prepare"], cwd=ROOT, env=environment, check=True, timeout=120)
    database = sqlite3.connect(f"file:{tmp_path / 'studio.sqlite3'}?mode=ro", uri=True)
    running = subprocess.Popen([*command, "run"], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 90
    while count(database) < 3 and time.monotonic() < deadline and running.poll() is None:
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = count(database)
    assert 3 <= before < 32
    done = subprocess.run([*command, "run"], cwd=ROOT, env=environment, check=True, timeout=120, capture_output=True)
    sittings = json.loads(done.stdout)["sittings"]
    assert [(sitting["state"], sitting["answers"]) for sitting in sittings] == [("finished", 16), ("finished", 16)]
    assert count(database) == 32
    trials = database.execute(
        "select count(*), count(distinct sitting_id || '/' || dialogue_id || '/' || key) from evaluation_trialrecord"
    )
    assert trials.fetchone() == (32, 32)
    assert database.execute("select count(*) from evaluation_respondent").fetchone() == (1,)
    database.close()
