"""Ids, events, blobs, redaction and what leaves the process."""

import errno
import hashlib
import http.server
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from django.core.files.storage import default_storage

from eqstudio import blobs
from eqstudio.blobs import StorageFull, blob_key, blob_open, blob_put, blob_read
from eqstudio.errors import InvalidInput, ProviderError
from eqstudio.events import event_record
from eqstudio.ids import UID_LENGTH, uid
from eqstudio.models import Event
from eqstudio.net import Endpoint, http_once, http_post_public, http_request, redact, secret
from tests.bucket import FullBucket, SilentBucket


def test_ids_are_random_and_without_look_alikes():
    made = {uid() for _ in range(500)}

    assert len(made) == 500
    assert {len(one) for one in made} == {UID_LENGTH}
    assert not set("".join(made)) & set("01ilo")


@pytest.mark.django_db
def test_an_event_masks_what_looks_secret(ada):
    event_record(actor=ada, verb="tested", entity=ada, api_key="abc", Password="x", token_count=3, note="plain")

    event = Event.objects.get()
    assert event.detail == {"api_key": "***", "Password": "***", "token_count": "***", "note": "plain"}
    assert (event.entity, event.entity_uid, event.actor) == ("user", ada.uid, ada)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("api_key=12345678 is wrong", "api_key=*** is wrong"),
        ("the key sk-abcdefgh12345 was refused", "the key *** was refused"),
        ("hf_ABCDEFGH1234", "***"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_redaction_masks_credentials_only(text, expected):
    assert redact(text) == expected


def test_a_missing_secret_names_its_variable(monkeypatch):
    monkeypatch.delenv("STUDIO_TEST_KEY", raising=False)

    with pytest.raises(InvalidInput) as caught:
        secret("STUDIO_TEST_KEY")

    assert caught.value.field == "STUDIO_TEST_KEY"


def test_an_endpoint_without_a_key_sends_none():
    client = Endpoint("http://127.0.0.1:9/v1").client()

    assert (client.api_key, client.max_retries) == ("none", 3)


@pytest.fixture
def storage(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


def test_a_blob_is_named_by_its_content_and_stored_once(storage):
    first = blob_put(b"sound")
    second = blob_put(b"sound")

    assert first == second == hashlib.sha256(b"sound").hexdigest()
    assert [path for path in storage.rglob("*") if path.is_file()] == [storage / blob_key(first)]
    assert blob_read(first) == b"sound"
    with blob_open(first) as handle:
        assert handle.read(2) == b"so"


def test_a_full_disk_leaves_nothing_behind(storage, monkeypatch):
    real = Path.write_bytes

    def half_written(self, data):
        real(self, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(blobs.Path, "write_bytes", half_written)

    with pytest.raises(StorageFull) as caught:
        blob_put(b"a long sound")

    assert caught.value.status == 507
    assert "No space left on device" in caught.value.message
    assert [path for path in storage.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(("bucket", "why"), [(FullBucket, "The bucket is full"), (SilentBucket, "files.example.org")])
def test_a_bucket_that_refuses_is_told_like_a_full_disk(monkeypatch, bucket, why):
    monkeypatch.setattr(default_storage, "_wrapped", bucket())

    with pytest.raises(StorageFull, match=why) as caught:
        blob_put(b"a long sound")

    assert caught.value.status == 507


def test_a_blob_that_is_gone_is_a_missing_file(storage):
    with pytest.raises(FileNotFoundError):
        blob_read("0" * 64)


@pytest.fixture
def server():
    """A little server: /big sends 1000 bytes, /busy is busy once, /gone is 404."""
    busy = [503]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status = busy.pop() if self.path == "/busy" and busy else 404 if self.path == "/gone" else 200
            self.send_response(status)
            if status == 503:
                self.send_header("Retry-After", "0")
            body = b"x" * 1000 if self.path == "/big" else b"ok"
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            """Quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()
        thread.join()


def test_a_busy_server_is_asked_again_after_it_said(server):
    assert http_request("GET", f"{server}/busy").content == b"ok"


def test_a_body_over_the_cap_is_refused(server):
    with pytest.raises(ProviderError) as caught:
        http_request("GET", f"{server}/big", max_bytes=999)

    assert caught.value.cause == "too large"


def test_a_client_error_is_not_retried(server):
    with pytest.raises(httpx.HTTPStatusError):
        http_request("GET", f"{server}/gone")


class _Slow(http.server.BaseHTTPRequestHandler):
    """/large answers 500 with 4 MB; /body and /headers send one byte every 0.1 s, without end."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        with suppress(OSError):
            if self.path == "/headers":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
            else:
                self.send_response(500 if self.path == "/large" else 200)
                self.end_headers()
            if self.path == "/large":
                self.wfile.write(b"x" * 4_000_000)
                return
            for _ in range(100):
                self.wfile.write(b"x")
                time.sleep(0.1)

    def log_message(self, *args):
        """Quiet."""


@pytest.fixture
def slow():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Slow) as httpd:
        httpd.daemon_threads, httpd.block_on_close = True, False
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()


def test_of_a_refusal_no_more_is_kept_than_of_an_answer(slow):
    with pytest.raises(httpx.HTTPStatusError) as caught:
        http_post_public(f"{slow}/large", content=b"x", headers={}, private=True)

    assert len(caught.value.response.content) == 64 * 1024


@pytest.mark.parametrize("path", ["body", "headers"])
def test_an_answer_that_comes_byte_by_byte_ends_at_its_deadline(slow, path):
    begun = time.monotonic()

    with pytest.raises(httpx.ReadTimeout):
        http_post_public(f"{slow}/{path}", content=b"x", headers={}, private=True, timeout_s=0.5)

    assert time.monotonic() - begun < 3


def test_a_deadline_holds_for_a_client_of_the_callers(slow):
    with httpx.Client(timeout=5) as client, pytest.raises(httpx.ReadTimeout):
        http_once("POST", f"{slow}/body", client=client, deadline_s=0.5, content=b"x")
