"""Dialogues that were made elsewhere come in here: each one whole, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from eqstudio.errors import InvalidInput, StudioError
from eqstudio.events import event_record
from eqstudio.models import User
from generation.domain.acoustics import Measures
from generation.domain.lifecycle import DialogueState
from generation.importers import DialogueRow, Refusal, TurnRow, importers
from generation.intake import clip_ingest
from generation.models import Clip, Corpus, Dialogue, Turn, Variant
from generation.services.checking import clip_measured, qc_imported


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


def corpus_import(*, corpus: Corpus, path: Path, format: str, actor: User | None = None) -> ImportReport:  # noqa: A002 -- the word on the command line
    """Bring the dialogues under ``path`` into ``corpus``; one that is there already (same external id) is skipped.

    Side effects: clips, and per dialogue one transaction with its rows, findings, move to READY or FLAGGED and Events;
    one Event for the whole import. A broken dialogue is refused with its reason and stops no other. UnknownAlias for an
    unknown format, InvalidInput when ``path`` holds nothing of it.
    """
    report = ImportReport()
    for outcome in import_walk(corpus=corpus, path=path, format=format):
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


def import_check(*, path: Path, format: str) -> None:  # noqa: A002 -- see above
    """Raise UnknownAlias or InvalidInput when there is nothing to import; writes nothing."""
    next(importers.get(format)().discover(path), None)


def import_walk(*, corpus: Corpus, path: Path, format: str) -> Iterator[Dialogue | Refusal | None]:  # noqa: A002 -- see above
    """Import one dialogue after the other and tell what came of each: it, why it was refused, or None (there already)."""
    seen: dict[str, str] = {}
    for row in importers.get(format)().discover(path):
        if isinstance(row, Refusal):
            yield row
        elif row.external_id in seen:
            reason = _("Its id is also that of %(path)s; expected a different one.") % {"path": seen[row.external_id]}
            yield Refusal(path=row.path, row=row.row, reason=reason)
        else:
            seen[row.external_id] = row.path
            yield _take(corpus, row)


def _take(corpus: Corpus, row: DialogueRow) -> Dialogue | Refusal | None:
    if Dialogue.objects.filter(corpus=corpus, external_id=row.external_id).exists():
        return None
    try:
        clips = _clips(row)
        measures: dict[int | None, Measures] = {clip.pk: clip_measured(clip) for clip in clips.values()}
        return _write(corpus, row, clips, measures)
    except IntegrityError:
        if Dialogue.objects.filter(corpus=corpus, external_id=row.external_id).exists():
            return None
        raise
    except StudioError as error:
        return Refusal(path=row.path, row=row.row, reason=error.message)


def _clips(row: DialogueRow) -> dict[Path, Clip]:
    """Taken in by a hash of their names: a store tells when each file came, so the order must not follow the key."""
    files = {variant.audio for turn in row.turns for variant in turn.variants}
    shuffled = sorted(files, key=lambda file: sha256(f"{row.external_id}/{file.name}".encode()).digest())
    return {file: _clip(file) for file in shuffled}


def _clip(file: Path) -> Clip:
    name = f"{file.parent.name}/{file.name}"
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InvalidInput(
            _("%(name)s cannot be read: %(why)s.") % {"name": name, "why": error.strerror or error}, field="audio"
        ) from error
    return clip_ingest(data=data, name=name)


@transaction.atomic
def _write(corpus: Corpus, row: DialogueRow, clips: dict[Path, Clip], measures: dict[int | None, Measures]) -> Dialogue:
    dialogue = Dialogue.objects.create(
        corpus=corpus,
        external_id=row.external_id,
        benchmark=row.benchmark,
        category=row.category,
        language=row.language,
        source=Dialogue.Source.IMPORTED,
        state=DialogueState.VOICED.value,
        valence=row.valence[:20],
        title=row.title[:300],
        scenario=row.scenario,
        extras=row.extras,
    )
    for turn in row.turns:
        _turn(dialogue, turn, clips)
    event_record(actor=None, verb="imported", entity=dialogue, corpus=corpus.name, external_id=row.external_id)
    return qc_imported(dialogue=dialogue, measures=measures)


def _turn(dialogue: Dialogue, turn: TurnRow, clips: dict[Path, Clip]) -> None:
    made = Turn.objects.create(
        dialogue=dialogue,
        position=turn.position,
        role=turn.role,
        speaker=turn.speaker[:40],
        speaker_name=turn.speaker_name[:80],
        gender=turn.gender[:20],
        voice=turn.voice[:60],
    )
    for variant in turn.variants:
        Variant.objects.create(
            turn=made,
            label=variant.label,
            text=variant.text,
            tone=variant.tone,
            intended_grade=variant.grade,
            clip=clips[variant.audio],
        )
