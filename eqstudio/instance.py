"""One studio per data folder: a lock file that the running supervisor holds, and the port that it serves."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eqstudio.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HIGHEST_PORT = 65_535


class AlreadyRunning(Conflict):
    """Another supervisor holds the lock of this data folder."""


class PortTaken(Conflict):
    """Another program listens where the studio was to listen."""


@contextmanager
def instance_lock(path: Path, *, address: str) -> Iterator[None]:
    """Hold the lock for as long as the block runs. The kernel lets go of it when its holder dies, so none goes stale."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(_running_message(os.read(descriptor, 4096))) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({"pid": os.getpid(), "address": address}).encode())
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _running_message(content: bytes) -> str:
    try:
        holder = json.loads(content)
        who = f"It is process {holder['pid']} and serves {holder['address']}."
    except (ValueError, KeyError):
        who = "It is just starting."
    return (
        f"The studio already runs on this data folder. {who} Nothing was changed. "
        "Use that one, stop it with Ctrl-C, or set EQSTUDIO_DATA to another folder and choose another port."
    )


def port_listen(host: str, port: int) -> socket.socket:
    """A listening socket that the web processes inherit, so a restart of theirs turns nobody away. PortTaken if occupied."""
    if not 0 <= port <= HIGHEST_PORT:
        raise PortTaken(f"{port} is no port. Nothing was started. Choose one from 1024 to {HIGHEST_PORT}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(
                f"Port {port} is taken by another program. Nothing was started. "
                f"Choose another: `make run PORT={port + 1}` or `manage.py studio --port {port + 1}`."
            ) from None
        if error.errno in (errno.EACCES, errno.EADDRNOTAVAIL):
            raise PortTaken(
                f"The studio may not listen on {host} port {port} ({error.strerror}). Choose another port or host."
            ) from None
        raise
    return listener
