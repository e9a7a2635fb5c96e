"""System checks: what must be right before the studio starts."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 -- Django's word
from django.db import connections

from eqstudio.models import User


@register(Tags.security, deploy=False)
def production_is_not_a_demo(**_kwargs: Any) -> list[CheckMessage]:
    """In production the embedded defaults that lose data or leak are refused."""
    if not settings.PRODUCTION:
        return []
    problems: list[CheckMessage] = []
    if settings.DEBUG:
        problems.append(Error("EQSTUDIO_DEBUG is on in production.", hint="Unset it.", id="eqstudio.E001"))
    if not settings.REDIS_URL:
        problems.append(Error("Production needs a broker.", hint="Set REDIS_URL.", id="eqstudio.E002"))
    if "*" in settings.ALLOWED_HOSTS:
        problems.append(Error("ALLOWED_HOSTS lets every host in.", hint="Name the studio's hosts.", id="eqstudio.E004"))
    if settings.DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
        hint = "Set DATABASE_URL to a PostgreSQL database."
        problems.append(
            Warning("Production runs on SQLite, which serves one writer at a time.", hint=hint, id="eqstudio.W001")
        )
    return problems


@register(Tags.database)
def production_has_no_demo_people(**kwargs: Any) -> list[CheckMessage]:
    """The demo's sign-ins are printed for everybody to read, so in production they are refused."""
    if not settings.PRODUCTION or "default" not in (kwargs.get("databases") or []):
        return []
    table = User._meta.db_table  # noqa: SLF001 -- Django's documented way to a model's options
    if table not in connections["default"].introspection.table_names():
        return []
    names = list(
        User.objects.filter(is_demo=True, is_active=True).order_by("username").values_list("username", flat=True)
    )
    if not names:
        return []
    hint = "Switch these accounts off on the People page, or start with a fresh database."
    return [Error(f"Demo sign-ins work in production: {', '.join(names)}.", hint=hint, id="eqstudio.E003")]
