"""`manage.py studio`: the whole studio on this machine, from one terminal."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings
from django.core.checks import Tags
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from eqstudio.broker import FILES, broker_command, broker_program, broker_restore, broker_wait
from eqstudio.errors import StudioError
from eqstudio.instance import instance_lock, port_listen
from eqstudio.management.base import told
from eqstudio.supervisor import Child, Supervisor

MANAGE = str(Path(settings.BASE_DIR) / "manage.py")
WEB_START_S = 60.0


class Command(BaseCommand):
    help = "Migrate, start web and worker on the embedded default, print the address; Ctrl-C ends all of it."
    requires_system_checks = (Tags.security,)
    """Not those of pages and models, which import everything: they are the developers'."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--demo", action="store_true", help="load the demo corpus and print the demo sign-ins")
        parser.add_argument("--concurrency", type=int, default=2, help="how many steps that compute run at once")
        parser.add_argument("--json", action="store_true", help="print one JSON document when the studio answers")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["demo"] and settings.PRODUCTION:
            raise CommandError("The demo is refused in production: EQSTUDIO_PRODUCTION is on. Leave --demo out.")
        address = f"http://{options['host']}:{options['port']}"
        try:
            with (
                instance_lock(settings.DATA_DIR / "studio.lock", address=address),
                port_listen(options["host"], options["port"]) as listener,
            ):
                self._serve(address, listener.fileno(), options)
        except (StudioError, DatabaseError, OSError) as error:
            message, field = told(error)
            if not options["json"]:
                raise CommandError(message) from error
            self.stdout.write(json.dumps({"error": message, "field": field}, ensure_ascii=False))
            sys.exit(1)

    def _serve(self, address: str, listener: int, options: dict[str, Any]) -> None:
        self._say("Preparing the database and the pages ...")
        call_command("migrate", verbosity=0, interactive=False)
        static_collect(settings.STATIC_ROOT)
        supervisor = Supervisor(logs=settings.DATA_DIR / "logs", say=self._say)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, supervisor.request_stop)
        try:
            env = self._broker_start(supervisor)
            web, *rest = children(env, listener, options["concurrency"])
            supervisor.start(web)
            people = self._demo_load(env) if options["demo"] else []
            for child in rest:
                supervisor.start(child)
            if web_wait(f"{address}/healthz", supervisor):
                self._announce(address, people, as_json=options["json"])
                supervisor.run()
        finally:
            self._say("Stopping ...")
            supervisor.stop()
            self._say("Stopped. Everything is kept; start again to go on.")

    def _broker_start(self, supervisor: Supervisor) -> dict[str, str]:
        """Start the embedded broker unless REDIS_URL names one. Returns what tells the other processes about it."""
        env = {"EQSTUDIO_LOG_FORMAT": "json", "EQSTUDIO_DATA": str(settings.DATA_DIR)}
        if settings.REDIS_URL:
            return env
        program = broker_program()
        if program is None:
            self._say(
                "No Redis-compatible server here: jobs go through files. A killed job is found again by the sweep."
            )
            return {**env, "EQSTUDIO_BROKER": FILES}
        supervisor.start(Child(name="broker", command=broker_command(program, settings.DATA_DIR), stops_last=True))
        if not broker_wait(settings.DATA_DIR):
            raise CommandError(
                f"The embedded broker does not answer. What it said is in {settings.DATA_DIR / 'logs' / 'broker.log'}. "
                f"If its append-only file is damaged, remove {settings.DATA_DIR / 'broker'}: the sweep finds all open work again."
            )
        return {**env, "EQSTUDIO_BROKER": "redis"}

    def _demo_load(self, env: dict[str, str]) -> list[dict[str, str]]:
        """Run ``demo_load`` in a process of its own, which sees the broker. Returns the demo sign-ins."""
        done = subprocess.run(
            [sys.executable, MANAGE, "demo_load", "--skip-checks", "--json"],
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        document = json.loads(done.stdout or "{}")
        if done.returncode != 0:
            self._say(f"The demo was not loaded: {document.get('error', 'see above')}. The studio itself runs.")
        for message in document.get("missing", []):
            self._say(message)
        return list(document.get("people", []))

    def _announce(self, address: str, people: list[dict[str, str]], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"address": address, "people": people}))
            self.stdout.flush()
            return
        self.stdout.write("")
        self.stdout.write(self.style.SUCCESS(f"  The studio answers at {address}"))
        if people:
            self.stdout.write("\n  Demo sign-ins (demo data, this machine only):")
            width = max(len(person["username"]) for person in people)
            for person in people:
                self.stdout.write(f"    {person['username']:<{width}}  {person['password']}   {person['role']}")
            self.stdout.write("\n  The demo dialogues are being spoken now; the first is there within two minutes.")
        else:
            self.stdout.write("  No account yet? `manage.py createsuperuser` makes the first admin.")
        self.stdout.write(f"  Logs: {settings.DATA_DIR / 'logs'}    Ctrl-C ends everything.\n")
        self.stdout.flush()

    def _say(self, message: str) -> None:
        self.stderr.write(message, self.style.NOTICE)
        self.stderr.flush()


