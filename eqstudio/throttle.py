"""How many requests a person's scripts may send."""

from __future__ import annotations

from typing import Any

from django.core.cache import caches
from rest_framework.throttling import UserRateThrottle


class UserThrottle(UserRateThrottle):
    """So many requests in each window of a second, minute, hour or day, and a count is all that is kept of them.

    The cache ``counts`` keeps it: in Redis for all web processes together, else in the memory of each of them, so that
    two of them let through twice as many. Two windows that meet can hold twice the rate for a moment.
    """

    duration: float
    num_requests: int
    left_s = 0.0

    def allow_request(self, request: Any, view: Any) -> bool:
        if self.rate is None:
            return True
        now, length = float(self.timer()), self.duration
        self.left_s = length - now % length
        key = f"{self.get_cache_key(request, view)}:{now // length:.0f}"
        counts = caches["counts"]
        if counts.add(key, 1, timeout=length):
            return bool(self.num_requests)
        try:
            return int(counts.incr(key)) <= self.num_requests
        except ValueError:  # it ran out between the two
            return True

    def wait(self) -> float:
        return self.left_s
