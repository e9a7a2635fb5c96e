"""What a run says of itself when not all went well: exit codes, causes, prices, budgets."""

import json
from contextlib import contextmanager
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from eqstudio.errors import GiveUp, ProviderError, Retry
from evaluation.backends.openai import answer_read
from evaluation.models import Response, RunPlan, Sitting
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


def cut_off(text):
    given = completion(text)
    given["choices"][0]["finish_reason"] = "length"
    return given


@pytest.mark.django_db
def test_an_answer_that_was_cut_off_has_that_as_its_cause(settings, client):
    with exam_server(settings, cut_off("First I listen to")):
        sitting = sit(speecheq_study(items=1))
    (row,) = failures_by_cause(sitting=sitting)
    assert (row["failure"], row["cause"], row["n"]) == ("unparsed", "length", 2)
    assert "cut off at the largest length" in page_of(client, sitting)


@pytest.mark.django_db
def test_an_answer_that_says_enough_before_it_was_cut_off_is_no_failure(settings):
    with exam_server(settings, cut_off('{"answer": "B"} because')):
        sitting = sit(speecheq_study(items=1))
    assert failures_by_cause(sitting=sitting) == []


@pytest.mark.parametrize(
    ("error", "cause", "decision", "said"),
    [
        ({"message": "Provider returned error: overloaded", "code": 502}, "error in answer", Retry(10), "overloaded"),
        ({"message": "This model takes no audio", "code": 400}, "error in answer", GiveUp(), "takes no audio"),
        ("no such voice", "error in answer", GiveUp(), "no such voice"),
        ({"message": "Insufficient credits", "code": 402}, "no credit", GiveUp(), "Insufficient credits"),
        ({"type": "odd"}, "error in answer", GiveUp(), "odd"),
        (None, "empty answer", GiveUp(), "without a choice"),
    ],
)
def test_an_error_under_the_status_of_a_success_keeps_the_words_of_the_provider(error, cause, decision, said):
    with pytest.raises(ProviderError) as caught:
        answer_read({"error": error}, 1)
    assert (caught.value.cause, caught.value.decision) == (cause, decision)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("content", "raw"),
    [
        ([{"type": "text", "text": "Answer: "}, {"type": "text", "text": "B"}], "Answer: B"),
        (
            [{"type": "text", "text": "A"}, {"type": "image_url"}],
            '[{"type": "text", "text": "A"}, {"type": "image_url"}]',
        ),
        ("B", "B"),
        (None, ""),
    ],
)
def test_the_text_parts_of_a_message_are_its_words(content, raw):
    assert answer_read(completion(content), 1).raw == raw


def unmetered():
    return {name: value for name, value in GOOD.items() if name != "usage"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "prices", "shown", "not_shown"),
    [
        (unmetered(), {"test-model": {"in": 1.0, "out": 1.0}}, "no usage reported", "no price known"),
        (unmetered(), {}, "no price known", "dollars is used up"),
        (GOOD, {}, "no price known", "no usage reported"),
        (GOOD, {"test-model": {"in": 1.0, "out": 1.0}}, "0.0003", "no usage reported"),
    ],
)
def test_the_page_tells_no_price_from_no_usage(settings, client, given, prices, shown, not_shown):  # noqa: PLR0917 -- a table
    settings.PRICES = prices
    with exam_server(settings, given):
        page = page_of(client, sit(speecheq_study(items=1)))
    assert shown in page
    assert not_shown not in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "limits", "said"),
    [
        (unmetered(), {"tokens": 10}, "reports no usage"),
        (unmetered(), {"cost": Decimal(1)}, "reports no usage"),
        (GOOD, {"cost": Decimal(1)}, "No price is known"),
        (GOOD, {"tokens": 10_000}, ""),
        (unmetered(), {}, ""),
    ],
)
def test_the_page_says_of_a_limit_that_it_is_never_reached(settings, client, given, limits, said):
    settings.PRICES = {}
    with exam_server(settings, given):
        sitting = sit(speecheq_study(items=3), calls=2, **limits)
        page = page_of(client, sitting)
    assert sitting.state == Sitting.State.OPEN
    assert ("is never reached" in page) == bool(said)
    assert said in page


@pytest.mark.django_db
def test_a_run_does_not_go_on_while_its_budget_is_used_up_and_says_how_to_raise_it(settings, client):
    with exam_server(settings):
        sitting = sit(speecheq_study(items=3), calls=1)
        page_of(client, sitting)
        page = client.post(reverse("run_resume", args=[sitting.uid]), follow=True).content.decode()
        assert "1 of 1 calls are made. Raise or empty that limit" in page
        sitting.refresh_from_db()
        assert (sitting.error != "", Response.objects.count()) == (True, 1)
        RunPlan.objects.update(max_calls=50)
        client.post(reverse("run_resume", args=[sitting.uid]))
    sitting.refresh_from_db()
    assert sitting.error == ""