def children(env: dict[str, str], listener: int, concurrency: int) -> list[Child]:
    """Web, workers and beat of the embedded default, in the order in which they start.

    What waits on a provider has a worker of its own with many threads; what computes has one with a process for each step.
    """
    celery = [sys.executable, "-m", "celery", "-A", "eqstudio"]
    level = settings.LOG_LEVEL.lower()
    beat_file = str(settings.DATA_DIR / "broker" / "beat-schedule")
    web = ["--workers", "2", "--threads", "4", "--preload", "--graceful-timeout", "3", "--bind", f"fd://{listener}"]
    waiting = ["--queues", "io", "--pool", "threads", "--concurrency", str(settings.CONNECTIONS), "--hostname", "io@%h"]
    computing = ["--queues", "cpu", "--concurrency", str(concurrency), "--hostname", "cpu@%h"]
    quiet = ["--without-mingle", "--without-gossip", "--loglevel", level]
    return [
        Child(
            name="web",
            command=[sys.executable, "-m", "gunicorn", *web, "--no-control-socket", "eqstudio.wsgi"],
            env=env,
            pass_fds=(listener,),
        ),
        *(
            Child(
                name=name,
                command=[*celery, "worker", *options, *quiet],
                env={**env, "OMP_NUM_THREADS": "1"},
                niceness=5,
                stop_signal=signal.SIGQUIT,
                grace_s=5.0,
                before_start=partial(_unacked_restore, queue) if env.get("EQSTUDIO_BROKER") == "redis" else None,
            )
            for name, queue, options in (("worker", "io", waiting), ("worker-cpu", "cpu", computing))
        ),
        Child(
            name="beat",
            command=[*celery, "beat", "--schedule", beat_file, "--pidfile", "", "--loglevel", level],
            env=env,
            niceness=5,
        ),
    ]


def _unacked_restore(queue: str) -> None:
    if broker_wait(settings.DATA_DIR):
        broker_restore(settings.DATA_DIR, queue=queue, prefix=settings.BROKER_PREFIX)


def static_collect(root: Path) -> None:
    """Run collectstatic if a static file or a package has changed since the last time."""
    from django.contrib.staticfiles.finders import get_finders  # noqa: PLC0415 -- needs the app registry

    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            stat = Path(storage.path(path)).stat()
            digest.update(f"{path} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    stamp = root / ".collected"
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    call_command("collectstatic", verbosity=0, interactive=False, clear=False)
    stamp.write_text(digest.hexdigest())


def web_wait(url: str, supervisor: Supervisor) -> bool:
    """Wait until the web answers. False when a stop was asked for first; CommandError when it does not come up."""
    deadline = time.monotonic() + WEB_START_S
    while not supervisor.stopping:
        try:
            httpx.request("GET", url, timeout=5)
        except httpx.TransportError:
            if time.monotonic() > deadline:
                raise CommandError(
                    f"The web does not answer. What it said is in {settings.DATA_DIR / 'logs' / 'web.log'}."
                ) from None
            supervisor.tend(time.monotonic())
            time.sleep(0.1)
        else:
            return True
    return False
