"""A person's scripts may send so many requests in a window, and are told when the next one begins."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from django.core.cache import caches
from django.test import RequestFactory

from eqstudio import throttle
from eqstudio.rates import within_rate

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock(monkeypatch):
    """Seconds, moved by hand; three requests a minute are let through."""
    now = [600.0]
    monkeypatch.setattr(throttle.UserThrottle, "rate", "3/min", raising=False)
    monkeypatch.setattr(throttle.UserThrottle, "timer", staticmethod(lambda: now[0]))
    caches["counts"].clear()
    yield now
    caches["counts"].clear()


def test_more_than_allowed_waits_for_the_next_window(client, clock, alice, rita):
    client.force_login(alice)
    clock[0] = 618.0
    answers = [client.get("/api/v1/rounds/") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["Retry-After"] == "42"

    client.force_login(rita)
    assert client.get("/api/v1/rounds/").status_code == 200

    client.force_login(alice)
    clock[0] = 660.0
    assert client.get("/api/v1/rounds/").status_code == 200


def test_every_request_counts_once_though_many_come_together(clock, alice):
    request = SimpleNamespace(user=alice)

    def ask(_number):
        return throttle.UserThrottle().allow_request(request, None)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(40))) == 3


def asked(peer, forwarded=None):
    """Whether somebody may try once more, where one try in ten minutes is allowed."""
    request = RequestFactory().post("/", REMOTE_ADDR=peer, **({"HTTP_X_FORWARDED_FOR": forwarded} if forwarded else {}))
    return within_rate(request, action="door", rates="1/10m/ip")


@pytest.fixture
def empty_cache():
    caches["default"].clear()
    yield
    caches["default"].clear()


@pytest.mark.usefixtures("empty_cache")
def test_behind_a_proxy_nobody_is_locked_out_by_a_stranger(settings):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    assert [asked("10.0.0.1", "198.51.100.7"), asked("10.0.0.1", "198.51.100.7")] == [True, False]
    assert asked("10.0.0.1", "203.0.113.9")
    assert not asked("10.0.0.1", "192.0.2.1, 198.51.100.7")  # the first was made up by who asks


@pytest.mark.usefixtures("empty_cache")
def test_a_request_past_the_proxies_counts_by_where_it_came_from(settings):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 2
    assert [asked("127.0.0.1"), asked("127.0.0.1")] == [True, False]
    assert [asked("10.0.0.1", "198.51.100.7"), asked("10.0.0.1", "198.51.100.7")] == [True, False]
