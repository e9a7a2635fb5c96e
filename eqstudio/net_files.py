"""Files that leave the process or come into it, in pieces: memory stays flat, and a dropped connection is taken up again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path

import httpx
import stamina

from eqstudio.net import CONNECT_TIMEOUT_S, READ_TIMEOUT_S, _should_retry

BLOCK = 1024 * 1024
ATTEMPTS = 6
TIMEOUT_S = 600.0


def files_client() -> httpx.Client:
    """A client for large files. A redirect to another host takes no credential along (httpx sees to that)."""
    return httpx.Client(timeout=httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S), follow_redirects=True)


def blocks_of(path: Path, start: int = 0, size: int | None = None) -> Iterator[bytes]:
    """The bytes of a file from ``start``, ``size`` of them."""
    left = size if size is not None else path.stat().st_size - start
    with path.open("rb") as handle:
        handle.seek(start)
        while left > 0 and (block := handle.read(min(BLOCK, left))):
            left -= len(block)
            yield block


@stamina.retry(on=_should_retry, attempts=ATTEMPTS, timeout=TIMEOUT_S)
def file_upload(
    client: httpx.Client, url: str, path: Path, *, headers: Mapping[str, str], start: int = 0, size: int | None = None
) -> httpx.Response:
    """PUT a file or a part of it, again from the beginning of the part when the connection drops."""
    length = size if size is not None else path.stat().st_size - start
    answer = client.put(url, content=blocks_of(path, start, length), headers={**headers, "content-length": str(length)})
    answer.raise_for_status()
    return answer


@stamina.retry(on=_should_retry, attempts=ATTEMPTS, timeout=TIMEOUT_S)
def file_download(client: httpx.Client, url: str, path: Path, *, auth: httpx.Auth) -> str:
    """GET into ``path`` and return the SHA-256 of it all; after a drop only the rest is asked for, if the server can."""
    there = path.stat().st_size if path.exists() else 0
    wanted = {"accept-encoding": "identity", **({"range": f"bytes={there}-"} if there else {})}
    with client.stream("GET", url, headers=wanted, auth=auth) as answer:
        if answer.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            path.unlink()  # there is as much as there can be, or the file changed: from the beginning
            raise httpx.ReadError("the rest of the file cannot be had")
        answer.raise_for_status()
        mode = "ab" if there and answer.status_code == HTTPStatus.PARTIAL_CONTENT else "wb"
        with path.open(mode) as handle:
            for block in answer.iter_bytes():
                handle.write(block)
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
