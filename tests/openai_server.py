"""An OpenAI-compatible server for tests: it records what it is asked and misbehaves on request.

with OpenAIServer() as server:
    server.script(Reply.text("A"), Reply.rate_limited(after=0.1), Reply.error(500))
    ...                              # one reply per request, then the default for the path
    server.requests[-1].json["messages"]
"""

from __future__ import annotations

import base64
import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.audio import speechlike, wav

MODELS = ("gpt-5-mini", "gpt-4o-mini-tts", "gpt-transcribe", "gpt-audio-1.5", "test-model")


@dataclass(frozen=True)
class Recorded:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def audio(self) -> list[bytes]:
        """The clips inside a chat request, decoded."""
        parts = [
            part
            for message in self.json["messages"]
            if isinstance(message["content"], list)
            for part in message["content"]
        ]
        return [base64.b64decode(part["input_audio"]["data"]) for part in parts if part["type"] == "input_audio"]

    @property
    def texts(self) -> list[str]:
        """The text parts of a chat request, in order."""
        found = []
        for message in self.json["messages"]:
            content = message["content"]
            found += (
                [content] if isinstance(content, str) else [part["text"] for part in content if part["type"] == "text"]
            )
        return found

    @property
    def form(self) -> dict[str, bytes]:
        """The fields of a multipart request."""
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        parts = BytesParser().parsebytes(head + self.body).get_payload()
        return {part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts}


@dataclass(frozen=True)
class Reply:
    """What the server does with one request."""

    status: int = 200
    content: str | None = None
    refusal: str | None = None
    finish: str = "stop"
    payload: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    close: bool = False
    code: str = ""
    page: bool = False

    @classmethod
    def text(cls, content: str, **rest: Any) -> Reply:
        """A plain chat answer, or the text of a transcription."""
        return cls(content=content, **rest)

    @classmethod
    def data(cls, value: Any) -> Reply:
        """A structured chat answer."""
        return cls(content=json.dumps(value, ensure_ascii=False))

    @classmethod
    def truncated(cls, value: Any, *, told: bool = True) -> Reply:
        """A structured answer cut in half; ``told`` says whether the finish reason admits it."""
        whole = json.dumps(value, ensure_ascii=False)
        return cls(content=whole[: len(whole) // 2], finish="length" if told else "stop")

    @classmethod
    def refused(cls, words: str = "I cannot help with that.") -> Reply:
        return cls(refusal=words)

    @classmethod
    def rate_limited(cls, *, after: float = 0.0) -> Reply:
        return cls(status=429, headers={"retry-after": f"{after:g}"})

    @classmethod
    def error(cls, status: int, *, code: str = "") -> Reply:
        return cls(status=status, code=code)

    @classmethod
    def slow(cls, seconds: float, content: str = "late") -> Reply:
        return cls(content=content, delay_s=seconds)

    @classmethod
    def hang_up(cls) -> Reply:
        """Close the connection without an answer."""
        return cls(close=True)

    @classmethod
    def web_page(cls, status: int = 200) -> Reply:
        """What a proxy, or a wrong address, answers."""
        return cls(status=status, page=True, payload=b"<!DOCTYPE html><title>Welcome</title>")

    @classmethod
    def raw(cls, payload: bytes) -> Reply:
        """These bytes as they are, called JSON."""
        return cls(payload=payload)

    @classmethod
    def sound(cls, payload: bytes) -> Reply:
        return cls(payload=payload)


class OpenAIServer:
    """Listens on a free loopback port while the ``with`` block lasts."""

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self.models: tuple[str, ...] = MODELS
        self.key: str | None = None
        """When set, a request without this bearer key gets 401."""
        self.default = Reply.text("A")
        self.writer: Callable[[Recorded], Reply] | None = None
        """What answers a POST for which nothing is queued, instead of ``default``."""
        self._script: deque[Reply] = deque()
        self._lock = threading.Lock()
        self._server = _Listener(("127.0.0.1", 0), _Handler)
        self._server.owner = self
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
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def script(self, *replies: Reply) -> None:
        """Queue replies; each POST takes one."""
        self._script.extend(replies)

    def answer(self, recorded: Recorded) -> Reply:
        with self._lock:
            self.requests.append(recorded)
            told = recorded.headers.get("x-api-key") or recorded.headers.get("authorization", "").removeprefix(
                "Bearer "
            )
            if self.key and told != self.key:
                return Reply.error(401)
            if recorded.method != "POST":
                return self.default
            if self._script:
                return self._script.popleft()
        return self.writer(recorded) if self.writer else self.default


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    owner: OpenAIServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that was killed hangs up in the middle; only what is wrong with the server itself is worth a word."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Tests read ``server.requests`` instead."""

    @property
    def owner(self) -> OpenAIServer:
        assert isinstance(self.server, _Listener)
        return self.server.owner

    def do_GET(self) -> None:
        reply = self._take(b"")
        if reply.status != 200:
            self._error(reply)
            return
        models = [{"id": name, "object": "model", "created": 1, "owned_by": "tests"} for name in self.owner.models]
        self._json({"object": "list", "data": models})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        reply = self._take(body)
        time.sleep(reply.delay_s)
        if reply.close:
            self.close_connection = True
        elif reply.page:
            self._send(reply.status, reply.payload or b"", "text/html", {})
        elif reply.status != 200:
            self._error(reply)
        else:
            self._good(reply, body)

    def _good(self, reply: Reply, body: bytes) -> None:
        kind = self.headers.get("content-type", "")
        if kind == "application/json" and json.loads(body)["model"] not in self.owner.models:
            self._error(Reply.error(404, code="model_not_found"))
            return
        match self.path.removeprefix("/v1"):
            case "/messages" | "/chat/completions" | "/audio/transcriptions" if reply.payload is not None:
                self._send(200, reply.payload, "application/json", {})
            case "/messages":
                self._json(_message(json.loads(body), reply))
            case "/chat/completions":
                self._json(_completion(json.loads(body)["model"], reply))
            case "/audio/speech":
                self._send(200, reply.payload or wav(speechlike(seconds=1.0)), "audio/wav", {})
            case "/audio/transcriptions":
                self._json({"text": reply.content or ""})
            case _:
                self._error(Reply.error(404))

    def _take(self, body: bytes) -> Reply:
        headers = {name.lower(): value for name, value in self.headers.items()}
        return self.owner.answer(Recorded(self.command, self.path, headers, body))

    def _error(self, reply: Reply) -> None:
        error = {"message": f"scripted {reply.status}", "type": "error", "code": reply.code or None}
        self._send(reply.status, json.dumps({"error": error}).encode(), "application/json", reply.headers)

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(value, ensure_ascii=False).encode(), "application/json", {})

    def _send(self, status: int, body: bytes, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _completion(model: str, reply: Reply) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.content, "refusal": reply.refusal}
    return {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "finish_reason": reply.finish, "message": message, "logprobs": None}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
    }


def _message(asked: dict[str, Any], reply: Reply) -> dict[str, Any]:
    """Anthropic's shape: text, or the input of the tool that was asked for."""
    stop = {"length": "max_tokens"}.get(reply.finish, "refusal" if reply.refusal else "end_turn")
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.content or ""}]
    if asked.get("tools") and stop == "end_turn" and (reply.content or "").startswith(("{", "[")):
        stop = "tool_use"
        content = [
            {"type": "tool_use", "id": "t", "name": asked["tools"][0]["name"], "input": json.loads(reply.content or "")}
        ]
    return {
        "id": "msg_test",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": content,
        "stop_reason": stop,
        "usage": {"input_tokens": 100, "output_tokens": 50},
    }
