"""The container's own question whether it works: `healthcheck.py web`, `worker` or `beat`. Exit code 0 says yes."""

from __future__ import annotations

import os
import socket
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
BEAT_FILE = Path("/tmp/beat-schedule")  # noqa: S108 -- inside the container
SILENCE_S = 300


def _allowed_hosts() -> str:
    """As the settings read them, which would take longer than the question may."""
    if path := os.environ.get("ALLOWED_HOSTS_FILE"):
        return Path(path).read_text(encoding="utf-8").strip()
    return os.environ.get("ALLOWED_HOSTS", "localhost")


def web() -> bool:
    connection = HTTPConnection("127.0.0.1", 8000, timeout=8)
    host = _allowed_hosts().split(",")[0].strip().lstrip("*.") or "localhost"
    connection.request("GET", "/healthz", headers={"Host": host, "X-Forwarded-Proto": "https"})
    return connection.getresponse().status == 200  # noqa: PLR2004


def worker() -> bool:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "eqstudio.settings")
    from eqstudio.celery import app

    return bool(app.control.ping(destination=[f"celery@{socket.gethostname()}"], timeout=8))


def beat() -> bool:
    """Beat writes its schedule file as it goes; one that has been still for long says that it hangs."""
    files = list(BEAT_FILE.parent.glob(f"{BEAT_FILE.name}*"))
    return any(time.time() - file.stat().st_mtime < SILENCE_S for file in files)


if __name__ == "__main__":
    raise SystemExit(0 if {"web": web, "worker": worker, "beat": beat}[sys.argv[1]]() else 1)
