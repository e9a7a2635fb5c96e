"""Freezing: what goes in, what the hash says, and that nothing changes afterwards."""

import json

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotation.domain.curation import Recipe
from annotation.domain.manifest import content_hash, manifest_hash
from annotation.models import Split
from annotation.selectors import manifest_entries, manifest_head, split_audit
from annotation.selectors.split_content import Content
from annotation.services import split_freeze
from eqstudio.errors import InvalidInput
from generation.models import Dialogue, Variant
from tests.annotation.factories import judged_round, split_of
from tests.generation.factories import (
    CorpusFactory,
    clip_make,
    echomind_dialogue,
    emosbench_dialogue,
    speecheq_dialogue,
)

pytestmark = pytest.mark.django_db


def test_freezing_a_round_takes_what_was_kept():
    made = judged_round(items=2)
    made.items.filter(pk=made.items.first().pk).update(outcome="rejected")

    split = split_freeze(name="arena", round=made, now=timezone.now())

    assert split.item_count == 1
    assert split.items.get().dialogue.state == "frozen"
    entry = split.items.get().entry
    assert entry["judgements"]["votes"] == {"keep": 2, "reject": 1}
    assert (entry["judgements"]["people"], entry["judgements"]["agreement"]) == (3, 0.666667)
    assert entry["judgements"]["median_grades"] == {"4/high": 3.0, "4/low": 3.0, "6/high": 3.0, "6/low": 3.0}


def test_freezing_a_corpus_takes_what_is_ready_and_leaves_the_rest():
    corpus = CorpusFactory()
    ready = speecheq_dialogue(corpus=corpus)
    speecheq_dialogue(corpus=corpus, state="flagged")

    split = split_freeze(name="arena", corpus=corpus, now=timezone.now())

    assert [item.dialogue_id for item in split.items.all()] == [ready.pk]


def test_freezing_again_makes_the_next_version_with_the_same_hash():
    first = split_of(name="arena")

    second = split_freeze(name="arena", corpus=first.corpus, now=timezone.now())

    assert (first.version, second.version) == (1, 2)
    assert first.manifest_hash == second.manifest_hash


def whole(split):
    """The manifest as it leaves the studio, read back from JSON."""
    return json.loads(json.dumps({**manifest_head(split=split), "items": list(manifest_entries(split=split))}))


def test_the_manifest_names_every_input():
    split = split_of(items=1)

    assert sorted(manifest_head(split=split)) == [
        "agreement",
        "audit",
        "audits_against",
        "benchmark",
        "benchmark_version",
        "canary",
        "code",
        "format",
        "frozen_at",
        "manifest_hash",
        "recipe",
        "shortfalls",
    ]
    assert {"version", "git", "python", "packages"} == set(split.manifest["code"])
    dialogue = split.items.get().dialogue
    clips = Variant.objects.filter(turn__dialogue=dialogue).values_list("turn__position", "label", "clip__sha256")
    assert split.items.get().entry["clips"] == {f"{place}/{label}": sha256 for place, label, sha256 in clips}


def test_the_hash_is_recomputed_from_the_manifest_and_ignores_ids_times_code_and_order():
    split = split_of(items=3)
    other = whole(split)
    other["frozen_at"] = "2001-01-01"
    other["code"] = {}
    other["items"] = [{**item, "uid": "another"} for item in reversed(other["items"])]

    assert manifest_hash(other) == split.manifest_hash
    assert split.canary in json.dumps(other)


@pytest.mark.parametrize(
    "name", ["content", "external_id", "clips", "judgements", "category", "side", "source", "valence"]
)
def test_the_hash_sees_every_change_of_content(name):
    split = split_of(items=1)
    other = whole(split)
    other["items"][0][name] = "changed"

    assert manifest_hash(other) != split.manifest_hash


