"""An export goes to a hub, and is fetched back to see that it arrived."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from annotation.exporters.hub import Hub, LocalFile
from annotation.exporters.sink import SUMS, files_in, sha256_of
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.net import secret

DEFAULT_ENDPOINT = "https://huggingface.co"
GROUP_FILES = 200
GROUP_BYTES = 512 * 1024 * 1024
_REPOSITORY = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
_TOKEN_ENV = re.compile(r"HF_[A-Z0-9_]{1,70}")
TABLES = (".jsonl", ".csv")
KEPT = frozenset({".gitattributes"})
"""What the hub itself adds to a repository; every other file there that is not of this export is deleted."""


def push_check(*, repository: str, token_env: str) -> None:
    """InvalidInput when there is no such repository name, or the variable is not named for a hub's token."""
    if not _REPOSITORY.fullmatch(repository):
        raise InvalidInput(_("Name the data set on the hub as owner/name."), field="repository")
    if not _TOKEN_ENV.fullmatch(token_env):
        raise InvalidInput(
            _("Name an environment variable that begins with HF_; it should hold the token of the hub."),
            field="token_env",
        )


def export_push(
    *,
    folder: Path,
    repository: str,
    token_env: str,
    private: bool = True,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Send a finished export to the hub at HF_ENDPOINT, download every file again and compare names, bytes and rows.

    The last commit deletes whatever else is there, so that nothing of an earlier version is left beside this one. A note beside the folder tells what was committed and compared, so that a push that was cut off goes on there. Side
    effects: the repository, its commits. InvalidInput without a token, ProviderError for what the hub says, Conflict naming
    the files that came back otherwise or that should not be there.
    """
    push_check(repository=repository, token_env=token_env)
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or DEFAULT_ENDPOINT
    files = list(_files(folder))
    note = _Note(folder.with_name(f".{folder.name}.pushed"), f"{endpoint}/{repository}/{files[-1].sha256}")
    with Hub(endpoint=endpoint, repository=repository, token=secret(token_env, holds="the token of this hub")) as hub:
        hub.make(private=private)
        for group in _groups([file for file in files if file.name not in note.sent]):
            gone = _strange(hub.names(), files) if group[-1] is files[-1] else set()
            note.commit = hub.send(group, f"{folder.name}: {len(group)} files", gone=gone)
            note.sent |= {file.name for file in group}
            note.save()
            progress()
        rows = _compare(hub, files, note, progress)
    note.path.unlink()
    return {
        "endpoint": endpoint,
        "repository": repository,
        "commit": note.commit,
        "files": len(files),
        "bytes": sum(file.size for file in files),
        "rows": rows,
    }


class _Note:
    """How far a push is."""

    def __init__(self, path: Path, about: str) -> None:
        self.path, self._about = path, about
        told = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        told = told if told.get("about") == about else {}
        self.commit: str = told.get("commit", "")
        self.sent: set[str] = set(told.get("sent", []))
        self.same: set[str] = set(told.get("same", []))

    def save(self) -> None:
        partial = self.path.with_name(f"{self.path.name}.part")
        told = {"about": self._about, "commit": self.commit, "sent": sorted(self.sent), "same": sorted(self.same)}
        partial.write_text(json.dumps(told), encoding="utf-8")
        partial.replace(self.path)


def _files(folder: Path) -> Iterator[LocalFile]:
    """The files with their sums; SHA256SUMS itself goes last, so that a hub that has it has everything."""
    sums = (folder / SUMS).read_text(encoding="utf-8")
    known = {name: found for found, _gap, name in (line.partition("  ") for line in sums.splitlines())}
    names = sorted(path.relative_to(folder).as_posix() for path in files_in(folder))
    for name in sorted(names, key=lambda name: (name == SUMS, name)):
        path = folder / name
        yield LocalFile(name, path, path.stat().st_size, known.get(name) or sha256_of(path))


def _groups(files: Sequence[LocalFile]) -> Iterator[list[LocalFile]]:
    group: list[LocalFile] = []
    size = 0
    for file in files:
        if group and (len(group) >= GROUP_FILES or size + file.size > GROUP_BYTES):
            yield group
            group, size = [], 0
        group.append(file)
        size += file.size
    if group:
        yield group


def _strange(names: set[str], files: Sequence[LocalFile]) -> set[str]:
    """Those names that are neither of this export nor the hub's own."""
    return names - {file.name for file in files} - KEPT


def _compare(hub: Hub, files: Sequence[LocalFile], note: _Note, progress: Callable[[], None]) -> int:
    """Fetch every file of the last commit; the rows in the tables. Conflict names what came back otherwise, and what is
    there beside it: the next push sends those again, and deletes.
    """
    rows, other = 0, sorted(_strange(hub.names(note.commit), files))
    for file in files:
        mine = _rows(file.path)
        rows += mine
        if file.name in note.same:
            continue
        with tempfile.TemporaryDirectory(dir=note.path.parent) as folder:
            fetched = Path(folder) / Path(file.name).name
            if hub.fetch(file.name, note.commit, fetched) != file.sha256 or _rows(fetched) != mine:
                other.append(file.name)
                continue
        note.same.add(file.name)
        note.save()
        progress()
    if other:
        note.sent -= {*other, SUMS}
        note.save()
        raise Conflict(
            _("%(count)d files came back from the hub otherwise than they were sent: %(names)s. Push again.")
            % {"count": len(other), "names": ", ".join(other[:5])}
        )
    return rows


def _rows(path: Path) -> int:
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415 -- slow import: 40 MB

        return int(pq.read_metadata(path).num_rows)
    if path.suffix in TABLES:
        with path.open("rb") as handle:
            return sum(1 for _line in handle)
    return 0
