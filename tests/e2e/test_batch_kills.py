"""Worker and broker are killed while a batch is made; the long version is in tests/soak."""

from __future__ import annotations

import pytest

from tests.e2e.kills import batch_survives
from tests.e2e.studio import studio_on


@pytest.mark.long
def test_a_batch_survives_the_kill_of_its_worker_and_of_the_broker(tmp_path):
    with studio_on(tmp_path) as studio:
        batch_survives(studio, count=12, victims=["worker", "broker"], seed=7, patience_s=240)
