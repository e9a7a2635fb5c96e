"""The health page and what machines read."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.core.files.storage import default_storage
from django.db import OperationalError
from django.urls import reverse
from kombu.exceptions import OperationalError as BrokerError

from eqstudio import health
from eqstudio.blobs import blob_key
from eqstudio.home import WorkAge, work_ages
from generation.intake import clip_ingest
from tests.annotation.factories import lease, round_with
from tests.audio import speechlike, wav
from tests.eqstudio.factories import admin
from tools import healthcheck

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


def ages(monkeypatch, *found):
    monkeypatch.setattr(health, "work_ages", [lambda _now, age=age: age for age in found])


def words(now=NOW):
    return {probe.name: (probe.ok, str(probe.message)) for probe in health.health_probe(now=now)}


def test_a_studio_that_works_answers_200_without_sign_in(client):
    response = client.get("/healthz")

    assert response.status_code == 200
    assert response.json() == {"ok": True, "database": "ok", "broker": "ok", "storage": "ok", "queue": "ok"}


def test_a_storage_that_cannot_be_written_answers_503_and_gives_no_detail(client, monkeypatch):
    def full(*_args, **_options):
        raise OSError(28, "No space left on device: /srv/secret-place")

    monkeypatch.setattr(type(default_storage._wrapped), "_save", full)
    response = client.get("/healthz")

    assert response.status_code == 503
    assert response.json() == {"ok": False, "database": "ok", "broker": "ok", "storage": "failing", "queue": "ok"}


def test_the_storage_probe_leaves_nothing_behind(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path

    assert words()["storage"] == (True, "writes and reads")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_stored_sound_that_was_altered_is_noticed(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    clip = clip_ingest(data=wav(speechlike(seconds=0.5)))
    whole = words()["storage"]
    path = Path(default_storage.path(blob_key(clip.sha256)))
    path.write_bytes(path.read_bytes()[:-1] + b"!")

    assert whole == (True, "writes and reads")
    assert words()["storage"] == (False, "A stored sound is gone, or no longer what it was.")


def test_a_broker_that_is_away_is_said_in_words(monkeypatch):
    def away(*_args, **_options):
        raise BrokerError("connection refused on 10.0.0.5")

    monkeypatch.setattr("kombu.Connection.ensure_connection", away)

    assert words()["broker"] == (False, "The broker does not answer; work that is due waits and nothing is lost.")


def test_a_database_that_is_away_is_said_in_words(monkeypatch):
    def away(*_args, **_options):
        raise OperationalError("server closed the connection")

    ages(monkeypatch)
    monkeypatch.setattr(health.connection, "cursor", away)

    assert words()["database"] == (False, "The database does not answer.")


@pytest.mark.parametrize(
    ("due", "progress", "ok", "message"),
    [
        (None, None, True, "nothing waits"),
        (1, 0, True, "the oldest step has waited 1 minute"),
        (45, 2, True, "the oldest step has waited 45 minutes"),
        (45, 20, False, "the oldest step has waited 45 minutes"),
        (45, None, False, "the oldest step has waited 45 minutes"),
    ],
)
def test_the_queue_fails_only_when_nothing_moves(monkeypatch, due, progress, ok, message):
    def ago(minutes):
        return None if minutes is None else NOW - timedelta(minutes=minutes)

    ages(monkeypatch, WorkAge(ago(due), ago(progress)), WorkAge(None, None))

    assert words()["queue"] == (ok, message)


def test_the_health_page_tells_an_admin_what_fails(client, ada, monkeypatch):
    ages(monkeypatch, WorkAge(datetime(2020, 1, 1, tzinfo=UTC), None))
    client.force_login(ada)
    page = client.get(reverse("health")).content.decode()

    assert "Something does not work." in page
    assert '<span class="chip bad">fails</span>' in page


def test_the_home_page_asks_for_a_short_version(client, ada):
    client.force_login(ada)
    page = client.get(reverse("health"), HTTP_HX_REQUEST="true").content.decode()

    assert "Everything works." in page
    assert "<html" not in page


def test_production_is_among_the_sources_of_the_queue():
    assert "generation.home:work_age" in work_ages._names


def test_kept_counts_that_are_wrong_are_shown_to_an_admin_and_set_right(client):
    made = round_with(items=3)
    lease(made)
    client.force_login(admin())
    right = client.get(reverse("health_counts")).content.decode()
    made.items.update(held=1)
    wrong = client.get(reverse("health_counts")).content.decode()
    mended = client.post(reverse("health_counts")).content.decode()

    assert "Every kept count is what its rows give." in right
    assert "2 counts are not what their rows give" in wrong
    assert "2 items were set right." in mended
    assert sorted(made.items.values_list("held", flat=True)) == [0, 0, 1]


def test_the_container_asks_by_a_host_that_stands_in_a_file(monkeypatch, tmp_path):
    (tmp_path / "hosts").write_text("studio.example.org, other.example.org\n")
    monkeypatch.setenv("ALLOWED_HOSTS_FILE", str(tmp_path / "hosts"))
    asked = Mock(**{"return_value.getresponse.return_value.status": 200})
    monkeypatch.setattr(healthcheck, "HTTPConnection", asked)

    assert healthcheck.web()
    assert asked.return_value.request.call_args.kwargs["headers"]["Host"] == "studio.example.org"
