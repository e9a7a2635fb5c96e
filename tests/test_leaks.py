"""Cheaters, who look at all that a browser receives and never listen, are no better than a coin.

Every clip of these dialogues sounds and lasts the same, so that nothing is left to look at but what the studio adds.
What a real clip's length and waveform tell is audible too; `split_audit` measures how much it gives away.
"""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, GoldAnswer, RoundItem
from annotation.selectors import required_clips
from annotation.services import assignment_next
from evaluation.services import sitting_open
from generation.models import Clip, Dialogue, Variant
from generation.services import corpus_import
from tests.annotation.factories import round_with, submit
from tests.eqstudio.factories import annotator
from tests.evaluation.factories import echomind_study, emosbench_study, speecheq_study
from tests.generation.factories import CorpusFactory, echomind_dialogue, emosbench_dialogue, speecheq_dialogue
from tests.generation.pipeline import advance, one_briefed
from tests.generation.test_import import folder_make

pytestmark = pytest.mark.django_db

DIALOGUES = 30
NO_BETTER_THAN_A_COIN = (0.2, 0.8)
"""Of 60 pairs a coin is outside of this once in 300,000 times; a leak is at 0 or 1."""

STRATEGIES = {
    "the first one": lambda pair, _client: pair[0],
    "the smaller public id": lambda pair, _client: min(pair, key=lambda clip: clip["uid"]),
    "the smaller address": lambda pair, _client: min(pair, key=lambda clip: clip["address"]),
    "the shorter address": lambda pair, _client: min(pair, key=lambda clip: len(clip["address"])),
    "the smaller headers": lambda pair, client: min(pair, key=lambda clip: headers(client, clip)),
    "what the rest of its tag says": lambda pair, _client: min(pair, key=lambda clip: clip["tag"]),
}


def headers(client, clip) -> str:
    answer = client.head(clip["address"])
    return json.dumps({name: value for name, value in answer.items() if name != "Content-Length"}, sort_keys=True)


def clips_in(html: str) -> list[dict[str, str]]:
    """The players of a page in their order: public id, address, and the tag without these two and the letters."""
    found = []
    for tag in re.findall(r'<div class="clip"[^>]*>', html):
        uid, address = re.search(r'data-clip="(\w+)" data-src="([^"]+)"', tag).groups()
        rest = re.sub(r' data-(clip|src|label|group)="[^"]*"', "", tag)
        found.append({"uid": uid, "address": address, "tag": rest})
    return found


def pairs_in(html: str) -> list[list[dict[str, str]]]:
    """The players that stand for renditions of one line."""
    lines: dict[int, list[dict[str, str]]] = {}
    turns = dict(Variant.objects.values_list("uid", "turn_id"))
    for clip in clips_in(html):
        lines.setdefault(turns[clip["uid"]], []).append(clip)
    return [clips for clips in lines.values() if len(clips) > 1]


def shares(client, pairs) -> dict[str, float]:
    """How often each strategy picks the better rendition."""
    better = set(Variant.objects.filter(label="high").values_list("uid", flat=True))
    return {
        name: sum(choose(pair, client)["uid"] in better for pair in pairs) / len(pairs)
        for name, choose in STRATEGIES.items()
    }


def assert_no_better_than_a_coin(found: dict[str, float]) -> None:
    low, high = NO_BETTER_THAN_A_COIN
    assert {name: share for name, share in found.items() if not low < share < high} == {}


def test_who_looks_at_the_judging_page_knows_nothing(client):
    person = annotator()
    client.force_login(person)
    round_ = round_with(items=DIALOGUES)
    pairs = []
    while (lease := assignment_next(round=round_, annotator=person, now=timezone.now())) is not None:
        pairs += pairs_in(client.get(reverse("judge", args=[round_.uid])).content.decode())
        submit(lease)

    assert len(pairs) == 2 * DIALOGUES
    assert_no_better_than_a_coin(shares(client, pairs))


def test_who_looks_at_the_exam_knows_nothing(client):
    person = annotator()
    client.force_login(person)
    sitting = sitting_open(study=speecheq_study(items=DIALOGUES), user=person)
    client.post(reverse("sit_begin", args=[sitting.uid]))
    html, pairs = client.get(reverse("sit", args=[sitting.uid])).content.decode(), []
    while question := re.search(r'"trial": "(\w+)"', html):
        pairs += pairs_in(html)
        html = answer(client, sitting, question.group(1), html)

    assert len(pairs) == 2 * DIALOGUES
    assert_no_better_than_a_coin(shares(client, pairs))


