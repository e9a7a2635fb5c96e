"""Twenty kills of workers and server over an exam of 2,000 questions."""

from __future__ import annotations

from random import Random

import pytest

from tests.evaluation.exam_kills import exam_survives

KILLS = 20


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1])
def test_two_thousand_answers_survive_twenty_kills(tmp_path, seed):
    rng = Random(seed)
    victims = [rng.choice(("worker", "worker", "server")) for _kill in range(KILLS)]
    exam_survives(tmp_path, items=1000, victims=victims, seed=seed, patience_s=1800)
