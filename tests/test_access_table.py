"""Every address of the studio, and what each sort of visitor gets there. An address without a row here fails the test."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

import pytest
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
from tests.annotation.factories import example_of, lease, round_with, split_of, submit
from tests.eqstudio import factories as people
from tests.evaluation.factories import model_respondent
from tests.generation.pipeline import batch_of

IN, LOGIN = "in", "sign-in"
CURATE = {"anonymous": LOGIN, "nobody": 404, "annotator": 403, "researcher": IN, "admin": IN}
"""Of researchers and admins: outsiders are not told that it is there."""
ADMIN = {"anonymous": LOGIN, "nobody": 403, "annotator": 403, "researcher": 403, "admin": IN}
SIGNED_IN = {"anonymous": LOGIN, "nobody": IN, "annotator": IN, "researcher": IN, "admin": IN}
OPEN = dict.fromkeys(SIGNED_IN, IN)
ANNOTATE = {"anonymous": LOGIN, "nobody": 404, "annotator": IN, "researcher": 403, "admin": 403}
EXAM = {"anonymous": LOGIN, "nobody": 404, "annotator": IN, "researcher": IN, "admin": IN}
OWN = {"anonymous": LOGIN, "nobody": 404, "annotator": IN, "researcher": 404, "admin": 404}
"""Belongs to the annotator of this test; for everybody else it does not exist."""
API = {"anonymous": 403}


class Row(NamedTuple):
    """How an address is asked for, with the ids of what, and what comes of it."""

    method: str
    ids: tuple[str, ...]
    expected: dict[str, str | int]


def get(expected, *ids):
    return Row("get", ids, expected)


def post(expected, *ids):
    return Row("post", ids, expected)


TABLE = {
    "home": get(SIGNED_IN),
    "running": get(OPEN),
    "search": get({**CURATE, "nobody": 403}),
    "language": post(OPEN),
    "me": get(SIGNED_IN),
    "me_token": post(SIGNED_IN),
    "people": get(ADMIN),
    "person_new": get(ADMIN),
    "person": get(ADMIN, "person"),
    "person_activation": post(ADMIN, "person"),
    "person_link": post(ADMIN, "person"),
    "events": get(ADMIN),
    "health": get(ADMIN),
    "healthz": get(OPEN),
    "corpora": get(CURATE),
    "corpus": get(CURATE, "corpus"),
    "corpus_decide": post(CURATE, "corpus"),
    "dialogue": get(CURATE, "dialogue"),
    "dialogue_decide": post(CURATE, "dialogue"),
    "dialogue_words": get(CURATE, "dialogue"),
    "batches": get(CURATE),
    "batch_new": get(CURATE),
    "batch": get(CURATE, "batch"),
    "batch_cancel": post(CURATE, "batch"),
    "batch_retry": post(CURATE, "batch"),
    "batch_budget": post(CURATE, "batch"),
    "batch_shortcuts": get(CURATE, "batch"),
    "corpus_shortcuts": get(CURATE, "corpus"),
    "corpus_upload": get(CURATE, "corpus"),
    "upload": get(CURATE, "upload"),
    "providers": get(CURATE),
    "provider_check": post(CURATE, "kind", "alias"),
    "media": get(OWN, "clip"),
    "judge": get(ANNOTATE, "round"),
    "judge_next": get(ANNOTATE, "round"),
    "judge_submit": post(ANNOTATE, "round"),
    "judge_draft": post(ANNOTATE, "round"),
    "judge_heartbeat": post(ANNOTATE, "round"),
    "judge_leave": post(ANNOTATE, "round"),
    "judge_ahead": post(ANNOTATE, "round"),
    "judge_skip": post(ANNOTATE, "round"),
    "judge_problem": post(ANNOTATE, "round"),
    "judge_undo": post(ANNOTATE, "round"),
    "my_judgements": get({**ANNOTATE, "nobody": 403}),
    "judgement_take_back": post({**ANNOTATE, "nobody": 403}, "judgement"),
    "my_work": get({**ANNOTATE, "nobody": 403}),
    "headphones": get(ANNOTATE, "round"),
    "headphone_sound": get(OWN, "sound"),
    "round_people": get(CURATE, "round"),
    "round_people_csv": get(CURATE, "round"),
    "round_pay_csv": get(CURATE, "round"),
    "round_invite": post(CURATE, "round"),
    "round_person": get(CURATE, "round", "participant"),
    "round_person_state": post(CURATE, "round", "participant"),
    "round_person_recheck": post(CURATE, "round", "participant"),
    "flag_decide": post(CURATE, "flag"),
    "judgement_standing": post(CURATE, "judgement"),
    "round_gold": get(CURATE, "round"),
    "round_rules": get(CURATE, "round"),
    "gold_new": get(CURATE, "round"),
    "gold_edit": get(CURATE, "item"),
    "gold_remove": post(CURATE, "item"),
    "gold_from_decision": post(CURATE, "item"),
    "judgement_edit": get({**ANNOTATE, "nobody": 403}, "judgement"),
    "judgement_change": post({**ANNOTATE, "nobody": 403}, "judgement"),
    "rounds": get(CURATE),
    "round_new": get(CURATE),
    "round": get(CURATE, "round"),
    "round_figure": get(CURATE, "round"),
    "round_live": get(CURATE, "round"),
    "round_over_time": get(CURATE, "round"),
    "round_agreement": get(CURATE, "round"),
    "round_matrix": get(CURATE, "round"),
    "round_pair": get(CURATE, "round"),
    "round_figures": get(CURATE, "round"),
    "round_ratings": get(CURATE, "round", "file_type"),
    "round_items": get(CURATE, "round"),
    "round_import": get(CURATE, "round"),
    "round_import_preview": post(CURATE, "round"),
    "round_import_withdraw": post({**CURATE, "researcher": 404, "admin": 404}, "round"),
    "round_machines": post(CURATE, "round"),
    "disputes": get(CURATE),
    "round_fill": post(CURATE, "round"),
    "round_state": post(CURATE, "round"),
    "round_counts": get(CURATE),
    "round_settings": get(CURATE, "round"),
    "round_example": post(CURATE, "round"),
    "round_example_remove": post({**CURATE, "admin": 404}, "round", "example"),  # the researcher took it away
    "webhooks": get(ADMIN),
    "webhook": get(ADMIN, "webhook"),
    "webhook_act": post(ADMIN, "webhook"),
    "adjudicate": get(CURATE, "item"),
    "adjudicate_more": post(CURATE, "item"),
    "adjudicate_reopen": post(CURATE, "item"),
    "splits": get(CURATE),
    "freeze": get(CURATE, "freeze"),
    "freeze_part": get(CURATE, "freeze"),
    "freeze_end": post(CURATE, "freeze"),
    "split_new": get(CURATE),
    "split_counts": get(CURATE),
    "split": get(CURATE, "split"),
    "split_recipe": get(CURATE, "split"),
    "split_audit": get(CURATE, "split"),
    "split_audit_new": post(CURATE, "split"),
    "audit": get(CURATE, "audit"),
    "split_diff": get(CURATE, "split"),
    "split_waive": post(CURATE, "split"),
    "split_release": post(CURATE, "split"),
    "split_publish": post(CURATE, "split"),
    "split_withdraw": post(CURATE, "split"),
    "split_public": get(OPEN, "open_split"),
    "split_exports": get(CURATE, "split"),
    "split_export": post(CURATE, "split"),
    "split_download": get(CURATE, "export"),
    "export_again": post(CURATE, "export"),
    "api_rounds": get({**SIGNED_IN, **API}),
    "api_round_next": post({**ANNOTATE, **API}, "round"),
    "api_round_agreement": get({**CURATE, **API}, "round"),
    "api_round": get({**EXAM, **API}, "round"),
    "api_round_judgements": get({**CURATE, **API}, "round"),
    "api_round_items": get({**CURATE, **API}, "round"),
    "api_round_participations": get({**CURATE, **API}, "round"),
    "api_assignment_submit": post({**OWN, **API}, "assignment"),
    "api_assignment_draft": post({**OWN, **API}, "assignment"),
    "api_assignment_heartbeat": post({**OWN, **API}, "assignment"),
    "api_assignment_skip": post({**OWN, **API}, "assignment"),
    "api_judgements": get({**API, "nobody": 403, "annotator": IN, "researcher": 403, "admin": 403}),
    "api_judgement_undo": post({**ANNOTATE, **API, "researcher": 404, "admin": 404}, "judgement"),
    "schema": get({**SIGNED_IN, **API}),
    "docs": get(SIGNED_IN),
    "studies": get({**SIGNED_IN, "nobody": 404}),
    "study_new": get(CURATE),
    "study": get(EXAM, "study"),
    "study_close": post(CURATE, "study"),
    "run_new": get(CURATE, "study"),
    "answer_imports": get(CURATE, "study"),
    "answer_import_preview": post(CURATE, "study"),
    "answer_import_withdraw": post({**CURATE, "researcher": 404, "admin": 404}, "study"),
    "replies": get(CURATE, "study"),
    "reply_rate": get(EXAM, "study"),
    "reply_submit": post(EXAM, "study"),
    "arenas": get(CURATE, "study"),
    "arena": get(CURATE, "arena"),
    "arena_state": post(CURATE, "arena"),
    "arena_chart": get(CURATE, "arena", "arena_figure"),
    "arena_figure": get(CURATE, "arena", "arena_figure", "form"),
    "arena_csv": get(CURATE, "arena", "arena_table"),
    "arena_rate": get(EXAM, "arena"),
    "arena_submit": post(EXAM, "arena"),
    "comparison": get(CURATE, "study"),
    "comparison_chart": get(CURATE, "study", "chart"),
    "comparison_csv": get(CURATE, "study"),
    "comparison_table": get(CURATE, "study", "chart", "form"),
    "comparison_items": get(CURATE, "study"),
    "comparison_item": get(CURATE, "study", "exam_item"),
    "comparison_tag": post(CURATE, "study", "exam_item"),
    "norm_freeze": post(CURATE, "study"),
    "study_release": get(CURATE, "study"),
    "study_protocol": get(CURATE, "study"),
    "protocol_edit": get(CURATE, "study"),
    "protocol_changes": get(CURATE, "study"),
    "protocol_lock": post(CURATE, "study"),
    "protocol_file": get(CURATE, "study", "document"),
    "study_report": get(CURATE, "study"),
    "study_power": get(CURATE, "study"),
    "study_rules": post(CURATE, "study"),
    "runs": get(CURATE),
    "run": get(CURATE, "run"),
    "run_stop": post(CURATE, "run"),
    "run_resume": post(CURATE, "run"),
    "run_again": post(CURATE, "run"),
    "run_limits": post(CURATE, "run"),
    "sit_start": post(EXAM, "study"),
    "sit_code": get(OPEN),
    "sit_join": get(OPEN, "invitation_token"),
    "sit": get(OWN, "sitting"),
    "sit_eligible": post(OWN, "sitting"),
    "sit_consent": post(OWN, "sitting"),
    "sit_no_ai": post(OWN, "sitting"),
    "sit_headphones": post(OWN, "sitting"),
    "sit_begin": post(OWN, "sitting"),
    "sit_answer": post(OWN, "sitting"),
    "sit_go_on": post(OWN, "sitting"),
    "sit_details": post(OWN, "sitting"),
    "sit_withdraw": get(OWN, "sitting"),
    "study_people": get(CURATE, "study"),
    "study_people_csv": get(CURATE, "study"),
    "participant_withdraw": post({**CURATE, "researcher": 403}, "study", "person_of_study"),
    "study_unblind": post(CURATE, "study"),
    "invitations": get(CURATE, "study"),
    "invitations_csv": get(CURATE, "study"),
    "invitation_revoke": post(CURATE, "study", "invitation"),
    "study_specials": get(CURATE, "study"),
}
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
    """A browser of each visitor."""
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


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row.method == "post"])
def test_each_visitor_changes_what_the_table_says(name, clients, ids):
    assert told(name, clients, ids) == TABLE[name].expected


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


def test_a_paused_round_is_still_guarded(clients, ids):
    Round.objects.update(state=Round.State.PAUSED)

    assert clients["nobody"].get(reverse("judge", args=[ids["round"]])).status_code == 404
