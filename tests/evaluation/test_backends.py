"""Respondents that are not people: what they are given and what they make of it."""

import base64
import io
import json

import pytest
import soundfile

from eqstudio.benchmarks.base import Option, Segment, Trial, TrialKind
from eqstudio.errors import InvalidInput, ProviderError, Refused, Retry
from evaluation.backends import ClipAudio, backends, evaluators
from evaluation.backends.base import Exam
from evaluation.backends.modalities import silence_wav
from evaluation.models import ScoreRecord
from evaluation.services import Limits, respondent_drive, study_run
from tests.evaluation.factories import speecheq_study
from tests.generation.factories import wav_bytes
from tests.openai_server import OpenAIServer, Reply

QUESTION = Trial(
    key="s4",
    kind=TrialKind.CHOICE,
    category="c",
    language="en",
    question="Which rendition answers better?",
    scenario="After work",
    context=(Segment("Maya", variant="c1"), Segment("Tom", text="Hm.")),
    options=(Option("A", variant="v1"), Option("B", variant="v2")),
)
GRADE = Trial(key="g", kind=TrialKind.GRADE, category="c", language="zh", question="评分", scale=(1, 4))
WORDS = Trial(
    key="m",
    kind=TrialKind.MCQ,
    category="c",
    language="en",
    question="Which?",
    options=(Option("A", text="calm"), Option("B", text="sad")),
)
REPLY = Trial(key="r", kind=TrialKind.REPLY, category="c", language="en", question="Reply.")
MEASURES = {"c1": (1.0, -20.0, 200.0), "v1": (1.5, -20.0, 220.0), "v2": (1.2, -26.0, 180.0)}


def clips(uid, media_type="audio/wav"):
    duration, loudness, pitch = MEASURES[uid]
    data = wav_bytes(seconds=0.1)
    return ClipAudio(uid, f"words of {uid}", media_type, duration, loudness, pitch, lambda: data)


def make(alias, evaluator="mcq", seed=1):
    instructions = {"en": "Listen and choose.", "zh": "请听并选择。"}
    return backends.get(alias)(Exam(instructions, seed), evaluators.get(evaluator)())


@pytest.mark.parametrize(
    ("alias", "letter"), [("rule-quieter", "B"), ("rule-longer", "A"), ("rule-lower", "B"), ("first", "A")]
)
def test_rules_choose_by_one_measure(alias, letter):
    assert json.loads(make(alias).answer(QUESTION, clips).raw) == {"answer": letter}


@pytest.mark.parametrize("alias", ["rule-quieter", "rule-longer", "rule-lower"])
@pytest.mark.parametrize("trial", [GRADE, WORDS, REPLY])
def test_rules_decline_where_there_is_nothing_to_measure(alias, trial):
    assert make(alias).answer(trial, clips).failure == "refused"


def test_a_missing_measure_is_not_guessed():
    def unpitched(uid):
        found = clips(uid)
        return ClipAudio(found.variant, found.text, found.media_type, found.duration, None, None, found.read)

    assert make("rule-lower").answer(QUESTION, unpitched).failure == "refused"


def test_random_is_seeded_and_stays_in_what_is_possible():
    answers = [json.loads(make("random", seed=seed).answer(QUESTION, clips).raw)["answer"] for seed in range(40)]
    assert answers == [
        json.loads(make("random", seed=seed).answer(QUESTION, clips).raw)["answer"] for seed in range(40)
    ]
    assert set(answers) == {"A", "B"}
    grades = {json.loads(make("random", seed=seed).answer(GRADE, clips).raw)["answer"] for seed in range(40)}
    assert grades == {1, 2, 3, 4}
    assert make("random").answer(REPLY, clips).failure == make("first").answer(REPLY, clips).failure == "refused"


@pytest.mark.parametrize("alias", list(backends))
def test_every_backend_has_an_alias_and_a_kind(alias):
    kind = backends.get(alias)
    assert (kind.alias, kind.kind in {"model", "rule"}) == (alias, True)
    assert kind.is_fake == (alias == "fake")


def test_silence_is_as_long_as_the_clip_and_empty():
    samples, rate = soundfile.read(io.BytesIO(silence_wav(0.5)))
    assert (len(samples), rate, abs(samples).max()) == (8000, 16000, 0.0)


@pytest.fixture
def server(settings, monkeypatch):
    with OpenAIServer() as running:
        settings.EXAM_BASE_URL = running.url
        settings.EXAM_MODEL = "gpt-audio-1.5"
        settings.EXAM_KEY_ENV = "EXAM_TEST_KEY"
        monkeypatch.setenv("EXAM_TEST_KEY", "a-test-key")
        running.default = Reply.text('{"reason": "softer", "answer": "B"}')
        yield running


def parts_of(server):
    return server.requests[-1].json["messages"][1]["content"]


