"""The contract of an export format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from typing import Any, ClassVar

from django.utils.translation import gettext as _

from annotation.exporters.sink import Sink
from annotation.models import Split
from eqstudio.errors import InvalidInput

Progress = Callable[[int], None]
"""Called with the number of items written so far."""


@dataclass(frozen=True)
class Options:
    """What may be chosen about an export. ``bom``: tables begin with a byte order mark, which a spreadsheet wants."""

    bom: bool = False

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Options:
        """Read stored options; a key from another version of the studio is left out."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in data.items() if name in known})

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Work:
    """One export: what leaves, where it is written, and who wants to know how far it is."""

    split: Split
    sink: Sink
    progress: Progress
    options: Options = Options()


class Exporter(ABC):
    """Writes the data of one split into a sink; the papers that every format carries are added by whoever called.

    Memory stays constant however many items there are, and the same split gives the same bytes wherever it is written.
    A file that the sink has already is not written again.
    """

    alias: ClassVar[str]
    benchmark: ClassVar[str] = ""
    """The one benchmark whose splits have this form; '' for any."""
    opening: ClassVar[str]
    """For the card: how to open what was written."""

    def check(self, split: Split) -> None:
        """InvalidInput when this split cannot leave in this format at all."""
        if self.benchmark and split.benchmark != self.benchmark:
            raise InvalidInput(
                _(
                    "%(split)s is a split of %(found)s; the format %(format)s holds %(wanted)s only. Choose another format."
                )
                % {"split": split, "found": split.benchmark, "format": self.alias, "wanted": self.benchmark},
                field="format",
            )

    @abstractmethod
    def write(self, work: Work) -> None:
        """Write the data, telling ``progress`` as it goes."""

    def data_files(self, sides: list[str]) -> dict[str, str]:  # noqa: ARG002 -- most formats are no data set of the hub
        """For the card: which files hold which side, as the hub and ``datasets`` want to know it."""
        return {}


def shipped(name: str) -> bytes:
    """A small program that travels inside exports and needs nothing of the studio."""
    return files("annotation.exporters").joinpath("shipped", f"{name}.txt").read_bytes()
