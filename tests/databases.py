"""Test databases are copies of one that the migrations made once: to run them takes longer than most files of tests.

The original stays between runs under a name that changes with every migration, so it is what the migrations make today.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
from django.apps import apps
from django.core.management import call_command
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

ROOT = Path(__file__).resolve().parent.parent
KEPT = frozenset({"django_migrations", "django_content_type", "auth_permission", "auth_group"})
"""What the migrations fill; of the groups only those of the roles."""
UNUSED_S = 24 * 3_600
"""So long after its last copy an original of other migrations is removed."""
FOLDER = Path(tempfile.gettempdir()) / f"eqstudio-tests-{os.getuid()}"


def database_make() -> None:
    """Put a fresh database under the test name of this process, and turn the connection to it."""
    name = connection.creation._get_test_db_name()
    if connection.vendor == "sqlite":
        sqlite_copy(Path(name))
    else:
        _copy_in_cluster(name)
    _turn_to(name)


def database_drop() -> None:
    name = connection.settings_dict["NAME"]
    connection.close()
    if connection.vendor == "sqlite":
        _unlink(Path(name))
        return
    with connection.creation._nodb_cursor() as cursor:
        cursor.execute(f"DROP DATABASE {connection.ops.quote_name(name)} WITH (FORCE)")


def database_empty() -> None:
    """Take out what a test has committed. Unlike ``flush``, leave what the migrations put in, and empty tables, alone."""
    quote = connection.ops.quote_name
    tables = set(connection.introspection.django_table_names()) - KEPT
    filled = " UNION ALL ".join(
        f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {quote(name)})" for name in sorted(tables)
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(filled)
        for (name,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {quote(name)}")
        apps.get_model("auth", "Group").objects.exclude(name__in=_roles()).delete()


def _roles() -> list[str]:
    from eqstudio.models import Role

    return list(Role)


def sqlite_copy(target: Path) -> None:
    """Put a migrated, empty SQLite database at ``target``, in place of what is there."""
    _unlink(target)
    with _alone("sqlite"):
        shutil.copyfile(_sqlite_original(), target)


def _sqlite_original() -> Path:
    original = FOLDER / f"{_digest_of_migrations()}.sqlite3"
    if not original.exists():
        part = original.with_suffix(".part")
        _unlink(part)
        command = [sys.executable, "manage.py", "migrate", "--verbosity", "0", "--skip-checks"]
        env = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "DATABASE_URL": f"sqlite:///{part}"}
        subprocess.run(command, cwd=ROOT, env=env, check=True)
        part.rename(original)
    os.utime(original)
    for other in (*FOLDER.glob("*.sqlite3"), *FOLDER.glob("*.part")):
        if time.time() - other.stat().st_mtime > UNUSED_S:
            _unlink(other)
    return original


def _copy_in_cluster(name: str) -> None:
    quote = connection.ops.quote_name
    with _alone("postgresql"), connection.creation._nodb_cursor() as cursor:
        original = _original_in_cluster(cursor)
        cursor.execute(f"DROP DATABASE IF EXISTS {quote(name)}")
        cursor.execute(f"CREATE DATABASE {quote(name)} TEMPLATE {quote(original)}")


def _original_in_cluster(cursor: CursorWrapper) -> str:
    original, part = f"eqstudio_{_digest_of_migrations()}", f"eqstudio_part_{os.getpid()}"
    quote = connection.ops.quote_name
    cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [original])
    if cursor.fetchone() is None:
        _drop_leftovers(cursor)
        cursor.execute(f"CREATE DATABASE {quote(part)}")
        before = _turn_to(part)
        call_command("migrate", verbosity=0, interactive=False, skip_checks=True)
        _turn_to(before)
        cursor.execute(f"ALTER DATABASE {quote(part)} RENAME TO {quote(original)}")
    return original


def _drop_leftovers(cursor: CursorWrapper) -> None:
    """Originals of other migrations, and what a process left that was killed while it made one."""
    cursor.execute(
        "SELECT datname FROM pg_database WHERE datname ~ '^eqstudio_(part_[0-9]+|[0-9a-f]{16})$'"
        " AND NOT EXISTS (SELECT 1 FROM pg_stat_activity AS held WHERE held.datname = pg_database.datname)"
    )
    for (name,) in cursor.fetchall():
        if name != f"eqstudio_{_digest_of_migrations()}":
            cursor.execute(f"DROP DATABASE IF EXISTS {connection.ops.quote_name(name)}")


def _turn_to(name: str) -> str:
    """Let the connection lead to another database; the name of the one before."""
    connection.close()
    before = str(connection.settings_dict["NAME"])
    connection.settings_dict["NAME"] = name
    return before


def _unlink(file: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def _digest_of_migrations() -> str:
    digest = hashlib.sha256(django.__version__.encode())
    for app in apps.get_app_configs():
        for file in sorted(Path(app.path, "migrations").glob("*.py")):
            digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _alone(vendor: str) -> Iterator[None]:
    """One process at a time makes an original; the others wait and copy it."""
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    with (FOLDER / f"{vendor}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Make the original ahead of the suite that will copy it."""
    if connection.vendor == "sqlite":
        with _alone("sqlite"):
            _sqlite_original()
        return
    with _alone("postgresql"), connection.creation._nodb_cursor() as cursor:
        _original_in_cluster(cursor)


if __name__ == "__main__":
    django.setup()
    main()
