"""Which items a study asks: allocation and draw, stored once, and the same for people, models and the comparison."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqstudio.errors import Conflict
from eqstudio.models import Event
from evaluation.domain.sampling import allocation, sample_draw
from evaluation.models import StudyItem
from evaluation.selectors import dialogue_order, items_of, sample_of, sitting_progress, weights_of
from evaluation.services import comparison_build, protocol_lock, protocol_save, sitting_open, study_create
from tests.eqstudio.factories import annotator
from tests.evaluation.factories import (
    model_respondent,
    right_answer,
    sit_through,
    speecheq_study,
    split_of,
    wrong_answer,
)
from tests.generation.factories import speecheq_dialogue

SIZES = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(1, 40), min_size=1, max_size=8)


def test_allocation_is_proportional_with_the_largest_remainders():
    assert allocation({"a": 50, "b": 30, "c": 20}, 10) == {"a": 5, "b": 3, "c": 2}
    assert allocation({"a": 5, "b": 3, "c": 3}, 5) == {"a": 2, "b": 2, "c": 1}


def test_a_small_stratum_is_asked_where_the_size_allows():
    assert allocation({"large": 98, "tiny": 1, "small": 1}, 10) == {"large": 8, "tiny": 1, "small": 1}
    assert allocation({"large": 98, "tiny": 1, "small": 1}, 2) == {"large": 2, "tiny": 0, "small": 0}


@given(SIZES, st.data())
def test_an_allocation_fits_the_sample_and_the_strata(sizes, data):
    size = data.draw(st.integers(1, sum(sizes.values())))
    given_ = allocation(sizes, size)
    assert sum(given_.values()) == size
    assert all(0 <= given_[name] <= sizes[name] for name in sizes)
    assert size < len(sizes) or min(given_.values()) >= 1


@given(SIZES, st.integers(0, 99), st.data())
def test_a_draw_hangs_on_the_seed_and_the_items_alone(sizes, seed, data):
    strata = dict(enumerate(name for name, count in sizes.items() for _ in range(count)))
    size = data.draw(st.integers(1, len(strata)))
    names = {item: f"uid{item:03}" for item in strata}
    drawn = sample_draw(strata, plan="stratified", size=size, seed=seed, names=names)
    turned = sample_draw(dict(reversed(strata.items())), plan="stratified", size=size, seed=seed, names=names)
    assert sorted(one.item for one in drawn) == sorted(one.item for one in turned)
    assert len({one.item for one in drawn}) == size
    if len(sizes) <= size:
        assert sum(1 / one.probability for one in drawn) == pytest.approx(len(strata))


def test_another_seed_draws_other_items():
    strata = dict.fromkeys(range(40), "")
    names = {item: f"{item:03}" for item in strata}
    draws = {
        tuple(one.item for one in sample_draw(strata, plan="random", size=10, seed=seed, names=names))
        for seed in range(5)
    }
    assert len(draws) == 5


def test_a_simple_random_sample_asks_everything_equally_often():
    strata = dict.fromkeys(range(10), "")
    names = {item: str(item) for item in strata}
    counts = dict.fromkeys(strata, 0)
    for seed in range(2_000):
        for one in sample_draw(strata, plan="random", size=3, seed=seed, names=names):
            counts[one.item] += 1
    assert all(abs(count - 600) < 120 for count in counts.values())


@pytest.fixture
def mixed(db):
    """Eight items in two languages, six and two."""
    split = split_of([speecheq_dialogue(language=language) for language in ["en"] * 6 + ["zh"] * 2])
    return study_create(name="mixed", split=split)


def plan(study, **sampling):
    protocol_save(study=study, content={"sampling": sampling})
    return study


def test_a_lock_stores_the_draw_with_its_probabilities(mixed):
    protocol_lock(study=plan(mixed, plan="stratified", size=4, by="language", seed=3))
    rows = list(StudyItem.objects.filter(study=mixed).order_by("pk").values_list("stratum", "probability"))
    assert sorted(rows) == [("en", 0.5), ("en", 0.5), ("en", 0.5), ("zh", 0.5)]
    assert Event.objects.get(verb="sample_draw").detail == {"plan": "stratified", "items": 4, "seed": 3}
    assert weights_of(mixed) == {}


def test_the_first_sitting_stores_the_draw_where_nothing_was_locked(mixed):
    plan(mixed, plan="random", size=3)
    sitting = sitting_open(study=mixed, user=annotator())
    other = sitting_open(study=mixed, respondent=model_respondent(mixed))
    drawn = set(StudyItem.objects.filter(study=mixed).values_list("dialogue_id", flat=True))
    assert (set(dialogue_order(sitting=sitting)), set(dialogue_order(sitting=other))) == (drawn, drawn)
    assert (len(drawn), sitting_progress(sitting=sitting).total) == (3, 3)
    with pytest.raises(Conflict, match="drawn"):
        protocol_save(study=mixed, content={"sampling": {"plan": "random", "size": 5}})


def test_a_pilot_draws_by_the_plan_and_stores_nothing(mixed):
    protocol_save(study=mixed, content={"sampling": {"plan": "random", "size": 2}, "execution": {"pilot": True}})
    sitting = sitting_open(study=mixed, user=annotator())
    assert (len(dialogue_order(sitting=sitting)), StudyItem.objects.count()) == (2, 0)
    assert sitting_progress(sitting=sitting).total == 2


@pytest.mark.django_db
def test_a_full_plan_stores_nothing_and_asks_everything():
    study = speecheq_study(items=3)
    protocol_lock(study=study)
    assert (StudyItem.objects.count(), len(items_of(study=study))) == (0, 3)


def test_everybody_is_compared_on_the_items_of_the_study(mixed):
    whole = sit_through(mixed, respondent=model_respondent(mixed, name="before"), choose=right_answer)
    assert comparison_build(study=mixed)["items"] == 8
    for item in list(items_of(study=mixed))[:3]:
        StudyItem.objects.create(study=mixed, dialogue_id=item, stratum="", probability=3 / 8)
    sit_through(mixed, user=annotator(), choose=wrong_answer)
    result = comparison_build(study=mixed)
    rows = {row["name"]: row["estimates"]["acc_traj"] for row in result["respondents"]}
    assert (result["items"], rows["before"]["n"], rows["people (mean)"]["n"]) == (3, 3, 3)
    assert whole.trials.values("dialogue").distinct().count() == 8


def test_a_sample_tells_what_each_stratum_gives(mixed):
    from evaluation.domain.protocol import Sampling

    sampling = Sampling(plan="stratified", size=3, by="language")
    before = sample_of(study=mixed, sampling=sampling)
    protocol_lock(study=plan(mixed, plan="stratified", size=3, by="language"))
    after = sample_of(study=mixed, sampling=sampling)
    assert (before.drawn, after.drawn, before.hash == after.hash, after.uneven) == (False, True, True, True)
    assert [(one.name, one.size, one.drawn) for one in after.strata] == [("en", 6, 2), ("zh", 2, 1)]
    assert sorted(weights_of(mixed).values()) == [2.0, 3.0, 3.0]
