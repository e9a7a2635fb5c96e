"""Every address of the studio, and what each sort of visitor gets there. An address without a row here fails the test."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from annotation.models import Export, Flag, Freeze, Release, Round, SplitAudit, Webhook
from annotation.services.headphones import check_token, sound_addresses
from evaluation.models import Arena, Participant, Study
from evaluation.services import sitting_open, study_create, trial_next
from evaluation.services.invitations import invitation_token, invitations_create
from evaluation.services.joining import person_join
from generation.media import clip_url
from generation.models import Clip, Upload
from tests.access_rows import IN, LOGIN, OPEN, TABLE
from tests.annotation.factories import example_of, lease, round_with, split_of, submit
from tests.eqstudio import factories as people
from tests.evaluation.factories import model_respondent
from tests.generation.pipeline import batch_of

SIGN_IN_PREFIXES = ("account_", "socialaccount_", "mfa_")
"""django-allauth's own pages: about the visitor's own account only, and tested there."""


def names(resolver: URLResolver):
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from names(entry)
        elif isinstance(entry, URLPattern):
            yield entry.name or str(entry.pattern)


@pytest.fixture
def visitors(db):
    return {
        "anonymous": None,
        "nobody": people.UserFactory(),
        "annotator": people.annotator(),
        "researcher": people.researcher(),
        "admin": people.admin(),
    }


def public_split():
    """A split whose page anybody may read."""
    found = split_of()
    Release.objects.create(split=found, public=True)
    return found


@pytest.fixture
def ids(visitors):
    """Ids of one of everything; lease, judgement, sitting and clip address belong to the annotator."""
    mine, now = visitors["annotator"], timezone.now()
    round_ = round_with(items=2)
    done = lease(round_, mine, now - timedelta(minutes=1))
    judgement = submit(done)
    split = split_of()
    study = study_create(name="exam", split=split)
    sitting = sitting_open(study=study, user=mine)
    invitation = invitations_create(study=study)[0]
    trial_next(sitting=sitting)
    batch = batch_of()
    return {
        "person": people.annotator().uid,
        "participant": mine.uid,
        "flag": Flag.objects.create(round=round_, annotator=mine, judgement=judgement, code="speed", key="one").uid,
        "sound": sound_addresses(token=check_token(annotator=mine, now=now), annotator=mine, now=now)[0].split("/")[-2],
        "corpus": round_.corpus.uid,
        "dialogue": done.item.dialogue.uid,
        "batch": batch.uid,
        "kind": "text",
        "alias": "fake",
        "upload": Upload.objects.create(corpus=round_.corpus, format="audio").uid,
        "clip": clip_url(clip=Clip.objects.first(), holder=mine.uid).rsplit("/", 1)[-1],
        "round": round_.uid,
        "assignment": lease(round_, mine, now).uid,
        "judgement": judgement.uid,
        "item": done.item.uid,
        "webhook": Webhook.objects.create(url="https://example.org/", secret_name="WEBHOOK_SECRET").uid,
        "example": example_of(round_).uid,
        "split": split.uid,
        "freeze": Freeze.objects.create(name="arena", recipe={"corpus": round_.corpus.name}).uid,
        "audit": SplitAudit.objects.create(split=split).uid,
        "open_split": public_split().uid,
        "export": Export.objects.create(split=split, format="huggingface").uid,
        "study": study.uid,
        "chart": "leaderboard",
        "file_type": "csv",
        "form": "csv",
        "document": "md",
        "exam_item": study.split.items.first().dialogue.uid,
        "run": sitting_open(study=study, respondent=model_respondent(study)).uid,
        "sitting": sitting.uid,
        "person_of_study": Participant.objects.get().uid,
        "invitation": invitation.uid,
        "invitation_token": invitation_token(invitation),
        "arena": Arena.objects.create(study=study, name="reasons", per_panel=2, wanted=1).uid,
        "arena_figure": "mean",
        "arena_table": "standings",
    }


def outcome(response) -> str | int:
    if response.status_code == 302 and response["Location"].startswith(reverse("account_login")):
        return LOGIN
    return response.status_code if response.status_code in {401, 403, 404} else IN


def test_every_address_has_a_row():
    found = {name for name in names(get_resolver()) if not name.startswith(SIGN_IN_PREFIXES)}

    assert found == set(TABLE)


@pytest.fixture
def clients(visitors):
    return browsers(visitors)


def browsers(visitors) -> dict[str, Client]:
    """A new browser for each visitor."""
    found = {visitor: Client() for visitor in visitors}
    for visitor, user in visitors.items():
        if user is not None:
            found[visitor].force_login(user)
    return found


def told(name, clients, ids) -> dict[str, str | int]:
    """What every visitor gets at one address; whatever it is, it comes under the content security policy."""
    row, found = TABLE[name], {}
    address = reverse(name, args=[ids[key] for key in row.ids])
    for visitor, client in clients.items():
        response = getattr(client, row.method)(address)
        assert response.status_code < 500, name
        assert "default-src 'none'" in response["Content-Security-Policy"], name
        found[visitor] = outcome(response)
    return found


def test_each_visitor_reads_what_the_table_says(clients, ids):
    reading = [name for name, row in TABLE.items() if row.method == "get"]

    found = {name: told(name, clients, ids) for name in reading}

    assert found == {name: TABLE[name].expected for name in reading}


@contextmanager
def undone():
    """What is done inside leaves no trace, so that each row meets the same world."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    cache.clear()


