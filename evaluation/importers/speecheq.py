"""Result files of SpeechEQ's own tools: three runs a turn, each with the order it was asked in and its own verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from eqstudio.errors import InvalidInput
from evaluation.importers.base import AnswerImporter, GivenAnswer, json_of_file

TURNS = (("sentence_4", "s4"), ("sentence_6", "s6"))
_OPTION = re.compile(r"option\s*([12])", re.IGNORECASE)


class SpeechEQAnswers(AnswerImporter):
    """``individual_results`` become runs 0, 1, 2. Where a file has no raw answer, the selected option stands in for it."""

    alias: ClassVar = "speecheq"

    def read(self, path: Path) -> Iterator[GivenAnswer]:
        document = json_of_file(path)
        responses = document.get("responses") if isinstance(document, dict) else None
        if not isinstance(responses, list):
            raise InvalidInput(
                f"{path.name}: has no list 'responses'; expected a SpeechEQ result file.", field="responses"
            )
        for number, response in enumerate(responses):
            if not isinstance(response, dict) or not isinstance(response.get("dataset_id"), str):
                yield GivenAnswer(number, "", "", 0, problem="has no dataset_id")
                continue
            for field, key in TURNS:
                yield from self._turn(number, response["dataset_id"], key, response.get(field))

    def _turn(self, row: int, item: str, key: str, turn: Any) -> Iterator[GivenAnswer]:
        results = turn.get("individual_results") if isinstance(turn, dict) else None
        if not isinstance(results, list):
            yield GivenAnswer(row, item, key, 0, problem=f"{key} has no individual_results")
            return
        for run, result in enumerate(results):
            yield self._answer(row, item, key, run, result if isinstance(result, dict) else {})

    def _answer(self, row: int, item: str, key: str, run: int, result: Mapping[str, Any]) -> GivenAnswer:
        right = _slot(result.get("high_eq_option"))
        correct = result.get("correct")
        if right is None or not isinstance(correct, bool):
            return GivenAnswer(row, item, key, run, problem=f"{key}, run {run}: high_eq_option or correct is missing")
        raw = result.get("raw_response")
        selected = result.get("selected_option")
        return GivenAnswer(
            row=row,
            item=item,
            trial=key,
            run=run,
            raw=raw if isinstance(raw, str) else json.dumps({"selected": selected}),
            right_slot=right,
            slot=_slot(selected),
            correct=correct,
            paradata={name: result[name] for name in ("reasoning", "evaluation_method") if name in result},
        )


def _slot(option: Any) -> int | None:
    match = _OPTION.fullmatch(option.strip()) if isinstance(option, str) else None
    return int(match.group(1)) - 1 if match else None
