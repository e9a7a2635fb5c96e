"""POST over kept connections: the deadline of a call, keys that cannot be sent, proxies, redirects, what is kept."""

from __future__ import annotations

import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from eqstudio import net_json
from eqstudio.errors import GiveUp, ProviderError, Retry
from eqstudio.net import Endpoint, secret
from eqstudio.net_json import connections_close, json_post

OK = b'HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{"a": 1}'
HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 4000\r\n\r\n"
CLOSING = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    net_json._place.cache_clear()
    yield
    connections_close()
    net_json._place.cache_clear()


class Wire:
    """A server by the byte: what arrived on which connection, and what is sent for it."""

    def __init__(self, answer: Callable[[socket.socket, int], None]) -> None:
        self.answer, self.arrived, self.connections = answer, [], 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def serve(self) -> None:
        while True:
            try:
                connection, _address = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection: socket.socket) -> None:
        with connection:
            try:
                while said := connection.recv(65_536):
                    while not said.endswith(b"{}"):  # head and body may come in two pieces
                        said += connection.recv(65_536)
                    self.arrived.append(said)
                    self.answer(connection, len(self.arrived))
            except OSError:
                return


@contextmanager
def wire(answer: Callable[[socket.socket, int], None]) -> Iterator[Wire]:
    server = Wire(answer)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.listener.shutdown(socket.SHUT_RDWR)
        server.listener.close()
        thread.join()


def always(raw: bytes) -> Callable[[socket.socket, int], None]:
    return lambda connection, _number: connection.sendall(raw)


def at(server: Wire, **more) -> Endpoint:
    return Endpoint(f"http://127.0.0.1:{server.port}/v1", **{"timeout_s": 5, **more})


def failure(endpoint: Endpoint, path: str = "x") -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        json_post(endpoint, path, {}, what="it")
    return caught.value


@pytest.mark.parametrize(
    ("before", "drop"),
    [(HEAD, b" "), (CLOSING, b" "), (CHUNKED, b"1\r\n \r\n"), (b"", b"HTTP/1.1 200 OK\r\n"), (b"", b" ")],
    ids=["length", "closing", "chunked", "head", "line"],
)
def test_a_server_that_drips_is_left_at_the_deadline_of_the_call(before, drop):
    stop = threading.Event()

    def drip(connection: socket.socket, _number: int) -> None:
        connection.sendall(before)
        for place in range(400):
            connection.sendall(drop[place % len(drop) :][:1])
            if stop.wait(0.02):
                return

    with wire(drip) as server:
        started = time.monotonic()
        found = failure(at(server, timeout_s=0.5))
        took = time.monotonic() - started
        stop.set()

    assert (found.cause, found.decision) == ("timeout", Retry(5))
    assert took < 3


@pytest.mark.parametrize(
    "raw",
    [OK, CHUNKED + b'8\r\n{"a": 1}\r\n0\r\n\r\n', CHUNKED + b'3\r\n{"a\r\n5\r\n": 1}\r\n0\r\n\r\n'],
    ids=["length", "one chunk", "two chunks"],
)
def test_one_connection_serves_call_after_call(raw):
    with wire(always(raw)) as server:
        assert [json_post(at(server), "x", {}, what="it") for _call in range(4)] == [{"a": 1}] * 4
        assert (server.connections, len(server.arrived)) == (1, 4)


def test_an_answer_that_ends_with_its_connection_is_read_and_the_next_call_gets_another():
    def last(connection: socket.socket, _number: int) -> None:
        connection.sendall(CLOSING + b'{"a": 1}')
        connection.shutdown(socket.SHUT_RDWR)

    with wire(last) as server:
        assert [json_post(at(server), "x", {}, what="it") for _call in range(2)] == [{"a": 1}] * 2
        assert server.connections == 2


