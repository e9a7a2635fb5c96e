"""Drawing without clumps, and telling scenes apart."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqstudio.benchmarks import benchmark_get, benchmarks
from eqstudio.benchmarks.texts import texts_load
from eqstudio.benchmarks.variety import NEAR, Dealer, cast_draw, cast_read, least_used, likeness, nearest, shingles

TEXTS = st.text(alphabet="abcdef ghij,.", max_size=60)


def casts(alias, count, *, language="en", category=None, valence="", setting=""):
    """As many casts as a corpus would get one after the other, and all that was drawn."""
    benchmark = benchmark_get(alias)
    counts: dict[str, Counter] = {}
    found = []
    for number in range(count):
        dealer = Dealer(lambda pool: counts.get(pool, {}), Random(number))
        key = category or benchmark.categories[0].key
        cast_draw(dealer, benchmark, category=key, language=language, valence=valence, setting=setting)
        for drawn in dealer.drawn:
            counts.setdefault(drawn.pool, Counter())[drawn.value] += 1
        found.append(cast_read({drawn.kind: drawn.value for drawn in dealer.drawn}))
    return found, counts


@given(st.integers(1, 9), st.integers(0, 60), st.integers())
def test_counts_of_a_pool_differ_by_at_most_one(size, draws, seed):
    pool = [f"value {number}" for number in range(size)]
    counts, rng = Counter(dict.fromkeys(pool, 0)), Random(seed)
    for _draw in range(draws):
        counts[least_used(pool, counts, rng)] += 1
    assert max(counts.values()) - min(counts.values()) <= 1


@given(st.dictionaries(st.sampled_from("abcde"), st.integers(0, 5)), st.integers())
def test_the_least_used_value_is_drawn_whatever_came_before(counts, seed):
    drawn = least_used("abcde", counts, Random(seed))
    assert counts.get(drawn, 0) == min(counts.get(value, 0) for value in "abcde")


def test_a_value_is_left_out_unless_it_is_the_only_one():
    assert {least_used("ab", {"b": 9}, Random(seed), without="a") for seed in range(9)} == {"b"}
    assert least_used("a", {}, Random(0), without="a") == "a"


def test_ties_are_broken_by_the_seed_and_nothing_else():
    assert [least_used("abcdef", {}, Random(seed)) for seed in range(20)] == [
        least_used("abcdef", {}, Random(seed)) for seed in range(20)
    ]
    assert len({least_used("abcdef", {}, Random(seed)) for seed in range(50)}) == 6


@pytest.mark.parametrize("alias", benchmarks)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_sixty_casts_do_not_clump(alias, language):
    found, counts = casts(alias, 60, language=language)

    benchmark = benchmark_get(alias)
    names = Counter(person.name for cast in found for person in cast.people)
    assert max(names.values()) <= 1 if alias == "echomind" else max(names.values()) <= 2
    cells = Counter((cast.valence, cast.setting) for cast in found)
    assert len(cells) == len(benchmark.valences) * len(benchmark.settings)
    assert max(cells.values()) - min(cells.values()) <= 1
    for pool, drawn in counts.items():
        if pool.endswith("cell"):
            assert max(drawn.values()) - min(drawn.values()) <= 1


@pytest.mark.parametrize("alias", ["speecheq", "emosbench"])
def test_the_two_people_of_a_dialogue_have_different_names(alias):
    for cast in casts(alias, 80)[0]:
        assert len({person.name for person in cast.people}) == 2


def test_personas_are_two_different_archetypes():
    found, counts = casts("speecheq", 30)
    assert all(len(set(cast.archetypes)) == 2 for cast in found)
    assert set(counts["en archetype"].values()) == {12}


@pytest.mark.parametrize(("category", "plans"), [("bap", {"0"}), ("est", {"1", "2"}), ("ecm", {"0", "1"})])
def test_turns_follow_the_branch(category, plans):
    assert {cast.plan for cast in casts("emosbench", 20, category=category)[0]} == plans


def test_what_is_asked_for_is_drawn():
    for cast in casts("speecheq", 10, valence="conflict", setting="health")[0]:
        assert (cast.valence, cast.setting) == ("conflict", "health")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_pools_of_names_are_large_and_have_no_name_twice(language):
    pools = texts_load("names")[language]
    assert set(pools) == {"female", "male"}
    for names in pools.values():
        assert len(names) == len(set(names)) >= 60
    assert not set(pools["female"]) & set(pools["male"])


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("alias", benchmarks)
def test_every_setting_has_topics(alias, language):
    pools = texts_load("variety")[language]
    for setting in benchmark_get(alias).settings:
        assert len(set(pools.get(setting, pools["any"])["topics"])) >= 6


@given(TEXTS, TEXTS)
def test_likeness_is_symmetric_and_between_zero_and_one(first, second):
    one, other = shingles(first, "en"), shingles(second, "en")
    assert likeness(one, other) == likeness(other, one)
    assert 0.0 <= likeness(one, other) <= 1.0
    assert likeness(one, one) == 1.0


@given(TEXTS)
def test_case_punctuation_and_names_do_not_make_a_scene_new(text):
    assert shingles(text.upper(), "en") == shingles(text, "en")
    assert shingles(f"Priya {text}", "en", ["Priya"]) == shingles(f" {text}", "en")


@settings(max_examples=50)
@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=6), TEXTS, TEXTS)
def test_the_nearest_scene_is_at_least_as_near_as_every_other(earlier, title, context):
    near = nearest(title, context, ((*scene, ()) for scene in earlier), "en")
    if not earlier:
        assert near is None
        return
    scores = [nearest(title, context, [(*scene, ())], "en").score for scene in earlier]
    assert near.score == max(scores)


def test_near_duplicates_are_told_from_scenes_of_the_same_setting():
    earlier = [
        (
            "The lost umbrella",
            "Priya meets Tomasz at the counter; her umbrella was found on tram nine.",
            ("Priya", "Tomasz"),
        )
    ]
    again = nearest(
        "A lost umbrella",
        "Leila meets Kwame at the counter; her umbrella was found on tram five.",
        earlier,
        "en",
        names=("Leila", "Kwame"),
    )
    other = nearest(
        "A table by the window",
        "Leila and Kwame argue at the counter about a table by the window.",
        earlier,
        "en",
        names=("Leila", "Kwame"),
    )
    title = nearest("The lost umbrella!", "Something quite different happens at sea.", earlier, "en")
    assert again.score > NEAR > other.score
    assert title.score == 1.0


def test_near_duplicates_are_told_in_chinese():
    earlier = [("找回来的雨伞", "林晓在服务台前遇到周远，她的雨伞在九路电车上找到了。", ("林晓", "周远"))]
    again = nearest(
        "找到的雨伞", "苏婉在服务台前遇到孙浩，她的雨伞在五路电车上找到了。", earlier, "zh", names=("苏婉", "孙浩")
    )
    other = nearest("靠窗的桌子", "苏婉和孙浩在服务台前为一张桌子争了起来。", earlier, "zh", names=("苏婉", "孙浩"))
    assert again.score > NEAR > other.score
