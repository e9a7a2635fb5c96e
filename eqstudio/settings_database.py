"""Which database the studio runs on, and how it is spoken to. Read by the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from environs import Env


def database_of(env: Env, data_dir: Path) -> dict[str, Any]:
    """Django's entry for the database: SQLite (WAL, immediate transactions) is the embedded default; PostgreSQL serves a team.

    An empty DATABASE_URL is none. ImproperlyConfigured for any other kind of database.
    """
    prepare = env.bool("EQSTUDIO_DATABASE_PREPARE", True)
    database: dict[str, Any] = (
        env.dj_db_url("DATABASE_URL")
        if env.str("DATABASE_URL", "")
        else dict(dj_database_url.parse(f"sqlite:///{data_dir / 'studio.sqlite3'}"))
    )
    match database.get("ENGINE"):
        case "django.db.backends.sqlite3":
            database["OPTIONS"] = {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=20000;",
            }
        case "django.db.backends.postgresql":
            database["CONN_MAX_AGE"] = 60
            database["CONN_HEALTH_CHECKS"] = True
            # What eqstudio.prepared asks for the third time on a connection is kept by the server.
            database.setdefault("OPTIONS", {})["prepare_threshold"] = 2 if prepare else None
        case _other:
            raise ImproperlyConfigured(
                f"DATABASE_URL names {_other}; the studio runs on sqlite:/// and postgres:// only."
            )
    return database
