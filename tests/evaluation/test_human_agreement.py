"""How far people agree, by subscale, and who answers against the grain of the others: by hand, on a study and on the page."""

import numpy as np
import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.agreement import agreement
from annotation.domain.ratings import Rating
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
    assert found[3].p == pytest.approx(0.5 * (1 - 0.9994680), rel=1e-3)
    assert found[0].z == pytest.approx(4 * (1 / 6) / spread)
    assert set(found[3].against) == {0, 1, 2, 3}
    assert found[0].against == ()


def test_a_grade_one_step_off_is_nearer_than_one_three_steps_off():
    found = fits_of(said([*[[1, 4, 2]] * 3, [2, 3, 3], [4, 1, 4]], reach=3.0))
    assert [one.person for one in found] == [4, 3, 0, 1, 2]


def test_two_people_and_one_mind_tell_nothing():
    assert fits_of(said([[0, 1], [1, 0]])) == []
    assert [one.z for one in fits_of(said([[0, 1]] * 3))] == [None] * 3


@given(st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=3, max_size=6))
def test_fit_is_relative_and_does_not_depend_on_order(table):
    found = fits_of(said(table))
    known = [one.z for one in found if one.z is not None]
    assert sum(known) == pytest.approx(0, abs=1e-9)
    backwards = fits_of(reversed(said(table)))
    assert [(one.person, one.n) for one in backwards] == [(one.person, one.n) for one in found]


def test_random_answers_are_rarely_called_against_the_grain():
    rng = np.random.default_rng(5)
    low = [one.p < 0.05 for _ in range(60) for one in fits_of(said(rng.integers(0, 2, (6, 40)).tolist()))]
    assert np.mean(low) < 0.09


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
