"""The questions of a benchmark with their right answers, for harnesses of other makers.

A later question may depend on the answer to an earlier one; here the earlier one was answered right. What has no single
right answer (transcripts, free replies) is left out. The right option is found by asking the benchmark's scorer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from annotation.exporters.base import Exporter, Work
from annotation.exporters.folders import audio_name, records_with_audio
from annotation.exporters.rows import split_places, variants_of
from annotation.models import Split
from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Answered, Benchmark, ItemView, TurnView, VariantView
from eqstudio.benchmarks.trials import Outcome, Parsed, Trial

QUESTIONS = "questions.jsonl"
_ASK = {
    "en": "Answer with one of {values} and nothing else.",
    "zh": "只回答以下之一，不要其他内容：{values}。",
}


class QuestionsExporter(Exporter):
    """Writes ``questions.jsonl`` and ``audio/``; a sister adds the task file of one harness."""

    def write(self, work: Work) -> None:
        done = 0
        benchmark = benchmark_get(work.split.benchmark)
        with work.sink.file(QUESTIONS) as handle:
            for side, places in split_places(work.split).items():
                for row in records_with_audio(work, places, done=done):
                    for document in questions_of(benchmark, work.split, row):
                        handle.write((json.dumps({**document, "side": side}, ensure_ascii=False) + "\n").encode())
                done += len(places)
        self.tasks(work)

    def tasks(self, work: Work) -> None:
        """Add the task files of the harness."""
        raise NotImplementedError


def questions_of(benchmark: Benchmark, split: Split, row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One document a question that has a right answer, in order."""
    item = _view(row)
    files = {variant["variant_id"]: audio_name(variant) for _turn, variant in variants_of(row)}
    seed = f"{split.manifest_hash}/{row['external_id'] or row['dialogue_id']}"
    answers: list[Answered] = []
    while trial := benchmark.next_trial(item, answers, Random(seed)):  # noqa: S311 -- an order, no secret
        values = _values(trial)
        right = [value for value in values if _correct(benchmark, item, trial, value)]
        if len(right) == 1:
            yield {
                "id": f"{row['dialogue_id']}/{trial.key}",
                "dialogue_id": row["dialogue_id"],
                "external_id": row["external_id"],
                "category": row["category"],
                "language": trial.language,
                "kind": trial.kind.value,
                "parts": _parts(benchmark, trial, values, files),
                "values": values,
                "target": right[0],
            }
            answers.append(Answered(trial, Parsed(Outcome.ANSWERED, _typed(trial, right[0]))))
        else:
            answers.append(Answered(trial, Parsed(Outcome.NOT_HEARD)))


def _view(row: dict[str, Any]) -> ItemView:
    turns = []
    for turn in row["turns"]:
        variants = tuple(
            VariantView(v["variant_id"], v["label"], v["text"], v["intended_grade"], v["tone"], bool(v["file"]))
            for v in turn["variants"]
        )
        turns.append(TurnView(turn["position"], turn["role"], turn["speaker"], variants))
    return ItemView(
        uid=row["dialogue_id"],
        category=row["category"],
        language=row["language"],
        scenario=json.loads(row["scenario"]),
        turns=tuple(turns),
        extras=json.loads(row["extras"]),
    )


def _values(trial: Trial) -> list[str]:
    """What may be answered; empty for free text."""
    if trial.scale:
        return [str(grade) for grade in range(trial.scale[0], trial.scale[1] + 1)]
    return [option.letter for option in trial.options]


def _typed(trial: Trial, value: str) -> str | int:
    return int(value) if trial.scale else value


def _correct(benchmark: Benchmark, item: ItemView, trial: Trial, value: str) -> bool:
    return bool(benchmark.score(item, trial, Parsed(Outcome.ANSWERED, _typed(trial, value))).correct)


def _parts(benchmark: Benchmark, trial: Trial, values: list[str], files: dict[str, str]) -> list[dict[str, str]]:
    """What is read and heard, in order: ``{"text": ...}`` or ``{"audio": file}``."""
    parts = [{"text": benchmark.instructions(trial.language)}]
    if trial.scenario:
        parts.append({"text": trial.scenario})
    for segment in trial.context:
        parts += _said(f"{segment.speaker}:", segment.variant, segment.text, files)
    parts.append({"text": trial.question})
    for option in trial.options:
        parts += _said(f"{option.letter}:", option.variant, option.text, files)
    return [*parts, {"text": _ASK[trial.language].format(values=", ".join(values))}]


def _said(head: str, variant: str | None, text: str | None, files: dict[str, str]) -> list[dict[str, str]]:
    if variant and files.get(variant):
        return [{"text": head}, {"audio": files[variant]}]
    return [{"text": f"{head} {text or ''}"}]
