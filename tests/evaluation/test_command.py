"""A program of one's own as a respondent: what it is told, what becomes of its answers, and of it when it misbehaves."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from eqstudio.errors import ProviderError, Retry
from evaluation.models import Response
from evaluation.services import respondent_drive, study_run
from tests.evaluation.factories import speecheq_study
from tests.evaluation.questions import CHOICE, REPLY, clips, configured, seated

PROGRAM = Path(__file__).with_name("respondent_program.py")


@pytest.fixture
def program(settings, tmp_path):
    """Makes the backend of a program that behaves in a manner; ends it with the test."""
    made = []

    def make(manner="well", *, stamp=False, **entry):
        more = [str(tmp_path / "stamp")] if stamp else []
        command = [sys.executable, str(PROGRAM), manner, *more]
        kind = configured(settings, flavour="command", model="research", command=command, folder=str(tmp_path), **entry)
        made.append(seated(kind))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_program_hears_wav_files_named_by_hash_and_sees_nothing_of_the_environment(program, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "a-secret")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    answer = program("well", env=("CUDA_VISIBLE_DEVICES",)).answer(CHOICE, clips)
    told = json.loads(answer.raw)
    assert told["heard"] == [0.3, 0.2, 0.4]
    assert all(len(name) == 64 + len(".wav") for name in told["names"])
    assert "OPENAI_API_KEY" not in told["env"]
    assert "CUDA_VISIBLE_DEVICES" in told["env"]
    assert told["cwd"] == str(tmp_path)
    assert (answer.paradata["model"], answer.paradata["device"]) == ("research@abc", "cpu")
    assert (answer.paradata["tokens_in"], answer.paradata["tokens_out"]) == (11, 3)


def test_one_process_answers_all_questions_and_ends_when_it_is_let_go(program):
    backend = program("well")
    backend.answer(CHOICE, clips)
    pid = backend._program._process.pid
    backend.answer(REPLY, clips)
    assert backend._program._process.pid == pid
    sounds = backend._sounds.name
    backend.close()
    assert not alive(pid)
    assert not Path(sounds).exists()


def test_what_it_prints_besides_is_a_log_and_what_belongs_to_nobody_is_passed_over(program):
    assert json.loads(program("chatty").answer(CHOICE, clips).raw)["answer"] == "B"


def test_a_program_that_dies_is_started_again_for_the_next_try_and_its_last_words_are_told(program):
    backend = program("dies", stamp=True)
    with pytest.raises(ProviderError, match=r"ended with code 3.*CUDA error: device-side assert") as caught:
        backend.answer(CHOICE, clips)
    assert isinstance(caught.value.decision, Retry)
    assert json.loads(backend.answer(CHOICE, clips).raw)["answer"] == "B"


def test_a_silent_program_is_ended_with_its_children(program):
    backend = program("silent", stamp=True, timeout_s=0.5)
    backend.load()
    pid = backend._program._process.pid
    began = time.monotonic()
    with pytest.raises(ProviderError, match=r"no answer within 0\.5 s") as caught:
        backend.answer(CHOICE, clips)
    assert (caught.value.cause, alive(pid)) == ("timeout", False)
    assert time.monotonic() - began < 30
    assert json.loads(backend.answer(CHOICE, clips).raw)["answer"] == "B"


@pytest.mark.parametrize(
    ("manner", "told"),
    [("wrong", "mine: the clip is too long"), ("empty", "answered without a text"), ("newer", "protocol 7, not 1")],
)
def test_what_a_program_cannot_do_is_told_in_its_words(program, manner, told):
    with pytest.raises(ProviderError, match=told):
        program(manner).answer(CHOICE, clips)


def test_a_refusal_is_told_apart(program):
    answer = program("refuses").answer(CHOICE, clips)
    assert (answer.raw, answer.failure, answer.error) == ("I would rather not.", "refused", "policy")


def test_a_program_that_speaks_hands_over_a_file(program):
    assert program("well", speaks=True).answer(REPLY, clips).sound.startswith("UklGR")
    assert program("well", speaks=True).answer(CHOICE, clips).sound == ""


@pytest.mark.parametrize(
    ("entry", "told"),
    [({"command": ("no-such-program",)}, "cannot be started"), ({"folder": "no-such-folder"}, "is not there")],
)
def test_a_program_that_is_not_there_is_named(settings, entry, told):
    kind = configured(settings, **{"flavour": "command", "command": (sys.executable,), **entry})
    with pytest.raises(ProviderError, match=told):
        seated(kind).answer(CHOICE, clips)


@pytest.mark.django_db
def test_a_study_runs_by_a_program_that_dies_once(program):
    program("dies", stamp=True)
    respondent = study_run(study=speecheq_study(items=2), backend="mine", runs=1)
    sittings = respondent_drive(respondent=respondent, sleep=lambda _seconds: None)
    assert [(one.state, one.error) for one in sittings] == [("finished", "")]
    assert Response.objects.filter(failure="").count() == 4
