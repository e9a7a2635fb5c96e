"""What the apps above put on the shell's pages without the kernel importing them.

An app registers dotted names in its ``AppConfig.ready``; they are imported on first use:

    home_panels.register("generation.home:panels")      (user, now) -> panels of the home page
    running_jobs.register("generation.home:running")    (now) -> jobs for the strip under the top line
    search_sources.register("generation.home:search")   (query, limit) -> hits of the search page
    work_ages.register("generation.home:work_age")      (now) -> how long due work has waited
    stored_names.register("generation.home:stored")     (count) -> names of a few stored blobs, for a look at them
    person_counts.register("annotation.home:counts")    (ids of people) -> columns of the list of people
    kept_counts.register("annotation.home:kept")        (mend=) -> what keeps counts, and how many of them are wrong
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

from django.utils.module_loading import import_string

from eqstudio.models import User


@dataclass(frozen=True)
class Panel:
    """A part of a home page: its template, what the template reads as ``panel``, and where it stands.

    Panels with ``aside`` stand in the second column where there is room for one.
    """

    template: str
    context: dict[str, Any] = field(default_factory=dict)
    order: int = 50
    aside: bool = False


@dataclass(frozen=True)
class Job:
    """Something the worker has in hand: a whole sentence fragment in the reader's language, and how far it is."""

    label: str
    href: str
    done: int
    total: int
    seconds_left: int | None = None


@dataclass(frozen=True)
class Hit:
    """A search result."""

    title: str
    href: str
    code: str
    detail: str
    state: str = ""


@dataclass(frozen=True)
class WorkAge:
    """The oldest step that is due and nobody's, and the last time anything moved; None where there is neither."""

    oldest_due: datetime | None
    last_progress: datetime | None


@dataclass(frozen=True)
class KeptCount:
    """Something that keeps counts, so that no page has to count: how many of them are wrong, and were before they were
    set right.
    """

    label: str
    href: str
    wrong: int
    mended: int = 0


@dataclass(frozen=True)
class PersonCount:
    """A column of the list of people: what is counted, and how many by the person's id."""

    label: Any
    by_person: Mapping[int, int]


F = TypeVar("F", bound=Callable[..., Any])


class Sources(Generic[F]):
    """Dotted names of functions, in the order of registration, imported on first use."""

    def __init__(self) -> None:
        self._names: list[str] = []

    def register(self, name: str) -> None:
        if name not in self._names:
            self._names.append(name)

    def __iter__(self) -> Iterator[F]:
        for name in self._names:
            yield cast("F", import_string(name.replace(":", ".")))


home_panels: Sources[Callable[[User, datetime], Iterable[Panel]]] = Sources()
running_jobs: Sources[Callable[[datetime], Iterable[Job]]] = Sources()
search_sources: Sources[Callable[[str, int], Iterable[Hit]]] = Sources()
work_ages: Sources[Callable[[datetime], WorkAge]] = Sources()
stored_names: Sources[Callable[[int], Iterable[str]]] = Sources()
person_counts: Sources[Callable[[Sequence[int]], Iterable[PersonCount]]] = Sources()
kept_counts: Sources[Callable[..., Iterable[KeptCount]]] = Sources()


def panels_for(user: User, now: datetime) -> list[Panel]:
    """Every panel of ``user``'s home page, in order."""
    return sorted((panel for source in home_panels for panel in source(user, now)), key=lambda panel: panel.order)
