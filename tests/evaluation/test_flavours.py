"""Models by a name of one's own: what each flavour of the chat API is sent, and what is made of its answer."""

import base64
import json

import pytest
from django.core.exceptions import ImproperlyConfigured

from eqstudio.errors import InvalidInput, ProviderError, UnknownAlias
from eqstudio.settings_models import ExamModel, models_read, prices_with
from evaluation.backends import backends, flavours
from evaluation.backends.chat_flavours import settled
from evaluation.backends.dashscope import put_together
from evaluation.backends.speaking import reply_kept
from evaluation.forms import RunForm
from evaluation.models import Response
from evaluation.services import respondent_drive, study_run
from generation.models import Clip
from tests.chat_server import ChatServer, VllmFake, completion
from tests.evaluation.factories import echomind_study, speecheq_study
from tests.evaluation.questions import CHOICE, REPLY, clips, configured, seated
from tests.generation.factories import wav_bytes

KEY = "EXAM_TEST_KEY"
JSON_TEXT = '{"m": {"flavour": "openai", "model": "x"}}'
TOML_TEXT = '[m]\nflavour = "openai"\nmodel = "x"\n'


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(KEY, "a-test-key")


@pytest.mark.parametrize("text", [JSON_TEXT, TOML_TEXT])
def test_models_are_read_from_json_and_toml(text):
    assert models_read(text) == {"m": ExamModel(flavour="openai", model="x")}
    assert models_read("  ") == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[m", "neither JSON nor TOML"),
        ('{"m": 3}', "one table for each model"),
        ('{"a model": {"flavour": "openai"}}', "'a model' is no alias"),
        ('{"m": {"flavour": "openai", "colour": "red"}}', "m, colour: "),
        ('{"m": {"flavour": "openai", "temperature": 9}}', "m, temperature: "),
        ('{"m": {"flavour": "openai", "key_env": "sk-123"}}', "m, key_env: "),
    ],
)
def test_nonsense_stops_the_start_and_is_named(text, told):
    with pytest.raises(ImproperlyConfigured, match=told) as caught:
        models_read(text)
    assert "sk-123" not in str(caught.value)


def test_a_price_told_with_a_model_fills_the_table():
    models = models_read('{"m": {"flavour": "openai", "model": "x", "price": {"in": 1, "out": 2}}}')
    assert prices_with({}, models) == {"x": {"in": 1.0, "out": 2.0}}
    assert prices_with({"x": {"in": 5.0}}, models) == {"x": {"in": 5.0}}


def test_configured_models_stand_among_the_kinds(settings):
    configured(settings, flavour="gemini", model="gemini-2.5-pro")
    assert "mine" in backends
    assert ("mine", "mine") in backends.choices()
    assert "mine" in dict(RunForm().fields["backend"].choices)
    with pytest.raises(UnknownAlias, match=r"Known: .*mine"):
        backends.get("yours")


def test_an_unknown_flavour_names_those_that_exist(settings):
    with pytest.raises(UnknownAlias, match=r"Unknown flavour 'palantir'.*vllm-omni"):
        configured(settings, flavour="palantir", model="x")


def test_a_name_of_the_studios_own_is_not_taken(settings):
    settings.EXAM_MODELS = {"random": ExamModel(flavour="openai", model="x")}
    with pytest.raises(InvalidInput, match="one of the studio's own"):
        backends.get("random")


@pytest.mark.parametrize("alias", list(flavours))
def test_every_flavour_says_what_it_needs_before_anything_is_asked(settings, alias):
    kind = configured(settings, flavour=alias, key_env="")
    with pytest.raises(InvalidInput, match=f"needs {kind.needs[0]}, which is empty"):
        seated(kind).check()


def ask(server, settings, trial=CHOICE, **entry):
    kind = configured(settings, base_url=server.url, **entry)
    answer = seated(kind).answer(trial, clips)
    return answer, server.requests[-1]


def test_openai_is_sent_modalities_and_a_seed(settings):
    with ChatServer(lambda _asked: (200, completion('{"answer": "A"}'))) as server:
        answer, sent = ask(server, settings, flavour="openai", model="gpt-audio-1.5", key_env=KEY, max_tokens=50)
    assert sent.path == "/chat/completions"
    assert sent.headers["authorization"] == "Bearer a-test-key"
    assert (sent.json["modalities"], sent.json["seed"], sent.json["max_completion_tokens"]) == (["text"], 1, 50)
    assert [part["type"] for part in sent.parts].count("input_audio") == 3
    assert (answer.raw, answer.paradata["tokens_in"], answer.paradata["model"]) == (
        '{"answer": "A"}',
        120,
        "served-model",
    )


@pytest.mark.parametrize(
    ("version", "path"),
    [
        ("", "/openai/v1/chat/completions"),
        ("2025-04-01-preview", "/openai/deployments/hearing/chat/completions?api-version=2025-04-01-preview"),
    ],
)
def test_azure_is_asked_at_its_v1_and_at_its_dated_address(settings, version, path):
    with ChatServer(lambda _asked: (200, completion("A"))) as server:
        _answer, sent = ask(server, settings, flavour="azure", model="hearing", key_env=KEY, api_version=version)
    assert sent.path == path
    assert sent.headers["api-key"] == "a-test-key"
    assert "authorization" not in sent.headers


