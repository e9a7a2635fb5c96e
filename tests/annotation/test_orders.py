"""Where ranks lead: every item once, the best first, and everybody from a place of their own."""

from collections import Counter
from itertools import pairwise

import pytest
from django.db import connection
from django.db.models import F
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.assignment import CIRCLE, ORDERS, View, cursor_after, looks, shuffle_place
from annotation.models import RoundItem
from eqstudio.errors import UnknownAlias

ITEM = st.builds(
    dict,
    pk=st.integers(1, 10**6),
    shuffle=st.integers(0, CIRCLE - 1),
    held=st.integers(0, 6),
    category=st.sampled_from("abc"),
    disagreement=st.sampled_from([0.0, 0.25, 0.5]),
)
ITEMS = st.lists(ITEM, max_size=25, unique_by=lambda item: item["pk"])


def walked(items, order, view):
    """What ``looks`` finds among ``items``, in order, each once; the database's part in plain Python."""
    found = []
    for look in looks(order, view):
        inside = [
            item
            for item in items
            if look.after < item[look.along] and (look.upto is None or item[look.along] <= look.upto)
        ]
        taken = [item for item in inside if any(_fits(item, where) for where in look.where)]
        found += [item for item in sorted(taken, key=lambda item: item[look.along]) if item not in found]
    return found


def _fits(item, where):
    return all(item["held"] >= value if name == "held__gte" else item[name] == value for name, value in where.items())


VIEW = st.builds(
    View,
    start=st.integers(0, CIRCLE - 1),
    cursor=st.integers(0, CIRCLE - 1),
    people=st.integers(1, 5),
    latest=st.sampled_from(["", "a", "b", "c", "elsewhere"]),
    categories=st.just(("a", "b", "c")),
    doubts=st.just((0.5, 0.25)),
)


@given(ITEMS, st.sampled_from(sorted(ORDERS)), VIEW)
def test_every_order_leads_to_every_item_once(items, order, view):
    assert Counter(item["pk"] for item in walked(items, order, view)) == Counter(item["pk"] for item in items)


@given(ITEMS, VIEW)
def test_what_an_order_puts_first(items, view):
    held = [min(item["held"], view.people) for item in walked(items, "fewest_first", view)]
    doubts = [item["disagreement"] for item in walked(items, "least_agreed_first", view)]
    categories = [item["category"] for item in walked(items, "category_balanced", view)]
    ids = [item["pk"] for item in walked(items, "fixed", View(cursor=0))]

    assert held == sorted(held)
    assert doubts == sorted(doubts, reverse=True)
    assert len([1 for one, two in pairwise(categories) if one != two]) <= 2
    assert ids == sorted(ids)


@given(st.integers(0, CIRCLE - 1), st.integers(0, CIRCLE - 1))
def test_the_cursor_leads_to_where_the_person_was(start, place):
    assert View(start=start, cursor=cursor_after("random", start=start, place=place, pk=1)).position == place


def test_people_begin_at_different_places():
    starts = [shuffle_place(seed="7", key=f"person-{number}") for number in range(200)]

    assert len({start * 10 // CIRCLE for start in starts}) == 10


def test_an_unknown_order_names_those_there_are():
    with pytest.raises(UnknownAlias, match="category_balanced, fewest_first, fixed, least_agreed_first, random"):
        looks("best", View())


@pytest.mark.every_case
@pytest.mark.django_db
@pytest.mark.parametrize(
    "look",
    [look for order in sorted(ORDERS) for look in looks(order, View(people=2, categories=("a",), doubts=(0.5,)))],
)
def test_every_look_is_the_range_of_an_index_that_needs_no_sorting(look):
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off"
            )
    items = RoundItem.objects.filter(round=1, kind="work", closed_at=None, held__lt=F("wanted"))
    for where in look.where:
        plan = items.filter(**{f"{look.along}__gt": look.after}, **where).order_by(look.along)[:16].explain()

        assert "round_item_" in plan, plan
        assert "held__gte" in where or ("Sort" not in plan and "B-TREE" not in plan), plan
