"""Where an export goes: a folder beside its final place, filled file by file, that a killed export can be resumed from.

A file is written under another name and gets its own when it is whole; then a line in the journal tells its length and
SHA-256. Whoever resumes believes the journal only as far as the files agree with it. When all is there the journal goes,
and the folder gets its final name in one step.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from django.utils.translation import gettext as _

from eqstudio.errors import Conflict, InvalidInput

OWN = ".export"
SUMS = "SHA256SUMS"


class Written(NamedTuple):
    size: int
    sha256: str


class Hashing:
    """A binary file that knows the SHA-256 of what went into it."""

    def __init__(self, handle: IO[bytes]) -> None:
        self._handle = handle
        self._sum = hashlib.sha256()
        self.size = 0
        self.closed = False

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self._handle.write(view)
        self._sum.update(view)
        self.size += view.nbytes
        return view.nbytes

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """The file is closed by whoever opened it."""

    def tell(self) -> int:
        return self.size

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def written(self) -> Written:
        return Written(self.size, self._sum.hexdigest())


class Sink:
    """``folder`` is the partial one. ``identity`` says what is being exported: another export does not continue this one."""

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        self.folder = folder
        self.identity = identity
        self._files: dict[str, Written] = {}
        self._given: dict[str, str] = {}
        self._folders: set[Path] = set()
        self._journal: IO[str] | None = None
        self._lock: IO[str] | None = None

    @staticmethod
    def clear(folder: Path) -> None:
        """Remove what an earlier export left there. Conflict while a process is at it."""
        if not (folder / OWN / "lock").exists():
            shutil.rmtree(folder, ignore_errors=True)
            return
        with (folder / OWN / "lock").open("w", encoding="ascii") as lock:
            _lock(lock, folder)
            shutil.rmtree(folder)

    def __enter__(self) -> Self:
        """Begin or continue. Conflict while another process writes here, InvalidInput when this is another export's."""
        own = self.folder / OWN
        own.mkdir(parents=True, exist_ok=True)
        self._lock = (own / "lock").open("w", encoding="ascii")
        try:
            _lock(self._lock, self.folder)
            self._identity_check(own / "identity.json")
            self._believe(own / "journal.jsonl")
            self._journal = (own / "journal.jsonl").open("w", encoding="utf-8")
            for name, written in self._files.items():
                self._note(name, written)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        self._close()

    def _close(self) -> None:
        for handle in (self._journal, self._lock):
            if handle is not None:
                handle.close()

    def _identity_check(self, path: Path) -> None:
        told = json.dumps(self.identity, sort_keys=True)
        if path.exists() and path.read_text(encoding="utf-8") != told:
            raise InvalidInput(
                _("%(folder)s holds the beginning of another export. Delete it, or export without resuming.")
                % {"folder": self.folder.name},
                field="resume",
            )
        path.write_text(told, encoding="utf-8")

    def _believe(self, journal: Path) -> None:
        """Keep the files that are as the journal tells; remove whatever else is there."""
        lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
        for line in lines:
            try:
                told = json.loads(line)
            except json.JSONDecodeError:  # the line that was being written
                continue
            path = self.folder / told["name"]
            if path.is_file() and path.stat().st_size == told["size"] and sha256_of(path) == told["sha256"]:
                self._files[told["name"]] = Written(told["size"], told["sha256"])
        for path in self.folder.rglob("*"):
            name = path.relative_to(self.folder)
            if name.parts[0] != OWN and path.is_file() and name.as_posix() not in self._files:
                path.unlink()

    def has(self, name: str) -> bool:
        """Whether the file is there already, whole."""
        return name in self._files

    @contextmanager
    def file(self, name: str) -> Iterator[Hashing]:
        """Write one file, which has its name only after the block ended well."""
        final = self.folder / name
        self._make_folder(final.parent)
        partial = final.with_name(f".{final.name}.part")
        with partial.open("wb", buffering=0) as raw:
            hashing = Hashing(raw)
            yield hashing
        self._done(name, partial, hashing.written())

    def put(self, name: str, data: bytes, *, sha256: str = "") -> None:
        """A small file whole; ``sha256`` where its digest is known already. One that is there is kept as it is.

        InvalidInput when something else was given under this name: two items would share a file, and one be lost.
        """
        digest = sha256 or hashlib.sha256(data).hexdigest()
        if self._given.setdefault(name, digest) != digest:
            raise InvalidInput(
                _(
                    "Two items of this split would both be %(name)s, so it cannot leave like this. Choose another format."
                )
                % {"name": name},
                field="format",
            )
        if name in self._files:
            return
        final = self.folder / name
        self._make_folder(final.parent)
        partial = final.with_name(f".{final.name}.part")
        partial.write_bytes(data)
        self._done(name, partial, Written(len(data), digest))

    def _make_folder(self, folder: Path) -> None:
        if folder not in self._folders:
            folder.mkdir(parents=True, exist_ok=True)
            self._folders.add(folder)

    def _done(self, name: str, partial: Path, written: Written) -> None:
        partial.replace(self.folder / name)
        self._files[name] = written
        self._note(name, written)

    def _note(self, name: str, written: Written) -> None:
        if self._journal is None:
            raise RuntimeError("a sink is written to inside its with block")
        self._journal.write(json.dumps({"name": name, **written._asdict()}, ensure_ascii=False) + "\n")
        self._journal.flush()

    def files(self) -> list[tuple[str, Written]]:
        """Every finished file, by name."""
        return sorted(self._files.items())

    def finish(self, output: Path) -> None:
        """Write the checksums, as ``sha256sum --check`` reads them, and give the folder its final name."""
        sums = "".join(f"{written.sha256}  {name}\n" for name, written in self.files() if name != SUMS)
        self._files.pop(SUMS, None)
        self.put(SUMS, sums.encode())
        for path in self.folder.rglob("*"):  # what a clip's or shard's earlier attempt left
            if path.name.endswith(".part"):
                path.unlink()
        self._close()
        shutil.rmtree(self.folder / OWN)
        if output.exists():
            output.rmdir()
        self.folder.replace(output)


def _lock(handle: IO[str], folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Conflict(
            _("Another process is writing this export in %(folder)s. Wait for it, or name another folder.")
            % {"folder": folder.name}
        ) from error


def sha256_of(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def files_in(folder: Path) -> Iterator[Path]:
    """Every file of a folder, sorted by path."""
    return iter(sorted(path for path in folder.rglob("*") if path.is_file()))
