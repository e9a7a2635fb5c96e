"""The demo scripts: valid, marked, varied, and not solved by a rule that does not listen."""

from collections import Counter

import pytest

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import BriefSpec
from eqstudio.demo_scripts import FOLDER, demo_manifest, demo_script, demo_scripts

LOCAL_VOICE = {"sad", "happy", "angry", "whisper", "fast", "slow", "female", "male"}


def read(demo):
    benchmark = benchmark_get(demo.benchmark)
    brief = BriefSpec(benchmark.category(demo.category), demo.language, demo.valence, demo.setting)
    return benchmark.script_read(benchmark.script_schema.model_validate(demo.script), brief)


def variants_of(role, benchmark):
    return [
        t.variants for demo in demo_scripts() if demo.benchmark == benchmark for t in read(demo).turns if t.role == role
    ]


def people(script):
    if isinstance(script, dict):
        yield from [script["name"]] if "name" in script else []
        for part in script.values():
            yield from people(part)


def test_demo_covers_all_benchmarks_in_both_languages():
    counts = Counter((demo.benchmark, demo.language) for demo in demo_scripts())
    assert counts == {
        ("speecheq", "en"): 6,
        ("speecheq", "zh"): 4,
        ("emosbench", "en"): 6,
        ("emosbench", "zh"): 4,
        ("echomind", "en"): 5,
        ("echomind", "zh"): 3,
    }
    assert len({demo.category for demo in demo_scripts() if demo.benchmark == "speecheq"}) >= 8
    assert len({demo.category for demo in demo_scripts() if demo.benchmark == "emosbench"}) == 10
    assert {demo.category for demo in demo_scripts() if demo.benchmark == "echomind"} == LOCAL_VOICE


@pytest.mark.parametrize("demo", demo_scripts(), ids=lambda demo: demo.id)
def test_demo_script_is_valid_and_its_row_is_known_to_the_benchmark(demo):
    benchmark = benchmark_get(demo.benchmark)
    assert demo.valence in benchmark.valences
    assert demo.setting in benchmark.settings
    assert read(demo).title


@pytest.mark.parametrize("demo", demo_scripts(), ids=lambda demo: demo.id)
def test_demo_lines_are_short(demo):
    for turn in read(demo).turns:
        for variant in turn.variants:
            words = len(variant.text.split()) if demo.language == "en" else len(variant.text) / 2
            assert 3 <= words <= 15


def test_demo_is_marked_and_files_hold_nothing_that_the_manifest_does_not_name():
    assert demo_manifest()["demo"] is True
    assert set(demo_manifest()["notice"]) == {"en", "zh"}
    named = {f"{demo.benchmark}-{demo.language}.toml" for demo in demo_scripts()} | {"manifest.toml"}
    assert {path.name for path in FOLDER.glob("*.toml")} == named
    assert len({demo.id for demo in demo_scripts()}) == len(demo_scripts())


def test_no_name_is_used_twice():
    names = [name for demo in demo_scripts() for name in people(demo.script)]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert not {"Alex", "Jordan"} & set(names)


def test_demo_script_is_found_by_kind_and_ordinal_and_is_a_copy():
    demo = demo_scripts()[0]
    found = demo_script(demo.benchmark, demo.category, demo.language, 0)
    assert found == demo.script
    found["s1"] = None
    assert demo_script(demo.benchmark, demo.category, demo.language, 0) == demo.script
    assert demo_script(demo.benchmark, demo.category, demo.language, 1) is None
    assert demo_script("speecheq", "nonsense", "en", 0) is None


@pytest.mark.parametrize("cue", ["volume", "rate", "pitch", "pitch_range"])
def test_no_single_number_tells_high_from_low_in_the_demo(cue):
    values = [[getattr(v.delivery, cue) for v in pair] for pair in variants_of("critical", "speecheq")]
    assert len(values) == 20
    assert 7 <= sum(high > low for high, low in values) <= 13


def test_neither_length_nor_loudness_tells_the_best_response_in_the_demo():
    groups = variants_of("response", "emosbench")
    longest = Counter(max(group, key=lambda v: len(v.text)).grade for group in groups)
    quietest = sum(
        group[3].delivery.volume == min(v.delivery.volume for v in group)
        and sum(v.delivery.volume == group[3].delivery.volume for v in group) == 1
        for group in groups
    )
    assert max(longest.values()) <= 5
    assert quietest <= 3
