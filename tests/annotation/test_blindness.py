"""An item is rendered, answered and listed as work, as gold and again: nothing a person can see may tell which it was."""

import json
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import RoundItem
from annotation.selectors.my_work import my_work
from generation.models import Dialogue, Variant
from tests.annotation.factories import heard_whole
from tests.annotation.quality import answer_special, judge, lease_on, place, quality_round, variant_uids
from tests.eqstudio.factories import annotator
from tests.generation.factories import speecheq_dialogue

pytestmark = pytest.mark.django_db
KINDS = ("work", "gold", "repeat")
NOW = timezone.now()
_CHANGING = (
    (re.compile(r"gAAAA[\w=-]{100,}"), "TOKEN"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(\+00:00|Z)"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "TIME"),
    (re.compile(r'(csrfmiddlewaretoken" value="|X-CSRFToken": ")[^"]+'), "CSRF"),
    (re.compile(r"nonce-[\w=+/-]+"), "NONCE"),
)


def plain(body: str, *names: str) -> str:
    """``body`` without what differs between any two answers: sealed addresses, times, and the names of these rows."""
    for pattern, instead in _CHANGING:
        body = pattern.sub(instead, body)
    for name in names:
        body = body.replace(name, "NAME")
    return body


def item_of(round_, kind="work", **fields) -> RoundItem:
    dialogue = speecheq_dialogue(corpus=round_.corpus, title="The same everywhere")
    Dialogue.objects.filter(pk=dialogue.pk).update(state="in_review")
    Variant.objects.filter(turn__dialogue=dialogue).update(text="The same words.")
    return RoundItem.objects.create(round=round_, dialogue=dialogue, kind=kind, **fields)


class Seen:
    """Everything a person gets to see around their second item, asked as ``kind``. The first is work, and the one that
    comes again where ``kind`` is repeat; a third person has closed the other one then.
    """

    def __init__(self, client, kind: str) -> None:
        person = annotator()
        made = quality_round(quality={"gold_every": 9, "repeat_every": 9})
        first = item_of(made)
        other = item_of(made, "gold" if kind == "gold" else "work", closed_at=NOW if kind == "repeat" else None)
        self.item = first if kind == "repeat" else other
        place(made, person)
        judge(first, person, client_key="zero", grade=2)
        lease = lease_on(self.item, person, kind)
        client.force_login(person)
        self.names = [made.uid, made.name, lease.uid, person.uid, person.username]
        self.names += [row.uid for row in (first, other, first.dialogue, other.dialogue)]
        self.names += [variant.uid for variant in Variant.objects.filter(turn__dialogue__round_items__round=made)]
        self.page = client.get(reverse("judge", args=[made.uid]))
        self.answer = client.post(
            reverse("judge_submit", args=[made.uid]),
            json.dumps(
                {
                    "assignment": lease.uid,
                    "client_key": "one",
                    "verdict": "keep",
                    "grades": dict.fromkeys(variant_uids(self.item.dialogue), 4),
                    "heard": heard_whole(self.item.dialogue),
                    "active_ms": 60_000,
                }
            ),
            content_type="application/json",
        )
        self.names += person.judgements.values_list("uid", flat=True)
        self.pages = [client.get(reverse(name)) for name in ("my_judgements", "my_work", "home")]
        self.work = my_work(annotator=person, now=timezone.now())
        made.state = "closed"  # so that it is not on the home page of the next person
        made.save(update_fields=["state"])

    def texts(self) -> list[str]:
        answers = [self.page, self.answer, *self.pages]
        return [plain(response.content.decode(), *self.names) for response in answers]


@pytest.fixture
def seen(client):
    return {kind: Seen(client, kind) for kind in KINDS}


def test_pages_and_answers_are_the_same_to_the_letter(seen):
    assert seen["work"].answer.status_code == 200, seen["work"].answer.content

    for kind in ("gold", "repeat"):
        for mine, theirs in zip(seen[kind].texts(), seen["work"].texts(), strict=True):
            assert mine == theirs


def test_sizes_headers_and_fields_are_the_same(seen):
    def outside(found):
        answers = [found.page, found.answer, *found.pages]
        return [
            (answer.status_code, sorted(answer.headers), len(plain(answer.content.decode(), *found.names)))
            for answer in answers
        ]

    assert outside(seen["gold"]) == outside(seen["repeat"]) == outside(seen["work"])
    assert set(seen["gold"].answer.json()) == set(seen["work"].answer.json())


def test_no_page_says_gold_or_repetition(seen):
    words = re.compile(r"\b(gold|repetition|control|known answer|training)\b", re.IGNORECASE)
    for found in seen.values():
        for body in found.texts()[:2]:
            assert words.search(body) is None


def test_progress_moves_alike(seen):
    assert {kind: found.work.today for kind, found in seen.items()} == dict.fromkeys(KINDS, seen["work"].work.today)
    assert seen["gold"].work.today.answers == 2


def test_gold_missed_shows_nothing_until_a_pause_that_names_no_item(client):
    rules = {"gold_first": 2, "gold_window": 2, "gold_pass": 0.6, "auto_pause": True}
    made, person = quality_round(gold=2, quality=rules), annotator()
    first = answer_special(made, person, grade=1)
    client.force_login(person)
    after_one = client.get(reverse("my_work")).content.decode()
    second = answer_special(made, person, grade=1)
    after_two = client.get(reverse("my_work")).content.decode()

    assert "notice warn" not in after_one
    assert "You met it in 0 of 2" in after_two
    assert not any(judgement.item.uid in after_two for judgement in (first, second))