def test_gemini_is_sent_neither_seed_nor_modalities(settings):
    with ChatServer(lambda _asked: (200, completion("A"))) as server:
        _answer, sent = ask(server, settings, flavour="gemini", model="gemini-2.5-pro", key_env=KEY, temperature=None)
    assert not {"seed", "modalities", "temperature"} & sent.json.keys()
    assert sent.json["max_tokens"] == 1024


def test_portkey_takes_its_key_and_whom_to_ask_as_headers(settings, monkeypatch):
    monkeypatch.setenv("UPSTREAM", "upstream-key")
    with ChatServer(lambda _asked: (200, completion("A"))) as server:
        _answer, sent = ask(
            server,
            settings,
            flavour="portkey",
            model="@vertex/gemini-2.5-pro",
            key_env=KEY,
            headers={"x-portkey-config": "pc-1"},
            header_envs={"authorization": "UPSTREAM"},
        )
    told = {name: sent.headers[name] for name in ("x-portkey-api-key", "x-portkey-config", "authorization")}
    assert told == {"x-portkey-api-key": "a-test-key", "x-portkey-config": "pc-1", "authorization": "upstream-key"}


def events(*values):
    return "".join(f"data: {json.dumps(value)}\n\n" for value in values) + "data: [DONE]\n\n"