def test_a_key_from_a_file_that_ends_with_a_newline_is_sent_without_it(monkeypatch):
    monkeypatch.setenv("WIRE_KEY", " sk-0123456789abcdef\n")
    with wire(always(OK)) as server:
        assert json_post(at(server, key_env="WIRE_KEY"), "x", {}, what="it") == {"a": 1}
        assert b"authorization: Bearer sk-0123456789abcdef\r\n" in server.arrived[0]
    assert secret("WIRE_KEY") == "sk-0123456789abcdef"


@pytest.mark.parametrize("key", ["topsecret\nmore-topsecret", "topsecret—topsecret", "topsecret\rx"])
def test_a_key_that_no_header_can_hold_is_an_error_that_does_not_show_it(monkeypatch, key):
    monkeypatch.setenv("WIRE_KEY", key)
    with wire(always(OK)) as server:
        found = failure(at(server, key_env="WIRE_KEY"))
        printed = "".join(traceback.format_exception(found))
        assert json_post(at(server), "x", {}, what="it") == {"a": 1}
    assert (found.cause, found.decision) == ("client", GiveUp())
    assert "it: the key, a header or an address holds a character" in found.message
    assert "topsecret" not in printed


def test_a_key_of_blanks_is_not_set(monkeypatch):
    monkeypatch.setenv("WIRE_KEY", " \n")
    with pytest.raises(Exception, match="WIRE_KEY is not set"):
        secret("WIRE_KEY")


class OverTimeError(Exception):
    """As a worker's limit raises it, anywhere."""


def test_a_connection_that_was_left_in_the_middle_is_not_used_again(monkeypatch):
    read = net_json._read

    def interrupted(answer, *given):
        answer.read(2)
        raise OverTimeError

    with wire(always(OK)) as server:
        monkeypatch.setattr(net_json, "_read", interrupted)
        with pytest.raises(OverTimeError):
            json_post(at(server), "x", {}, what="it")
        monkeypatch.setattr(net_json, "_read", read)
        assert json_post(at(server), "x", {}, what="it") == {"a": 1}
        assert server.connections == 2


@pytest.mark.parametrize("scheme", ["http://", ""])
def test_a_proxy_gets_its_password_for_plain_http_and_needs_no_scheme(monkeypatch, scheme):
    with wire(always(OK)) as server:
        monkeypatch.setenv("http_proxy", f"{scheme}ann:p%40ss@127.0.0.1:{server.port}")
        assert json_post(Endpoint("http://api.example:8000/v1", timeout_s=5), "x", {}, what="it") == {"a": 1}
        (said,) = server.arrived
    assert said.startswith(b"POST http://api.example:8000/v1/x HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic YW5uOnBAc3M=\r\n" in said


def test_a_proxy_without_a_scheme_is_asked_for_a_tunnel(monkeypatch):
    said = []

    def refuse(connection: socket.socket) -> None:
        said.append(connection.recv(65_536))
        connection.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
        connection.close()

    with wire(always(b"")) as server:
        server.talk = refuse
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{server.port}")
        found = failure(Endpoint("https://api.example/v1", timeout_s=5))
    assert said[0].startswith(b"CONNECT api.example:443 ")
    assert (found.cause, "403 Forbidden" in found.message) == ("unreachable", True)


@pytest.mark.parametrize(
    ("leads_to", "said"),
    [
        (
            "https://ann:pw@api.example/v2/chat/completions?key=topsecret",
            "/v2/chat/completions (HTTP 308), which is not followed; set the base URL to https://api.example/v2",
        ),
        ("https://api.example/login", "set the base URL to where the API itself answers"),
        ("/v2/chat/completions", "/v2"),
    ],
)
def test_a_redirect_says_in_words_where_it_leads(leads_to, said):
    moved = f"HTTP/1.1 308 Moved\r\nlocation: {leads_to}\r\ncontent-length: 0\r\n\r\n".encode()
    with wire(always(moved)) as server:
        found = failure(at(server), "chat/completions")
    assert found.message.endswith(said)
    assert (found.cause, found.decision, "topsecret" in found.message) == ("HTTP 308", GiveUp(), False)
