"""The demo from its first row to its comparison, with the fake voice."""

from __future__ import annotations

import json
from collections import Counter
from io import StringIO
from random import Random

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.models import Judgement, Round, Split
from eqstudio.benchmarks import benchmark_get
from eqstudio.demo_scripts import demo_scripts
from eqstudio.models import User
from evaluation.demo import demo_advance, demo_corpora_ensure, demo_people_ensure
from evaluation.demo.corpora import YOUR_TURN, demo_parts_missing, demo_plan, script_words
from evaluation.demo.flagged import flagged_settle
from evaluation.demo.judging import verdict_of
from evaluation.demo.oracle import variant_grades
from evaluation.demo.tasks import demo_step
from evaluation.models import Respondent, Response, Sitting, Study
from evaluation.services import comparison_build, sitting_advance
from generation.domain.lifecycle import DialogueState
from generation.models import Batch, Corpus, Dialogue, QcReport
from generation.selectors import item_view
from generation.services import dialogue_move, dialogues_run
from tests.annotation.factories import lease, submit
from tests.generation.factories import DialogueFactory


def rules_run() -> None:
    for pk in Sitting.objects.exclude(respondent__kind=Respondent.Kind.PERSON).values_list("pk", flat=True):
        while sitting_advance(sitting_id=pk).state == "more":
            pass


FEW = [
    script
    for script in demo_scripts()
    if script.id
    in {"forty-bowls", "borrowed-violin", "room-seven", "window-table", "lost-tortoise", "last-row", "coat-for-concert"}
]
"""One dialogue of each benchmark for the visitor; two of SpeechEQ and one of the others for the listeners."""


@pytest.fixture
def demo(db):
    """People, and a few dialogues spoken by the fake voice."""
    demo_people_ensure()
    demo_corpora_ensure(voice="fake", transcriber="fake", scripts=FEW)
    dialogues_run(ids=list(Dialogue.objects.order_by("pk").values_list("pk", flat=True)))


def counts() -> tuple[int, ...]:
    return tuple(
        model.objects.count() for model in (User, Batch, Dialogue, Round, Judgement, Split, Study, Respondent, Response)
    )


def test_plan_begins_with_short_english_dialogues_for_the_visitor():
    plan = demo_plan(demo_scripts())
    mine = [script for name, script in plan if name == YOUR_TURN]
    assert [name for name, _script in plan[:6]] == [YOUR_TURN] * 6
    assert [script.language for script in mine] == ["en", "en", "en", "zh", "zh", "zh"]
    assert {script.benchmark for script in mine[:3]} == {"speecheq", "emosbench", "echomind"}
    assert script_words(mine[0].script) <= min(script_words(script.script) for script in mine[1:3])
    assert len(plan) == len(demo_scripts()) >= 24


def test_script_words_counts_two_chinese_characters_as_one_word():
    assert script_words({"s1": {"text": "one two", "tone": "not counted"}, "s2": [{"text": "两个字词"}]}) == 4


def test_demo_goes_from_speech_to_comparison_once(demo):
    while demo_advance(now=timezone.now()):
        rules_run()
    assert {study.name for study in Study.objects.all()} == {"demo-speecheq", "demo-emosbench", "demo-echomind"}
    for study in Study.objects.all():
        assert Counter(study.respondents.values_list("kind", flat=True)) == {"person": 2, "rule": 5}
        assert not Sitting.objects.filter(respondent__study=study, state=Sitting.State.OPEN).exists()
        compared = Counter(row["kind"] for row in comparison_build(study=study)["respondents"])
        assert (compared["person"], compared["rule"]) == (2, 5)
    for model in (User, Round, Split, Study):
        assert set(model.objects.values_list("is_demo", flat=True)) == {True}
    mine = Round.objects.get(name=YOUR_TURN)
    assert (mine.items.count(), mine.items.exclude(closed_at=None).count()) == (3, 0)
    assert Judgement.objects.filter(item__round=mine).count() == 6
    before = counts()
    demo_people_ensure()
    assert demo_corpora_ensure(voice="fake", transcriber="fake", scripts=FEW) == []
    assert demo_advance(now=timezone.now()) == 0
    assert counts() == before


