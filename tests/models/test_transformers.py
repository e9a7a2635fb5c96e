"""Real model code on real sound: tiny models with random weights answer through the transformers backend, on the processor."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from eqstudio.benchmarks.base import Option
from eqstudio.errors import ProviderError
from evaluation.backends import evaluators
from evaluation.backends.base import Exam
from evaluation.backends.local import TooMuch
from evaluation.backends.messages import message_of
from evaluation.models import Response
from evaluation.services import respondent_drive, study_run
from tests.audio import speechlike, wav
from tests.evaluation.factories import speecheq_study
from tests.evaluation.questions import CHOICE, GRADE, REPLY, clips, configured, seated

pytestmark = [
    pytest.mark.models,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]
EXAM = Exam({"en": "Listen and choose.", "zh": "请听并选择。"})
KINDS = ("qwen2_audio", "qwen2_5_omni_thinker")


@pytest.fixture(scope="session", autouse=True)
def offline():
    """Nothing is looked for on a hub."""
    os.environ.update({"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"})


@pytest.fixture(scope="session")
def weights(tmp_path_factory):
    """The folders of the tiny models, built once."""
    from tests.models import tiny

    folder = tmp_path_factory.mktemp("weights")
    made = {kind: getattr(tiny, kind)(folder / kind) for kind in KINDS}
    made["labels"] = tiny.emotion_model(folder / "labels", ["angry", "happy", "sad"])
    made["dimensions"] = tiny.dimension_model(folder / "dimensions")
    return made


@pytest.fixture(params=KINDS)
def backend(request, weights, settings):
    kind = configured(settings, flavour="transformers", model=str(weights[request.param]), max_tokens=8, device="cpu")
    made = seated(kind)
    yield made
    made.close()


def sounding(rate: float):
    """Clips of real speech-like sound, another for every clip."""

    def clip(uid):
        data = wav(speechlike(seconds=1.0 + 0.1 * int(uid[-1]), hz=rate))
        return replace(clips(uid), read=lambda: data)

    return clip


def test_a_model_hears_every_clip_and_answers(backend):
    answer = backend.answer(CHOICE, sounding(180.0))
    assert answer.failure == ""
    told = answer.paradata
    assert (told["device"], told["tokens_out"], told["finish_reason"]) == ("cpu", 8, "length")
    assert told["tokens_in"] > 3 * 20
    assert {"torch", "transformers"} == told["packages"].keys()


def test_the_same_sound_gives_the_same_answer_and_another_sound_other_numbers(backend):
    backend.load()
    first = backend.answer(CHOICE, sounding(180.0)).raw
    assert backend.answer(CHOICE, sounding(180.0)).raw == first
    torch = backend._model.torch

    def scores(sound):
        message = message_of(backend.exam, backend.evaluator, CHOICE, sound)
        seen = {}
        generate = backend._model.model.generate

        def spy(**inputs):
            with torch.inference_mode():
                asked = {name: value for name, value in inputs.items() if hasattr(value, "shape")}
                seen["logits"] = backend._model.model(**asked).logits[0, -1]
            return generate(**inputs)

        backend._model.model.generate = spy
        try:
            backend.generate(backend._model, [message])
        finally:
            del backend._model.model.generate
        return seen["logits"]

    assert (scores(sounding(180.0)) - scores(sounding(90.0))).abs().max() > 0


def test_a_batch_answers_each_question_as_it_is_answered_alone(backend):
    asked = [(CHOICE, sounding(180.0)), (GRADE, sounding(120.0)), (REPLY, sounding(90.0))]
    together = backend.answers(asked)
    alone = [backend.answer(trial, clip) for trial, clip in asked]
    assert [one.paradata["tokens_in"] for one in together] == [one.paradata["tokens_in"] for one in alone]
    assert {one.paradata["batch"] for one in together} == {3}
    assert [one.raw for one in together] == [one.raw for one in alone]


def test_a_question_without_sound_is_answered_too(weights, settings):
    kind = configured(settings, flavour="transformers", model=str(weights["qwen2_audio"]), max_tokens=4, device="cpu")
    made = seated(kind, "text")
    assert made.answer(CHOICE, sounding(180.0)).paradata["tokens_out"] == 4
    made.close()


def test_a_batch_that_does_not_fit_is_asked_in_halves(backend, monkeypatch):
    backend.load()
    sizes = []
    whole = backend.generate

    def small(model, messages):
        sizes.append(len(messages))
        if len(messages) > 1:
            raise TooMuch("it does not fit")
        return whole(model, messages)

    monkeypatch.setattr(backend, "generate", small)
    answers = backend.answers([(CHOICE, sounding(180.0))] * 3)
    assert [answer.failure for answer in answers] == ["", "", ""]
    assert sizes == [3, 1, 2, 1, 1]


def test_a_missing_sound_spoils_no_other_question(backend):
    def gone(_uid):
        raise ProviderError("the sound is gone", cause="sound missing", decision=None)

    lost, found = backend.answers([(CHOICE, gone), (CHOICE, sounding(180.0))])
    assert (lost.cause, found.failure) == ("sound missing", "")


def test_four_options_with_text_are_put_too(backend):
    trial = replace(CHOICE, options=tuple(Option(letter, text=f"number {letter}") for letter in "ABCD"))
    assert backend.answer(trial, sounding(180.0)).failure == ""


@pytest.mark.parametrize(
    ("name", "told"), [("no-such-folder", "could not be loaded"), ("labels", "its type is 'wav2vec2'")]
)
def test_weights_that_cannot_be_used_are_named(weights, settings, name, told):
    kind = configured(settings, flavour="transformers", model=str(weights.get(name, name)), device="cpu")
    with pytest.raises(ProviderError, match=told):
        seated(kind).load()


@pytest.mark.parametrize("alias", ["dimensions", "labels"])
def test_a_recogniser_hears_and_its_words_reach_the_question(weights, settings, alias):
    settings.EXAM_RECOGNISER, settings.EXAM_RECOGNISER_MODEL = alias, str(weights[alias])
    words = message_of(
        seated(configured(settings, flavour="command")).exam, evaluators.get("ser_llm")(), CHOICE, sounding(180.0)
    )
    numbers = evaluators.get("ser_raw_llm")()
    told = numbers.words(sounding(180.0)("v1"), "en")
    assert [part.audio for part in words.parts] == [None] * len(words.parts)
    names = {"dimensions": ("valence", "arousal", "dominance"), "labels": ("angry", "happy", "sad")}[alias]
    assert all(name in told for name in names)
    assert numbers.words(sounding(180.0)("v1"), "en") == told
    assert numbers.words(sounding(90.0)("v2"), "en").partition("(")[2] != told.partition("(")[2]


@pytest.mark.django_db
@pytest.mark.parametrize("kind", KINDS)
def test_a_study_is_sat_by_a_model_in_this_process(weights, settings, kind):
    configured(settings, flavour="transformers", model=str(weights[kind]), max_tokens=6, device="cpu")
    respondent = study_run(study=speecheq_study(items=1), backend="mine", runs=2)
    sittings = respondent_drive(respondent=respondent)
    assert [(one.state, one.error) for one in sittings] == [("finished", "")] * 2
    assert Response.objects.count() == 4
    assert all(len(json.dumps(one.paradata)) < 2000 for one in Response.objects.all())
