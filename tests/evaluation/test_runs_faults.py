"""A server that misbehaves in every way there is: the right outcome for each, the run ends, and the page says why."""

import json
import threading
from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from eqstudio.errors import GiveUp, ProviderError, Retry
from eqstudio.net import Endpoint
from eqstudio.net_json import json_post
from evaluation.models import Response, RunCall, RunItem, Sitting
from evaluation.selectors import failures_by_cause, marks_of, outcome_counts
from evaluation.services import Limits, failures_retry, limits_set, respondent_drive, sitting_resume, study_run
from tests.eqstudio import factories
from tests.evaluation.factories import speecheq_study
from tests.openai_server import OpenAIServer, Reply

GOOD = Reply.text('{"reason": "softer", "answer": "B"}')


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


@pytest.fixture
def server(settings):
    with OpenAIServer() as running:
        settings.EXAM_BASE_URL, settings.EXAM_MODEL, settings.EXAM_KEY_ENV = running.url, "test-model", ""
        settings.EXAM_TIMEOUT_S = 20
        running.default = GOOD
        yield running


def faulty(server, study, reply):
    """The first dialogue of the study meets ``reply``, all others are answered."""
    first = study.split.items.order_by("position").first().dialogue_id
    server.writer = lambda asked: reply if f"of dialogue {first}." in " ".join(asked.texts) else GOOD


def sit(study, **options):
    clock = Clock()
    respondent = study_run(study=study, backend="openai", evaluator="text", runs=1, **options)
    (sitting,) = respondent_drive(respondent=respondent, clock=clock, sleep=clock.sleep)
    return sitting, clock


def page_of(client, sitting):
    client.force_login(factories.researcher())
    answer = client.get(reverse("run", args=[sitting.uid]))
    assert answer.status_code == 200, answer.headers
    return answer.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("reply", "outcome", "cause", "calls"),
    [
        (Reply.refused("I will not judge this."), "refused", "", 1),
        (Reply.error(400, code="content_filter"), "refused", "", 1),
        (Reply.slow(4.0), "error", "timeout", 2),
        (Reply.text("Both are lovely."), "unparsed", None, 1),
        (Reply.web_page(), "error", "not an API", 1),
        (Reply.error(500), "error", "HTTP 500", 5),
        (Reply.error(400), "error", "HTTP 400", 1),
        (Reply.hang_up(), "error", "dropped", 5),
    ],
)
def test_each_fault_has_its_outcome_and_the_run_ends(server, client, settings, reply, outcome, cause, calls):  # noqa: PLR0917 -- a table
    if cause == "timeout":
        settings.EXAM_TIMEOUT_S, settings.EXAM_DEADLINE_S = 2.0, 8
    study = speecheq_study(items=2)
    faulty(server, study, reply)
    sitting, _clock = sit(study)
    assert (sitting.state, sitting.error) == ("finished", "")
    assert outcome_counts(sitting=sitting) == {"answered": 2, outcome: 2}
    assert len(server.requests) == RunCall.objects.count() == 2 + 2 * calls
    if cause is not None:
        assert [(row["failure"], row["cause"], row["n"]) for row in failures_by_cause(sitting=sitting)] == [
            (outcome, cause, 2)
        ]
    assert (cause or "") in page_of(client, sitting)
    assert not RunItem.objects.exists()


@pytest.mark.django_db
def test_retry_after_pauses_the_whole_run(server):
    server.script(GOOD, Reply.rate_limited(after=7))
    study = speecheq_study(items=3)
    sitting, clock = sit(study, limits=Limits(concurrency=2))
    assert (sitting.state, sitting.pauses, outcome_counts(sitting=sitting)) == ("finished", 0, {"answered": 6})
    assert sum(clock.slept) == pytest.approx(7, abs=2)
    assert RunCall.objects.filter(outcome="error").values_list("cause", flat=True).get() == "rate limited"
    assert Response.objects.filter(paradata__has_key="attempts").count() == 0


