"""Trials: they end, they hold no key, their order is fair, and they ask only for what can be heard."""

import json
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqstudio.benchmarks import benchmark_get, benchmarks
from eqstudio.benchmarks.base import Answered
from eqstudio.benchmarks.trials import Outcome, Parsed, Trial, TrialKind
from tests.eqstudio.benchmark_items import (
    EVERY_CATEGORY,
    EVERY_LANGUAGE,
    example_item,
    guess,
    item_of,
    oracle,
    relabelled,
    sit,
    spec_of,
    variant_by_uid,
)

FAILED = [Parsed(outcome) for outcome in Outcome if outcome is not Outcome.ANSWERED]
COUNTS = {"speecheq": {2}, "emosbench": {4}, "echomind": {5}}


def strings(value):
    if isinstance(value, dict):
        return [text for part in value.values() for text in strings(part)]
    if isinstance(value, list | tuple):
        return [text for part in value for text in strings(part)]
    return [value] if isinstance(value, str) else []


def all_trials(benchmark, item, seed=0):
    rng = Random(seed)
    return [answer.trial for answer in sit(benchmark, item, lambda trial: guess(trial, rng), seed)]


@given(alias=st.sampled_from(list(benchmarks)), index=st.integers(0, 60), data=st.data())
@settings(max_examples=120, deadline=None)
def test_every_sitting_ends_whatever_is_answered(alias, index, data):
    benchmark, item = example_item(alias, index=index)
    rng = Random(data.draw(st.integers(0, 10**6)))
    answers = sit(benchmark, item, lambda trial: rng.choice([*FAILED, guess(trial, rng)]), seed=index)
    keys = [answer.trial.key for answer in answers]
    assert len(keys) in COUNTS[alias]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(("alias", "key", "language"), EVERY_CATEGORY)
def test_trial_survives_json(alias, key, language):
    benchmark = benchmark_get(alias)
    item = item_of(spec_of(benchmark, key, language), key, language)
    for trial in all_trials(benchmark, item):
        assert Trial.from_dict(json.loads(json.dumps(trial.as_dict(), ensure_ascii=False))) == trial


@pytest.mark.parametrize(("alias", "key", "language"), EVERY_CATEGORY)
def test_trial_holds_no_label_tone_or_persona(alias, key, language):
    benchmark = benchmark_get(alias)
    spec = spec_of(benchmark, key, language)
    item = item_of(spec, key, language)
    labels = {variant.label for turn in item.turns for variant in turn.variants}
    secret = {variant.tone for turn in item.turns for variant in turn.variants if turn.role != "context"}
    secret |= {variant.rationale for turn in spec.turns for variant in turn.variants} - {""}
    secret |= {str(value) for name, value in item.scenario.items() if "persona" in name and len(str(value)) > 12}
    for trial in all_trials(benchmark, item):
        shown = strings(trial.as_dict())
        assert not labels & set(shown)
        rubric = {level.anchor[language] for level in benchmark.rubric(key)}
        assert not [text for text in secret - rubric for part in shown if text in part]


@pytest.mark.parametrize(("alias", "language"), EVERY_LANGUAGE)
def test_labels_do_not_change_what_is_shown(alias, language):
    for index in range(12):
        benchmark, item = example_item(alias, language=language, index=index)
        assert all_trials(benchmark, relabelled(item), seed=index) == all_trials(benchmark, item, seed=index)


@pytest.mark.parametrize("index", range(39))
def test_echomind_gives_neither_category_nor_name_away(index):
    benchmark, item = example_item("echomind", index=index)
    for trial in all_trials(benchmark, item):
        assert trial.category == ""
        assert trial.scenario == ""
        assert [segment.speaker for segment in trial.context] == ["Speaker"]


@pytest.mark.parametrize("alias", benchmarks)
def test_order_is_stable_within_a_sitting_and_even_over_seeds(alias):
    benchmark, item = example_item(alias)
    first = Counter()
    for seed in range(400):
        trials = all_trials(benchmark, item, seed)
        assert trials == all_trials(benchmark, item, seed)
        asked = next(t for t in trials if t.kind in {TrialKind.CHOICE, TrialKind.GRADE, TrialKind.MCQ})
        first[asked.options[0].variant or asked.options[0].text] += 1
    expected = 400 / {"speecheq": 2, "emosbench": 4, "echomind": 4}[alias]
    assert len(first) == 400 / expected
    assert all(abs(count - expected) < 45 for count in first.values())


def test_second_order_is_independent_of_the_first_in_speecheq():
    benchmark, item = example_item("speecheq")
    pairs = Counter()
    for seed in range(400):
        trials = all_trials(benchmark, item, seed)
        pairs[tuple(variant_by_uid(item, t.options[0].variant).label for t in trials)] += 1
    assert len(pairs) == 4
    assert all(65 < count < 135 for count in pairs.values())


