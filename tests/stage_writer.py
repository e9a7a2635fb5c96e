"""A model behind the scripted server that writes and judges in stages as a good one would.

It knows nothing of the studio's rows: what it is asked arrives over HTTP, and it answers by the schema's name and the prompt.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from generation.providers.text.openai import ChatText
from tests.openai_server import Recorded, Reply

Turned = Callable[[dict[str, Any]], dict[str, Any]]


class StageWriter:
    """``answer`` is the server's ``writer``. ``plan`` queues what happens to the next request for a schema: a Reply, or a
    function that changes the good answer.
    """

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.prompts: dict[str, list[str]] = {}
        self._samples: dict[str, Callable[[], dict[str, Any]]] = {}
        self._plans: dict[str, deque[Reply | Turned]] = {}

    def listen(self, monkeypatch: Any) -> None:
        """Remember, for each prompt that is sent, the valid answer that the benchmark makes for fakes."""
        write = ChatText.write

        def noting(provider: ChatText, **asked: Any) -> Any:
            self._samples[asked["prompt"].user] = asked["prompt"].sample
            return write(provider, **asked)

        monkeypatch.setattr(ChatText, "write", noting)

    def plan(self, schema: str, *steps: Reply | Turned) -> None:
        self._plans.setdefault(schema, deque()).extend(steps)

    def answer(self, recorded: Recorded) -> Reply:
        name = recorded.json["response_format"]["json_schema"]["name"]
        user = recorded.json["messages"][-1]["content"]
        self.asked[name] += 1
        self.prompts.setdefault(name, []).append(user)
        good = self._samples[user]()
        planned = self._plans.get(name)
        step = planned.popleft() if planned else None
        if step is None:
            return Reply.data(good)
        return step if isinstance(step, Reply) else Reply.data(step(good))
