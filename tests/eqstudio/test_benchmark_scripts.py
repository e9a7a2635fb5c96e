"""Scripts: bounded schemas, valid examples, deliveries that a voice without words can tell apart."""

import copy
import itertools
import json
from random import Random

import pytest
from pydantic import ValidationError

from eqstudio.benchmarks import benchmark_get, benchmarks
from tests.eqstudio.benchmark_items import EVERY_CATEGORY, EVERY_LANGUAGE, LANGUAGES, brief_of, spec_of

LABELS = {"critical": {("high", "low"), ("target", "neutral", "alternative"), ("target", "alternative")}}
LABELS |= {"context": {("only",)}, "response": {("1", "2", "3", "4")}}


def example(alias, language="en", seed=0, index=0):
    benchmark = benchmark_get(alias)
    brief = brief_of(benchmark, benchmark.categories[index], language, seed)
    return benchmark, brief, benchmark.script_example(brief, Random(seed))


def schema_nodes(schema):
    """Every object, array and string of a JSON schema, with references left alone."""
    yield schema
    children = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    children += [schema["items"]] if "items" in schema else []
    for child in children:
        yield from schema_nodes(child)


@pytest.mark.parametrize("alias", benchmarks)
def test_schema_is_strict_and_bounded(alias):
    for node in schema_nodes(benchmark_get(alias).script_schema.model_json_schema()):
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert sorted(node["required"]) == sorted(node["properties"])
        if node.get("type") == "string":
            assert "enum" in node or node["maxLength"] <= 240
        if node.get("type") == "array":
            assert node["maxItems"] <= 4


@pytest.mark.parametrize(("alias", "key", "language"), EVERY_CATEGORY)
def test_example_is_valid_and_reads_into_a_dialogue(alias, key, language):
    benchmark = benchmark_get(alias)
    for seed in range(4):
        spec = spec_of(benchmark, key, language, seed)
        assert [turn.position for turn in spec.turns] == list(range(1, len(spec.turns) + 1))
        assert all(tuple(v.label for v in turn.variants) in LABELS[turn.role] for turn in spec.turns)
        assert any(turn.role in benchmark.review_form.graded_roles for turn in spec.turns)
        assert all(v.text and v.delivery.instruction for turn in spec.turns for v in turn.variants)
        assert json.loads(json.dumps(spec.extras, ensure_ascii=False)) == spec.extras
        assert spec.title
        assert spec.topic_key
        assert spec.template_key


@pytest.mark.parametrize(("alias", "language"), EVERY_LANGUAGE)
def test_examples_vary_with_the_rng_and_repeat_with_the_seed(alias, language):
    scripts = [json.dumps(example(alias, language, seed)[2]) for seed in range(12)]
    assert len(set(scripts)) >= 10
    assert scripts == [json.dumps(example(alias, language, seed)[2]) for seed in range(12)]


@pytest.mark.parametrize(("alias", "language"), EVERY_LANGUAGE)
def test_deliveries_stay_within_what_a_voice_can_do(alias, language):
    benchmark = benchmark_get(alias)
    for category in benchmark.categories:
        for turn in spec_of(benchmark, category.key, language).turns:
            for variant in turn.variants:
                delivery = variant.delivery
                assert -5 <= delivery.pitch <= 5
                assert 0.6 <= delivery.rate <= 1.5
                assert (0.6 if language == "zh" else 0.4) <= delivery.pitch_range <= 1.6
                assert -12 <= delivery.volume <= 9


@pytest.mark.parametrize(("alias", "key", "language"), [row for row in EVERY_CATEGORY if row[0] == "speecheq"])
def test_high_and_low_have_the_same_words_and_differ_in_two_audible_ways(alias, key, language):
    for seed in range(3):
        critical = [
            turn for turn in spec_of(benchmark_get(alias), key, language, seed).turns if turn.role == "critical"
        ]
        assert [turn.position for turn in critical] == [4, 6]
        for turn in critical:
            high, low = turn.variants
            assert high.text == low.text
            assert differences(high.delivery, low.delivery) >= 2