def test_a_model_is_given_instructions_lines_and_clips_in_order(server):
    answer = make("openai").answer(QUESTION, clips)
    sent = server.requests[-1].json
    assert sent["messages"][0]["content"].startswith("Listen and choose.")
    shape = [part["text"] if part["type"] == "text" else "<audio>" for part in parts_of(server)]
    assert shape == [
        "Situation: After work", "Maya:", "<audio>", "Tom: Hm.", "Which rendition answers better?",
        "Option A:", "<audio>", "Option B:", "<audio>",
    ]  # fmt: skip
    assert (sent["modalities"], sent["temperature"], sent["model"]) == (["text"], 0, "gpt-audio-1.5")
    assert json.loads(answer.raw)["answer"] == "B"
    assert answer.paradata["model"] == "gpt-audio-1.5"


def test_no_request_names_a_rendition(server):
    make("openai").answer(QUESTION, clips)
    body = server.requests[-1].body.decode()
    assert not any(uid in body for uid in ("v1", "v2"))


def test_text_only_reads_the_words_instead(server):
    make("openai", evaluator="text").answer(QUESTION, clips)
    assert {part["type"] for part in parts_of(server)} == {"text"}
    assert "Option A: words of v1" in [part["text"] for part in parts_of(server)]


def test_silence_is_sent_in_place_of_every_clip(server):
    make("openai", evaluator="silence").answer(QUESTION, clips)
    heard = [part["input_audio"] for part in parts_of(server) if part["type"] == "input_audio"]
    assert len(heard) == 3
    samples, rate = soundfile.read(io.BytesIO(base64.b64decode(heard[1]["data"])))
    assert (len(samples) / rate, abs(samples).max()) == (1.5, 0.0)


@pytest.mark.parametrize(("media_type", "sent"), [("audio/wav", "wav"), ("audio/mpeg", "mp3"), ("audio/flac", "wav")])
def test_only_wav_and_mp3_go_out(server, media_type, sent):
    make("openai").answer(QUESTION, lambda uid: clips(uid, media_type))
    assert {part["input_audio"]["format"] for part in parts_of(server) if part["type"] == "input_audio"} == {sent}


def test_chinese_questions_are_put_in_chinese(server):
    make("openai").answer(GRADE, clips)
    system = server.requests[-1].json["messages"][0]["content"]
    assert system.startswith("请听并选择。")
    assert "1 到 4" in system


def test_a_refusal_is_told_apart(server):
    server.script(Reply.refused("I will not judge this."))
    answer = make("openai").answer(QUESTION, clips)
    assert (answer.failure, answer.error) == ("refused", "I will not judge this.")


@pytest.mark.parametrize(
    ("reply", "cause"),
    [(Reply.rate_limited(after=3), "rate limited"), (Reply.error(500), "HTTP 500"), (Reply.error(401), "HTTP 401")],
)
def test_failures_carry_what_follows(server, reply, cause):
    server.script(reply)
    with pytest.raises(ProviderError) as caught:
        make("openai").answer(QUESTION, clips)
    assert caught.value.cause == cause
    assert len(server.requests) == 1


def test_a_content_filter_is_a_refusal(server):
    server.script(Reply.error(400, code="content_filter"))
    with pytest.raises(Refused):
        make("openai").answer(QUESTION, clips)


def test_a_missing_key_is_named_before_anything_is_asked(settings):
    settings.EXAM_KEY_ENV = "EXAM_TEST_NO_KEY"
    with pytest.raises(InvalidInput, match="EXAM_TEST_NO_KEY"):
        make("openai").check()


@pytest.mark.django_db
def test_a_whole_run_against_a_server_that_stumbles(server):
    server.script(Reply.rate_limited(after=0.01), Reply.text("ANSWER: A"), Reply.refused(), Reply.text("both"))
    study = speecheq_study(items=2)
    one_at_a_time = Limits(concurrency=1)  # the server's replies are told in the order of its calls
    respondent = study_run(study=study, backend="openai", runs=1, limits=one_at_a_time)
    sittings = respondent_drive(respondent=respondent, sleep=lambda _seconds: None)
    assert (respondent.name, sittings[0].state, sittings[0].error) == ("gpt-audio-1.5", "finished", "")
    assert list(ScoreRecord.objects.order_by("pk").values_list("outcome", "value")) == [
        ("answered", "A"),
        ("refused", ""),
        ("unparsed", ""),
        ("answered", "B"),
    ]
    assert len(server.requests) == 5
    assert "a-test-key" not in json.dumps(respondent.run_spec.content)


def test_retry_after_is_honoured(server):
    server.script(Reply.rate_limited(after=3))
    with pytest.raises(ProviderError) as caught:
        make("openai").answer(QUESTION, clips)
    assert caught.value.decision == Retry(3.0)
