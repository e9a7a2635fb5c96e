"""What every test may lean on: four people, the shared folder, and no network beyond this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test import TransactionTestCase
from django.utils import translation
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_socket import socket_allow_hosts

from tests.databases import database_drop, database_empty, database_make
from tests.eqstudio import factories

ROOT = Path(__file__).resolve().parent.parent

# The first draw of a process reads all sources for constants, which takes seconds on a busy machine and says nothing of a test.
hypothesis_settings.register_profile("studio", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("studio")


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Sockets reach this machine only; a test that needs more is a wrong test."""
    socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Long fault tests run only when they are asked for (`make soak`), and the folder of a test marks it."""
    for item in items:
        if "e2e" in item.path.parts:
            item.add_marker(pytest.mark.e2e)
        if item.get_closest_marker("local"):
            item.add_marker(pytest.mark.xdist_group(str(item.path)))  # one process loads the models of a file
        if item.get_closest_marker("soak") and "soak" not in (config.option.markexpr or ""):
            item.add_marker(pytest.mark.skip(reason="a long fault test: `make soak` runs it"))
        if item.get_closest_marker("postgres") and connection.vendor != "postgresql":
            item.add_marker(pytest.mark.skip(reason="needs PostgreSQL: `make test` runs it there"))
        for name in ("models", "vllm"):
            if item.get_closest_marker(name) and name not in (config.option.markexpr or ""):
                item.add_marker(pytest.mark.skip(reason=f"has an environment of its own: `make {name}` runs it"))
    if config.getoption("only_database"):
        mine = _for_second_database(items)
        kept = set(mine)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = mine
    yield
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only-database",
        action="store_true",
        help="leave out what would say the same again on a second database: tests that ask none, or are marked sqlite_enough, and"
        " all cases but the first of those not marked every_case",
    )


def _for_second_database(items: list[pytest.Item]) -> list[pytest.Item]:
    """What a second database may answer otherwise: of cases that differ in what is sent, and not in what is asked of the
    database, the first. A test of which each case asks otherwise is marked ``every_case``.
    """
    found: dict[str, pytest.Item] = {}
    for item in filter(_uses_database, items):
        found.setdefault(item.nodeid if item.get_closest_marker("every_case") else item.nodeid.partition("[")[0], item)
    return list(found.values())


def _uses_database(item: pytest.Item) -> bool:
    fixtures = {"db", "transactional_db", "live_server", "client", "admin_client"}
    if item.get_closest_marker("sqlite_enough"):
        return False
    marked = item.get_closest_marker("django_db") or item.get_closest_marker("postgres")
    return marked is not None or bool(fixtures & set(getattr(item, "fixturenames", ())))


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment, django_db_blocker, django_db_modify_db_settings):
    """In place of pytest-django's: a copy of a migrated database, for each worker its own."""
    with django_db_blocker.unblock():
        database_make()
    with pytest.MonkeyPatch.context() as patch:
        # Django's flush makes 480 rows of content types and permissions anew after each test that commits.
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _case: database_empty())
        yield
    with django_db_blocker.unblock():
        database_drop()


@pytest.fixture(autouse=True)
def interface_language():
    """A request leaves the language of its reader on the thread; the next test starts in the studio's own again."""
    yield
    translation.deactivate()


@pytest.fixture
def shared() -> Path:
    """The folder of reference data beside the checkout; a copy without it skips, and says so."""
    folder = Path(os.environ.get("SHARED_DIR", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"the reference data is not beside this checkout ({folder})")
    return folder


@pytest.fixture
def alice(db):
    """An annotator."""
    return factories.annotator(username="alice", display_name="Alice")


@pytest.fixture
def rita(db):
    """A researcher."""
    return factories.researcher(username="rita", display_name="Rita")


@pytest.fixture
def ada(db):
    """An admin."""
    return factories.admin(username="ada", display_name="Ada")


@pytest.fixture
def otto(db):
    """An outsider: signed in, without a role."""
    return factories.UserFactory(username="otto", display_name="Otto")