def answer(client, sitting, trial: str, html: str, given: str | int = "A") -> str:
    """Answer a question and return the next one."""
    body = {
        "trial": trial,
        "client_key": trial,
        "answer": given,
        "heard": {clip["uid"]: [[0.0, 10.0]] for clip in clips_in(html)},
        "paradata": {"shown_at": "2026-01-01T00:00:00Z", "submitted_at": "2026-01-01T00:01:00Z"},
    }
    sent = client.post(reverse("sit_answer", args=[sitting.uid]), json.dumps(body), content_type="application/json")
    return sent.json()["html"]


def key_swap() -> None:
    """Turn the key of every dialogue round: high is low, grade 1 is grade 4, and so are their words and directions."""
    for turn in {variant.turn_id for variant in Variant.objects.exclude(label="only")}:
        variants = list(Variant.objects.filter(turn=turn).order_by("pk"))
        keys = [(variant.label, variant.tone, variant.intended_grade) for variant in variants]
        for variant in variants:
            Variant.objects.filter(pk=variant.pk).update(label=f"was {variant.pk}"[:20])
        for variant, (label, tone, grade) in zip(variants, reversed(keys), strict=True):
            Variant.objects.filter(pk=variant.pk).update(
                label=label, tone=tone, intended_grade=grade, rationale=f"secret {label}"
            )


def without_chance(text: str) -> str:
    """A page without what differs from one request to the next."""
    text = re.sub(r"/media/[\w-]+", "/media/", text)
    text = re.sub(r'nonce="[^"]*"', "", text)
    text = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", text)
    return re.sub(r'"csrf-token" content="[^"]*"|X-CSRFToken[^}]*', "", text)


MAKERS = {"speecheq": speecheq_dialogue, "emosbench": emosbench_dialogue, "echomind": echomind_dialogue}


@pytest.mark.parametrize("benchmark", sorted(MAKERS))
def test_nothing_an_annotator_gets_changes_with_the_key(client, benchmark):
    """The item, the API, what is fetched ahead, the history, and the item opened again to change it."""
    person = annotator()
    client.force_login(person)
    round_ = round_with(items=3, benchmark=benchmark, make=MAKERS[benchmark], show_feedback=True)
    judged = submit(assignment_next(round=round_, annotator=person, now=timezone.now()))
    lease = assignment_next(round=round_, annotator=person, now=timezone.now())
    body = json.dumps({"assignment": lease.uid})
    asked = [
        ("get", reverse("judge", args=[round_.uid]), {}),
        ("get", reverse("judge_next", args=[round_.uid]), {}),
        ("post", reverse("api_round_next", args=[round_.uid]), {}),
        ("post", reverse("judge_ahead", args=[round_.uid]), {"data": body, "content_type": "application/json"}),
        ("get", reverse("my_judgements"), {}),
        ("get", reverse("judgement_edit", args=[judged.uid]), {}),
    ]

    before = answers_to(client, asked)
    key_swap()
    assert answers_to(client, asked) == before


def answers_to(client, asked) -> list[str]:
    found = [getattr(client, method)(address, **more) for method, address, more in asked]
    assert [answer.status_code for answer in found] == [200] * len(asked)
    return [without_chance(answer.content.decode()) for answer in found]


def shape(html: str) -> str:
    """A page without what differs from one item to the next."""
    html = re.sub(
        r"Line \d+ of dialogue \d+|Input of dialogue \d+|Reply \d of dialogue \d+", "text", without_chance(html)
    )
    html = re.sub(r'(data-clip|data-uid|value|for|id)="[a-z0-9]{16}"|"[a-z0-9]{16}"', "uid", html)
    html = re.sub(r'"leaseUntil": "[^"]*"|\d{4}-\d\d-\d\dT[\d:.+-]+|[a-z0-9]{16}', "when", html)
    return re.sub(r"item \d+ of \d+|today \d+", "count", html)


