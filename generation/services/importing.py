"""Dialogues that were made elsewhere come in here: each one whole, or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from django.db import DataError, IntegrityError, transaction
from django.utils.translation import gettext as _

from eqstudio.errors import InvalidInput, StudioError
from eqstudio.events import event_record
from eqstudio.models import User
from generation.domain.acoustics import Measures
from generation.domain.lifecycle import DialogueState
from generation.importers import Audio, DialogueRow, Embedded, Refusal, TurnRow, importers
from generation.importers.base import VariantRow
from generation.importers.tables import readable, unstorable
from generation.intake import MAX_BYTES, Taken, clip_take
from generation.models import Clip, Corpus, Dialogue, Turn, Variant
from generation.providers import transcribers
from generation.services.checking import qc_imported
from generation.services.hearing import hearing_ask
from generation.services.matching import copies_make

MAX_ID = 200


@dataclass
class ImportReport:
    """What came of an import. ``refused`` says why, dialogue by dialogue."""

    created: int = 0
    skipped: int = 0
    refused: list[Refusal] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {
            "created": self.created,
            "skipped": self.skipped,
            "refused": [asdict(refusal) for refusal in self.refused],
        }


def corpus_import(
    *,
    corpus: Corpus,
    path: Path,
    format: str,  # noqa: A002 -- the word on the command line
    actor: User | None = None,
    defaults: Mapping[str, str] | None = None,
    transcriber: str = "",
) -> ImportReport:
    """Bring the dialogues under ``path`` into ``corpus``; one that is there already (same external id) is skipped.

    ``defaults`` hold for rows that do not say it themselves. Side effects: clips, and per dialogue one transaction with its
    rows, findings, move to READY or FLAGGED and Events (with a ``transcriber`` it stays VOICED, and due for its check);
    one Event for the whole import. A broken dialogue is refused with
    its reason and stops no other. UnknownAlias for an unknown format, InvalidInput when ``path`` holds nothing of it.
    """
    report = ImportReport()
    for outcome in import_walk(corpus=corpus, path=path, format=format, defaults=defaults, transcriber=transcriber):
        if isinstance(outcome, Refusal):
            report.refused.append(outcome)
        elif outcome is None:
            report.skipped += 1
        else:
            report.created += 1
    event_record(
        actor=actor,
        verb="imported",
        entity=corpus,
        format=format,
        created=report.created,
        skipped=report.skipped,
        refused=len(report.refused),
    )
    return report


def import_check(*, path: Path, format: str, transcriber: str = "") -> None:  # noqa: A002 -- see above
    """Raise UnknownAlias or InvalidInput when there is nothing to import, or nobody to listen; writes nothing."""
    if transcriber:
        transcribers.get(transcriber)
    next(importers.get(format)().discover(path), None)


def import_walk(
    *,
    corpus: Corpus,
    path: Path,
    format: str,  # noqa: A002 -- see above
    defaults: Mapping[str, str] | None = None,
    transcriber: str = "",
    start: int = 0,
) -> Iterator[Dialogue | Refusal | None]:
    """Import one dialogue after the other and tell what came of each: it, why it was refused, or None (there already).

    The first ``start`` rows were dealt with before: they are read past.
    """
    seen: dict[str, str] = {}
    root = path if path.is_dir() else path.parent
    for number, row in enumerate(importers.get(format)(defaults).discover(path)):
        past = number < start
        if isinstance(row, Refusal):
            outcome: Dialogue | Refusal | None = row
        elif row.external_id in seen:
            reason = _("Its id is also that of %(path)s; expected a different one.") % {"path": seen[row.external_id]}
            outcome = Refusal(path=row.path, row=row.row, reason=reason)
        else:
            seen[row.external_id] = row.path
            outcome = None if past else _take(corpus, row, transcriber, root)
        if not past:
            yield _shown(outcome) if isinstance(outcome, Refusal) else outcome


def _shown(refusal: Refusal) -> Refusal:
    return Refusal(path=readable(refusal.path), row=readable(refusal.row), reason=readable(refusal.reason))


def _take(corpus: Corpus, row: DialogueRow, transcriber: str, root: Path) -> Dialogue | Refusal | None:
    row = replace(row, external_id=_id(row.external_id))
    if Dialogue.objects.filter(corpus=corpus, external_id=row.external_id).exists():
        return None
    try:
        spoilt = unstorable([asdict(replace(row, turns=())), [_words(turn) for turn in row.turns]])
        if spoilt:
            return Refusal(path=row.path, row=row.row, reason=spoilt)
        taken = {audio: _taken(audio, root) for audio in _shuffled(row)}
        for turn in row.turns:  # before the transaction, which would keep others waiting meanwhile
            copies_make(clips=[taken[variant.audio].clip for variant in turn.variants])
        return _write(corpus, row, taken, transcriber)
    except StudioError as error:
        return Refusal(path=row.path, row=row.row, reason=error.message)
    except _UNKEPT as error:
        if Dialogue.objects.filter(corpus=corpus, external_id=row.external_id).exists():
            return None
        why = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        return Refusal(path=row.path, row=row.row, reason=_("It cannot be kept: %(why)s.") % {"why": why})


_UNKEPT = (IntegrityError, DataError, OverflowError, TypeError, ValueError, LookupError, AttributeError, RecursionError)
"""What a row raises that no reader foresaw; the others go in."""


def _shuffled(row: DialogueRow) -> list[Audio]:
    """Taken in by a hash of their names: a store tells when each file came, so the order must not follow the key."""
    audios = {variant.audio for turn in row.turns for variant in turn.variants}
    return sorted(audios, key=lambda audio: hashlib.sha256(f"{row.external_id}/{audio.name}".encode()).digest())


def _words(turn: TurnRow) -> list[Any]:
    said = [
        [variant.label, variant.text, variant.tone, variant.rationale, variant.delivery] for variant in turn.variants
    ]
    return [turn.role, turn.speaker, turn.speaker_name, turn.gender, turn.voice, said]


def _id(external_id: str) -> str:
    """As it is, if it fits; a longer one keeps its beginning and is told apart by its hash."""
    if len(external_id) <= MAX_ID:
        return external_id
    return f"{external_id[: MAX_ID - 17]}~{hashlib.sha256(external_id.encode(errors='replace')).hexdigest()[:16]}"


def _taken(audio: Audio, root: Path) -> Taken:
    """A clip, under the name that its sender knows it by: as it lies below ``root``."""
    if isinstance(audio, Embedded):
        return clip_take(data=audio.data, name=audio.name)
    name = audio.relative_to(root).as_posix() if audio.is_relative_to(root) else audio.name
    try:
        if audio.stat().st_size > MAX_BYTES:  # clip_take says so, too, but after it was read
            raise InvalidInput(
                _("%(name)s: %(size)d bytes are more than the %(most)d a clip may have.")
                % {"name": name, "size": audio.stat().st_size, "most": MAX_BYTES},
                field="audio",
            )
        data = audio.read_bytes()
    except OSError as error:
        raise InvalidInput(
            _("%(name)s cannot be read: %(why)s.") % {"name": name, "why": error.strerror or error}, field="audio"
        ) from error
    return clip_take(data=data, name=name)


@transaction.atomic
def _write(corpus: Corpus, row: DialogueRow, taken: Mapping[Audio, Taken], transcriber: str) -> Dialogue:
    dialogue = Dialogue.objects.create(
        corpus=corpus,
        external_id=row.external_id,
        benchmark=row.benchmark,
        category=row.category,
        language=row.language,
        source=row.source,
        state=DialogueState.VOICED.value,
        valence=row.valence[:20],
        title=row.title[:300],
        scenario=row.scenario,
        extras=row.extras,
        template_key=row.template_key[:120],
        topic_key=row.topic_key[:120],
    )
    turns = Turn.objects.bulk_create([_turn(dialogue, turn) for turn in row.turns])
    Variant.objects.bulk_create(
        [
            _variant(made, variant, taken[variant.audio].clip)
            for made, turn in zip(turns, row.turns, strict=True)
            for variant in turn.variants
        ]
    )
    event_record(actor=None, verb="imported", entity=dialogue, corpus=corpus.name, external_id=row.external_id)
    if transcriber:
        return hearing_ask(dialogue=dialogue, transcriber=transcriber)
    measures: dict[int | None, Measures] = {each.clip.pk: each.measures for each in taken.values()}
    return qc_imported(dialogue=dialogue, measures=measures)


def _turn(dialogue: Dialogue, turn: TurnRow) -> Turn:
    return Turn(
        dialogue=dialogue,
        position=turn.position,
        role=turn.role,
        speaker=turn.speaker[:40],
        speaker_name=turn.speaker_name[:80],
        gender=turn.gender[:20],
        voice=turn.voice[:60],
    )


def _variant(turn: Turn, variant: VariantRow, clip: Clip) -> Variant:
    return Variant(
        turn=turn,
        label=variant.label[:20],
        text=variant.text,
        tone=variant.tone,
        delivery=variant.delivery,
        intended_grade=variant.grade,
        rationale=variant.rationale,
        clip=clip,
    )
