"""A fake chat endpoint in a process of its own, made to cost next to nothing: one event loop, one ready-made answer.

python -m tests.benchmarks.exam_server LATENCY_S [PORT COUNT_FILE]   prints its port. GET /figures tells how many it answered and how
many at once at most. With COUNT_FILE every request leaves a line in it, so that the counts outlive a killed server.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
from collections import Counter
from pathlib import Path

ANSWER = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "test-model",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": '{"reason": "It sounds warmer.", "answer": "B"}'},
            }
        ],
        "usage": {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420},
    }
).encode()
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
ANSWERED = HEAD % len(ANSWER) + ANSWER


class Counts:
    """What came in so far."""

    def __init__(self, path: str) -> None:
        self.questions: Counter[str] = Counter()
        self.now = self.most = 0
        self.first = self.last = 0.0
        self._file = Path(path).open("ab", buffering=0) if path else None  # noqa: SIM115 -- open as long as the process

    def begin(self, body: bytes) -> None:
        question = hashlib.sha256(body).hexdigest()
        self.questions[question] += 1
        self.now += 1
        self.most = max(self.most, self.now)
        self.first = self.first or time.monotonic()
        if self._file:
            self._file.write(f"{question}\n".encode())

    def end(self) -> None:
        self.now -= 1
        self.last = time.monotonic()

    def figures(self) -> bytes:
        calls = self.questions.total()
        return json.dumps(
            {
                "calls": calls,
                "questions": len(self.questions),
                "most": self.most,
                "seconds": self.last - self.first,
            }
        ).encode()


class Connection(asyncio.Protocol):
    def __init__(self, counts: Counts, latency_s: float) -> None:
        self.counts, self.latency_s, self.buffer = counts, latency_s, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.buffer[:end].lower()
        if head.startswith(b"get"):
            figures = self.counts.figures()
            self.buffer = b""
            self.transport.write(HEAD % len(figures) + figures)
            return
        at = head.find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(self.buffer) - end - 4 < length:
            return
        body, self.buffer = self.buffer[end + 4 :], b""
        self.counts.begin(body)
        asyncio.get_running_loop().call_later(self.latency_s, self.answer)

    def answer(self) -> None:
        self.counts.end()
        if not self.transport.is_closing():
            self.transport.write(ANSWERED)


async def main(latency_s: float, port: int, path: str) -> None:
    counts = Counts(path)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(counts, latency_s), "127.0.0.1", port, backlog=256)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    latency, *more = sys.argv[1:]
    asyncio.run(main(float(latency), int(more[0]) if more else 0, more[1] if more else ""))
