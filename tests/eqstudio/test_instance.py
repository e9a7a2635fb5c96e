"""One studio per data folder, one port per studio, one broker per socket."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import redis

from eqstudio import broker
from eqstudio.instance import AlreadyRunning, PortTaken, instance_lock, port_listen
from eqstudio.management.commands.studio import children

HOLDER = """
import sys, time
from pathlib import Path
from eqstudio.instance import instance_lock
with instance_lock(Path(sys.argv[1]), address="http://127.0.0.1:8000"):
    print("held", flush=True)
    time.sleep(60)
"""
ROOT = Path(__file__).parents[2]


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / "lock")], stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_second_start_names_the_first(holder, tmp_path):
    with (
        pytest.raises(AlreadyRunning, match=rf"process {holder.pid} and serves http://127.0.0.1:8000"),
        instance_lock(tmp_path / "lock", address="http://127.0.0.1:8001"),
    ):
        pass


def test_lock_of_a_killed_process_is_free(holder, tmp_path):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with instance_lock(tmp_path / "lock", address="http://127.0.0.1:8001"):
        content = json.loads((tmp_path / "lock").read_text())
    assert content == {"pid": os.getpid(), "address": "http://127.0.0.1:8001"}


def test_port_that_is_taken_says_what_to_do():
    with port_listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"Port {port} is taken .*make run PORT={port + 1}"):
            port_listen("127.0.0.1", port)


@pytest.mark.parametrize("port", [-4, 65_536])
def test_number_that_is_no_port_says_so(port):
    with pytest.raises(PortTaken, match=f"{port} is no port"):
        port_listen("127.0.0.1", port)


def test_host_that_is_not_ours_says_so():
    with pytest.raises(PortTaken, match=r"may not listen on 192\.0\.2\.1"):
        port_listen("192.0.2.1", 8000)


def test_socket_path_too_long_for_the_kernel_moves_to_the_temporary_folder(tmp_path):
    deep = tmp_path / ("d" * 90) / "data"
    assert broker.broker_socket(tmp_path / "data") == tmp_path / "data" / "broker" / "broker.sock"
    assert len(str(broker.broker_socket(deep))) < 100
    assert broker.broker_socket(deep) != broker.broker_socket(deep / "other")


def test_broker_program_is_found_on_the_path(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/opt/{name}" if name == "valkey-server" else None)
    assert broker.broker_program() == "/opt/valkey-server"


def test_no_broker_program_means_none(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(broker, "find_spec", lambda name: None)
    assert broker.broker_program() is None


@pytest.fixture
def embedded(tmp_path_factory):
    """A real embedded broker on a short path."""
    program = broker.broker_program()
    assert program is not None, "no Redis-compatible server: neither on PATH nor in a wheel"
    data = tmp_path_factory.mktemp("b")
    server = subprocess.Popen(broker.broker_command(program, data), stdout=subprocess.DEVNULL)
    assert broker.broker_wait(data)
    yield data
    server.terminate()
    server.wait()


@pytest.mark.parametrize("prefix", ["", "second:"])
def test_broker_hands_out_again_what_a_killed_worker_held(embedded, prefix):
    client = redis.Redis(unix_socket_path=str(broker.broker_socket(embedded)), decode_responses=True)
    now = round(time.time())
    held = {"one": "io", "two": "io", "three": "cpu"}
    index = f"{prefix}unacked_index"
    client.zadd(index, dict.fromkeys(held, now))
    client.hset(f"{prefix}unacked", mapping={tag: json.dumps([{}, queue, queue]) for tag, queue in held.items()})
    assert broker.broker_restore(embedded, queue="io", prefix=prefix) == 2
    assert client.zrange(index, 0, -1, withscores=True) == [("one", 0.0), ("two", 0.0), ("three", float(now))]
    client.close()


def test_broker_that_is_not_there_is_not_waited_for_long(tmp_path):
    begun = time.monotonic()
    assert not broker.broker_wait(tmp_path, timeout_s=0.3)
    assert time.monotonic() - begun < 8


def test_a_stale_socket_does_not_keep_the_broker_from_starting(tmp_path):
    socket = broker.broker_socket(tmp_path)
    socket.parent.mkdir(parents=True)
    socket.write_text("left over")
    command = broker.broker_command("/opt/redis-server", tmp_path)
    assert not socket.exists()
    assert command[:3] == ["/opt/redis-server", "--port", "0"]


def test_only_the_embedded_broker_is_asked_for_what_a_killed_worker_held():
    embedded_worker = children({"EQSTUDIO_BROKER": "redis"}, 3, 2)[1]
    team_worker = children({}, 3, 2)[1]
    assert embedded_worker.before_start is not None
    assert team_worker.before_start is None
