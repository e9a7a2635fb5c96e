"""One view serves all audio: permission first, then a byte range, or a hand-over to nginx or the object store."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.core.files.storage import default_storage
from django.http import HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from eqstudio.access import guests_welcome
from eqstudio.blobs import blob_key, blob_open, blob_whole
from generation.media import served_for_ticket, sound_gone, token_etag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    from generation.media import Served

BLOCK = 64 * 1024
_RANGE = re.compile(
    r"bytes=(\d{0,18})-(\d{0,18})"
)  # more digits than any file needs, and than int() takes, are nonsense


class ByteRange(NamedTuple):
    """First and last byte to send."""

    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1


class UnsatisfiableError(Exception):
    """The range lies wholly behind the end of the file."""


@guests_welcome
@require_safe
def media(request: HttpRequest, token: str) -> HttpResponseBase:
    """The bytes of one clip, to the person whose page the address was made for."""
    clip = served_for_ticket(token=token, holder=str(getattr(request.user, "uid", "")), now=timezone.now())
    etag = token_etag(token)
    response = _presigned(clip) or _accelerated(clip) or _served(request, clip, etag)
    if "Cache-Control" not in response:
        response["Cache-Control"] = "private, no-transform, max-age=3600"
    response["ETag"] = etag
    response["Content-Disposition"] = "inline"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _presigned(clip: Served) -> HttpResponse | None:
    """To the object store, which then answers ranges itself. Its address expires, so the answer is not kept."""
    if not settings.AWS_STORAGE_BUCKET_NAME:
        return None
    # The key has no ending, so the store is told what to call the bytes.
    address = default_storage.url(blob_key(clip.sha256), parameters={"ResponseContentType": clip.media_type})  # type: ignore[call-arg]
    response = HttpResponseRedirect(address)
    response["Cache-Control"] = "private, no-store"
    return response


def _accelerated(clip: Served) -> HttpResponse | None:
    """To nginx, by a path that works only inside it."""
    if not settings.MEDIA_ACCEL_PREFIX:
        return None
    response = HttpResponse(content_type=clip.media_type)
    response["X-Accel-Redirect"] = f"{settings.MEDIA_ACCEL_PREFIX.rstrip('/')}/{blob_key(clip.sha256)}"
    return response


def _served(request: HttpRequest, clip: Served, etag: str) -> HttpResponseBase:
    if request.headers.get("If-None-Match") == etag:
        return HttpResponse(status=304)
    if not blob_whole(clip.sha256, clip.size):
        raise sound_gone(clip.clip)
    try:
        wanted = range_wanted(
            header=request.headers.get("Range"), condition=request.headers.get("If-Range"), etag=etag, size=clip.size
        )
    except UnsatisfiableError:
        response = HttpResponse(status=416)
        response["Content-Range"] = f"bytes */{clip.size}"
        response["Accept-Ranges"] = "bytes"
        return response
    part = wanted or ByteRange(0, clip.size - 1)
    body: HttpResponseBase
    if request.method == "HEAD":
        body = HttpResponse(content_type=clip.media_type)
    else:
        body = StreamingHttpResponse(_blocks(clip.sha256, part), content_type=clip.media_type)
    if wanted:
        body.status_code = 206
        body["Content-Range"] = f"bytes {part.first}-{part.last}/{clip.size}"
    body["Content-Length"] = str(part.size)
    body["Accept-Ranges"] = "bytes"
    return body


def range_wanted(*, header: str | None, condition: str | None, etag: str, size: int) -> ByteRange | None:
    """Read a Range header. None means the whole file: no header, several ranges, nonsense, or an If-Range that differs."""
    match = _RANGE.fullmatch(header.strip()) if header else None
    if match is None or (condition is not None and condition != etag):
        return None
    first, last = match.groups()
    if first:
        if last and int(last) < int(first):
            return None
        if int(first) >= size:
            raise UnsatisfiableError
        return ByteRange(int(first), min(int(last), size - 1) if last else size - 1)
    if not last:
        return None
    if int(last) == 0:
        raise UnsatisfiableError
    return ByteRange(max(0, size - int(last)), size - 1)


def _blocks(sha256: str, part: ByteRange) -> Iterator[bytes]:
    """The bytes of ``part``; the file is opened with the first block, so an answer nobody reads holds nothing open."""
    with blob_open(sha256) as handle:
        handle.seek(part.first)
        left = part.size
        while left > 0 and (block := handle.read(min(BLOCK, left))):
            left -= len(block)
            yield block
