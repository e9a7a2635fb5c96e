"""An S3-compatible store that is not as one wishes."""

from __future__ import annotations

from botocore.exceptions import ClientError, EndpointConnectionError
from django.core.files.storage import InMemoryStorage


class FullBucket(InMemoryStorage):
    """Gives what it has, takes nothing more and deletes nothing."""

    def _save(self, _name, _content):
        raise ClientError({"Error": {"Code": "QuotaExceeded", "Message": "The bucket is full."}}, "PutObject")

    def delete(self, _name):
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "No."}}, "DeleteObject")


class SilentBucket(InMemoryStorage):
    """Answers nothing, whatever it is asked."""

    def exists(self, _name):
        raise EndpointConnectionError(endpoint_url="https://files.example.org")

    def _open(self, _name, _mode="rb"):
        raise EndpointConnectionError(endpoint_url="https://files.example.org")
