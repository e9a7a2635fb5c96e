"""A small HTTP server for tests that answers as it is told, and one that follows vLLM's OpenAI-compatible server.

with ChatServer(lambda request: (200, {"choices": [...]})) as server:
    ...
    server.requests[-1].json
"""

from __future__ import annotations

import base64
import io
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import soundfile


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The parts of the last message of a chat request."""
        return self.json["messages"][-1]["content"]


Answer = tuple[int, Any]
"""A status, and an object to be sent as JSON or a string to be sent as a stream of events."""


class ChatServer:
    """Listens on a free loopback port while the ``with`` block lasts."""

    def __init__(self, answer: Callable[[Asked], Answer]) -> None:
        self.requests: list[Asked] = []
        self.answer = answer
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                """Tests read ``server.requests`` instead."""

            def do_GET(self) -> None:
                self._take(b"")

            def do_POST(self) -> None:
                self._take(self.rfile.read(int(self.headers.get("content-length", 0))))

            def _take(self, body: bytes) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, self.path, headers, body)
                owner.requests.append(asked)
                status, said = owner.answer(asked)
                data = said.encode() if isinstance(said, str) else json.dumps(said, ensure_ascii=False).encode()
                self.send_response(status)
                self.send_header("content-type", "text/event-stream" if isinstance(said, str) else "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                self.close_connection = status >= 500

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_details: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def completion(text: str | None, **more: Any) -> dict[str, Any]:
    """A chat completion as servers send it; ``more`` goes into its message."""
    message = {"role": "assistant", "content": text, "refusal": None, **more}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "stop_reason": None, "logprobs": None}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127},
    }


class VllmFake:
    """Answers as vLLM's server does: it serves one model, decodes what it is given, counts clips, and words its errors so.

    ``heard`` holds the seconds of every clip of the last question, in order.
    """

    def __init__(self, model: str, *, clips_max: int = 8, key: str = "", text: str = '{"answer": "B"}') -> None:
        self.model, self.clips_max, self.key, self.text = model, clips_max, key, text
        self.heard: list[float] = []

    def __call__(self, asked: Asked) -> Answer:
        if self.key and asked.headers.get("authorization") != f"Bearer {self.key}":
            return 401, {"error": "Unauthorized"}
        if asked.path == "/v1/models":
            card = {"id": self.model, "object": "model", "created": 1, "owned_by": "vllm", "max_model_len": 4096}
            return 200, {"object": "list", "data": [card]}
        if asked.path != "/v1/chat/completions":
            return 404, {"detail": "Not Found"}
        if asked.json["model"] != self.model:
            return _error(404, "NotFoundError", f"The model `{asked.json['model']}` does not exist.")
        return self._chat(asked)

    def _chat(self, asked: Asked) -> Answer:
        heard: list[float] = []  # questions come side by side
        for part in asked.parts:
            if part["type"] == "text":
                continue
            try:
                data = self._sound(part)
            except ValueError as error:
                return _error(400, "BadRequestError", str(error))
            if data is None:
                return _error(
                    500, "InternalServerError", "Cannot load local files without `--allowed-local-media-path`."
                )
            with soundfile.SoundFile(io.BytesIO(data)) as sound:
                heard.append(sound.frames / sound.samplerate)
        self.heard = heard
        if len(heard) > self.clips_max:
            return _error(400, "BadRequestError", f"At most {self.clips_max} audio(s) may be provided in one prompt.")
        return 200, completion(self.text, reasoning=None, tool_calls=[])

    def _sound(self, part: dict[str, Any]) -> bytes | None:
        if part["type"] == "input_audio":
            return base64.b64decode(part["input_audio"]["data"], validate=True)
        if part["type"] != "audio_url":
            raise ValueError(f"Unknown part type: {part['type']}")
        url = part["audio_url"]["url"]
        if url.startswith("file:"):
            return None
        head, _, data = url.partition(";base64,")
        if not head.startswith("data:audio/"):
            raise ValueError("The URL must be either a HTTP, data or file URL.")
        return base64.b64decode(data, validate=True)


def _error(code: int, kind: str, message: str) -> Answer:
    return code, {"error": {"message": message, "type": kind, "param": None, "code": code}}