def test_a_hash_of_the_first_format_is_still_recomputed():
    entry = {name: name for name in ("external_id", "content", "clips", "category", "language", "side", "judgements")}
    head = {"format": 1, "benchmark": "speecheq", "benchmark_version": "1", "recipe": {}}

    assert manifest_hash({**head, "items": [{**entry, "uid": "x"}]}) == content_hash({**head, "items": [entry]})


def test_a_changed_word_changes_the_hash():
    first = split_of(items=1)
    Variant.objects.filter(turn__dialogue=first.items.get().dialogue, label="high").update(text="Another word.")

    second = split_freeze(name=first.name, corpus=first.corpus, now=timezone.now())

    assert second.manifest_hash != first.manifest_hash


def test_items_of_two_benchmarks_are_refused_and_nothing_moves():
    corpus = CorpusFactory()
    speecheq_dialogue(corpus=corpus)
    emosbench_dialogue(corpus=corpus)

    with pytest.raises(InvalidInput, match=r"emosbench, speecheq") as raised:
        split_freeze(name="mixed", corpus=corpus, now=timezone.now())

    assert raised.value.field == "benchmark"
    assert set(Dialogue.objects.values_list("state", flat=True)) == {"ready"}
    assert (
        split_freeze(name="one", corpus=corpus, recipe={"benchmark": "emosbench"}, now=timezone.now()).item_count == 1
    )


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "no good name"}, "name"),
        ({"recipe": {"minimum_people": 1}}, "recipe"),
        ({"recipe": {"size": "many"}}, "size"),
    ],
)
def test_a_wrong_freeze_is_refused(fields, field):
    with pytest.raises(InvalidInput) as raised:
        split_of(items=1, **fields)

    assert raised.value.field == field
    assert Split.objects.count() == 0


def test_a_freeze_needs_a_round_or_a_corpus():
    with pytest.raises(InvalidInput, match="name one"):
        split_freeze(name="arena", now=timezone.now())


def test_a_recipe_limits_people_and_sizes():
    made = judged_round(items=3)

    assert split_freeze(name="a", round=made, recipe={"size": 2}, now=timezone.now()).item_count == 2
    assert split_freeze(name="b", round=made, recipe={"per_category": 1}, now=timezone.now()).item_count == 1
    with pytest.raises(InvalidInput):
        split_freeze(name="c", round=made, recipe={"minimum_people": 4}, now=timezone.now())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size = ", "not TOML"),
        ("sise = 3", "unknown key 'sise'"),
        ('outcome = "good"', "outcome should be one of"),
        ("size = -1", "0 or more"),
    ],
)
def test_a_wrong_recipe_says_what_was_expected(text, message):
    with pytest.raises(InvalidInput, match=message):
        Recipe.from_toml(text)


def test_audit_finds_repeated_words_titles_speakers_and_clips():
    corpus = CorpusFactory()
    first, second = speecheq_dialogue(corpus=corpus, title="Tea"), speecheq_dialogue(corpus=corpus, title="tea!")
    for position in range(1, 7):
        copied = first.turns.get(position=position).variants.first().text
        Variant.objects.filter(turn__dialogue=second, turn__position=position).update(text=copied)
    shared_clip = Variant.objects.filter(turn__dialogue=first).first().clip
    Variant.objects.filter(pk=Variant.objects.filter(turn__dialogue=second).first().pk).update(clip=shared_clip)

    found = {check["name"]: check for check in split_audit(split=split_of(items=0, corpus=corpus))["checks"]}

    assert {name: check["found"] for name, check in found.items() if check["found"]} == {
        "texts": 1,
        "titles": 1,
        "speakers": 1,
        "clips": 1,
    }
    assert sorted(found["clips"]["groups"][0]["items"]) == sorted([first.uid, second.uid])


def test_audit_against_another_split_finds_what_they_share():
    first = split_of(items=2)
    second = split_freeze(name="other", corpus=first.corpus, now=timezone.now())

    found = split_audit(split=first, against=second)

    assert {check["name"]: check["found"] for check in found["checks"] if " in " in check["name"]} == {
        "texts in other-v1": 2,
        "near in other-v1": 2,
        "skeletons in other-v1": 0,
        "titles in other-v1": 2,
        "clips in other-v1": 16,
        "recordings in other-v1": 0,
        "templates in other-v1": 0,
        "scenarios in other-v1": 1,
        "topics in other-v1": 0,
        "persons in other-v1": 2,
        "voices in other-v1": 1,
    }


