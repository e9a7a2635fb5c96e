"""Whether the providers work, asked now."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.utils.translation import gettext as _

from eqstudio.errors import StudioError, UnknownAlias
from eqstudio.registry import Registry
from generation.providers import text_providers, transcribers, voice_providers
from generation.providers.base import Provider

KINDS: dict[str, Registry[Any]] = {"text": text_providers, "voice": voice_providers, "transcriber": transcribers}


@dataclass(frozen=True)
class ProviderState:
    kind: str
    alias: str
    model: str
    ok: bool
    message: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def provider_check(*, kind: str, alias: str) -> ProviderState:
    """Make one cheap call to a provider. Nothing is stored; a provider that cannot be asked is one that does not work."""
    if kind not in KINDS:
        raise UnknownAlias(kind="provider kind", alias=kind, known=list(KINDS))
    provider_class = KINDS[kind].get(alias)
    model = ""
    try:
        provider: Provider = provider_class()
        model = provider.model
        found = provider.check()
    except StudioError as error:
        return ProviderState(kind, alias, model, ok=False, message=error.message)
    except ImportError as error:
        return ProviderState(
            kind,
            alias,
            model,
            ok=False,
            message=_("A package it needs is not installed: %(name)s.") % {"name": error.name or error},
        )
    return ProviderState(kind, alias, model, ok=found.ok, message=found.message)


def providers_check(*, alias: str = "") -> list[ProviderState]:
    """All providers, or those called ``alias`` in any kind; UnknownAlias when no kind has it."""
    if alias and not any(alias in registry for registry in KINDS.values()):
        known = sorted({name for registry in KINDS.values() for name in registry})
        raise UnknownAlias(kind="provider", alias=alias, known=known)
    return [
        provider_check(kind=kind, alias=name)
        for kind, registry in KINDS.items()
        for name in registry
        if alias in {"", name}
    ]
