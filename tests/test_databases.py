"""What one test or one run leaves is not there for the next."""

import os
import time

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from eqstudio.access import GUEST
from eqstudio.models import Role
from tests import databases


@pytest.mark.django_db(transaction=True)
def test_groups_that_a_test_made_are_taken_out_and_those_of_the_roles_stay():
    before = set(Group.objects.values_list("name", flat=True))
    Group.objects.create(name=GUEST)

    databases.database_empty()

    assert set(Group.objects.values_list("name", flat=True)) == before
    assert before <= set(Role)


def test_originals_that_nobody_has_copied_for_a_day_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(databases, "FOLDER", tmp_path)
    monkeypatch.setattr(databases, "_digest_of_migrations", lambda: "mine")
    old, recent, mine = (tmp_path / f"{name}.sqlite3" for name in ("old", "recent", "mine"))
    for file in (old, recent, mine):
        file.write_bytes(b"rows")
    for file in (old, mine):
        os.utime(file, (time.time() - databases.UNUSED_S - 60,) * 2)

    databases.sqlite_copy(tmp_path / "copy.db")

    assert (tmp_path / "copy.db").read_bytes() == b"rows"
    assert (old.exists(), recent.exists(), mine.exists()) == (False, True, True)


@pytest.mark.postgres
@pytest.mark.django_db
def test_what_a_killed_process_left_half_made_is_dropped():
    with databases._alone("postgresql"), connection.creation._nodb_cursor() as cursor:
        cursor.execute("CREATE DATABASE eqstudio_part_1")
        databases._drop_leftovers(cursor)
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = 'eqstudio_part_1'")
        assert cursor.fetchone() is None
