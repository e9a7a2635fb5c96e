"""How near the words of a reply come to the reply that was written for the recording: ROUGE-L, BLEU and chrF, each of single
replies from 0 to 1. BLEU and chrF are sacrebleu's, under its signatures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

ROUGE, BLEU, CHRF = "rouge_l", "bleu", "chrf"
TEXT_METRICS = {ROUGE: "ROUGE-L", BLEU: "BLEU", CHRF: "chrF"}
"""Name of a figure -> how a table heads it."""
TOKENISERS = {"zh": "zh"}
TOKENISER = "13a"
KEPT = 20_000


@lru_cache(maxsize=KEPT)
def text_figures(reference: str, reply: str, language: str) -> Mapping[str, float]:
    """Every figure of one reply against one reference; none without a reference."""
    if not reference:
        return {}
    return {
        ROUGE: rouge_l(words_of(reference), words_of(reply)),
        BLEU: float(_bleu(language).sentence_score(reply, [reference]).score) / 100,
        CHRF: float(_chrf().sentence_score(reply, [reference]).score) / 100,
    }


def signatures(languages: Iterable[str]) -> dict[str, str]:
    """Sacrebleu's signatures: of BLEU by language, and of chrF."""
    metrics = {f"BLEU {language}": _bleu(language) for language in sorted(set(languages))}
    return {name: str(metric.get_signature()) for name, metric in {**metrics, "chrF": _chrf()}.items()}


def words_of(text: str) -> list[str]:
    """Words, and single characters of Chinese; case and punctuation do not count."""
    plain = "".join(char if char.isalnum() or char.isspace() else " " for char in text.casefold())
    spaced = "".join(f" {char} " if "\u4e00" <= char <= "\u9fff" else char for char in plain)
    return spaced.split()


def rouge_l(reference: Sequence[str], reply: Sequence[str]) -> float:
    """F of the longest common subsequence of two token lists (Lin 2004), 0 to 1."""
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415 -- slow import

    if not reference or not reply:
        return 0.0
    common = LCSseq.similarity(reference, reply)
    return 2 * common / (len(reference) + len(reply))


@cache
def _bleu(language: str) -> Any:
    """BLEU-4 with Chen and Cherry's smoothing method 1, which EchoMind takes; orders a reply is too short for do not count."""
    from sacrebleu import metrics  # noqa: PLC0415 -- slow import

    tokeniser = TOKENISERS.get(language, TOKENISER)
    return _seen(metrics.BLEU(tokenize=tokeniser, smooth_method="floor", smooth_value=0.1, effective_order=True))


@cache
def _chrf() -> Any:
    from sacrebleu import metrics  # noqa: PLC0415 -- slow import

    return _seen(metrics.CHRF())


def _seen(metric: Any) -> Any:
    """A metric has no signature before it has seen how many references there are."""
    metric.sentence_score("a", ["a"])
    return metric
