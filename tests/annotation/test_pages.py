"""The researchers' pages: they work, and who may not see them does not."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Export, Round
from annotation.services import round_set_state, split_freeze
from tests.annotation.factories import judged_round, lease, round_with, split_of, submit
from tests.generation.factories import CorpusFactory, echomind_dialogue, emosbench_dialogue, speecheq_dialogue

pytestmark = pytest.mark.django_db


@pytest.fixture
def made():
    """A judged round with one disputed item."""
    return judged_round(items=2, verdicts=("keep", "reject"), grades=(4, 1))


@pytest.fixture
def split():
    return split_of(items=2, name="arena")


def _uid(name, made, split):
    if name.startswith("round"):
        return made.uid
    if name == "adjudicate":
        return made.items.first().uid
    if name == "split_download":
        return Export.objects.create(split=split, format="huggingface").uid
    return split.uid


PAGES = ["rounds", "round_new", "disputes", "splits", "split_new", "split_counts"]
ROUNDS = [
    "round",
    "round_figure",
    "round_live",
    "round_over_time",
    "round_agreement",
    "round_matrix",
    "round_items",
    "round_import",
]
OBJECTS = [*ROUNDS, "adjudicate", "split", "split_audit", "split_exports"]
POSTS = ["round_fill", "round_state", "split_export"]


@pytest.mark.every_case
@pytest.mark.parametrize("name", PAGES)
def test_page_works_for_researchers_and_admins_only(client, name, alice, rita, ada, otto):  # noqa: PLR0917
    address = reverse(name)
    statuses = {}
    for person in (rita, ada, alice, otto):
        client.force_login(person)
        statuses[person.username] = client.get(address).status_code
    client.logout()

    assert statuses == {"rita": 200, "ada": 200, "alice": 403, "otto": 404}
    assert client.get(address).status_code == 302


@pytest.mark.every_case
@pytest.mark.parametrize("name", OBJECTS)
def test_object_page_works_for_researchers_and_admins_only(client, name, made, split, alice, rita, ada, otto):  # noqa: PLR0917
    address = reverse(name, args=[_uid(name, made, split)])
    statuses = {}
    for person in (rita, ada, alice, otto):
        client.force_login(person)
        statuses[person.username] = client.get(address).status_code
    client.logout()

    assert statuses == {"rita": 200, "ada": 200, "alice": 403, "otto": 404}
    assert client.get(address).status_code == 302


@pytest.mark.parametrize("name", [*OBJECTS, "split_download"])
def test_object_page_with_a_bad_id_is_404(client, name, rita):
    client.force_login(rita)

    assert client.get(reverse(name, args=["nonsense"])).status_code == 404


@pytest.mark.parametrize("name", POSTS)
def test_changes_are_for_researchers_and_by_post_only(client, name, made, split, alice, rita, otto):  # noqa: PLR0917
    address = reverse(name, args=[_uid(name, made, split)])
    body = {"state": "paused", "format": "huggingface"}
    statuses = {}
    for person in (alice, otto):
        client.force_login(person)
        statuses[person.username] = client.post(address, body).status_code
    client.force_login(rita)

    assert statuses == {"alice": 403, "otto": 404}
    assert client.get(address).status_code == 405
    assert client.post(address, body).status_code == 302
    assert client.post(reverse(name, args=["nonsense"]), body).status_code == 404


def test_round_new_makes_a_round_and_fills_it(client, rita):
    corpus = CorpusFactory()
    speecheq_dialogue(corpus=corpus)
    client.force_login(rita)

    answer = client.post(reverse("round_new"), _round_form(corpus))

    new = Round.objects.get()
    assert answer.url == reverse("round", args=[new.uid])
    assert (new.name, new.items.count(), new.gate_share, new.created_by) == ("first", 1, 0.8, rita)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "no good name"}, "valid"),
        ({"agree_needed": 4}, "Between 1 and 3 people"),
        ({"gate": 101}, "100"),
        ({"corpus": "nonsense"}, "valid choice"),
        ({"name": "taken"}, "called taken already"),
    ],
)
def test_round_new_says_what_is_wrong_and_keeps_the_input(client, rita, changes, message):
    round_with(name="taken")
    corpus = CorpusFactory()
    client.force_login(rita)

    answer = client.post(reverse("round_new"), {**_round_form(corpus), **changes})

    html = answer.content.decode()
    assert answer.status_code == 422
    assert message in html
    assert "listen twice" in html
    assert Round.objects.count() == 1


def _round_form(corpus):
    return {
        "name": "first",
        "corpus": corpus.uid,
        "benchmark": "speecheq",
        "language": "",
        "people_per_item": 3,
        "rule": "k_of_n",
        "agree_needed": 2,
        "grade_rule": "median",
        "gate": 80,
        "comment": "optional",
        "order": "fewest_first",
        "sitting_break_minutes": 30,
        "lease_minutes": 20,
        "undo_seconds": 300,
        "guidelines": "listen twice",
    }


def test_round_page_tells_progress_agreement_and_disputes(client, made, rita):
    client.force_login(rita)

    html = client.get(reverse("round", args=[made.uid])).content.decode()

    assert "2 items wait for an expert" in html
    assert "grades 1 to 4" in html
    assert re.search(r"Krippendorff&#x27;s alpha, ordinal</td>\s*<td>-?\d\.\d\d \(", html)
    for item in made.items.all():
        assert reverse("adjudicate", args=[item.uid]) in html


def test_round_page_without_judgements_says_undefined(client, rita):
    client.force_login(rita)

    html = client.get(reverse("round", args=[round_with().uid])).content.decode()

    assert "undefined: nobody has judged yet" in html


@pytest.mark.every_case
@pytest.mark.parametrize(("show", "count"), [("all", 2), ("open", 1), ("kept", 1), ("disputed", 0), ("nonsense", 2)])
def test_the_items_page_shows_those_asked_for(client, rita, show, count):
    found = round_with(items=2, people_per_item=1, agree_needed=1)
    submit(lease(found))
    client.force_login(rita)

    answer = client.get(reverse("round_items", args=[found.uid]), {"show": show})

    assert len(answer.context["page_obj"].object_list) == count


@pytest.mark.parametrize("state", ["paused", "closed", "open"])
def test_round_state_is_set(client, made, rita, state):
    client.force_login(rita)

    client.post(reverse("round_state", args=[made.uid]), {"state": state})

    made.refresh_from_db()
    assert made.state == state


def test_round_state_refuses_nonsense(client, made, rita):
    client.force_login(rita)

    assert client.post(reverse("round_state", args=[made.uid]), {"state": "odd"}).status_code == 400


def test_round_fill_takes_what_has_become_ready(client, made, rita):
    speecheq_dialogue(corpus=made.corpus)
    client.force_login(rita)

    client.post(reverse("round_fill", args=[made.uid]))

    assert made.items.count() == 3


@pytest.mark.parametrize("make", [speecheq_dialogue, emosbench_dialogue, echomind_dialogue])
def test_adjudicate_shows_every_clip_and_what_was_said_under_aliases(client, rita, make):
    found = judged_round(items=1, make=make, benchmark="", verdicts=("keep", "reject"), grades=(4, 1))
    item = found.items.get()
    client.force_login(rita)

    html = client.get(reverse("adjudicate", args=[item.uid])).content.decode()

    clips = sum(turn.variants.count() for turn in item.dialogue.turns.all())
    assert html.count('class="clip"') == clips
    assert "Judge 1" in html
    assert "Judge 2" in html
    assert "does not sound right" in html
    for judgement in item.judgements.all():
        assert judgement.annotator.username not in html


def test_adjudicate_stores_the_decision_and_goes_to_the_next(client, made, rita):
    first, second = made.items.all()
    client.force_login(rita)

    answer = client.post(reverse("adjudicate", args=[first.uid]), {"verdict": "keep", "reason": "clear enough"})

    first.refresh_from_db()
    assert answer.url == reverse("adjudicate", args=[second.uid])
    assert (first.outcome, first.adjudications.get().decided_by) == ("kept", rita)


def test_adjudicate_without_a_reason_keeps_the_input(client, made, rita):
    item = made.items.first()
    client.force_login(rita)

    answer = client.post(reverse("adjudicate", args=[item.uid]), {"verdict": "reject", "reason": ""})

    assert answer.status_code == 422
    assert re.search(r'value="reject"[^>]* checked', answer.content.decode())
    assert item.adjudications.count() == 0


def test_adjudicate_an_open_item_is_refused(client, rita):
    item = round_with().items.get()
    client.force_login(rita)

    answer = client.post(reverse("adjudicate", args=[item.uid]), {"verdict": "keep", "reason": "early"})

    assert answer.status_code == 422
    assert "Not everybody has judged" in answer.content.decode()


def _queries(client, address) -> int:
    client.get(address)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


def test_the_list_of_rounds_is_constant_in_queries(client, rita):
    client.force_login(rita)
    judged_round(items=1)
    one = _queries(client, reverse("rounds"))
    judged_round(items=2)
    judged_round(items=1)

    assert _queries(client, reverse("rounds")) == one


def test_the_list_of_splits_is_constant_in_queries(client, rita):
    client.force_login(rita)
    split_of(items=1)
    one = _queries(client, reverse("splits"))
    split_of(items=1)
    split_freeze(name="third", round=judged_round(items=1), now=timezone.now())

    assert _queries(client, reverse("splits")) == one


def test_a_round_page_is_constant_in_queries(client, rita):
    client.force_login(rita)
    one = judged_round(items=1, verdicts=("keep", "reject"), grades=(4, 1))
    three = judged_round(items=3, verdicts=("keep", "reject"), grades=(4, 1))

    assert _queries(client, reverse("round", args=[three.uid])) == _queries(client, reverse("round", args=[one.uid]))


def test_a_split_page_is_constant_in_queries(client, rita):
    client.force_login(rita)
    one, three = split_of(items=1), split_of(items=3)

    assert _queries(client, reverse("split", args=[three.uid])) == _queries(client, reverse("split", args=[one.uid]))


def test_a_paused_round_can_be_opened_again_from_its_page(client, made, rita):
    round_set_state(round=made, state=Round.State.PAUSED)
    client.force_login(rita)

    assert "Open again" in client.get(reverse("round", args=[made.uid])).content.decode()