def test_audit_measures_how_often_a_cue_finds_the_key():
    corpus = CorpusFactory()
    for number in range(4):
        dialogue = speecheq_dialogue(corpus=corpus)
        for label, loudness in (("high", -30.0), ("low", -20.0)):
            quiet = loudness if number < 3 else -50.0 - loudness
            Variant.objects.filter(turn__dialogue=dialogue, label=label, turn__position=4).update(
                clip=clip_make(loudness=quiet)
            )
            Variant.objects.filter(turn__dialogue=dialogue, label=label, turn__position=6).update(clip=None)

    shortcuts = {
        found["cue"]: found["accuracy"] for found in split_audit(split=split_of(items=0, corpus=corpus))["shortcuts"]
    }

    assert shortcuts["quieter"] == {
        "value": 0.75,
        "lo": pytest.approx(0.3006, abs=1e-4),
        "hi": pytest.approx(0.9544, abs=1e-4),
        "n": 4,
        "reason": None,
    }
    assert shortcuts["longer"]["reason"] == "no pair differs in this measure"
    assert shortcuts["together"]["n"] == 4


def test_a_benchmark_without_pairs_has_no_shortcuts():
    assert split_audit(split=split_of(items=1, make=echomind_dialogue))["shortcuts"] == []


def test_the_commands_freeze_and_audit(capsys, tmp_path):
    corpus = CorpusFactory(name="arena")
    speecheq_dialogue(corpus=corpus)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('language = "en"\n')

    call_command("split_freeze", "exam", "--corpus", "arena", "--recipe", str(recipe), "--json")
    frozen = json.loads(capsys.readouterr().out)
    call_command("split_audit", "exam", "--json")
    audit = json.loads(capsys.readouterr().out)

    assert (frozen["split"], frozen["items"], frozen["manifest_hash"]) == (
        "exam-v1",
        1,
        Split.objects.get().manifest_hash,
    )
    assert (audit["split"], audit["items"]) == ("exam-v1", 1)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["split_freeze", "exam", "--corpus", "nowhere"], "There is no corpus called 'nowhere'."),
        (["split_freeze", "exam", "--round", "nowhere"], "There is no round called 'nowhere'."),
        (["split_audit", "nothing-v3"], "There is no split called 'nothing-v3'."),
        (["agreement", "nowhere"], "There is no round called 'nowhere'."),
    ],
)
def test_a_command_about_something_unknown_says_so(arguments, error, capsys):
    with pytest.raises(SystemExit):
        call_command(*arguments, "--json")

    assert json.loads(capsys.readouterr().out)["error"] == error


def test_two_machines_freeze_the_same_hash_and_growth_moves_nothing():
    recipe = {"dev": 0.2, "train": 0.5, "seed": 4, "indivisible": ["template"], "corpus": "arena"}
    corpus = CorpusFactory(name="arena")
    made = [speecheq_dialogue(corpus=corpus, template_key=f"t{n}", external_id=f"e{n}") for n in range(12)]
    first = split_freeze(name="one", recipe=recipe, now=timezone.now())
    sides = dict(first.items.values_list("dialogue__external_id", "side"))
    Dialogue.objects.filter(pk=made[0].pk).update(uid="anotheruid")

    elsewhere = split_freeze(name="two", recipe=recipe, now=timezone.now())
    for n in range(12):
        speecheq_dialogue(corpus=corpus, template_key=f"t{n + 6}", external_id=f"new{n}")
    grown = split_freeze(name="one", recipe=recipe, now=timezone.now())

    assert elsewhere.manifest_hash == first.manifest_hash
    assert len(set(sides.values())) > 1
    later = dict(grown.items.values_list("dialogue__external_id", "side"))
    assert {name: later[name] for name in sides} == sides
    by_template = {}
    for template, side in grown.items.values_list("dialogue__template_key", "side"):
        by_template.setdefault(template, set()).add(side)
    assert all(len(found) == 1 for found in by_template.values())


