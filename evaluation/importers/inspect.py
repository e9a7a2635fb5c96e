"""Logs of Inspect: ``.eval`` (a zip of one JSON document a sample) and ``.json``. An epoch is a run."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar

from django.utils.translation import gettext as _

from eqstudio.benchmarks.base import Outcome
from eqstudio.errors import InvalidInput
from evaluation.importers.base import AnswerImporter, GivenAnswer, json_of_file, size_check, unreadable
from evaluation.importers.harness import letters_of, options_in, place_of, slot_of

ZSTANDARD = 93
"""The number of Zstandard among the compression methods of zip files; Python before 3.14 does not read it."""
MAX_SAMPLE = 32 * 1024 * 1024
_LOCAL_HEADER = 30
_VERDICTS = {"C": True, "I": False, "N": False, "P": None}


class InspectAnswers(AnswerImporter):
    """The first score of a sample is the file's own verdict; a sample that failed is an error, not a wrong answer."""

    alias: ClassVar = "inspect"

    def read(self, path: Path) -> Iterator[GivenAnswer]:
        size_check(path)
        if path.suffix.lower() == ".eval" and not zipfile.is_zipfile(path):
            raise InvalidInput(
                _("%(name)s: is not a whole .eval log: its end is missing, or it is something else.")
                % {"name": path.name},
                field="path",
            )
        samples = _in_zip(path) if zipfile.is_zipfile(path) else _in_document(path)
        for number, sample in enumerate(samples, start=1):
            if isinstance(sample, str):
                yield GivenAnswer(number, "", "", 0, problem=sample)
            else:
                yield _answer(number, sample)


def _in_document(path: Path) -> Iterator[Mapping[str, Any] | str]:
    document = json_of_file(path)
    if not isinstance(document, dict) or "eval" not in document:
        raise InvalidInput(
            _("%(name)s: has no field 'eval'; expected a log of Inspect.") % {"name": path.name}, field="eval"
        )
    samples = document.get("samples")
    if not isinstance(samples, list):
        raise InvalidInput(
            _("%(name)s: holds no samples; was it written with only its header?") % {"name": path.name}, field="samples"
        )
    for sample in samples:
        yield sample if isinstance(sample, dict) else _("A sample should be an object.")


def _in_zip(path: Path) -> Iterator[Mapping[str, Any] | str]:
    try:
        with path.open("rb") as handle, zipfile.ZipFile(handle) as archive:
            names = [entry for entry in archive.infolist() if entry.filename.startswith("samples/")]
            if not names:
                raise InvalidInput(
                    _("%(name)s: has no folder samples/; expected a log of Inspect.") % {"name": path.name},
                    field="samples",
                )
            for entry in names:
                yield _sample(handle, archive, entry)
    except OSError as error:
        raise unreadable(path, error) from error
    except zipfile.BadZipFile as error:
        told = {"name": path.name, "why": error}
        raise InvalidInput(_("%(name)s: is not a whole zip file (%(why)s).") % told, field="path") from error