@pytest.mark.django_db
def test_a_provider_that_only_asks_for_pauses_ends_the_run(server, client):
    server.default = Reply.rate_limited(after=30)
    sitting, clock = sit(speecheq_study(items=2), limits=Limits(concurrency=1))
    assert (sitting.state, Response.objects.count(), len(server.requests)) == (Sitting.State.OPEN, 0, 5)
    assert sum(clock.slept) == pytest.approx(4 * 30, abs=1)
    assert "fewer calls" in sitting.error
    assert "fewer calls" in page_of(client, sitting)
    server.default = GOOD
    assert sitting_resume(sitting=sitting)
    clock.sleep(60)
    (sitting,) = respondent_drive(respondent=sitting.respondent, clock=clock, sleep=clock.sleep)
    assert (sitting.state, Response.objects.count()) == ("finished", 4)


@pytest.mark.django_db
def test_a_server_that_is_gone_ends_the_run_and_spoils_nothing(server, settings, client):
    with OpenAIServer() as gone:
        settings.EXAM_BASE_URL = gone.url
    sitting, _clock = sit(speecheq_study(items=2))
    assert (sitting.state, Response.objects.count()) == (Sitting.State.OPEN, 0)
    assert "cannot be reached" in page_of(client, sitting)


@pytest.mark.django_db
def test_a_question_is_given_up_when_its_deadline_is_over(server, settings):
    settings.EXAM_DEADLINE_S = 15
    study = speecheq_study(items=1)
    faulty(server, study, Reply.error(500))
    sitting, _clock = sit(study)
    assert outcome_counts(sitting=sitting) == {"error": 2}
    assert len(server.requests) == 4  # waits of ten seconds: two tries each, not five


@pytest.mark.django_db
def test_what_failed_is_asked_again_by_cause_and_counts_once(server, client):
    study = speecheq_study(items=3)
    faulty(server, study, Reply.error(400))
    sitting, clock = sit(study)
    assert outcome_counts(sitting=sitting) == {"answered": 4, "error": 2}
    assert failures_retry(sitting=sitting, cause="timeout") == 0
    assert sitting.state == "finished"
    server.writer = None
    page = page_of(client, sitting)
    assert page.count("Ask again") == 1
    client.post(reverse("run_again", args=[sitting.uid]), {"cause": "HTTP 400"})
    (sitting,) = respondent_drive(respondent=sitting.respondent, clock=clock, sleep=clock.sleep)
    assert (sitting.state, outcome_counts(sitting=sitting)) == ("finished", {"answered": 6})
    assert (Response.objects.count(), len(server.requests)) == (8, 8)
    assert len(list(marks_of(study=study))) == 6
    assert {mark.outcome for mark in marks_of(study=study)} == {"answered"}


@pytest.mark.django_db
def test_only_what_reads_differently_after_a_retaken_answer_is_asked_anew(server):
    study = speecheq_study(items=4)
    (first, second) = study.split.items.order_by("position").values_list("dialogue_id", flat=True)[:2]
    slots = {first: "A", second: "B"}
    sent = []

    def once(asked):
        """The first question about two dialogues fails; then one answer is what was assumed meanwhile, the other is not."""
        text = " ".join(asked.texts)
        item = next((pk for pk in slots if f"of dialogue {pk}." in text), None)
        if item is None:
            return GOOD
        early = f"Line 5 of dialogue {item}." not in text
        if early and item not in sent:
            sent.append(item)
            return Reply.error(400)
        return Reply.text(json.dumps({"answer": slots[item] if early else "A"}))

    server.writer = once
    sitting, clock = sit(study)
    assert outcome_counts(sitting=sitting) == {"answered": 6, "error": 2}
    asked = len(server.requests)
    assert failures_retry(sitting=sitting) == 2
    respondent_drive(respondent=sitting.respondent, clock=clock, sleep=clock.sleep)
    # A failed choice had been told on as the first slot: after an A the later question stands, after a B it does not.
    assert len(server.requests) - asked == 3
    assert outcome_counts(sitting=sitting) == {"answered": 8}
    assert len(list(marks_of(study=study))) == 8


