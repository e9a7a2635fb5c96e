"""How far people agree, by subscale, and who answers against the grain of the others: by hand, on a study and on the page."""

from itertools import product

import numpy as np
import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.agreement import agreement
from annotation.domain.ratings import Rating
from evaluation.domain import person_fit
from evaluation.domain.person_fit import Said, fits_of
from evaluation.selectors import sittings_told
from evaluation.services import protocol_lock
from evaluation.services.human_agreement import human_build
from tests.eqstudio.factories import annotator, researcher
from tests.evaluation.factories import emosbench_study, right_answer, sit_through, speecheq_study, wrong_answer
from tests.evaluation.people import protocol


def said(table, reach=0.0):
    """Persons by items; None: not asked."""
    return [
        Said(person, item, "q", value, reach)
        for person, row in enumerate(table)
        for item, value in enumerate(row)
        if value is not None
    ]


def test_fit_by_hand():
    """Three persons agree on four items, the fourth never does: nearness 2/3 and 0, the mean 1/2."""
    found = {one.person: one for one in fits_of(said([[0] * 4, [0] * 4, [0] * 4, [1] * 4]))}
    spread = np.sqrt(4 * np.mean([(1 / 6) ** 2] * 3 + [0.5**2]))
    assert (found[3].same, found[3].expected, found[3].n) == (0, 0.5, 4)
    assert found[3].z == pytest.approx(4 * -0.5 / spread)
    assert found[3].p == pytest.approx(1 / 4**4), "the odd answer of each item is dealt to one of four"
    assert found[0].z == pytest.approx(4 * (1 / 6) / spread)
    assert set(found[3].against) == {0, 1, 2, 3}
    assert found[0].against == ()


def test_a_grade_one_step_off_is_nearer_than_one_three_steps_off():
    found = fits_of(said([*[[1, 4, 2]] * 3, [2, 3, 3], [4, 1, 4]], reach=3.0))
    assert [one.person for one in found] == [4, 3, 0, 1, 2]


def test_two_people_and_one_mind_tell_nothing():
    assert fits_of(said([[0, 1], [1, 0]])) == []
    assert [one.z for one in fits_of(said([[0, 1]] * 3))] == [None] * 3
    camps = fits_of(said([[0] * 30] * 3 + [[1] * 30] * 3))
    assert [(one.z, one.p) for one in camps] == [(None, None)] * 6, "everybody is as near to the others as anybody"


@given(st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=3, max_size=6))
def test_fit_is_relative_and_does_not_depend_on_order(table):
    found = fits_of(said(table))
    known = [one.z for one in found if one.z is not None]
    assert sum(known) == pytest.approx(0, abs=1e-9)
    backwards = fits_of(reversed(said(table)))
    assert [(one.person, one.n) for one in backwards] == [(one.person, one.n) for one in found]


def test_one_who_differs_once_among_ten_is_one_in_ten():
    found = fits_of(said([*[[0]] * 9, [1]]))
    assert [one.p for one in found] == [pytest.approx(0.1), *[pytest.approx(1)] * 9]


def test_p_is_what_every_deal_of_the_answers_says():
    """Grades, and a question that one person skipped: against all 4 * 4 * 3 * 4 deals to one person, item by item."""
    table = [[1, 4, 2, 3], [2, 4, None, 3], [1, 2, 2, 1], [4, 4, 1, 3]]
    near = [
        [1 - np.mean([abs(a - b) / 3 for b in rest]) for a, rest in column]
        for column in map(others, zip(*table, strict=True))
    ]
    for one in fits_of(said(table, reach=3.0)):
        items = [item for item, grade in enumerate(table[one.person]) if grade is not None]
        sums = [sum(deal) for deal in product(*(near[item] for item in items))]
        assert one.p == pytest.approx(np.mean(np.array(sums) <= one.same * len(items) + 1e-9))


def others(column):
    given = [grade for grade in column if grade is not None]
    return [(grade, given[:place] + given[place + 1 :]) for place, grade in enumerate(given)]


STUDIES = 300


@pytest.mark.parametrize(("people", "items", "rare"), [(20, 30, 0.05), (20, 30, 0.1), (8, 20, 0.1), (6, 40, 0.5)])
def test_random_answers_are_rarely_called_against_the_grain_however_rare_the_rarer_one_is(people, items, rare):
    """Over studies in which nobody is: in how many somebody is accused, after Holm."""
    rng = np.random.default_rng(5)
    studies = [fits_of(said((rng.random((people, items)) < rare).astype(int).tolist())) for _ in range(STUDIES)]
    lowest = [min(one.p for one in found if one.p is not None) for found in studies]
    assert np.mean([p * people < 0.05 for p in lowest]) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / STUDIES)


def test_sums_too_fine_for_the_lattice_are_near_the_exact_ones(monkeypatch):
    table = said((np.random.default_rng(2).random((12, 60)) < 0.2).astype(int).tolist())
    exact = {one.person: one.p for one in fits_of(table)}
    monkeypatch.setattr(person_fit, "CELLS", 500)
    assert {one.person: one.p for one in fits_of(table)} == pytest.approx(exact, abs=0.03)


def crowd(study, against=1):
    for number in range(4):
        choose = wrong_answer if number < against else right_answer
        sit_through(study, user=annotator(username=f"crowd{number}"), choose=choose)
    sit_through(study, user=researcher(), choose=wrong_answer)


@pytest.mark.django_db
def test_people_of_a_study_agree_by_subscale_over_the_options_themselves():
    study = speecheq_study(items=6)
    crowd(study)
    sats = sittings_told(study=study)
    found = human_build(study=study, sats=sats)
    whole = found.subscales[0]
    assert (whole.label, whole.graded, whole.people, whole.n) == (None, False, 4, 12)
    assert whole.same.value == pytest.approx(0.5)
    ratings = [
        Rating((one.item, one.key), person, one.among.index(one.chosen))
        for person, sat in sats.items()
        if not sat.key_access
        for one in sat.given
    ]
    assert whole.alpha.value == pytest.approx(
        agreement(ratings, names=["alpha_nominal"]).estimates["alpha_nominal"].value
    )
    assert found.fits[0].fit.same == 0
    assert found.fits[0].p_holm < 0.05
    assert [one.p_holm for one in found.fits[1:]] == [1, 1, 1]
    assert human_build(study=study, sats=sats, out={found.fits[0].fit.person}).subscales[0].same.value == 1


@pytest.mark.django_db
def test_grades_are_ordinal():
    study = emosbench_study(items=3)
    crowd(study)
    whole = human_build(study=study, sats=sittings_told(study=study)).subscales[0]
    assert (whole.graded, whole.people) == (True, 4)
    assert whole.alpha.value is not None


@pytest.mark.django_db
def test_the_page_names_nobody_before_it_is_unblinded(client):
    study = speecheq_study(items=6)
    protocol(study)
    protocol_lock(study=study)
    crowd(study)
    client.force_login(researcher(username="rita"))
    address = reverse("study_people", args=[study.uid])
    before = client.get(address).content.decode()
    client.post(reverse("study_unblind", args=[study.uid]))
    after = client.get(address).content.decode()
    assert "1 of 4 people answers otherwise than the others" in before
    assert "Most apart on" not in before
    assert "Most apart on" in after
    assert study.split.items.first().dialogue.uid in after
