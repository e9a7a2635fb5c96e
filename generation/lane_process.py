"""A further process of the pipeline, started by ``generation.services.running``. Nothing here needs Django until it runs."""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection

import django

SWITCH_S = 0.0005
"""Threads that come back from a call or the database are not kept waiting by one that computes."""


def lane_process(told: Connection, query: bytes, share: tuple[int, int], connections: int) -> None:
    """Advance this process' share of the dialogues that ``query`` finds; each finished one is told. When nobody listens
    any more, the steps under way are ended and no other is begun.
    """
    sys.setswitchinterval(SWITCH_S)
    django.setup()
    from generation.services.running import share_run  # noqa: PLC0415 -- needs the app registry

    try:
        share_run(query=query, share=share, connections=connections, told=told.send)
    except BrokenPipeError:
        return
    except KeyboardInterrupt:
        return
    finally:
        told.close()
