"""A quality check by reading: whether a text model can tell the right delivery from the words of the line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from random import Random

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import BriefSpec
from eqstudio.benchmarks.leaks import (
    SHARE_PER_DIALOGUE,
    Leak,
    LeakLine,
    TextGuesses,
    delivery_words,
    leak_count,
    leak_prompt,
    orders_drawn,
)
from eqstudio.errors import ProviderError
from generation.domain.quality import Finding
from generation.models import Brief, Dialogue, Variant
from generation.providers import text_providers
from generation.selectors.writing import TEXT_LEAK
from generation.services.asking import Desk, asked_again
from generation.services.ledger import ANSWERED_BADLY
from generation.services.seeds import dialogue_seed

_NO_VERDICT = ANSWERED_BADLY | {"refused"}


def text_leak_findings(*, dialogue: Dialogue, brief: Brief, variants: Sequence[Variant]) -> list[Finding]:
    """One finding, where the benchmark has pairs and the text provider judges; none otherwise.

    Side effects: two calls in the ledger, one for each order.
    """
    benchmark = benchmark_get(dialogue.benchmark)
    provider = text_providers.get(brief.text_provider)()
    if benchmark.shortcut_pairs is None or not provider.writes_in_stages:
        return []
    lines = _lines(variants, *benchmark.shortcut_pairs)
    if not lines:
        return []
    spec = BriefSpec(benchmark.category(dialogue.category), dialogue.language, dialogue.valence, brief.setting)
    desk = Desk(dialogue, brief, benchmark, provider, spec)
    try:
        return [_finding(_judged(desk, lines), len(lines))]
    except ProviderError as error:
        if error.cause not in _NO_VERDICT:
            raise
        return [Finding(TEXT_LEAK, False, None, SHARE_PER_DIALOGUE, "text.none", {"why": error.message})]  # noqa: FBT003


def _lines(variants: Sequence[Variant], right: str, wrong: str) -> list[LeakLine]:
    """The critical lines whose two deliveries differ in words; where they do not there is nothing to guess."""
    found = []
    for position, group in groupby(variants, key=lambda variant: variant.turn.position):
        by_label = {variant.label: variant for variant in group}
        if right in by_label and wrong in by_label:
            sounds = [delivery_words(by_label[label].delivery) for label in (right, wrong)]
            if sounds[0] != sounds[1]:
                found.append(LeakLine(position, by_label[right].text, sounds[0], sounds[1]))
    return found


def _judged(desk: Desk, lines: Sequence[LeakLine]) -> Leak | None:
    rng = Random(dialogue_seed(desk.dialogue, "text leak"))  # noqa: S311 -- an order, not a secret
    orders = orders_drawn(lines, rng)
    guesses = [
        TextGuesses.model_validate(
            asked_again(desk, leak_prompt(lines, order, desk.spec.language), TextGuesses, f"text leak:{number}").result[
                "script"
            ]
        )
        for number, order in enumerate(orders, start=1)
    ]
    return leak_count(guesses, orders)


def _finding(leak: Leak | None, lines: int) -> Finding:
    if leak is None:
        return Finding(TEXT_LEAK, passed=False, value=None, threshold=SHARE_PER_DIALOGUE, said="text.part")
    passed = leak.share <= SHARE_PER_DIALOGUE
    return Finding(
        TEXT_LEAK,
        passed=passed,
        value=leak.share,
        threshold=SHARE_PER_DIALOGUE,
        said="text.open" if passed else "text.away",
        figures={"right": str(leak.right), "asked": str(leak.asked)},
        detail={"right": leak.right, "asked": leak.asked, "lines": lines},
    )