@pytest.mark.parametrize("kind", ["gold", "repeat", "qualification"])
def test_an_item_with_a_known_answer_looks_like_any_other(client, kind):
    """Page, its size, submit's answer, and the history: nothing names the kind or differs by it."""
    person = annotator()
    client.force_login(person)
    round_ = round_with(items=2, people_per_item=2, show_feedback=True)
    pages = []
    for special in (False, True):
        found = assignment_next(round=round_, annotator=person, now=timezone.now())
        if special:
            Assignment.objects.filter(pk=found.pk).update(kind=kind)
            RoundItem.objects.filter(pk=found.item_id).update(kind=kind)
            GoldAnswer.objects.create(item=found.item, verdict="keep", grades={found.shown["4"][0]: 1})
        html = client.get(reverse("judge", args=[round_.uid])).content.decode()
        sent = client.post(
            reverse("judge_submit", args=[round_.uid]), json.dumps(judgement_of(found)), content_type="application/json"
        ).json()
        history = client.get(reverse("my_judgements")).content.decode()
        pages.append(
            (shape(html), len(without_chance(html)), sorted(sent), re.findall(r"<tr>.*?</tr>", history, re.DOTALL)[1])
        )

    (work, work_size, work_keys, work_row), (gold, gold_size, gold_keys, gold_row) = pages
    assert gold == work
    assert abs(gold_size - work_size) < 10
    assert gold_keys == work_keys
    assert shape(gold_row) == shape(work_row)


def judgement_of(lease) -> dict:
    clips = required_clips(dialogue=lease.item.dialogue)
    return {
        "assignment": lease.uid,
        "client_key": lease.uid,
        "verdict": "keep",
        "grades": {clip.uid: 3 for clip in clips if clip.graded},
        "heard": {clip.uid: [[0.0, clip.duration]] for clip in clips},
    }


@pytest.mark.parametrize("make", [speecheq_study, emosbench_study, echomind_study])
def test_nothing_an_exam_sitter_gets_changes_with_the_key(client, make):
    person = annotator()
    client.force_login(person)
    sitting = sitting_open(study=make(items=2), user=person)
    client.post(reverse("sit_begin", args=[sitting.uid]))
    address = reverse("sit", args=[sitting.uid])

    for _question in range(3):
        before = client.get(address).content.decode()
        key_swap()
        assert without_chance(client.get(address).content.decode()) == without_chance(before)
        trial = re.search(r'"trial": "(\w+)"', before).group(1)
        answer(client, sitting, trial, before, given=3 if 'value="3"' in before else "A")


def test_an_annotator_sees_no_page_with_a_key(client):
    """Everything an annotator may open, by following every link from the home page."""
    person = annotator()
    client.force_login(person)
    round_ = round_with(items=2)
    submit(assignment_next(round=round_, annotator=person, now=timezone.now()))
    study = speecheq_study(items=1)
    Variant.objects.filter(label="high").update(tone="secret tone", rationale="secret rationale")
    Dialogue.objects.update(extras={"secret": "extra"}, valence="secretvalence")
    seen, waiting = set(), [reverse("home"), reverse("studies"), reverse("study", args=[study.uid])]
    while waiting:
        address = waiting.pop()
        seen.add(address)
        page = client.get(address)
        if page.status_code == 200 and not page.streaming:
            html = page.content.decode()
            assert not re.search(r"secret|\bhigh\b|\blow\b", re.sub(r"/media/[\w-]+", "", html)), address
            links = re.findall(r'href="(/[^"#]*)"', html)
            waiting += [link for link in links if link not in seen and not link.startswith(("/static/", "/accounts/"))]
    assert {reverse("judge", args=[round_.uid]), reverse("my_judgements")} <= seen


def made_first() -> float:
    """How often the clip of the better rendition was stored before that of the other."""
    better = {}
    for uid, turn, label in Clip.objects.order_by("pk").values_list("uid", "variants__turn", "variants__label"):
        if label in {"high", "low"}:
            better.setdefault(turn, (uid, label))
    return sum(label == "high" for _uid, label in better.values()) / len(better)


def test_the_order_in_which_speech_is_stored_does_not_follow_the_key():
    """An object store or nginx tells when a file came."""
    for seed in range(10):
        advance(one_briefed(seed=seed), times=2)

    assert 0 < made_first() < 1


def test_the_order_in_which_imported_sound_is_stored_does_not_follow_the_key(tmp_path):
    for number in range(10):
        folder_make(tmp_path, f"20260101_000000_{number:012d}", tone=200.0 + 0.3 * number)

    report = corpus_import(corpus=CorpusFactory(), path=tmp_path, format="speecheq")

    assert report.created == 10
    assert 0 < made_first() < 1


def test_who_is_signed_out_gets_no_sound(client):
    person = annotator()
    client.force_login(person)
    round_ = round_with()
    address = clips_in(client.get(reverse("judge", args=[round_.uid])).content.decode())[0]["address"]

    assert client.get(address).status_code == 200
    assert Client().get(address).status_code == 302
