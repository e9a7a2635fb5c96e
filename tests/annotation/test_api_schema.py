"""Whatever is sent to the API, it answers as its schema says and never with a server error."""

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.urls import reverse
from hypothesis import HealthCheck, Phase, given, settings
from rest_framework.authtoken.models import Token

from annotation.models import Round
from eqstudio.wsgi import application
from tests.annotation.factories import lease, round_with, submit
from tests.eqstudio.factories import annotator, researcher

EXAMPLES = 8


@pytest.fixture
def open_connection():
    """A request ends without closing the connection on which the test's transaction runs, as with Django's own client."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def api(db, open_connection):
    """The schema as it is served, with somebody who judges and somebody who looks on, and something of theirs to name."""
    made = round_with(items=3, people_per_item=4)
    alice, rita = annotator(), researcher()
    judgement = submit(lease(made, alice))
    tokens = {who: Token.objects.create(user=person).key for who, person in (("alice", alice), ("rita", rita))}
    headers = {"Authorization": f"Token {tokens['rita']}"}
    found = schemathesis.openapi.from_wsgi(reverse("schema") + "?format=json", application, headers=headers)
    found.known = {"rounds": made.uid, "assignments": lease(made, alice).uid, "judgements": judgement.uid}
    found.tokens = tokens
    return found


@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
def test_no_request_breaks_the_api(api):
    probed = []
    for found in api.include(path_regex="^/api/v1/").get_all_operations():
        operation = found.ok()
        probed.append(f"{operation.method.upper()} {operation.path}")
        _probe(api, operation)

    assert len(probed) == 13
    assert Round.objects.count() == 1


def _probe(api, operation):
    """Ask for one operation in many ways, of things there are and of things there are not, as each of two people."""

    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case):
        known = api.known[operation.path.split("/")[3]]
        for uid in (None, known):
            if uid and case.path_parameters:
                case.path_parameters = {"uid": uid}
            for token in api.tokens.values():
                answer = case.call(headers={"Authorization": f"Token {token}"})
                told = (operation.method, operation.path, answer.status_code, case.body)
                assert answer.status_code in {200, 204, 400, 403, 404, 405, 409, 415}, told

    ask()
