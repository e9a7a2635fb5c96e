"""A Hugging Face hub, or anything that speaks its HTTP API: repositories, large files by Git LFS, commits, downloads.

Plain HTTP on purpose: the hub's own library sends large files through a second protocol that mirrors do not speak.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Generator, Iterable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar
from urllib.parse import quote

import httpx
from django.utils.translation import gettext as _

from eqstudio.errors import GiveUp, ProviderError
from eqstudio.net import http_failure, http_request
from eqstudio.net_files import file_download, file_upload, files_client

T = TypeVar("T")
BRANCH = "main"
_LFS = {"accept": "application/vnd.git-lfs+json", "content-type": "application/vnd.git-lfs+json"}
_SAMPLE = 512


class LocalFile(NamedTuple):
    """A file of an export: its name in the repository, where it lies, and what it holds."""

    name: str
    path: Path
    size: int
    sha256: str


class Token(httpx.Auth):
    """The hub's token, for its own host alone. Retries are logged with their arguments, so it must not show in one."""

    def __init__(self, endpoint: str, token: str) -> None:
        self._host, self._token = httpx.URL(endpoint).netloc, token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if request.url.netloc == self._host:
            request.headers["authorization"] = f"Bearer {self._token}"
        yield request


class Hub:
    """One data set on a hub. Every failure is a ProviderError that says what was kept and what to do."""

    def __init__(self, *, endpoint: str, repository: str, token: str) -> None:
        self.endpoint = endpoint.rstrip("/")
        self.repository = repository
        self._token = Token(self.endpoint, token)
        self._client = files_client()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._client.close()

    def make(self, *, private: bool) -> None:
        """Make the repository; one that is there already will do."""
        self._told(lambda: self._make(private))

    def _make(self, private: bool) -> None:  # noqa: FBT001 -- named by its one caller
        organization, _slash, name = self.repository.partition("/")
        asked = {"name": name, "organization": organization, "type": "dataset", "private": private}
        try:
            self._post("/api/repos/create", json=asked)
        except httpx.HTTPStatusError as error:
            if error.response.status_code != HTTPStatus.CONFLICT:
                raise

    def names(self, revision: str = BRANCH) -> set[str]:
        """Every file of a commit; none where nothing was committed yet."""
        return self._told(lambda: self._names(revision))

    def _names(self, revision: str) -> set[str]:
        found: set[str] = set()
        url = f"{self.endpoint}/api/datasets/{self.repository}/tree/{revision}?recursive=true"
        while url:
            try:
                answer = http_request("GET", url, headers={}, auth=self._token)
            except httpx.HTTPStatusError as error:
                if error.response.status_code != HTTPStatus.NOT_FOUND:
                    raise
                return found
            found |= {str(each["path"]) for each in answer.json() if each["type"] == "file"}
            url = answer.links.get("next", {}).get("url", "")
        return found

    def send(self, files: Sequence[LocalFile], summary: str, *, gone: Iterable[str] = ()) -> str:
        """Upload these files, commit them together and delete those named ``gone`` in the same commit; its id.

        What the hub has already is not sent again.
        """
        return self._told(lambda: self._send(files, summary, gone))

    def _send(self, files: Sequence[LocalFile], summary: str, gone: Iterable[str]) -> str:
        modes = self._modes(files)
        large = [file for file in files if modes[file.name] == "lfs"]
        self._upload(large)
        lines: list[dict[str, Any]] = [{"key": "header", "value": {"summary": summary, "description": ""}}]
        for file in files:
            if modes[file.name] == "lfs":
                value: dict[str, Any] = {"path": file.name, "algo": "sha256", "oid": file.sha256, "size": file.size}
                lines.append({"key": "lfsFile", "value": value})
            else:
                content = base64.b64encode(file.path.read_bytes()).decode()
                lines.append({"key": "file", "value": {"path": file.name, "content": content, "encoding": "base64"}})
        lines += [{"key": "deletedFile", "value": {"path": name}} for name in sorted(gone)]
        body = "".join(json.dumps(line) + "\n" for line in lines).encode()
        answer = self._post(
            f"/api/datasets/{self.repository}/commit/{BRANCH}",
            content=body,
            headers={"content-type": "application/x-ndjson"},
        )
        return str(answer["commitOid"])

    def _modes(self, files: Iterable[LocalFile]) -> dict[str, str]:
        asked = [{"path": file.name, "size": file.size, "sample": _sample(file.path)} for file in files]
        told = self._post(f"/api/datasets/{self.repository}/preupload/{BRANCH}", json={"files": asked})
        return {str(file["path"]): str(file["uploadMode"]) for file in told["files"]}

    def _upload(self, files: Sequence[LocalFile]) -> None:
        if not files:
            return
        by_sum = {file.sha256: file for file in files}
        asked = {
            "operation": "upload",
            "transfers": ["basic", "multipart"],
            "hash_algo": "sha256",
            "objects": [{"oid": file.sha256, "size": file.size} for file in by_sum.values()],
        }
        told = self._post(f"/datasets/{self.repository}.git/info/lfs/objects/batch", json=asked, headers=_LFS)
        for each in told["objects"]:
            if "error" in each:
                raise ProviderError(
                    _("The hub does not take %(name)s: %(why)s.")
                    % {"name": by_sum[each["oid"]].name, "why": str(each["error"].get("message"))[:200]},
                    cause="hub",
                    decision=GiveUp(),
                )
            actions = each.get("actions") or {}
            if "upload" in actions:
                self._put(by_sum[each["oid"]], actions["upload"])
            if "verify" in actions:
                self._post(actions["verify"]["href"], json={"oid": each["oid"], "size": each["size"]}, headers=_LFS)

    def _put(self, file: LocalFile, action: dict[str, Any]) -> None:
        """In one piece, or in those that the hub asks for. The token stays at home: the addresses are signed."""
        headers = {str(name): str(value) for name, value in (action.get("header") or {}).items()}
        if "chunk_size" not in headers:
            file_upload(self._client, action["href"], file.path, headers=headers)
            return
        chunk = int(headers.pop("chunk_size"))
        parts = []
        for number, (_name, url) in enumerate(sorted((n, u) for n, u in headers.items() if n.isdigit()), start=1):
            start = (number - 1) * chunk
            size = min(chunk, file.size - start)
            answer = file_upload(self._client, url, file.path, headers={}, start=start, size=size)
            parts.append({"partNumber": number, "etag": answer.headers["etag"]})
        http_request("POST", action["href"], json={"oid": file.sha256, "parts": parts}, headers=_LFS)

    def fetch(self, name: str, revision: str, path: Path) -> str:
        """Download one file of a commit; its SHA-256."""
        url = f"{self.endpoint}/datasets/{self.repository}/resolve/{revision}/{quote(name)}"
        return self._told(lambda: file_download(self._client, url, path, auth=self._token))

    def _post(self, where: str, *, headers: dict[str, str] | None = None, **options: Any) -> dict[str, Any]:
        url = where if where.startswith("http") else f"{self.endpoint}{where}"
        answer = http_request("POST", url, headers=headers or {}, auth=self._token, **options)
        return dict(answer.json()) if answer.content else {}

    def _told(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except httpx.HTTPError as error:
            raise self._failure(error) from error
        except (KeyError, TypeError, ValueError) as error:
            raise ProviderError(
                _("What answers at %(endpoint)s does not speak as a hub does (%(why)s). Check HF_ENDPOINT.")
                % {"endpoint": self.endpoint, "why": repr(error)[:120]},
                cause="not a hub",
                decision=GiveUp(),
            ) from error

    def _failure(self, error: httpx.HTTPError) -> ProviderError:
        status = error.response.status_code if isinstance(error, httpx.HTTPStatusError) else 0
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return ProviderError(
                _("The hub refuses the token for %(repository)s (HTTP %(status)d). Give one that may write there.")
                % {"repository": self.repository, "status": status},
                cause="hub token",
                decision=GiveUp(),
            )
        found = http_failure(error, what=_("Hub"))
        message = _("%(what)s What was sent so far stays there; resume to send the rest.") % {"what": found.message}
        return ProviderError(message, cause=found.cause, decision=found.decision)


def _sample(path: Path) -> str:
    with path.open("rb") as handle:
        return base64.b64encode(handle.read(_SAMPLE)).decode()
