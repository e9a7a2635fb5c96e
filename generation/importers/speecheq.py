"""SpeechEQ folders: ``<subscale>/<dataset id>/metadata.json`` beside ``audio/01.mp3`` to ``audio/08.mp3``.

The paths inside metadata.json belong to whoever made it and are never followed: a file is found by the folder its
metadata lies in and by its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import InvalidInput
from generation.importers.base import DialogueRow, Importer, Refusal, TurnRow, VariantRow
from generation.importers.ours import as_it_was

CRITICAL = (4, 6)
LINES = 6
CLIPS = 8
MAX_METADATA_BYTES = 4 * 1024 * 1024
_CHINESE = re.compile(r"[\u3400-\u9fff]")

Filled = Annotated[str, Field(min_length=1)]
Speaker = Literal["speaker1", "speaker2"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", str_strip_whitespace=True)


class Scenario(_Part):
    title: Filled
    context: Filled
    description: str = ""
    scenario_valence: str = ""
    target_social_intent: str = ""
    speaker1_name: Filled
    speaker1_role: str = ""
    speaker1_gender: str = ""
    speaker1_persona: str = ""
    speaker1_voice: str = ""
    speaker2_name: Filled
    speaker2_role: str = ""
    speaker2_gender: str = ""
    speaker2_persona_high: str = ""
    speaker2_persona_low: str = ""
    speaker2_voice: str = ""
    eq_skill_tested: str = ""


class Line(_Part):
    speaker: Speaker
    sentence_number: Annotated[int, Field(ge=1, le=LINES)]
    text: Filled


class AudioFile(_Part):
    sentence_number: Annotated[int, Field(ge=1, le=LINES)]
    speaker: Speaker
    text: Filled
    eq_level: Literal["high", "low"]
    audio_path: Filled
    tone_description: str = ""


class Made(_Part):
    dataset_id: str = ""
    subscale_slug: str = ""


class Metadata(_Part):
    scenario: Scenario
    conversation: Annotated[list[Line], Field(min_length=LINES, max_length=LINES)]
    eq_scale: Filled
    audio_files: Annotated[list[AudioFile], Field(min_length=CLIPS, max_length=CLIPS)]
    generation_metadata: Made = Made()


class _Refused(Exception):  # noqa: N818 -- carries a refusal to where it is yielded
    def __init__(self, row: str, reason: str) -> None:
        super().__init__(reason)
        self.row, self.reason = row, reason


class SpeechEQImporter(Importer):
    def discover(self, path: Path) -> Iterator[DialogueRow | Refusal]:
        if not path.is_dir():
            raise InvalidInput(
                _("%(path)s is not a folder. Give the folder that holds the dialogues.") % {"path": path}, field="path"
            )
        found = sorted(path.rglob("metadata.json"))
        orphans = sorted({audio.parent.parent for audio in path.rglob("audio/*.mp3")} - {file.parent for file in found})
        if not found and not orphans:
            raise InvalidInput(
                _(
                    "%(path)s holds no SpeechEQ dialogue: expected <subscale>/<dataset id>/metadata.json with audio/01.mp3 to 08.mp3."
                )
                % {"path": path},
                field="path",
            )
        for file in found:
            where = file.relative_to(path).as_posix()
            try:
                yield _read(file, where)
            except _Refused as refused:
                yield Refusal(path=where, row=refused.row, reason=refused.reason)
        for folder in orphans:
            where = (folder.relative_to(path) / "metadata.json").as_posix()
            yield Refusal(path=where, row="", reason=_("The folder has audio but no metadata.json."))


def category_slug(label: str) -> str:
    """``Composite - Subscale`` as the key of a category: lower case, one underscore for whatever is between the words."""
    return re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")


def _read(file: Path, where: str) -> DialogueRow:
    metadata, raw = _parse(file)
    category = _category(metadata)
    turns = tuple(_turn(file.parent, metadata, position) for position in range(1, LINES + 1))
    _no_file_twice(turns)
    text = "".join(line.text for line in metadata.conversation)
    dataset_id = metadata.generation_metadata.dataset_id or file.parent.name
    row = DialogueRow(
        path=where,
        row=dataset_id,
        external_id=dataset_id,
        benchmark="speecheq",
        category=category,
        language="zh" if len(_CHINESE.findall(text)) * 4 > len(text) else "en",
        turns=turns,
        title=metadata.scenario.title,
        valence=metadata.scenario.scenario_valence.lower(),
        scenario=raw["scenario"],
        extras={"generation_metadata": raw.get("generation_metadata", {})},
    )
    return as_it_was(row, raw.get("eqstudio"))


def _parse(file: Path) -> tuple[Metadata, dict[str, Any]]:
    try:
        if file.stat().st_size > MAX_METADATA_BYTES:
            raise _Refused("", _("The file is larger than 4 MiB; a SpeechEQ metadata.json has a few kilobytes."))
        raw = json.loads(file.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise _Refused(
            _("line %(line)d") % {"line": error.lineno},
            _("This is not JSON: %(what)s at line %(line)d, column %(column)d.")
            % {"what": error.msg, "line": error.lineno, "column": error.colno},
        ) from error
    except UnicodeDecodeError as error:
        raise _Refused("", _("The file is not UTF-8 text (byte %(byte)d).") % {"byte": error.start}) from error
    except (OSError, RecursionError) as error:
        raise _Refused("", _("The file cannot be read: %(why)s.") % {"why": error}) from error
    try:
        return Metadata.model_validate(raw), raw
    except ValidationError as error:
        raise _invalid(error) from error


def _invalid(error: ValidationError) -> _Refused:
    """All that is wrong; the first field is the row of the refusal."""
    return _Refused(_field(error.errors()[0]["loc"]), invalid_said(error))


def invalid_said(error: ValidationError) -> str:
    """What is wrong, field by field, for the first five fields."""
    said = []
    for problem in error.errors(include_url=False):
        name = _field(problem["loc"])
        got = "" if problem["type"] == "missing" else _(", got %(value).80r") % {"value": problem["input"]}
        said.append(f"{name}: {problem['msg']}{got}")
    return "; ".join(said[:5])


def _field(location: tuple[int | str, ...]) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    return path or _("the whole file")


def _category(metadata: Metadata) -> str:
    slug = category_slug(metadata.eq_scale)
    known = {category.key: category for category in benchmark_get("speecheq").categories}
    if slug not in known:
        labels = "; ".join(f"{category.group_label['en']} - {category.label['en']}" for category in known.values())
        raise _Refused(
            "eq_scale",
            _("Unknown subscale %(scale)r. Expected one of: %(labels)s.")
            % {"scale": metadata.eq_scale, "labels": labels},
        )
    for name, value in (
        ("scenario.eq_skill_tested", metadata.scenario.eq_skill_tested),
        ("generation_metadata.subscale_slug", metadata.generation_metadata.subscale_slug),
    ):
        if value and not f"_{slug}".endswith(f"_{category_slug(value)}"):  # the subscale alone will do
            raise _Refused(
                name,
                _("%(field)s says %(value)r, but eq_scale says %(scale)r. Expected the same subscale in both.")
                % {"field": name, "value": value, "scale": metadata.eq_scale},
            )
    return slug


def _turn(folder: Path, metadata: Metadata, position: int) -> TurnRow:
    lines = [line for line in metadata.conversation if line.sentence_number == position]
    if len(lines) != 1:
        raise _Refused(
            "conversation",
            _("Sentence %(position)d is there %(count)d times; expected once.")
            % {"position": position, "count": len(lines)},
        )
    line, expected = lines[0], "speaker2" if position % 2 == 0 else "speaker1"
    if line.speaker != expected:
        raise _Refused(
            f"conversation[{position - 1}].speaker",
            _("Sentence %(position)d is spoken by %(speaker)s; expected %(expected)s, because the speakers take turns.")
            % {"position": position, "speaker": line.speaker, "expected": expected},
        )
    scenario = metadata.scenario
    return TurnRow(
        position=position,
        role="critical" if position in CRITICAL else "context",
        speaker=line.speaker,
        variants=_variants(folder, metadata, line),
        speaker_name=getattr(scenario, f"{line.speaker}_name"),
        gender=getattr(scenario, f"{line.speaker}_gender").lower(),
        voice=getattr(scenario, f"{line.speaker}_voice"),
    )


def _variants(folder: Path, metadata: Metadata, line: Line) -> tuple[VariantRow, ...]:
    position = line.sentence_number
    entries = [(n, file) for n, file in enumerate(metadata.audio_files) if file.sentence_number == position]
    levels = ["high", "low"] if position in CRITICAL else ["high"]
    if sorted(file.eq_level for _n, file in entries) != levels:
        raise _Refused(
            "audio_files",
            _("Sentence %(position)d has the renditions %(found)s; expected %(expected)s.")
            % {
                "position": position,
                "found": ", ".join(file.eq_level for _n, file in entries) or _("none"),
                "expected": " and ".join(levels),
            },
        )
    return tuple(
        _variant(folder, number, file, line) for number, file in sorted(entries, key=lambda entry: entry[1].eq_level)
    )


def _variant(folder: Path, number: int, file: AudioFile, line: Line) -> VariantRow:
    if (file.text, file.speaker) != (line.text, line.speaker):
        name = "text" if file.text != line.text else "speaker"
        raise _Refused(
            f"audio_files[{number}].{name}",
            _("It differs from the %(field)s of sentence %(position)d in conversation; expected the same.")
            % {"field": name, "position": line.sentence_number},
        )
    name = PureWindowsPath(file.audio_path).name
    audio = folder / "audio" / name
    if not audio.is_file():
        raise _Refused(
            f"audio_files[{number}].audio_path",
            _("The file audio/%(name)s is missing beside metadata.json (sentence %(position)d, %(level)s).")
            % {"name": name, "position": line.sentence_number, "level": file.eq_level},
        )
    label = file.eq_level if line.sentence_number in CRITICAL else "only"
    return VariantRow(label=label, text=file.text, audio=audio, tone=file.tone_description)


def _no_file_twice(turns: tuple[TurnRow, ...]) -> None:
    names = [variant.audio.name for turn in turns for variant in turn.variants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise _Refused(
            "audio_files",
            _("audio/%(name)s stands for two renditions; expected eight different files.") % {"name": twice[0]},
        )
