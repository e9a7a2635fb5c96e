"""Recipes: what they may say, what they take, and on which side it lands, whatever else is added."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.domain.ceiling import ceiling
from annotation.domain.curation import GROUPS, Offered, Recipe, choice, side_of
from annotation.domain.curation.choosing import topic_entropy, topic_share
from annotation.domain.curation.measures import difficulty, grade_spread, item_rest, verdict_agreement
from eqstudio.errors import InvalidInput

WHOLE = {
    "rounds": ["arena", "竞技场"],
    "outcome": "kept",
    "consensus": "share",
    "consensus_share": 0.8,
    "minimum_people": 3,
    "minimum_agreement": 0.75,
    "agreement_measure": "alpha_interval",
    "agreement_at_least": 0.7,
    "agreement_whole": True,
    "benchmark": "speecheq",
    "language": "zh",
    "categories": ["a", 'with "quotes"'],
    "size": 100,
    "per_category": 7,
    "balance": ["category", "voice"],
    "targets": {"language": {"zh": 60, "*": 40}, "grade": {"4": 5}},
    "minimum_spread": 1.5,
    "minimum_item_rest": 0.1,
    "largest_topic_share": 0.2,
    "topic_entropy_at_least": 0.8,
    "difficulty_from": 0.1,
    "difficulty_to": 0.6,
    "indivisible": ["template", "scenario"],
    "dev": 0.1,
    "train": 0.6,
    "seed": 11,
    "strict": True,
}


def test_equal_numbers_of_a_recipe_are_spelled_alike():
    whole = Recipe.from_dict(
        {"dev": 0, "train": 1, "minimum_spread": 2, "minimum_item_rest": -1, "difficulty_from": -0.0}
    )
    broken = Recipe.from_dict({"train": 1.0, "minimum_spread": 2.0, "minimum_item_rest": -1.0})

    assert json.dumps(whole.as_dict()) == json.dumps(broken.as_dict())


def test_a_recipe_is_the_same_thing_as_table_toml_and_json():
    recipe = Recipe.from_dict(WHOLE)

    assert Recipe.from_toml(recipe.as_toml()) == recipe
    assert Recipe.from_json(json.dumps(recipe.as_dict())) == recipe
    assert Recipe.from_dict(recipe.as_dict()) == recipe
    assert recipe.told() == {key: value for key, value in WHOLE.items() if key != "outcome"}


@pytest.mark.parametrize(
    ("data", "field", "message"),
    [
        ({"sise": 3}, "recipe", "unknown key 'sise'"),
        ({"size": "many"}, "size", "a whole number"),
        ({"size": True}, "size", "a whole number"),
        ({"dev": 1.5}, "dev", "from 0 to 1"),
        ({"dev": float("nan")}, "dev", "from 0 to 1"),
        ({"rounds": "arena"}, "rounds", "a list of texts"),
        ({"language": "\ud83d"}, "language", "should be text"),
        ({"categories": ["\udc00"]}, "categories", "a list of texts"),
        ({"rounds": ["a\0b"]}, "rounds", "a list of texts"),
        ({"targets": {"category": 3}}, "targets", "tables"),
        ({"targets": {"mood": {"a": 1}}}, "targets", "one of category"),
        ({"balance": ["mood"], "size": 3}, "balance", "one of category"),
        ({"balance": ["category"]}, "balance", "say size"),
        ({"indivisible": ["person"]}, "indivisible", "one of template"),
        ({"dev": 0.5, "train": 0.6}, "dev", "more than everything"),
        ({"difficulty_from": 0.5, "difficulty_to": 0.4}, "difficulty_from", "ends before"),
        ({"rounds": ["a"], "corpus": "b"}, "rounds", "one of them"),
        ({"consensus": "oracle"}, "consensus", "one of round"),
        ({"strict": "yes"}, "strict", "true or false"),
    ],
)
def test_a_recipe_that_makes_no_sense_says_where(data, field, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        Recipe.from_dict(data)

    assert raised.value.field == field
    assert raised.value.message.encode()


@pytest.mark.parametrize("text", ["[1]", "{", '"size"', "[" * 100_000])
def test_a_json_recipe_that_is_none_is_refused(text):
    with pytest.raises(InvalidInput, match="JSON"):
        Recipe.from_json(text)


def offered(key, **fields):
    values = {"identity": f"{key * 7919 % 10_007:05d}", "category": "ab"[key % 2], "uid": f"item-{key}"}
    return Offered(key=key, **{**values, **fields})


items = st.lists(
    st.builds(
        offered,
        st.integers(0, 9_999),
        topic=st.sampled_from(["", "work", "home", "school"]),
        groups=st.fixed_dictionaries({
            kind: st.lists(st.sampled_from(["x", "y", "z"]), max_size=2, unique=True).map(tuple) for kind in GROUPS
        }),
    ),
    max_size=30,
    unique_by=lambda item: item.key,
)  # fmt: skip
shares = st.sampled_from([(0.0, 0.0), (0.1, 0.6), (0.5, 0.5), (0.2, 0.0)])


@settings(deadline=None)
@given(items, items, shares, st.sets(st.sampled_from(GROUPS)), st.integers(0, 9))
def test_added_items_move_none_of_the_others(before, more, parts, kinds, seed):
    recipe = Recipe(indivisible=tuple(sorted(kinds)), dev=parts[0], train=parts[1], seed=seed)
    known = {item.key for item in before}

    first = choice(before, recipe).sides
    second = choice([*before, *(item for item in more if item.key not in known)], recipe).sides

    assert {key: side for key, side in second.items() if key in known} == first


@settings(deadline=None)
@given(items, shares, st.sets(st.sampled_from(GROUPS), min_size=1), st.integers(0, 9))
def test_no_group_is_on_two_sides(found, parts, kinds, seed):
    recipe = Recipe(indivisible=tuple(sorted(kinds)), dev=parts[0], train=parts[1], seed=seed)

    chosen = choice(found, recipe)

    sides = {}
    for item in chosen.items:
        for group in item.group_keys(recipe.indivisible):
            sides.setdefault(group, set()).add(chosen.sides[item.key])
    assert all(len(where) == 1 for where in sides.values())


def test_sides_get_about_their_shares_and_another_seed_gives_others():
    groups = [f"template:{n}" for n in range(4_000)]

    first = [side_of([group], dev=0.1, train=0.6, seed=1) for group in groups]
    other = [side_of([group], dev=0.1, train=0.6, seed=2) for group in groups]

    counts = Counter(first)
    assert (counts["test"], counts["dev"], counts["train"]) == (
        pytest.approx(1_200, abs=120),
        pytest.approx(400, abs=80),
        pytest.approx(2_400, abs=140),
    )
    assert first != other
    assert side_of(["a", "b"], dev=0, train=0, seed=1) == "test"


def test_each_rule_says_what_it_removed():
    found = [
        offered(1, people=2, agreement=1.0, spread=2.0, difficulty=0.2),
        offered(2, people=4, agreement=0.5, spread=2.0, difficulty=0.2),
        offered(3, people=4, agreement=1.0, spread=0.5, difficulty=0.2),
        offered(4, people=4, agreement=1.0, spread=2.0, difficulty=0.9),
        offered(5, people=4, agreement=1.0, spread=2.0, difficulty=0.2, item_rest=-0.5),
        offered(6, people=4, agreement=1.0, spread=2.0, difficulty=0.2, item_rest=0.5),
        offered(7, people=4),
    ]
    recipe = Recipe(
        minimum_people=3, minimum_agreement=0.75, minimum_spread=1.0, minimum_item_rest=0.0, difficulty_to=0.5
    )

    chosen = choice(found, recipe)

    assert {step.rule: (step.removed, set(step.named)) for step in chosen.steps} == {
        "people": (1, {"item-1"}),
        "agreement": (2, {"item-2", "item-7"}),
        "spread": (1, {"item-3"}),
        "item_rest": (2, {"item-4", "item-5"}),
        "difficulty": (0, set()),
    }
    assert [item.key for item in chosen.items] == [6]


def test_targets_and_sizes_are_kept_and_what_is_short_is_told():
    found = [offered(n, language="zh" if n % 3 == 0 else "en", topic=f"t{n % 4}") for n in range(30)]
    recipe = Recipe(targets={"language": {"zh": 20, "en": 8}}, per_category=100, size=40)

    chosen = choice(found, recipe)

    assert Counter(item.language for item in chosen.items) == {"zh": 10, "en": 8}
    told = {(short.rule, short.value): (short.wanted, short.got) for short in chosen.shortfalls}
    assert told[("language", "zh")] == (20, 10)
    assert ("language", "en") not in told
    assert told[("size", "")] == (40, 18)


def test_balance_shares_the_size_out_evenly():
    found = [offered(n, category="common" if n % 10 else "rare") for n in range(100)]

    chosen = choice(found, Recipe(size=16, balance=("category",)))

    assert Counter(item.category for item in chosen.items) == {"common": 8, "rare": 8}


def test_no_topic_gets_more_than_its_share():
    found = [offered(n, topic="work" if n % 2 else f"other-{n % 8}") for n in range(80)]

    chosen = choice(found, Recipe(largest_topic_share=0.25))

    assert topic_share(chosen.items) <= 0.25
    assert topic_share(found) == 0.5
    assert topic_entropy(chosen.items) > topic_entropy(found)
    assert not chosen.shortfalls


def test_measures_of_items_by_hand():
    assert verdict_agreement(["keep", "keep", "reject"]) == pytest.approx(2 / 3)
    assert verdict_agreement(["keep"]) is None
    assert grade_spread({"4/high": [4, 4, 3], "4/low": [1, 2, 2]}) == 2.0
    assert grade_spread({"4/high": [4]}) is None
    assert difficulty([], {"4/high": [4, 1]}) == 1.0
    assert difficulty(["keep", "reject"], {}) == 0.5
    assert difficulty([], {}) is None


def test_item_rest_is_pearson_with_the_mean_of_the_other_items():
    totals = {1: (10.0, 4), 2: (8.0, 4), 3: (6.0, 4)}

    assert item_rest({1: 3.0, 2: 2.0, 3: 1.0}, totals) == pytest.approx(1.0)
    assert item_rest({1: 1.0, 2: 2.0, 3: 3.0}, totals) == pytest.approx(-1.0)
    assert item_rest({1: 2.0, 2: 2.0, 3: 2.0}, totals) is None
    assert item_rest({1: 2.0, 2: 1.0}, totals) is None


def test_the_ceiling_is_how_often_one_says_what_most_others_say():
    found = ceiling([[[1, 1, 1]], [[1, 1, 2]], [[1, 2]]])

    # Three of three in the first item; in the second each 1 meets a tie of {1, 2} (a half) and the 2 is alone.
    assert found.value == pytest.approx((3 + 0.5 + 0.5 + 0) / 6)
    assert found.n == 2
    assert found.lo <= found.value <= found.hi
    assert ceiling([[[1, 2]]]).reason == "no item was judged by three people"
