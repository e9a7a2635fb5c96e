"""A web server in a process of its own, on the database and files of the running test, so that it can be killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from http.client import HTTPConnection

from django.conf import settings
from django.db import connection

from tests.e2e.studio import ROOT, free_port

PATIENCE_S = 60


class ServerProcess:
    """Sees what the test has committed; SQLite only, whose test database is a file."""

    def __init__(self) -> None:
        self.port = free_port()
        self.address = f"http://localhost:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        names = {"DJANGO_SETTINGS_MODULE": "tests.settings", "EQSTUDIO_DATA": str(settings.DATA_DIR)}
        env = {**os.environ, **names, "DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}"}
        options = ["--noreload", "--insecure", "--skip-checks", f"localhost:{self.port}"]
        command = [sys.executable, "manage.py", "runserver", *options]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert time.monotonic() < deadline, "the server did not start"
            assert self.process.poll() is None, "the server ended at once"
            time.sleep(0.2)

    def _answers(self) -> bool:
        asked = HTTPConnection("localhost", self.port, timeout=5)
        try:
            asked.request("GET", "/healthz")
            return asked.getresponse().status < 500
        except OSError:
            return False
        finally:
            asked.close()

    def kill(self) -> None:
        """SIGKILL: no goodbye, nothing flushed."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(20)
            self.process = None
