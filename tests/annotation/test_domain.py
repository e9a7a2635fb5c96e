"""The small pure parts: ranks, consensus, and what was heard."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.assignment import shown_order
from annotation.domain.consensus import chance_of_agreement, k_of_n, majority, median_grade
from annotation.domain.curation import Offered, Recipe, choose
from annotation.domain.gate import heard_share, intervals_check
from annotation.domain.leakage import text_key
from eqstudio.errors import InvalidInput


def test_shown_order_is_stable_and_balanced_over_people():
    first = Counter(shown_order({4: ["x", "y"]}, seed=f"round:{n}:item")["4"][0] for n in range(400))

    assert shown_order({4: ["y", "x"]}, seed="s") == shown_order({4: ["x", "y"]}, seed="s")
    assert 150 < first["x"] < 250


@pytest.mark.parametrize(
    ("votes", "needed", "decided"),
    [
        ("kkr", 2, "k"),
        ("kr", 2, None),
        ("kr", 1, None),
        ("kkrr", 2, None),
        ("", 1, None),
        ("kkkr", 3, "k"),
        ("kkrr", 3, None),
    ],
)
def test_k_of_n(votes, needed, decided):
    assert k_of_n(list(votes), needed=needed) == decided


@pytest.mark.parametrize(
    ("votes", "decided"), [([1, 2, 2], 2), ([1, 2], None), ([], None), ([3], 3), ([1, 1, 2, 2, 3], None)]
)
def test_majority_leaves_ties_as_ties(votes, decided):
    assert majority(votes) == decided


def test_median_may_lie_between_two_grades():
    assert (median_grade([2, 3]), median_grade([1, 4, 4]), median_grade([])) == (2.5, 4.0, None)


def test_three_of_four_is_reached_by_chance_in_a_fifth_of_the_items():
    assert chance_of_agreement(people=4, needed=3, shares=[0.25] * 4) == pytest.approx(0.203, abs=0.0005)
    assert chance_of_agreement(people=4, needed=3, shares=[0.15, 0.25, 0.35, 0.25]) == pytest.approx(0.240, abs=0.001)


def test_chance_of_agreement_is_what_counting_gives():
    hits = sum(max(Counter(votes).values()) >= 2 for votes in product(range(3), repeat=3))

    assert chance_of_agreement(people=3, needed=2, shares=[1 / 3] * 3) == pytest.approx(hits / 27)


intervals = st.lists(st.tuples(st.floats(-5, 25), st.floats(-5, 25)), max_size=12)


@given(intervals, st.floats(0.1, 20))
def test_the_heard_share_is_a_share_and_grows_with_what_is_heard(found, duration):
    share = heard_share(found, duration=duration)

    assert 0.0 <= share <= 1.0
    assert heard_share([*found, (0.0, duration)], duration=duration) == pytest.approx(1.0)
    assert heard_share(found[:-1], duration=duration) <= share + 1e-9
    assert heard_share(found + found, duration=duration) == pytest.approx(share)


@pytest.mark.parametrize(
    ("found", "duration", "share"),
    [
        ([(0, 2), (1, 3)], 4, 0.75),
        ([(3, 1)], 4, 0.0),
        ([(-1, 9)], 4, 1.0),
        ([(0, 1), (3, 4)], 4, 0.5),
        ([], 4, 0.0),
        ([(0, 1)], 0, 0.0),
    ],
)
def test_heard_share_of_known_intervals(found, duration, share):
    assert heard_share(found, duration=duration) == pytest.approx(share)


@pytest.mark.parametrize("wrong", ["0-2", [[1]], [[0, float("nan")]], [["a", 1]], [0, 2], {"a": 1}, [[0, 1]] * 2001])
def test_intervals_that_are_no_intervals_are_refused(wrong):
    with pytest.raises(InvalidInput) as raised:
        intervals_check(wrong)

    assert raised.value.field == "heard"


@given(
    st.lists(
        st.builds(Offered, key=st.integers(), identity=st.text(max_size=6), category=st.sampled_from("abc")),
        max_size=12,
        unique_by=lambda item: item.key,
    ),
    st.integers(0, 5),
    st.integers(0, 3),
)
def test_choosing_keeps_its_limits(items, size, per_category):
    chosen = choose(items, Recipe(size=size, per_category=per_category))

    assert {item.key for item in chosen} <= {item.key for item in items}
    assert not size or len(chosen) <= size
    assert not per_category or max(Counter(item.category for item in chosen).values(), default=0) <= per_category


def test_choosing_does_not_depend_on_the_order_items_came_in():
    items = [Offered(key=n, identity=str(n * 7 % 10), category="ab"[n % 2]) for n in range(10)]

    assert choose(items[::-1], Recipe(size=4)) == choose(items, Recipe(size=4))


def test_texts_that_differ_in_looks_only_have_one_key():
    assert text_key("It's  FINE, really!") == text_key("its fine — really") == "itsfinereally"
    assert text_key("我没事。") == "我没事"