@pytest.mark.django_db
def test_a_budget_of_calls_holds_exactly_and_can_be_raised(server, client, django_capture_on_commit_callbacks):
    study = speecheq_study(items=4)
    sitting, _clock = sit(study, limits=Limits(concurrency=3, calls=5))
    assert (len(server.requests), Response.objects.count()) == (5, 5)
    assert "5 of 5 calls" in sitting.error
    assert "5 of 5 calls" in page_of(client, sitting)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("run_limits", args=[sitting.uid]), {"max_calls": 100})
    sitting.refresh_from_db()
    assert (sitting.state, len(server.requests), Response.objects.count()) == ("finished", 8, 8)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(concurrency=1, tokens=400), "budget of 400 tokens is used up: with the calls under way, 450"),
        (Limits(concurrency=1, cost=Decimal("0.0004")), "budget of 0.0004 dollars"),
    ],
)
def test_tokens_and_money_stop_a_run_when_they_are_used_up(server, settings, limits, said):
    settings.PRICES = {"test-model": {"in": 1.0, "out": 1.0}}  # 150 tokens a call
    sitting, _clock = sit(speecheq_study(items=4), limits=limits)
    assert (len(server.requests), said in sitting.error) == (3, True)
    plan = sitting.respondent.plan
    assert (plan.tokens_spent, plan.cost_spent) == (450, Decimal("0.00045"))
    assert {call.cost for call in RunCall.objects.all()} == {Decimal("0.00015")}


@pytest.mark.django_db
@pytest.mark.parametrize("limits", [Limits(calls=0), Limits(tokens=-1), Limits(concurrency=0)])
def test_limits_that_make_no_sense_are_refused(server, limits):
    sitting, _clock = sit(speecheq_study(items=1))
    with pytest.raises(Exception, match=r"more than zero|Between 1"):
        limits_set(respondent=sitting.respondent, limits=limits)


@pytest.mark.django_db
def test_no_sound_and_no_key_is_kept_with_an_answer(server, settings, monkeypatch):
    settings.EXAM_KEY_ENV = "EXAM_TEST_KEY"
    monkeypatch.setenv("EXAM_TEST_KEY", "sk-very-secret-key")
    server.writer = lambda _asked: Reply(status=400, code="sk-very-secret-key")
    clock = Clock()
    respondent = study_run(study=speecheq_study(items=1), backend="openai", runs=1)
    respondent_drive(respondent=respondent, clock=clock, sleep=clock.sleep)
    assert len(server.requests[0].audio) == 5
    kept = json.dumps(
        [
            list(Response.objects.values("raw", "error", "paradata")),
            list(RunCall.objects.values("error")),
            [response.trial.shown for response in Response.objects.all()],
        ]
    )
    assert "very-secret" not in kept
    assert len(kept) < 4000


def answer_from(raw: bytes):
    """What ``json_post`` makes of raw bytes on the wire."""
    import socket

    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _address = listener.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(raw)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        return json_post(Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", timeout_s=2), "x", {}, what="it")
    finally:
        thread.join()
        listener.close()


@pytest.mark.parametrize(
    ("raw", "cause", "decision"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\noops!", "unreadable", GiveUp()),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]", "unreadable", GiveUp()),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{}", "dropped", Retry(5)),
        (b"no http at all\r\n\r\n", "dropped", Retry(5)),
        (b"HTTP/1.1 503 Busy\r\nretry-after: 9\r\ncontent-length: 0\r\n\r\n", "HTTP 503", Retry(9)),
        (b"HTTP/1.1 429 Slow\r\nretry-after-ms: 250\r\ncontent-length: 0\r\n\r\n", "rate limited", Retry(0.25)),
        (b"HTTP/1.1 402 Pay\r\ncontent-length: 0\r\n\r\n", "no credit", GiveUp()),
        (b"HTTP/1.1 302 Found\r\nlocation: http://elsewhere/\r\ncontent-length: 0\r\n\r\n", "HTTP 302", GiveUp()),
    ],
)
def test_every_answer_on_the_wire_says_what_follows(raw, cause, decision):
    with pytest.raises(ProviderError) as caught:
        answer_from(raw)
    assert (caught.value.cause, caught.value.decision) == (cause, decision)
    assert getattr(caught.value.decision, "pause", False) == (decision in {Retry(9), Retry(0.25)})


def test_an_answer_on_the_wire_is_read():
    assert answer_from(b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{"a": 1}\r\n0\r\n\r\n') == {"a": 1}
