"""Does a meter find the key? Planted cues are found, noise is not, and the released dialogues give the published figures."""

from __future__ import annotations

import json
from random import Random

import pytest
from django.core.management import call_command
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from generation.domain.shortcuts import CUES, Pair, cue_rule, model_accuracy, shortcut_guard
from generation.models import Corpus, Dialogue, Variant
from generation.selectors import shortcuts_found
from generation.services import corpus_ensure, corpus_import
from tests.generation.factories import (
    CorpusFactory,
    clip_make,
    echomind_dialogue,
    emosbench_dialogue,
    speecheq_dialogue,
)

LOUDNESS, DURATION, *_OTHERS = CUES


def pairs_of(count, rng, **shift):
    """Two pairs a dialogue, noise in every cue; ``shift`` moves the right rendition."""
    return [
        Pair(
            str(number // 2),
            {cue.name: rng.gauss(shift.get(cue.name, 0.0), 1.0) for cue in CUES},
            {cue.name: rng.gauss(0.0, 1.0) for cue in CUES},
        )
        for number in range(count)
    ]


def test_a_loudness_key_is_found_alone_and_by_the_model():
    guard = shortcut_guard(pairs_of(120, Random(1), loudness=-2.5))

    rules = {rule.cue: rule for rule in guard.rules}

    assert (rules["loudness"].direction, rules["loudness"].warns, rules["together"].warns) == ("quieter", True, True)
    assert rules["loudness"].accuracy.value > 0.9
    assert (guard.pairs, guard.groups, guard.warns) == (120, 60, True)


def test_two_weak_cues_are_strong_together():
    pairs = pairs_of(400, Random(2), loudness=0.7, duration=0.7)

    alone = max(cue_rule(pairs, cue).accuracy.value for cue in (LOUDNESS, DURATION))

    assert model_accuracy(pairs).value > alone


def test_noise_gives_no_warning():
    guard = shortcut_guard(pairs_of(400, Random(3)))

    assert not guard.warns
    assert next(rule for rule in guard.rules if rule.cue == "together").accuracy.value < 0.6


def test_the_better_direction_by_hand_with_wilsons_interval():
    pairs = [Pair(str(n), {"duration": 2.0 if n < 3 else 1.0}, {"duration": 1.5}) for n in range(4)]

    rule = cue_rule([*pairs, Pair("equal", {"duration": 1.0}, {"duration": 1.0})], DURATION)

    assert (rule.direction, rule.accuracy.value, rule.accuracy.n) == ("longer", 0.75, 4)
    assert (rule.accuracy.lo, rule.accuracy.hi) == (pytest.approx(0.3006, abs=1e-4), pytest.approx(0.9544, abs=1e-4))


def test_pairs_of_one_dialogue_do_not_count_as_independent():
    alone = [Pair(str(n), {"duration": 2.0 if n < 30 else 1.0}, {"duration": 1.5}) for n in range(40)]
    apart = [Pair(f"{pair.group}-{n}", pair.right, pair.wrong) for pair in alone for n in range(5)]

    once, often, more = (cue_rule(pairs, DURATION).accuracy for pairs in (alone, alone * 5, apart))

    assert (once.value, often.value, often.n) == (0.75, 0.75, 200)
    assert (often.lo, often.hi) == (pytest.approx(once.lo), pytest.approx(once.hi))
    assert more.lo > once.lo


def test_what_cannot_be_told_is_undefined():
    same = [Pair(str(n), {"duration": 1.0}, {"duration": 1.0}) for n in range(4)]

    assert cue_rule(same, DURATION).accuracy.reason == "no pair differs in this measure"
    assert model_accuracy(same).reason == "no pair differs in any measure"
    assert model_accuracy(pairs_of(2, Random(0))).reason == "a model needs pairs of at least two dialogues"


@given(seed=st.integers(0, 50), fold_seed=st.integers(0, 3))
@settings(max_examples=15, deadline=None)
def test_the_model_is_told_again_and_favours_no_order(seed, fold_seed):
    pairs = pairs_of(40, Random(seed), pitch=0.5)

    assert model_accuracy(pairs, seed=fold_seed) == model_accuracy(pairs, seed=fold_seed)
    assert 0 <= model_accuracy([Pair(p.group, p.wrong, p.right) for p in pairs], seed=fold_seed).value <= 1


@pytest.mark.django_db
def test_pairs_of_every_benchmark():
    corpus = CorpusFactory()
    for make in (speecheq_dialogue, emosbench_dialogue, echomind_dialogue):
        make(corpus=corpus)
    Variant.objects.filter(turn__dialogue__benchmark="speecheq", label="high").update(clip=clip_make(duration=2.0))

    found = {each.benchmark: each for each in shortcuts_found(dialogues=Dialogue.objects.filter(corpus=corpus))}

    assert {name: each.guard.pairs for name, each in found.items()} == {"speecheq": 2, "emosbench": 6, "echomind": 0}
    longer = found["speecheq"].guard.rules[1]
    assert (longer.direction, longer.accuracy.value, longer.accuracy.n) == ("longer", 1.0, 2)


@pytest.mark.django_db
def test_pages_show_the_guard_to_researchers_only(client, rita, alice, otto):
    dialogue = speecheq_dialogue()
    Variant.objects.filter(turn__dialogue=dialogue, label="high").update(clip=clip_make(duration=2.0))
    address = reverse("corpus_shortcuts", args=[dialogue.corpus.uid])
    client.force_login(rita)

    part = client.get(address, headers={"HX-Request": "true"}).content.decode()
    alone = client.get(address).content.decode()

    assert "<html" not in part
    assert part.strip() in alone
    assert reverse("corpus", args=[dialogue.corpus.uid]) in alone
    assert "always the longer one" in part
    assert "gives the key away" in part
    assert address in client.get(reverse("corpus", args=[dialogue.corpus.uid])).content.decode()
    for user, status in ((alice, 403), (otto, 404)):
        client.force_login(user)
        assert client.get(address).status_code == status


@pytest.mark.django_db
def test_the_command_names_a_corpus_that_is_not_there(capsys):
    with pytest.raises(SystemExit):
        call_command("shortcuts_check", "--corpus", "nowhere", "--json")

    assert json.loads(capsys.readouterr().out)["error"] == "There is no corpus 'nowhere'."


@pytest.mark.django_db
def test_released_dialogues_give_the_published_cues(shared, capsys):
    """Published for this sample: quieter 63.3 %, longer 66.7 %, the higher pitch 60 %, of 30 pairs."""
    corpus_import(corpus=corpus_ensure(name="released"), path=shared / "data" / "speecheq" / "data", format="speecheq")

    call_command("shortcuts_check", "--corpus", "released", "--json")
    result = json.loads(capsys.readouterr().out)

    (found,) = result["benchmarks"]
    values = {rule["direction"]: rule["accuracy"]["value"] for rule in found["rules"]}
    assert (found["pairs"], found["dialogues"], found["matched_clips"]) == (30, 15, 120)
    assert values["quieter"] == pytest.approx(0.633, abs=0.04)
    assert values["longer"] == pytest.approx(0.667, abs=0.04)
    assert values["higher pitch"] == pytest.approx(0.60, abs=0.04)
    assert result["warns"] is True
    assert Corpus.objects.get(name="released").dialogues.filter(state="ready").count() == 15
    for dialogue in Dialogue.objects.filter(corpus__name="released"):
        apart = [each.value for each in dialogue.findings.filter(check_name="matched loudness")]
        assert len(apart) == 2
        assert max(apart) < 0.5
    swapped = Dialogue.objects.filter(findings__check_name="voice", findings__passed=False).distinct().count()
    assert swapped <= 1
