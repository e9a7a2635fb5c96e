"""Every benchmark's script can be voiced by the pipeline, and a rendition by another speaker gets another voice."""

import pytest

from eqstudio.benchmarks import benchmark_get, benchmarks
from generation.models import ProviderCall, Variant
from generation.providers import voice_providers
from tests.generation.pipeline import advance, one_briefed

pytestmark = pytest.mark.django_db


def voices_of(dialogue):
    calls = ProviderCall.objects.filter(dialogue=dialogue, kind="voice")
    return {call.parameters["delivery"]["gender"]: call.parameters["voice"] for call in calls}


@pytest.mark.every_case
@pytest.mark.parametrize("alias", benchmarks)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_example_goes_through_the_pipeline(alias, language):
    benchmark = benchmark_get(alias)
    fields = {"valence": benchmark.valences[0], "setting": benchmark.settings[0], "language": language}
    dialogue = one_briefed(benchmark=alias, category=benchmark.categories[0].key, **fields)
    dialogue = advance(dialogue, times=3)
    assert dialogue.error == ""
    assert dialogue.state in {"ready", "flagged"}
    assert not Variant.objects.filter(turn__dialogue=dialogue, clip=None).exists()


def test_gender_of_a_delivery_goes_before_that_of_the_turn():
    fields = {"valence": "neutral", "setting": "beauty"}
    dialogue = advance(one_briefed(benchmark="echomind", category="female", **fields), times=2)
    turn = dialogue.turns.get()
    voice = voice_providers.get("fake")()
    assert turn.gender == "female"
    assert voices_of(dialogue) == {
        "female": turn.voice,
        "male": voice.voice_for(gender="male", language="en", index=0),
    }
