"""A run survives SIGKILL: of a worker and of the server it asks."""

from tests.evaluation.exam_kills import exam_survives


def test_a_run_shared_by_two_workers_survives_two_kills(tmp_path):
    exam_survives(tmp_path, items=400, victims=["worker", "server"], seed=1, patience_s=120)
