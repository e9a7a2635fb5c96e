"""The first to see what a browser sends: what is larger than agreed is turned away before it is read."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler


class CappedUpload(FileUploadHandler):
    """Refuses a request by its announced length; the web server cuts off one that sends more than it announced."""

    def handle_raw_input(self, _data: Any, _meta: Any, content_length: int, *_rest: Any, **_more: Any) -> None:  # type: ignore[override]
        if content_length > settings.UPLOAD_MAX_BYTES:
            raise RequestDataTooBig(f"{content_length} bytes were sent; at most {settings.UPLOAD_MAX_BYTES} are taken.")

    def receive_data_chunk(self, raw_data: bytes, _start: int) -> bytes:
        return raw_data

    def file_complete(self, _size: int) -> None:
        return None