def differences(high, low):
    return (
        (abs(high.pitch - low.pitch) >= 1.5)
        + (max(high.rate, low.rate) / min(high.rate, low.rate) >= 1.15)
        + (max(high.pitch_range, low.pitch_range) / min(high.pitch_range, low.pitch_range) >= 1.3)
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_tones_that_read_alike_are_set_apart(language):
    benchmark, brief, script = example("speecheq", language)
    for level in itertools.product(("slow", "normal", "fast"), ("low", "normal", "high"), ("flat", "normal", "lively")):
        same = dict(zip(("pace", "pitch", "melody"), level, strict=True))
        script["s4"]["high"].update(same)
        script["s4"]["low"] = dict(script["s4"]["high"])
        spec = benchmark.script_read(benchmark.script_schema.model_validate(script), brief)
        high, low = spec.turns[3].variants
        assert differences(high.delivery, low.delivery) >= 2
        assert high.delivery.instruction != low.delivery.instruction


def test_loudness_does_not_tell_high_from_low():
    benchmark = benchmark_get("speecheq")
    quieter = 0
    for number in range(200):
        brief = brief_of(benchmark, benchmark.categories[0], "en")
        script = benchmark.script_example(brief, Random(number))
        script["s4"]["text"] = f"There are {number} chairs left."
        spec = benchmark.script_read(benchmark.script_schema.model_validate(script), brief)
        high, low = spec.turns[3].variants
        assert high.delivery.volume != low.delivery.volume
        quieter += high.delivery.volume < low.delivery.volume
    assert 75 <= quieter <= 125


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("scenario", "speaker2", "name"), None),
        (("s2", "text"), None),
        (("s2", "text"), ""),
        (("s2", "text"), "word " * 60),
        (("s1", "tone", "pace"), "quick"),
        (("s1", "mood"), "sad"),
    ],
)
def test_speecheq_refuses_a_script_that_breaks_a_rule(path, value):
    copies = {
        "name": lambda s: s["scenario"]["speaker1"]["name"].upper(),
        "text": lambda s: s["s1"]["text"],
    }
    benchmark, _, script = example("speecheq")
    broken = copy.deepcopy(script)
    *parents, last = path
    node = broken
    for parent in parents:
        node = node[parent]
    node[last] = copies[last](script) if value is None else value
    with pytest.raises(ValidationError):
        benchmark.script_schema.model_validate(broken)


def test_emosbench_refuses_two_responses_with_the_same_words():
    benchmark, _, script = example("emosbench")
    script["grade_3"]["text"] = script["grade_4"]["text"].upper()
    with pytest.raises(ValidationError, match="must differ in their words"):
        benchmark.script_schema.model_validate(script)


def test_emosbench_understanding_has_several_turns():
    benchmark = benchmark_get("emosbench")
    assert len(spec_of(benchmark, "est", "en").turns) == 4
    assert [turn.role for turn in spec_of(benchmark, "eca", "zh").turns] == ["context"] * 3 + ["response"]


def test_echomind_leaves_out_a_question_that_the_delivery_does_not_change():
    benchmark, brief, script = example("echomind")
    telling = dict(script["reasoning"][0], question="What comes next?")
    script["reasoning"] = [dict(telling, for_alternative=telling["for_target"].upper()), telling]
    spec = benchmark.script_read(benchmark.script_schema.model_validate(script), brief)
    assert [q["question"] for q in spec.extras["questions"] if q["kind"] == "reasoning"] == ["What comes next?"]


def test_echomind_asks_which_reply_fits_when_no_question_of_the_script_tells_anything():
    benchmark, brief, script = example("echomind")
    script["reasoning"][0].update(for_target="Yes.", for_alternative="Yes.", question="Is it raining?")
    spec = benchmark.script_read(benchmark.script_schema.model_validate(script), brief)
    (question,) = [q for q in spec.extras["questions"] if q["kind"] == "reasoning"]
    assert question["key"] == "reasoning-1"
    assert question["question"] == "Which reply fits best what you hear?"
    assert len(question["options"]) == 4


def test_echomind_speakers_have_no_neutral_delivery_and_gender_is_in_the_delivery():
    turn = spec_of(benchmark_get("echomind"), "female", "en").turns[0]
    assert [(variant.label, variant.delivery.gender) for variant in turn.variants] == [
        ("target", "female"),
        ("alternative", "male"),
    ]
    assert turn.gender == "female"


@pytest.mark.parametrize("language", LANGUAGES)
def test_echomind_questions_have_every_answer_among_their_options(language):
    benchmark = benchmark_get("echomind")
    types = set()
    for category in benchmark.categories:
        spec = spec_of(benchmark, category.key, language)
        labels = {variant.label for variant in spec.turns[0].variants}
        for question in spec.extras["questions"]:
            types.add(question["type"])
            assert 2 <= len(question["options"]) <= 4
            assert len(set(question["options"])) == len(question["options"])
            assert set(question["answers"]) == labels
            assert set(question["answers"].values()) <= set(question["options"])
            assert question["answers"]["target"] != question["answers"]["alternative"]
    assert types == {
        "coarse_grained",
        "gender",
        "age_group",
        "voice_style",
        "speech_emotion",
        "speaking_pace",
        "non_verbal_expression",
        "background_sound",
        "empathic_response",
    }


@pytest.mark.parametrize(("alias", "key", "language"), EVERY_CATEGORY)
def test_prompt_is_versioned_short_and_names_what_to_avoid(alias, key, language):
    benchmark = benchmark_get(alias)
    brief = brief_of(benchmark, benchmark.category(key), language)
    prompt = benchmark.script_prompt(brief, Random(1))
    assert prompt.version == f"{alias}-script-1"
    assert {"en": "English", "zh": "Simplified Chinese"}[language] in prompt.user
    assert "{" not in prompt.user
    assert len(prompt.system) + len(prompt.user) < 4000
    avoiding = benchmark.script_prompt(type(brief)(**{**vars(brief), "avoid": ("Zuri", "The kite")}), Random(1))
    assert avoiding.user == prompt.user + "\nDo not use these names or titles again: Zuri; The kite."
