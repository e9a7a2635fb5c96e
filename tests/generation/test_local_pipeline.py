"""The three benchmarks through the parts that come with the studio: written by hand, spoken and heard on this machine."""

from __future__ import annotations

import pytest

from generation.models import Clip, QcReport, Variant
from tests.generation.pipeline import advance, one_briefed

pytestmark = [pytest.mark.django_db, pytest.mark.local]
HEARD_AT_LEAST = 0.7
"""Share of the lines that the small transcriber hears as written; it mishears short ones."""


@pytest.mark.parametrize(
    ("benchmark", "category", "language"),
    [("speecheq", "interpersonal_empathy", "en"), ("emosbench", "bap", "en"), ("echomind", "happy", "zh")],
)
def test_a_benchmark_is_made_end_to_end_on_this_machine(benchmark, category, language):
    by = {"text_provider": "demo", "voice_provider": "local", "transcriber": "local"}
    dialogue = advance(one_briefed(benchmark=benchmark, category=category, language=language, **by), times=3)

    spoken = Variant.objects.filter(turn__dialogue=dialogue)
    words = QcReport.objects.filter(dialogue=dialogue, check_name="transcript")
    others = QcReport.objects.filter(dialogue=dialogue, check_name__in=["decodable", "duration", "silence", "clipping"])
    assert (dialogue.state in {"ready", "flagged"}, dialogue.error) == (True, "")
    assert spoken.filter(clip=None).count() == 0
    assert Clip.objects.filter(variants__in=spoken, duration__gt=0.3).distinct().count() == spoken.count()
    assert set(others.values_list("passed", flat=True)) == {True}
    assert words.count() == spoken.count()
    if language == "en":  # in Chinese one character of a short line weighs more than the 5 % allow
        assert words.filter(passed=True).count() >= HEARD_AT_LEAST * words.count()
