"""EmoDialogue-style JSONL: a line holds what a user says and four responses to it, graded 1 to 4.

    {"id": "...", "language": "en", "category": "bap", "title": "...", "context": "...",
     "history": [{"speaker": "user", "text": "...", "audio": "audio/0.wav"}, ...],
     "input": {"text": "...", "audio": "audio/1.wav", "gender": "female", "emotion": "sad", "volume": "low",
               "rate": "slow", "pitch": "normal", "non_verbal": "sigh"},
     "responses": [{"grade": 1, "text": "...", "audio": "audio/2.wav", "rationale": "...", "emotion": "..."}, ...]}

``history`` may be left out. Audio paths are relative to the file that names them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from eqstudio.errors import InvalidInput
from generation.importers.base import DialogueRow, Importer, Refusal, RowRefused, TurnRow, VariantRow
from generation.importers.files import file_inside
from generation.importers.flat import category_known, language_known
from generation.importers.ours import as_it_was
from generation.importers.speecheq import invalid_said
from generation.importers.tables import Row, rows_read

GRADES = (1, 2, 3, 4)
DELIVERY = ("emotion", "volume", "rate", "pitch", "non_verbal")
Filled = Annotated[str, Field(min_length=1)]


def _or(*names: str) -> Any:
    return Field(validation_alias=AliasChoices(*names))


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, coerce_numbers_to_str=True)


class Said(_Part):
    """A line: words, sound, and how it is spoken."""

    text: Filled
    audio: Annotated[Filled, _or("audio", "audio_path", "wav")]
    gender: str = ""
    emotion: str = ""
    volume: str = ""
    rate: Annotated[str, _or("rate", "speed")] = ""
    pitch: str = ""
    non_verbal: Annotated[str, _or("non_verbal", "nonverbal", "non-verbal")] = ""
    tone: Annotated[str, _or("tone", "paralinguistic", "style")] = ""


class Earlier(Said):
    speaker: Literal["user", "responder", "assistant"] = "user"


class Response(Said):
    grade: Annotated[int, Field(ge=1, le=4), _or("grade", "score", "level")]
    rationale: str = ""


class Entry(_Part):
    id: Filled
    language: str = ""
    category: Annotated[str, _or("category", "sub_task", "subtask", "task")] = ""
    title: str = ""
    context: str = ""
    source: Literal["imported", "recorded", "synthetic"] = "imported"
    history: list[Earlier] = []
    input: Annotated[Said, _or("input", "user")]
    responses: list[Response]


class EmoDialogueImporter(Importer):
    def discover(self, path: Path) -> Iterator[DialogueRow | Refusal]:
        files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path] if path.suffix == ".jsonl" else []
        if not files:
            raise InvalidInput(
                _("%(path)s holds no JSONL file; expected one with an input and four graded responses a line.")
                % {"path": path},
                field="path",
            )
        root = path if path.is_dir() else path.parent
        for file in files:
            name = file.relative_to(root).as_posix()
            for row in rows_read(file, name):
                if isinstance(row, Refusal):
                    yield row
                    continue
                try:
                    yield self._dialogue(file.parent, name, row)
                except RowRefused as refused:
                    yield Refusal(path=name, row=row.where, reason=refused.reason)

    def _dialogue(self, folder: Path, name: str, row: Row) -> DialogueRow:
        try:
            entry = Entry.model_validate(row.values)
        except ValidationError as error:
            raise RowRefused(invalid_said(error)) from error
        grades = sorted(response.grade for response in entry.responses)
        if grades != list(GRADES):
            raise RowRefused(
                _("The responses are graded %(found)s; expected one each of 1, 2, 3 and 4.")
                % {"found": ", ".join(map(str, grades)) or _("not at all")}
            )
        _benchmark, category = category_known("emosbench", entry.category or self.defaults.get("category", ""))
        language = language_known(entry.language or self.defaults.get("language", ""), entry.input.text)
        said = [*((_part(each.speaker), each) for each in entry.history), ("user", entry.input)]
        turns = [
            _turn(position, "context", speaker, each.gender, (_variant(folder, each, "only"),))
            for position, (speaker, each) in enumerate(said, start=1)
        ]
        responses = sorted(entry.responses, key=lambda response: response.grade)
        variants = tuple(_variant(folder, response, str(response.grade), response) for response in responses)
        turns.append(_turn(len(turns) + 1, "response", "responder", responses[0].gender, variants))
        _no_audio_twice(turns)
        title = entry.title or entry.input.text[:80]
        told = DialogueRow(
            path=name,
            row=row.where,
            external_id=entry.id,
            benchmark="emosbench",
            category=category,
            language=language,
            turns=tuple(turns),
            title=title,
            source=entry.source,
            scenario={"title": title, "context": entry.context} if entry.context else {"title": title},
        )
        return as_it_was(told, row.values.get("eqstudio"))


def _part(speaker: str) -> str:
    return "user" if speaker == "user" else "responder"


def _turn(position: int, role: str, speaker: str, gender: str, variants: tuple[VariantRow, ...]) -> TurnRow:
    return TurnRow(position=position, role=role, speaker=speaker, gender=gender.lower(), variants=variants)


def _variant(folder: Path, said: Said, label: str, response: Response | None = None) -> VariantRow:
    what = _("the response of grade %(grade)s") % {"grade": label} if response else _("the user's line")
    delivery = {name: value for name in DELIVERY if (value := getattr(said, name))}
    return VariantRow(
        label=label,
        text=said.text,
        audio=file_inside(folder, said.audio, what=what),
        tone=said.tone or ", ".join(f"{name}: {value}" for name, value in delivery.items()),
        grade=response.grade if response else None,
        rationale=response.rationale if response else "",
        delivery=delivery,
    )


def _no_audio_twice(turns: list[TurnRow]) -> None:
    files = [variant.audio for turn in turns if turn.role == "response" for variant in turn.variants]
    if len(set(files)) < len(files):
        raise RowRefused(_("Two responses name the same audio file; expected four different ones."))
