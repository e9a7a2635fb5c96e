"""Where the files lie that a table or a record names: inside the folder that came in, or nowhere."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path, PurePosixPath, PureWindowsPath

from django.utils.translation import gettext as _

from generation.importers.base import RowRefused

AUDIO_ENDINGS = frozenset(
    [
        ".wav",
        ".wave",
        ".flac",
        ".mp3",
        ".ogg",
        ".oga",
        ".opus",
        ".m4a",
        ".mp4",
        ".aac",
        ".webm",
        ".mka",
        ".aif",
        ".aiff",
        ".aifc",
        ".au",
        ".caf",
        ".w64",
        ".rf64",
        ".mp2",
        ".3gp",
    ]
)


def file_inside(root: Path, named: str, *, what: str = "audio") -> Path:
    """The file that ``named`` means, seen from ``root``. RowRefused when it is missing or would lie outside of it."""
    plain = PurePosixPath(named.strip().replace("\\", "/"))
    if not plain.parts or "\x00" in named:
        raise RowRefused(_("%(what)s names no file.") % {"what": what})
    outside = RowRefused(
        _("%(what)s names %(path)r, which lies outside the folder; only files inside it are read.")
        % {"what": what, "path": named}
    )
    if plain.is_absolute() or PureWindowsPath(named).drive or ".." in plain.parts:
        raise outside
    try:
        found = root / plain
        if not found.resolve().is_relative_to(root.resolve()):
            raise outside
        there = found.is_file()
    except (OSError, RuntimeError):  # too long a name, or a link that leads to itself
        there = False
    if not there:
        raise RowRefused(_("The file %(path)s is missing (%(what)s).") % {"path": named, "what": what})
    return found


class FileIndex:
    """Files of a folder by name, for records whose own paths belong to another machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._found: dict[str, list[Path]] = defaultdict(list)
        for file in sorted(root.rglob("*")):
            if file.suffix.lower() in AUDIO_ENDINGS and file.is_file() and not file.is_symlink():
                self._found[file.name].append(file)

    def find(self, named: str, *, what: str) -> Path:
        """The file with the last parts of ``named``: the more of them agree, the better; two that agree alike are refused."""
        parts = [part for part in named.replace("\\", "/").split("/") if part not in ("", ".", "..")]
        candidates = self._found.get(parts[-1], []) if parts else []
        if not candidates:
            raise RowRefused(_("The file %(path)s is missing (%(what)s).") % {"path": named, "what": what})
        agreeing = [_agreement(file, parts) for file in candidates]
        best = max(agreeing)
        if agreeing.count(best) > 1:
            raise RowRefused(
                _("There are %(count)d files called %(path)s (%(what)s); expected one.")
                % {"count": agreeing.count(best), "path": parts[-1], "what": what}
            )
        return candidates[agreeing.index(best)]


def _agreement(file: Path, parts: list[str]) -> int:
    """How many of the last parts of two paths are the same."""
    count = 0
    for mine, theirs in zip(reversed(file.parts), reversed(parts), strict=False):
        if mine != theirs:
            break
        count += 1
    return count
