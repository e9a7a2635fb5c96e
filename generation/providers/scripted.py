"""How the fakes misbehave on request: a queue of behaviours, one taken per call, plain success when it is empty."""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import ClassVar

from eqstudio.errors import GiveUp, ProviderError, Refused, Retry

RETRY_AFTER_S = 7.0


class Behaviour(StrEnum):
    """What the next call does."""

    OK = "ok"
    FAIL = "fail"
    RATE_LIMIT = "rate limit"
    STALL = "stall"
    REFUSE = "refuse"
    RUBBISH = "rubbish"


class Scripted:
    """Mixed into a fake. ``script`` belongs to each fake's class, so a test can set it without holding the instance."""

    script: ClassVar[deque[Behaviour]]
    calls: ClassVar[list[str]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.script = deque()
        cls.calls = []

    @classmethod
    def reset(cls) -> None:
        """Forget queued behaviours and recorded calls."""
        cls.script.clear()
        cls.calls.clear()

    def _behave(self, call: str) -> bool:
        """Record ``call`` and act out the next behaviour; True means the answer must be rubbish."""
        self.calls.append(call)
        behaviour = self.script.popleft() if self.script else Behaviour.OK
        failures = {
            Behaviour.FAIL: ProviderError("The fake provider failed as told.", cause="HTTP 500", decision=GiveUp()),
            Behaviour.RATE_LIMIT: ProviderError(
                "The fake provider asks for fewer calls.", cause="rate limited", decision=Retry(RETRY_AFTER_S)
            ),
            Behaviour.STALL: ProviderError(
                "The fake provider gave no answer in time.", cause="timeout", decision=Retry(0)
            ),
            Behaviour.REFUSE: Refused("The fake provider declined as told."),
        }
        if behaviour in failures:
            raise failures[behaviour]
        return behaviour is Behaviour.RUBBISH
