"""Builds items as the studio would from a script, and respondents that know or do not know the key."""

from __future__ import annotations

from random import Random
from typing import Any

from eqstudio.benchmarks import Benchmark, benchmark_get, benchmarks
from eqstudio.benchmarks.base import Answered, BriefSpec, Category, DialogueSpec, ItemView, TurnView, VariantView
from eqstudio.benchmarks.trials import Outcome, Parsed, Trial, TrialKind

LANGUAGES = ("en", "zh")
TRIALS_MAX = 20
EVERY_CATEGORY = [
    (alias, category.key, language)
    for alias in benchmarks
    for category in benchmark_get(alias).categories
    for language in LANGUAGES
]
EVERY_LANGUAGE = [(alias, language) for alias in benchmarks for language in LANGUAGES]


def brief_of(benchmark: Benchmark, category: Category, language: str, index: int = 0) -> BriefSpec:
    valence = benchmark.valences[index % len(benchmark.valences)]
    setting = benchmark.settings[index % len(benchmark.settings)]
    return BriefSpec(category=category, language=language, valence=valence, setting=setting)


def spec_of(benchmark: Benchmark, key: str, language: str, seed: int = 0) -> DialogueSpec:
    brief = brief_of(benchmark, benchmark.category(key), language, seed)
    script = benchmark.script_schema.model_validate(benchmark.script_example(brief, Random(seed)))
    return benchmark.script_read(script, brief)


def item_of(
    spec: DialogueSpec, key: str, language: str, *, uid: str = "item0", silent: tuple[str, ...] = ()
) -> ItemView:
    """An item with uids that say nothing. Variants whose label is in ``silent`` have no audio."""
    draw = Random(uid)
    turns = tuple(
        TurnView(
            position=turn.position,
            role=turn.role,
            speaker=turn.speaker,
            variants=tuple(
                VariantView(
                    uid=f"{draw.getrandbits(64):016x}",
                    label=variant.label,
                    text=variant.text,
                    grade=variant.grade,
                    tone=variant.delivery.instruction,
                    has_audio=variant.label not in silent,
                )
                for variant in turn.variants
            ),
        )
        for turn in spec.turns
    )
    return ItemView(uid=uid, category=key, language=language, scenario=spec.scenario, turns=turns, extras=spec.extras)


def example_item(alias: str, *, language: str = "en", index: int = 0, **kwargs: Any) -> tuple[Benchmark, ItemView]:
    benchmark = benchmark_get(alias)
    category = benchmark.categories[index % len(benchmark.categories)]
    spec = spec_of(benchmark, category.key, language, index)
    return benchmark, item_of(spec, category.key, language, uid=f"item{index}", **kwargs)


def relabelled(item: ItemView) -> ItemView:
    """The same item with labels and grades handed round within every turn; nothing a listener hears is changed."""
    turns = []
    for turn in item.turns:
        shifted = turn.variants[1:] + turn.variants[:1]
        variants = tuple(
            VariantView(old.uid, new.label, old.text, new.grade, old.tone, old.has_audio)
            for old, new in zip(turn.variants, shifted, strict=True)
        )
        turns.append(TurnView(turn.position, turn.role, turn.speaker, variants))
    return ItemView(item.uid, item.category, item.language, item.scenario, tuple(turns), item.extras)


def variant_by_uid(item: ItemView, uid: str | None) -> VariantView:
    return next(variant for turn in item.turns for variant in turn.variants if variant.uid == uid)


def oracle(item: ItemView, trial: Trial) -> Parsed:
    """Answers from the key."""
    if trial.kind is TrialKind.CHOICE:
        right = next(o for o in trial.options if variant_by_uid(item, o.variant).label == "high")
        return Parsed(Outcome.ANSWERED, right.letter)
    heard = variant_by_uid(item, (trial.options[0].variant if trial.options else None) or trial.context[-1].variant)
    if trial.kind is TrialKind.GRADE:
        return Parsed(Outcome.ANSWERED, heard.grade)
    if trial.kind is TrialKind.MCQ:
        question = next(q for q in item.extras["questions"] if trial.key == f"mcq-{q['key']}")
        right = next(o for o in trial.options if o.text == question["answers"][heard.label])
        return Parsed(Outcome.ANSWERED, right.letter)
    return Parsed(Outcome.ANSWERED, heard.text)


def guess(trial: Trial, rng: Random) -> Parsed:
    """An answer of the right form and nothing more."""
    if trial.scale:
        return Parsed(Outcome.ANSWERED, rng.randint(*trial.scale))
    return Parsed(Outcome.ANSWERED, rng.choice(trial.options).letter if trial.options else "well")


def sit(benchmark: Benchmark, item: ItemView, answer: Any, seed: int = 0) -> list[Answered]:
    """Walk an item to its end as the studio does: one trial at a time, the rng seeded anew on every call."""
    answers: list[Answered] = []
    while trial := benchmark.next_trial(item, answers, Random(seed)):
        answers.append(Answered(trial, answer(trial)))
        assert len(answers) <= TRIALS_MAX, "the benchmark does not end"
    return answers


def figures(benchmark: Benchmark, item: ItemView, answers: list[Answered]) -> dict[str, float | None]:
    scores = {a.trial.key: benchmark.score(item, a.trial, a.parsed) for a in answers}
    return {metric.name: metric.item(scores) for metric in benchmark.metrics}
