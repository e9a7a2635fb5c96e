"""System checks of the generation app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

from generation.domain.lifecycle import DialogueState
from generation.models import Brief
from generation.providers import text_providers, transcribers, voice_providers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eqstudio.registry import Registry

_UNFINISHED = [DialogueState.BRIEFED.value, DialogueState.SCRIPTED.value, DialogueState.VOICED.value]
_KINDS: dict[str, Registry[Any]] = {
    "text_provider": text_providers,
    "voice_provider": voice_providers,
    "transcriber": transcribers,
}


@register(Tags.database)
def no_fakes_in_production(databases: Sequence[str] | None = None, **_kwargs: Any) -> list[CheckMessage]:
    """In production no unfinished brief may name a fake provider. Runs with ``migrate`` and ``check --database``."""
    if not settings.PRODUCTION:
        return []
    return [
        Error(
            f"{count} unfinished brief(s) name the fake {column.replace('_', ' ')} {alias!r} in production.",
            hint=f"Cancel their batches and brief them again with one of: {', '.join(real_aliases(registry))}.",
            id="generation.E001",
        )
        for database in databases or ()
        if _has_briefs(database)
        for column, registry in _KINDS.items()
        for alias in fake_aliases(registry)
        if (count := _unfinished(database, **{column: alias}))
    ]


def fake_aliases(registry: Registry[Any]) -> list[str]:
    """The aliases of a registry's fakes."""
    return [alias for alias, kind in registry.items() if kind.is_fake]


def real_aliases(registry: Registry[Any]) -> list[str]:
    """The aliases that may be used in production."""
    return [alias for alias, kind in registry.items() if not kind.is_fake]


def _has_briefs(database: str) -> bool:
    """False before the very first migration."""
    return "generation_brief" in connections[database].introspection.table_names()


def _unfinished(database: str, **named: str) -> int:
    briefs = Brief.objects.using(database).filter(batch__cancelled_at=None, dialogues__state__in=_UNFINISHED, **named)
    return briefs.distinct().count()
