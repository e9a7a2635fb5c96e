"""Twenty kills of worker, web, broker and beat over a batch of 500."""

from __future__ import annotations

from random import Random

import pytest

from tests.e2e.kills import VICTIMS, batch_survives
from tests.e2e.studio import studio_on

KILLS = 20


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1])
def test_five_hundred_dialogues_survive_twenty_kills(tmp_path, seed):
    rng = Random(seed)
    victims = [rng.choice(sorted(VICTIMS)) for _kill in range(KILLS)]
    with studio_on(tmp_path) as studio:
        batch_survives(studio, count=500, victims=victims, seed=seed, patience_s=3600)