def test_judgements_of_several_rounds_count_together():
    corpus = CorpusFactory()
    first = judged_round(items=2, corpus=corpus, name="first", verdicts=("keep", "keep"), grades=(3, 3), agree_needed=2)
    second = judged_round(items=1, name="second", verdicts=("keep", "reject", "reject"))

    both = split_freeze(name="both", recipe={"rounds": [first.name, second.name]}, now=timezone.now())
    again = split_freeze(
        name="again",
        recipe={"rounds": [second.name], "consensus": "majority", "outcome": "rejected"},
        now=timezone.now(),
    )

    assert (both.round, both.item_count) == (None, 2)
    assert again.items.get().entry["judgements"]["outcome"] == "rejected"


def test_a_strict_recipe_that_falls_short_is_refused_with_what_is_short():
    made = judged_round(items=2)
    recipe = {"targets": {"language": {"en": 5}}, "strict": True}

    with pytest.raises(InvalidInput, match="language en: 2/5"):
        split_freeze(name="short", round=made, recipe=recipe, now=timezone.now())

    loose = split_freeze(name="short", round=made, recipe={**recipe, "strict": False}, now=timezone.now())
    assert loose.manifest["shortfalls"] == [{"rule": "language", "value": "en", "wanted": 5, "got": 2}]


def test_a_recipe_that_nothing_meets_names_the_items_it_removed():
    made = judged_round(items=1)

    with pytest.raises(InvalidInput, match=made.items.get().dialogue.uid):
        split_freeze(name="none", round=made, recipe={"minimum_people": 9}, now=timezone.now())


def test_half_a_character_in_a_text_is_told_with_its_dialogue():
    """SQLite holds such a scenario; PostgreSQL does not take it in the first place."""
    row = {"uid": "abc", "external_id": "", "title": "T", "benchmark": "speecheq", "category": "c", "language": "en"}
    content = Content(row={**row, "extras": {}, "scenario": {"context": "half of a pair: \ud83d"}})

    with pytest.raises(InvalidInput, match="dialogue abc") as raised:
        assert content.identity

    assert raised.value.message.encode()


@pytest.mark.parametrize("name", ["half \ud83d", "", "a" * 81])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(InvalidInput) as raised:
        split_freeze(name=name, corpus=speecheq_dialogue().corpus, now=timezone.now())

    assert raised.value.field == "name"


def test_the_command_reads_a_recipe_from_json_with_its_rounds(capsys, tmp_path):
    made = judged_round(items=2)
    recipe = tmp_path / "recipe.json"
    recipe.write_text(json.dumps({"rounds": [made.name], "minimum_agreement": 0.6}), encoding="utf-8")

    call_command("split_freeze", "exam", "--recipe", str(recipe), "--json")

    frozen = json.loads(capsys.readouterr().out)
    assert (frozen["items"], frozen["shortfalls"]) == (2, [])
    assert frozen["agreement"]["measure"] == "alpha_ordinal"


def test_freezing_is_constant_in_queries(django_assert_max_num_queries):
    corpus = CorpusFactory()
    for _ in range(8):
        speecheq_dialogue(corpus=corpus)

    with django_assert_max_num_queries(40):
        split_freeze(name="exam", corpus=corpus, now=timezone.now())


@pytest.mark.parametrize("recipe", [{"benchmark": "nowhere"}, {"categories": ["nowhere"]}])
def test_a_recipe_that_names_what_there_is_not_names_its_field(recipe):
    dialogue = speecheq_dialogue()
    with pytest.raises(InvalidInput, match="nowhere") as raised:
        split_freeze(name="one", corpus=dialogue.corpus, recipe=recipe, now=timezone.now())
    assert raised.value.field == next(iter(recipe))
