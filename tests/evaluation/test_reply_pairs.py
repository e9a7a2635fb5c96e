"""Who stands beside whom among judged replies, and whose are judged better."""

import numpy as np
import pytest

from evaluation.selectors.replies import replies_of
from evaluation.services.reply_results import replies_build
from tests.eqstudio.factories import annotator, researcher
from tests.evaluation.test_judging import judge_all, replied, study, worth  # noqa: F401 -- a fixture

pytestmark = pytest.mark.django_db


def test_who_can_read_the_key_replies_in_a_line_of_their_own(study):  # noqa: F811
    for user in (annotator(username="sitter"), researcher()):
        replied(study, "", user=user)
    kept_out, taken_in = (replies_build(study, with_key=with_key)["rows"] for with_key in (False, True))
    assert [(row["name"], row["kind"], row["replies"]) for row in kept_out] == [
        ("people (mean)", "people", 3),
        ("warm", "model", 3),
        ("cold", "model", 3),
        ("Person 2", "person", 3),
    ]
    assert [row["replies"] for row in taken_in] == [6, 3, 3]


def test_pairs_are_corrected_within_a_scale_an_assessor_and_a_family(study):  # noqa: F811
    for name in ("sitter", "other"):
        replied(study, "", user=annotator(username=name))
    judge_all(study, annotator(username="judge"), worth)
    pairs = [pair for pair in replies_build(study)["pairs"] if pair["scale"] == "context_fit"]
    assert [(pair["by"], pair["a"], pair["b"], pair["family"], pair["family_size"]) for pair in pairs] == [
        ("", "people (mean)", "warm", "people", 2),
        ("", "people (mean)", "cold", "people", 2),
        ("", "warm", "cold", "systems", 1),
    ]
    gaps = [worth(r) - 2 for r in replies_of(study=study).filter(trial__sitting__respondent__name="warm")]
    assert pairs[2]["difference"]["value"] == pytest.approx(np.mean(gaps))
    assert (pairs[2]["difference"]["n"], pairs[2]["p"]) == (3, 0.25)
    assert pairs[2]["difference"]["lo"] > 0