def test_each_visitor_changes_what_the_table_says(visitors, ids):
    changing, found = [name for name, row in TABLE.items() if row.method == "post"], {}

    for name in changing:
        with undone():
            found[name] = told(name, browsers(visitors), ids)

    assert found == {name: TABLE[name].expected for name in changing}


GUESTS = {name for name in TABLE if name.startswith("sit_")} - {"sit_start"} | {"sit", "media", "headphone_sound"}
"""What somebody with a link and no account may open; of these only what is their own."""


def test_a_guest_sees_their_own_sitting_and_nothing_else(ids):
    joined = person_join(
        invitation=invitations_create(study=Study.objects.get())[0],
        user=None,
        crowd={},
        language="en",
        now=timezone.now(),
    )
    client = Client()
    client.force_login(joined.user)

    open_, shut = set(), set()
    for name, row in TABLE.items():
        mine = {**ids, "sitting": joined.sitting.uid}
        address = reverse(name, args=[mine[key] for key in row.ids])
        found = outcome(getattr(client, row.method)(address))
        (open_ if found == IN else shut).add(name)

    everybodys = {name for name, row in TABLE.items() if row.expected == OPEN}
    assert open_ == {name for name in GUESTS if name not in {"media", "headphone_sound"}} | everybodys
    assert shut == set(TABLE) - open_


def test_an_id_that_is_none_is_not_found(clients):
    found = {}
    for name, row in TABLE.items():
        if row.ids:
            client = clients["annotator" if row.expected["annotator"] == IN else "admin"]
            address = reverse(name, args=["no-such-id" for _ in row.ids])
            found[name] = getattr(client, row.method)(address).status_code

    assert found == dict.fromkeys(found, 404)


def test_an_id_that_no_database_could_hold_is_not_found(clients):
    found = {}
    for name, row in TABLE.items():
        if row.ids:
            client = clients["annotator" if row.expected["annotator"] == IN else "admin"]
            found[name] = getattr(client, row.method)(reverse(name, args=["\x00" for _ in row.ids])).status_code

    assert found == dict.fromkeys(found, 404)


def test_a_query_that_no_database_could_look_for_is_refused(clients):
    reading = [
        name for name, row in TABLE.items() if not row.ids and row.expected["admin"] == IN and row.method == "get"
    ]

    found = {name: clients["admin"].get(reverse(name), {"q": "a\x00b"}).status_code for name in reading}

    assert found == dict.fromkeys(reading, 400)


def test_a_paused_round_is_still_guarded(clients, ids):
    Round.objects.update(state=Round.State.PAUSED)

    assert clients["nobody"].get(reverse("judge", args=[ids["round"]])).status_code == 404
