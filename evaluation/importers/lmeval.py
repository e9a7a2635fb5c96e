"""Samples of the language model evaluation harness (lm-eval 0.4): ``samples_<task>_<time>.jsonl``, one question a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from django.utils.translation import gettext as _

from eqstudio.errors import InvalidInput
from evaluation.importers.base import AnswerImporter, GivenAnswer, text_of_file
from evaluation.importers.harness import letters_of, options_in, place_of, slot_of

_PAIR = 2


class LmEvalAnswers(AnswerImporter):
    """``resps`` are the raw answers; repeats become runs. Of several filters the first counts: it is the same raw answer.

    Where a task compares the likelihoods of options, the likeliest one is the answer.
    """

    alias: ClassVar = "lmeval"

    def read(self, path: Path) -> Iterator[GivenAnswer]:
        seen: set[str] = set()
        # not splitlines(): JSON may hold U+2028 and its like as they are, and they end no line of a file
        for number, line in enumerate(text_of_file(path).split("\n"), start=1):
            if not line.strip():
                continue
            try:
                sample = json.loads(line)
            except (ValueError, RecursionError) as error:
                why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                if not seen:
                    told = {"name": path.name, "row": number, "why": why}
                    raise InvalidInput(
                        _("%(name)s, line %(row)d: is not JSON (%(why)s).") % told, field="path"
                    ) from error
                yield GivenAnswer(number, "", "", 0, problem=_("This line is not JSON: %(why)s.") % {"why": why})
                continue
            if not isinstance(sample, dict) or "resps" not in sample or not isinstance(sample.get("doc"), dict):
                if not seen:
                    told = {"name": path.name, "row": number}
                    raise InvalidInput(
                        _("%(name)s, line %(row)d: expected a sample of lm-eval with the fields doc and resps.") % told,
                        field="resps",
                    )
                yield GivenAnswer(number, "", "", 0, problem=_("Expected the fields doc and resps."))
                continue
            known = str(sample.get("doc_id", number))
            if known not in seen:
                seen.add(known)
                yield from _answers(number, sample)


def _answers(number: int, sample: Mapping[str, Any]) -> Iterator[GivenAnswer]:
    doc = sample["doc"]
    place = place_of(sample.get("doc_id"), doc)
    letters = letters_of(doc.get("values"))
    target = doc.get("target", sample.get("target"))
    raws = _raws(sample["resps"], letters)
    if not raws:
        yield GivenAnswer(number, place.item, place.trial, 0, problem=_("resps holds no answer."))
    correct = _verdict(sample) if len(raws) == 1 else None
    for run, raw in enumerate(raws):
        yield GivenAnswer(
            row=number,
            item=place.item,
            also=place.also,
            trial=place.trial,
            run=run,
            raw=raw,
            right_slot=slot_of(letters, target) if str(doc.get("kind")) in {"choice", "mcq"} else None,
            options=options_in((_text(part) for part in _list(doc.get("parts"))), letters),
            value=str(target) if correct and target is not None else "",
            tells=False,
            correct=correct,
            history="gold" if letters else "",
            paradata={"doc_hash": sample["doc_hash"]} if sample.get("doc_hash") else {},
        )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(part: Any) -> str:
    return str(part.get("text") or "") if isinstance(part, dict) else ""


def _raws(resps: Any, letters: tuple[str, ...]) -> list[str]:
    """One raw answer a run. ``[["words", "again"]]`` is text; one ``[[likelihood, greedy]]`` an option is a comparison."""
    if not isinstance(resps, list) or not resps:
        return []
    likelihoods = [_likelihood(option) for option in resps]
    if all(value is not None for value in likelihoods):
        best = max(range(len(resps)), key=lambda place: likelihoods[place] or 0.0)
        letter = letters[best] if best < len(letters) else "ABCDEFGHIJ"[best : best + 1]
        return [json.dumps({"answer": letter, "likelihoods": likelihoods})]
    first = resps[0] if isinstance(resps[0], list) else resps
    return [answer for answer in first if isinstance(answer, str)]


def _likelihood(option: Any) -> float | None:
    """Of ``[[likelihood, greedy]]``, whose numbers are written as text."""
    pair = option[0] if isinstance(option, list) and len(option) == 1 else option
    if not isinstance(pair, list) or len(pair) != _PAIR:
        return None
    try:
        return float(pair[0]) if str(pair[1]) in {"True", "False", "0", "1"} else None
    except (TypeError, ValueError):
        return None


def _verdict(sample: Mapping[str, Any]) -> bool | None:
    """What the first of the sample's metrics says, where it is right or wrong and nothing between."""
    for name in _list(sample.get("metrics")):
        value = sample.get(str(name))
        if isinstance(value, bool | int | float) and value in {0, 1}:
            return bool(value)
    return None