def test_dashscope_takes_sound_without_a_type_and_its_stream_is_put_together(settings):
    stream = events(
        {"model": "qwen3-omni-flash", "choices": [{"delta": {"role": "assistant", "content": '{"answer"'}}]},
        {"model": "qwen3-omni-flash", "choices": [{"delta": {"content": ': "B"}'}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}},
    )
    with ChatServer(lambda _asked: (200, stream)) as server:
        answer, sent = ask(server, settings, flavour="dashscope", model="qwen3-omni-flash", key_env=KEY)
    heard = [part["input_audio"]["data"] for part in sent.parts if part["type"] == "input_audio"]
    assert {data.partition(",")[0] for data in heard} == {"data:;base64"}
    assert (sent.json["stream"], sent.json["stream_options"]) == (True, {"include_usage": True})
    assert (answer.raw, answer.paradata["tokens_out"], answer.paradata["finish_reason"]) == (
        '{"answer": "B"}',
        4,
        "stop",
    )


@pytest.mark.parametrize(
    ("stream", "cause"),
    [('data: {"choices"\n\n', "unreadable"), (events({"error": {"message": "no"}}), "stream error")],
)
def test_a_stream_that_breaks_off_is_no_answer(stream, cause):
    with pytest.raises(ProviderError) as caught:
        put_together(stream, "x")
    assert caught.value.cause == cause


@pytest.mark.parametrize(("status", "cause"), [(429, "rate limited"), (400, "HTTP 400"), (503, "HTTP 503")])
def test_failures_of_a_stream_carry_what_follows(settings, status, cause):
    with (
        ChatServer(lambda _asked: (status, {"error": {"message": "no"}})) as server,
        pytest.raises(ProviderError) as caught,
    ):
        ask(server, settings, flavour="dashscope", model="m", key_env=KEY)
    assert caught.value.cause == cause


@pytest.mark.parametrize("flavour", ["vllm-server", "vllm-omni"])
def test_a_vllm_server_hears_every_clip_in_order(settings, flavour):
    fake = VllmFake("omni")
    with ChatServer(fake) as server:
        kind = configured(settings, flavour=flavour, model="omni", base_url=f"{server.url}/v1")
        backend = seated(kind)
        backend.load()
        answer = backend.answer(CHOICE, clips)
        backend.close()
    assert fake.heard == pytest.approx([0.3, 0.2, 0.4])
    assert answer.raw == '{"answer": "B"}'
    assert server.requests[-1].json.get("modalities") == (["text"] if flavour == "vllm-omni" else None)


def test_a_vllm_server_that_serves_something_else_is_told_before_the_first_question(settings):
    with ChatServer(VllmFake("other-model")) as server:
        kind = configured(settings, flavour="vllm-server", model="omni", base_url=f"{server.url}/v1")
        with pytest.raises(ProviderError, match="does not serve omni; it serves: other-model"):
            seated(kind).load()


@pytest.mark.parametrize(
    ("fake", "cause", "told"),
    [
        (VllmFake("omni", clips_max=1), "HTTP 400", "At most 1 audio"),
        (VllmFake("other"), "HTTP 404", "The model `omni` does not exist"),
        (VllmFake("omni", key="secret"), "HTTP 401", "Unauthorized"),
    ],
)
def test_errors_in_vllms_shape_are_read(settings, fake, cause, told):
    with ChatServer(fake) as server:
        kind = configured(settings, flavour="vllm-server", model="omni", base_url=f"{server.url}/v1")
        with pytest.raises(ProviderError, match=told) as caught:
            seated(kind).answer(CHOICE, clips)
    assert caught.value.cause == cause


def test_all_clips_go_in_one_recording_where_a_model_takes_no_more(settings):
    fake = VllmFake("kimi", clips_max=1)
    with ChatServer(fake) as server:
        kind = configured(settings, flavour="vllm-server", model="kimi", base_url=f"{server.url}/v1", clips="joined")
        seated(kind).answer(CHOICE, clips)
    assert fake.heard == pytest.approx([0.3 + 1 + 0.2 + 1 + 0.4], abs=0.01)
    texts = [part["text"] for part in server.requests[-1].parts if part["type"] == "text"]
    assert texts[0].startswith("The recording holds 3 clips")
    assert texts[1:] == [
        "Situation: After work", "Maya:", "(clip 1)", "Tom: Hm.", "Which rendition answers better?",
        "Option A:", "(clip 2)", "Option B:", "(clip 3)",
    ]  # fmt: skip


@pytest.mark.django_db
def test_a_study_runs_against_a_vllm_server_by_alias(settings):
    with ChatServer(VllmFake("omni")) as server:
        configured(settings, flavour="vllm-server", model="omni", base_url=f"{server.url}/v1")
        study = speecheq_study(items=2)
        respondent = study_run(study=study, backend="mine", runs=2)
        sittings = respondent_drive(respondent=respondent)
    assert [(one.state, one.error) for one in sittings] == [("finished", "")] * 2
    assert respondent.run_spec.content["parameters"]["base_url"].endswith("/v1")
    assert Response.objects.filter(raw='{"answer": "B"}').count() == 8


def spoken(data: bytes, text: str = "That sounds hard."):
    return {"id": "a", "data": base64.b64encode(data).decode(), "transcript": text, "expires_at": 1}


def test_a_reply_is_asked_for_as_speech_only_where_the_model_speaks(settings):
    with ChatServer(lambda _asked: (200, completion(None, audio=spoken(wav_bytes(seconds=0.5))))) as server:
        answer, sent = ask(server, settings, REPLY, flavour="openai", model="m", key_env=KEY, speaks=True, voice="sage")
        assert sent.json["modalities"] == ["text", "audio"]
        assert sent.json["audio"] == {"voice": "sage", "format": "wav"}
        assert "JSON" not in sent.json["messages"][0]["content"]
        assert answer.raw == "That sounds hard."
        _answer, sent = ask(server, settings, CHOICE, flavour="openai", model="m", key_env=KEY, speaks=True)
        assert (sent.json["modalities"], "audio" in sent.json) == (["text"], False)
        _answer, sent = ask(server, settings, REPLY, flavour="openai", model="m", key_env=KEY)
        assert sent.json["modalities"] == ["text"]


def test_words_and_sound_in_two_choices_are_brought_together():
    whole = completion("words")
    whole["choices"].append(
        {"index": 1, "message": {"content": None, "audio": {"data": "QUJD"}}, "finish_reason": "stop"}
    )
    text, sound = settled(whole)
    assert (text["choices"][0]["message"]["content"], len(text["choices"]), sound) == ("words", 1, "QUJD")


@pytest.mark.django_db
def test_a_spoken_reply_is_kept_as_a_clip_by_hash_with_its_words_as_the_answer(settings):
    def answer(asked):
        aloud = asked.json["modalities"] == ["text", "audio"]
        return 200, completion(None, audio=spoken(wav_bytes(seconds=0.5))) if aloud else completion('{"answer": "A"}')

    with ChatServer(answer) as server:
        configured(settings, flavour="openai", model="m", base_url=server.url, key_env=KEY, speaks=True)
        respondent = study_run(study=echomind_study(items=1), backend="mine", runs=1)
        respondent_drive(respondent=respondent)
    reply = Response.objects.get(trial__key="reply")
    assert reply.raw == "That sounds hard."
    clip = Clip.objects.get(sha256=reply.paradata["reply_clip"])
    assert clip.duration == pytest.approx(0.5, abs=0.05)
    assert Response.objects.exclude(trial__key="reply").filter(paradata__has_key="reply_clip").count() == 0
    assert all(len(json.dumps(one.paradata)) < 1000 for one in Response.objects.all())


@pytest.mark.django_db
@pytest.mark.parametrize("encoded", ["====", base64.b64encode(b"RIFF and then nothing of use").decode()])
def test_a_reply_whose_sound_is_unusable_says_so_and_keeps_no_clip(encoded):
    assert list(reply_kept(encoded)) == ["reply_clip_error"]
    assert not Clip.objects.exists()


@pytest.mark.django_db
def test_bare_samples_become_a_clip():
    found = reply_kept(base64.b64encode(wav_bytes(seconds=0.5, rate=24_000)[44:]).decode())
    assert found["reply_seconds"] == pytest.approx(0.5, abs=0.02)
    assert reply_kept("") == {}
