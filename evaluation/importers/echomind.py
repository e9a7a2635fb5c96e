"""Outputs of EchoMind's own scripts: a list of questions with the prediction written into each record.

There is no verdict in them. A question is found by the recording it was asked of (``audio_name`` holds the case and the
delivery), its words and its options; letters mean the options in the order of ``options_text``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from django.utils.translation import gettext as _

from eqstudio.errors import InvalidInput
from evaluation.importers.base import AnswerImporter, GivenAnswer, json_of_file
from generation.importers.base import RowRefused
from generation.importers.echomind_fields import field_of, options_of, records_of, text_field

_DELIVERY = re.compile(r"(?:^|_)(target|neutral|alternative)(?:_|$)")
_PREDICTED = ("predicted_text_answer", "predicted_audio_answer")


class EchoMindAnswers(AnswerImporter):
    alias: ClassVar = "echomind"

    def read(self, path: Path) -> Iterator[GivenAnswer]:
        try:
            records = records_of(json_of_file(path))
        except RowRefused as refused:
            raise InvalidInput(f"{path.name}: {refused.reason}", field="path") from refused
        known = [record for record in records if isinstance(record, dict)]
        if records and not any(name in record for record in known for name in _PREDICTED):
            told = {"name": path.name, "field": _PREDICTED[0]}
            raise InvalidInput(
                _("%(name)s: no record has the field %(field)s; expected an output of EchoMind's questions.") % told,
                field=_PREDICTED[0],
            )
        for number, record in enumerate(records, start=1):
            yield _answer(number, record)


def _answer(number: int, record: Any) -> GivenAnswer:
    if not isinstance(record, dict):
        return GivenAnswer(number, "", "", 0, problem=_("A record should be an object."))
    name = text_field(record, "audio_name", "audio_file").replace("\\", "/").rsplit("/", 1)[-1]
    case, delivery = _case(name, record)
    question = text_field(record, "question")
    options = tuple(options_of(field_of(record, "options_text", "options", "choices")))
    raw = next((said for said in (text_field(record, field) for field in _PREDICTED) if said), "")
    problem = ""
    if not case or not question or not options:
        problem = _("A record needs audio_name, question and options_text.")
    elif not raw:
        problem = _(
            "predicted_text_answer is empty: EchoMind's scripts write that for a failed call and for one that was not made."
        )
    return GivenAnswer(
        row=number,
        item=case,
        trial="",
        run=0,
        raw=raw,
        problem=problem,
        question=question,
        options=options,
        delivery=delivery,
        paradata={"question_id": text_field(record, "question_id", "id"), "audio_name": name},
    )


def _case(name: str, record: Mapping[str, Any]) -> tuple[str, str]:
    """The case and the delivery that a file name tells: ``id_12_cough_health_target.wav`` or ``12_target.wav``."""
    stem = name.rsplit(".", 1)[0]
    found = _DELIVERY.search(stem)
    head = (stem[: found.start()] if found else stem).removeprefix("id_")
    case = text_field(record, "case_id") or head.split("_", 1)[0]
    return case, found[1] if found else ""
