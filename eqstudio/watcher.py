"""Run by the supervisor as a program of its own: reads "+GROUP" and "-GROUP" lines until the supervisor is gone,
then ends every process group that is still on the list: politely, and after three seconds by force.
"""

import os
import signal
import sys
import time

GRACE_S = 3.0


def groups_left(lines: list[str]) -> set[int]:
    """The groups that were added and not taken off again."""
    left: set[int] = set()
    for line in lines:
        (left.add if line.startswith("+") else left.discard)(int(line[1:]))
    return left


def groups_signal(groups: set[int], number: int) -> set[int]:
    """Signal every group; the ones that still have somebody in them."""
    alive = set()
    for group in groups:
        try:
            os.killpg(group, number)
            alive.add(group)
        except ProcessLookupError:
            continue
    return alive


def main(descriptor: int) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with os.fdopen(descriptor, encoding="ascii") as pipe:
        left = groups_left(list(pipe))
    left = groups_signal(left, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = groups_signal(left, 0)
    groups_signal(left, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]))