def test_what_the_visitor_says_closes_the_items_and_shows_an_outcome(demo):
    demo_advance(now=timezone.now())
    mine = Round.objects.get(name=YOUR_TURN)
    visitor = User.objects.get(username="demo-annotator")

    for _item in range(mine.items.count()):
        submit(lease(mine, visitor, timezone.now()))

    assert mine.items.filter(closed_at=None).count() == 0
    states = {item.dialogue.state for item in mine.items.select_related("dialogue")}
    assert states <= {"kept", "rejected", "disputed"}


def flag(dialogue: Dialogue, *checks: str) -> None:
    """Make a ready dialogue one whose checks failed."""
    for name in checks:
        QcReport.objects.create(run=9, dialogue=dialogue, check_name=name, passed=False)
    dialogue_move(dialogue=dialogue, to=DialogueState.FLAGGED)


def test_what_was_only_misheard_goes_on_and_one_dialogue_stays_for_the_visitor(demo):
    corpus = Corpus.objects.get(name="demo-echomind")
    shown, misheard, silent = (
        DialogueFactory(corpus=corpus, benchmark="echomind", state=DialogueState.READY) for _ in range(3)
    )
    flag(shown, "transcript")
    flag(misheard, "transcript")
    flag(silent, "transcript", "silence")
    kept = flagged_settle(corpus)
    states = [Dialogue.objects.get(pk=dialogue.pk).state for dialogue in (shown, misheard, silent)]
    assert (kept, states) == (1, ["flagged", "ready", "flagged"])
    assert flagged_settle(corpus) == 0


def test_most_items_are_good_and_some_divide_the_listeners():
    seeds = [
        f"{s.benchmark}/{s.category}/{s.language}/{s.ordinal}"
        for name, s in demo_plan(demo_scripts())
        if name != YOUR_TURN
    ]
    keeps = [sum(verdict_of(seed, Random(voter)) == "keep" for voter in range(4)) for seed in seeds]
    assert sum(kept >= 3 for kept in keeps) >= 0.7 * len(seeds)
    assert min(keeps) < 3


def test_step_is_quick_without_a_demo(db, django_assert_num_queries):
    with django_assert_num_queries(1):
        demo_step()


def test_step_goes_on_until_nothing_is_left(demo):
    demo_step()
    assert Study.objects.count() == 3
    assert not Sitting.objects.filter(respondent__kind=Respondent.Kind.PERSON, state=Sitting.State.OPEN).exists()


def test_passwords_let_the_visitors_in_and_nobody_else(db, client):
    signs = demo_people_ensure()
    assert [client.login(username=sign.username, password=sign.password) for sign in signs] == [True] * 3
    assert not User.objects.get(username="demo-bea").has_usable_password()


def test_oracle_tells_good_from_poor_without_reading_a_label(demo):
    dialogue = Dialogue.objects.filter(benchmark="speecheq").first()
    item = item_view(dialogue=dialogue)
    grades = variant_grades(benchmark_get("speecheq"), item)
    by_label = {variant.label: grades[variant.uid] for variant in item.turn(4).variants}
    assert by_label == {"high": 4, "low": 2}


def test_demo_is_refused_in_production(db, settings):
    settings.PRODUCTION = True
    with pytest.raises(CommandError, match="refused in production"):
        call_command("demo_load")
    assert User.objects.count() == 0


def test_missing_parts_are_named(monkeypatch):
    monkeypatch.setattr("evaluation.demo.corpora.PARTS", ("json", "a_voice_nobody_has"))
    assert demo_parts_missing() == [
        (
            "The demo cannot be spoken here: a_voice_nobody_has is not installed. `make install` brings it; "
            "the dialogues that failed can be retried on the page of their batch."
        )
    ]


def test_demo_load_prints_one_document(db):
    out = StringIO()
    call_command("demo_load", "--json", stdout=out)
    document = json.loads(out.getvalue())
    assert [person["role"] for person in document["people"]] == ["annotator", "researcher", "admin"]
    assert document["asked"] == Dialogue.objects.count() == len(demo_scripts())
