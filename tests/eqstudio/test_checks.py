"""What production refuses."""

from types import SimpleNamespace

import pytest

from eqstudio import checks
from eqstudio.checks import production_has_no_demo_people, production_is_not_a_demo
from tests.eqstudio.factories import UserFactory

POSTGRES = {"default": {"ENGINE": "django.db.backends.postgresql"}}


def test_the_embedded_default_is_fine_outside_production(settings):
    settings.PRODUCTION, settings.DEBUG, settings.REDIS_URL = False, True, ""

    assert production_is_not_a_demo() == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, []),
        ({"DEBUG": True}, ["eqstudio.E001"]),
        ({"REDIS_URL": ""}, ["eqstudio.E002"]),
        ({"ALLOWED_HOSTS": ["*"]}, ["eqstudio.E004"]),
        ({"DATABASES": {"default": {"ENGINE": "django.db.backends.sqlite3"}}}, ["eqstudio.W001"]),
    ],
)
def test_production_refuses_what_leaks_or_loses(monkeypatch, change, found):
    wanted = {
        "PRODUCTION": True,
        "DEBUG": False,
        "REDIS_URL": "redis://r",
        "ALLOWED_HOSTS": ["s.org"],
        "DATABASES": POSTGRES,
    }
    monkeypatch.setattr(checks, "settings", SimpleNamespace(**{**wanted, **change}))

    assert [problem.id for problem in production_is_not_a_demo()] == found


@pytest.mark.django_db
def test_production_refuses_demo_people_that_can_sign_in(settings):
    UserFactory(username="demo-off", is_demo=True, is_active=False)
    UserFactory(username="demo-on", is_demo=True)

    settings.PRODUCTION = False
    assert production_has_no_demo_people(databases=["default"]) == []
    settings.PRODUCTION = True
    assert production_has_no_demo_people(databases=None) == []
    (problem,) = production_has_no_demo_people(databases=["default"])
    assert problem.id == "eqstudio.E003"
    assert problem.msg == "Demo sign-ins work in production: demo-on."
