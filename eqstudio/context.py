"""What every page's shell needs: roles, the rail, and which of its tools a person has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from eqstudio.access import can_administer, can_annotate, can_curate, can_sit_exam, is_guest, role_names
from eqstudio.models import Role, User

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest


@dataclass(frozen=True)
class Entry:
    """A line of the rail: who sees it, where it leads, and the letter after ``g``.

    ``also`` are the beginnings of addresses that belong under it, so that it is marked on its objects' pages too.
    """

    predicate: Callable[[Any], bool]
    url_name: str
    letter: str
    label: Any
    also: tuple[str, ...] = ()


RAIL: tuple[tuple[Any, tuple[Entry, ...]], ...] = (
    (
        "",
        (
            Entry(can_sit_exam, "home", "h", _("Home")),
            Entry(can_annotate, "my_judgements", "j", _("My judgements")),
            Entry(can_annotate, "my_work", "m", _("My work")),
        ),
    ),
    (
        _("Make"),
        (
            Entry(can_curate, "corpora", "c", _("Corpora"), ("/dialogues/",)),
            Entry(can_curate, "batches", "b", _("Batches")),
            Entry(can_curate, "providers", "v", _("Providers")),
        ),
    ),
    (
        _("Judge"),
        (
            Entry(can_curate, "rounds", "r", _("Rounds"), ("/items/",)),
            Entry(can_curate, "splits", "s", _("Splits")),
        ),
    ),
    (
        _("Examine"),
        (
            Entry(can_curate, "studies", "u", _("Studies")),
            Entry(can_curate, "runs", "x", _("Runs")),
        ),
    ),
    (
        _("House"),
        (
            Entry(can_administer, "people", "p", _("People")),
            Entry(can_administer, "events", "e", _("Events")),
            Entry(can_administer, "webhooks", "w", _("Webhooks")),
            Entry(can_administer, "health", "y", _("Health")),
        ),
    ),
)


def rail_for(user: User, path: str) -> list[dict[str, Any]]:
    """The rail of ``user``, with the entry of ``path`` marked; empty groups are left out."""
    groups = []
    for label, entries in RAIL:
        shown = [_line(entry, path) for entry in entries if entry.predicate(user)]
        if shown:
            groups.append({"label": label, "entries": shown})
    return groups


def _line(entry: Entry, path: str) -> dict[str, Any]:
    href = reverse(entry.url_name)
    below = href != "/" and any(path.startswith(start) for start in (href, *entry.also))
    current = "page" if path == href else "true" if below else ""
    return {"href": href, "letter": entry.letter, "label": entry.label, "current": current}


def shell(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"roles": frozenset(), "nobody_yet": SimpleLazyObject(lambda: not User.objects.exists())}
    names = role_names(user)
    curates = can_curate(user)
    return {
        "roles": names,
        "guest": is_guest(user),
        "role_labels": [role.label for role in Role if role.value in names],
        "rail": SimpleLazyObject(lambda: rail_for(user, request.path)),
        "may_search": curates,
        "shows_running": curates,
    }
