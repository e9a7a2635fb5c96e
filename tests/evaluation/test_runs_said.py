"""What a run says of itself when not all went well: exit codes, causes, prices, budgets."""

import json
from contextlib import contextmanager
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from eqstudio.errors import GiveUp, ProviderError, Retry
from evaluation.backends.openai import answer_read
from evaluation.models import Response, Sitting
from evaluation.selectors import failures_by_cause
from evaluation.services import Limits, respondent_drive, study_run
from tests.chat_server import ChatServer, completion
from tests.eqstudio import factories
from tests.evaluation.factories import speecheq_study

GOOD = completion('{"answer": "B"}')


@contextmanager
def exam_server(settings, given=GOOD):
    with ChatServer(lambda _asked: (200, given)) as server:
        settings.EXAM_BASE_URL, settings.EXAM_MODEL, settings.EXAM_KEY_ENV = server.url, "test-model", ""
        yield server


def sit(study, **limits):
    respondent = study_run(study=study, backend="openai", evaluator="text", runs=1, limits=Limits(1, **limits))
    (sitting,) = respondent_drive(respondent=respondent, sleep=lambda _seconds: None)
    return sitting


def page_of(client, sitting):
    client.force_login(factories.researcher())
    return client.get(reverse("run", args=[sitting.uid])).content.decode()


@pytest.mark.django_db
def test_a_command_whose_run_stopped_prints_its_result_and_exits_with_1(settings, capsys):
    study = speecheq_study(items=3)
    asked = ("study_run", study.name, "--model", "openai", "--evaluator", "text", "--runs", "1")
    with exam_server(settings):
        with pytest.raises(SystemExit) as left:
            call_command(*asked, "--budget-calls", "1", "--json")
        (sitting,) = json.loads(capsys.readouterr().out)["sittings"]
        assert (left.value.code, sitting["state"], sitting["answers"]) == (1, "stopped", 1)
        with pytest.raises(CommandError, match="1 of 1 runs stopped"):
            call_command(*asked)
        assert "stopped, 1 answered" in capsys.readouterr().out
        call_command(*asked, "--budget-calls", "100", "--json")
    assert json.loads(capsys.readouterr().out)["sittings"][0]["state"] == "finished"