def _sample(handle: Any, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Mapping[str, Any] | str:
    if entry.file_size > MAX_SAMPLE:
        return _("%(name)s is larger than 32 MiB.") % {"name": entry.filename}
    try:
        found = json.loads(_bytes(handle, archive, entry))
    except (ValueError, RuntimeError, EOFError, OSError, zlib.error) as error:
        return _("%(name)s cannot be read: %(why)s.") % {"name": entry.filename, "why": error}
    return found if isinstance(found, dict) else _("%(name)s should hold an object.") % {"name": entry.filename}


def _bytes(handle: Any, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if entry.compress_type != ZSTANDARD:
        with archive.open(entry) as found:
            return found.read(MAX_SAMPLE + 1)
    import pyarrow as pa  # noqa: PLC0415 -- slow import

    handle.seek(entry.header_offset)
    head = handle.read(_LOCAL_HEADER)
    handle.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
    packed = pa.BufferReader(handle.read(entry.compress_size))
    with pa.CompressedInputStream(packed, "zstd") as stream:
        return bytes(stream.read(MAX_SAMPLE + 1))


def _answer(number: int, sample: Mapping[str, Any]) -> GivenAnswer:
    told = sample.get("metadata") if isinstance(sample.get("metadata"), dict) else {}
    place = place_of(sample.get("id"), told or {})
    wrong = _no_object(sample)
    if wrong:
        problem = _("Sample %(name)s: %(field)s should be an object.")
        told_of = {"name": sample.get("id", number), "field": wrong}
        return GivenAnswer(number, place.item, place.trial, 0, also=place.also, problem=problem % told_of)
    letters = letters_of((told or {}).get("values"))
    target = sample.get("target")
    score = next(iter((sample.get("scores") or {}).values()), None) or {}
    failed = sample.get("error")
    chosen = str((told or {}).get("kind")) in {"choice", "mcq"}
    epoch = sample.get("epoch")
    return GivenAnswer(
        row=number,
        item=place.item,
        also=place.also,
        trial=place.trial,
        run=epoch - 1 if isinstance(epoch, int) and epoch > 0 else 0,
        raw=_completion(sample.get("output")),
        failure=Outcome.ERROR.value if failed else "",
        error=str(failed.get("message", "") if isinstance(failed, dict) else failed)[:2_000] if failed else "",
        right_slot=slot_of(letters, target) if chosen else None,
        options=options_in(_texts(sample.get("input")), letters),
        slot=slot_of(letters, score.get("answer")) if chosen else None,
        value=str(score.get("answer") or ""),
        correct=None if failed else _verdict(score.get("value")),
        history="gold" if letters else "",
        paradata=_used(sample),
    )


def _no_object(sample: Mapping[str, Any]) -> str:
    """The first field that should be an object and is something else."""
    scores = sample.get("scores") or {}
    if not isinstance(scores, dict):
        return "scores"
    for name, score in list(scores.items())[:1]:
        if score and not isinstance(score, dict):
            return f"scores.{name}"
    output = sample.get("output")
    usage = output.get("usage") if isinstance(output, dict) else None
    return "output.usage" if usage and not isinstance(usage, dict) else ""


def _verdict(value: Any) -> bool | None:
    if isinstance(value, bool | int | float):
        return bool(value) if value in {0, 1} else None
    return _VERDICTS.get(value) if isinstance(value, str) else None


def _completion(output: Any) -> str:
    """The text of the first choice; a message is text or a list of parts."""
    if not isinstance(output, dict):
        return ""
    if isinstance(output.get("completion"), str) and output["completion"]:
        return str(output["completion"])
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    content = message.get("content", "") if isinstance(message, dict) else ""
    return content if isinstance(content, str) else "\n".join(_parts(content))


def _texts(given: Any) -> list[str]:
    """What was read in the input of a sample: text itself, or messages."""
    if isinstance(given, str):
        return [given]
    messages = [message for message in given or () if isinstance(message, dict)] if isinstance(given, list) else []
    found: list[str] = []
    for message in messages:
        content = message.get("content", "")
        found += [content] if isinstance(content, str) else _parts(content)
    return found


def _parts(content: Any) -> list[str]:
    parts = content if isinstance(content, list) else []
    return [str(part["text"]) for part in parts if isinstance(part, dict) and part.get("type") == "text"]


def _used(sample: Mapping[str, Any]) -> dict[str, Any]:
    output = sample.get("output") if isinstance(sample.get("output"), dict) else {}
    usage = (output or {}).get("usage") or {}
    seconds = (output or {}).get("time")
    found = {
        "model": (output or {}).get("model"),
        "latency_ms": round(seconds * 1000) if isinstance(seconds, int | float) and isfinite(seconds) else None,
        "tokens_in": usage.get("input_tokens"),
        "tokens_out": usage.get("output_tokens"),
    }
    return {name: value for name, value in found.items() if value is not None}