@pytest.mark.parametrize("letter", ["A", "B"])
def test_speecheq_chosen_rendition_becomes_context(letter):
    benchmark, item = example_item("speecheq")
    first, second = (a.trial for a in sit(benchmark, item, lambda trial: Parsed(Outcome.ANSWERED, letter)))
    chosen = next(option.variant for option in first.options if option.letter == letter)
    assert (first.key, second.key) == ("s4", "s6")
    assert [s.variant for s in first.context] == [turn.variants[0].uid for turn in item.turns[:3]]
    assert [s.variant for s in second.context[3:]] == [chosen, item.turns[4].variants[0].uid]
    assert [option.letter for option in second.options] == ["A", "B"]
    assert first.question == second.question


@pytest.mark.parametrize("parsed", FAILED, ids=lambda parsed: parsed.outcome)
def test_speecheq_goes_on_with_the_first_rendition_when_none_was_chosen(parsed):
    benchmark, item = example_item("speecheq")
    first, second = (answer.trial for answer in sit(benchmark, item, lambda trial: parsed))
    assert second.context[3].variant == first.options[0].variant


def test_speecheq_shows_title_and_context_and_never_the_description():
    benchmark, item = example_item("speecheq")
    item.scenario["description"] = "She should sound calm here."
    trial = all_trials(benchmark, item)[0]
    assert trial.scenario == f"{item.scenario['title']}\n{item.scenario['context']}"
    assert trial.context[0].speaker == item.scenario["speaker1_name"]


def test_emosbench_asks_once_for_every_response_with_all_that_was_said():
    benchmark, item = example_item("emosbench", index=2)
    trials = all_trials(benchmark, item)
    responses = {variant.uid for variant in item.turns[-1].variants}
    assert {trial.key for trial in trials} == {f"grade-{uid}" for uid in responses}
    for trial in trials:
        assert (trial.kind, trial.scale) == (TrialKind.GRADE, (1, 4))
        assert [option.variant for option in trial.options] == [trial.key.removeprefix("grade-")]
        assert [segment.variant for segment in trial.context] == [t.variants[0].uid for t in item.turns[:-1]]


def test_echomind_asks_in_order_about_one_recording():
    benchmark, item = example_item("echomind", index=8)
    trials = all_trials(benchmark, item)
    assert [trial.key for trial in trials] == [
        "asr",
        "mcq-understanding-1",
        "mcq-understanding-2",
        "mcq-reasoning-1",
        "reply",
    ]
    assert len({trial.context for trial in trials}) == 1


def test_echomind_hears_every_delivery_about_equally_often():
    benchmark = benchmark_get("echomind")
    heard = Counter()
    for number in range(300):
        item = item_of(spec_of(benchmark, "happy", "en"), "happy", "en", uid=f"item{number}")
        trial = benchmark.next_trial(item, [], Random(0))
        heard[variant_by_uid(item, trial.context[0].variant).label] += 1
    assert set(heard) == {"target", "neutral", "alternative"}
    assert min(heard.values()) > 70


@pytest.mark.parametrize(
    ("alias", "silent", "keys"),
    [
        ("speecheq", ("low",), []),
        ("speecheq", ("only",), ["s4", "s6"]),
        ("emosbench", ("1", "2", "3", "4"), []),
        ("emosbench", ("only",), ["4 grades"]),
        ("echomind", ("target", "neutral", "alternative"), []),
    ],
)
def test_only_what_has_audio_is_asked_for(alias, silent, keys):
    benchmark, item = example_item(alias, index=8, silent=silent)
    trials = all_trials(benchmark, item)
    found = [trial.key for trial in trials]
    assert found == keys or [f"{len(found)} grades"] == keys
    for trial in trials:
        for segment in trial.context:
            assert (segment.variant is None) == ("only" in silent and segment.text is not None)


def test_line_without_audio_is_read_instead():
    benchmark, item = example_item("speecheq", silent=("only",))
    trial = benchmark.next_trial(item, [], Random(0))
    assert [segment.text for segment in trial.context] == [turn.variants[0].text for turn in item.turns[:3]]


def test_echomind_with_one_recording_asks_about_that_one():
    benchmark, item = example_item("echomind", index=8, silent=("target", "neutral"))
    trial = benchmark.next_trial(item, [], Random(0))
    assert variant_by_uid(item, trial.context[0].variant).label == "alternative"


def test_answers_in_hand_are_not_asked_again():
    for alias in benchmarks:
        benchmark, item = example_item(alias, index=3)
        done = sit(benchmark, item, lambda trial, item=item: oracle(item, trial))
        half = done[: len(done) // 2]
        following = benchmark.next_trial(item, half, Random(0))
        assert following == done[len(half)].trial
        assert benchmark.next_trial(item, [Answered(a.trial, a.parsed) for a in reversed(done)], Random(0)) is None
