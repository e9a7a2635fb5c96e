"""A fake OpenAI-compatible endpoint in a process of its own, made to cost little: one event loop, ready-made answers.

python -m tests.benchmarks.endpoint LATENCY_S   prints its port; GET /figures tells how many it answered, how many at once and how fast.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from random import Random

import django

from tests.audio import speechlike, wav

SOUND = wav(speechlike(seconds=1.5, rate=16_000), rate=16_000)


class Endpoint:
    def __init__(self, latency_s: float, scripts: list[str]) -> None:
        self.latency_s = latency_s
        self.scripts = scripts
        self.calls = self.now = self.most = 0
        self.first = 0.0
        self.ended: list[float] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                line, *rest = head.decode("latin-1").split("\r\n")
                fields = dict(row.lower().split(": ", 1) for row in rest if ": " in row)
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                kind, answer = await self.answer(line.split(" ")[1], body)
                writer.write(
                    f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(answer)}\r\n\r\n".encode()
                    + answer
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def full(self) -> float:
        """Calls a second while the batch was full: without its first and last tenth, when there is not work for everybody."""
        tenth = len(self.ended) // 10
        return (len(self.ended) - 2 * tenth - 1) / (self.ended[-tenth - 1] - self.ended[tenth])

    async def answer(self, path: str, body: bytes) -> tuple[str, bytes]:
        if path == "/figures":
            figures = {"calls": self.calls, "most": self.most, "seconds": self.ended[-1] - self.first}
            figures["full"] = self.full()
            return "application/json", json.dumps(figures).encode()
        began = time.monotonic()
        self.first = self.first or began
        self.calls += 1
        self.now += 1
        self.most = max(self.most, self.now)
        number = self.calls
        await asyncio.sleep(self.latency_s)
        self.now -= 1
        self.ended.append(time.monotonic())
        if path.endswith("/audio/speech"):
            return "audio/wav", _numbered(number)
        if path.endswith("/audio/transcriptions"):
            return "application/json", b'{"text": "I hear you."}'
        return "application/json", _completion(self.scripts[number % len(self.scripts)])


def _numbered(number: int) -> bytes:
    """Another clip each time: one sample differs."""
    return SOUND[:-4] + number.to_bytes(4, "little")


def _completion(script: str) -> bytes:
    message = {"role": "assistant", "content": script, "refusal": None}
    whole = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "test-model",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
    }
    return json.dumps(whole).encode()


def scripts(benchmark: str, category: str, count: int = 50) -> list[str]:
    """Whole scripts of a benchmark, written by itself."""
    from eqstudio.benchmarks import benchmark_get
    from eqstudio.benchmarks.base import BriefSpec

    kind = benchmark_get(benchmark)
    brief = BriefSpec(kind.category(category), "en", kind.valences[0], kind.settings[0])
    return [json.dumps(kind.script_example(brief, Random(number))) for number in range(count)]


async def main(latency_s: float, benchmark: str, category: str) -> None:
    endpoint = Endpoint(latency_s, scripts(benchmark, category))
    server = await asyncio.start_server(endpoint.serve, "127.0.0.1", 0, backlog=256)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    django.setup()
    asyncio.run(main(float(sys.argv[1]), sys.argv[2], sys.argv[3]))
