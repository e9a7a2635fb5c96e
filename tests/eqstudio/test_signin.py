"""Who is asking is found by prepared statements, and is out as soon as Django's own would have them out."""

import pytest
from django.contrib.sessions.models import Session
from django.urls import reverse
from django.utils import timezone
from rest_framework.authtoken.models import Token

from tests.eqstudio.factories import annotator

pytestmark = pytest.mark.django_db


def _page(client):
    return client.get(reverse("my_judgements")).status_code


def _session_gone(client, person):
    Session.objects.all().delete()


def _session_over(client, person):
    Session.objects.update(expire_date=timezone.now())


def _switched_off(client, person):
    person.is_active = False
    person.save()


def _new_password(client, person):
    person.set_password("another one altogether")
    person.save()


def _another_key(client, person):
    client.cookies["sessionid"] = "nobody-s-key"


def _key_no_database_could_hold(client, person):
    client.cookies["sessionid"] = "nobody\x00s-key"


@pytest.mark.every_case
@pytest.mark.parametrize(
    "ends",
    [_session_gone, _session_over, _switched_off, _new_password, _another_key, _key_no_database_could_hold],
)
def test_a_session_ends_at_once(client, alice, ends):
    client.force_login(alice)
    assert _page(client) == 200

    ends(client, alice)

    assert _page(client) == 302


def test_a_password_opens_a_session_that_is_read_by_the_same_backend(client):
    person = annotator(username="anna")
    person.set_password("correct horse battery")
    person.save()

    assert client.login(username="anna", password="correct horse battery")
    assert client.session["_auth_user_backend"] == "eqstudio.signin.PasswordBackend"
    assert _page(client) == 200


def _rounds(client, key):
    return client.get(reverse("api_rounds"), headers={"Authorization": f"Token {key}"}).status_code


def test_a_token_opens_the_api_until_it_or_its_account_is_gone(client, alice):
    token = Token.objects.create(user=alice)
    other = Token.objects.create(user=annotator(is_active=False))

    assert [_rounds(client, key) for key in (token.key, "nonsense", other.key)] == [200, 403, 403]

    token.delete()
    assert _rounds(client, token.key) == 403
