"""Judgements made elsewhere come in here, from a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.domain.ratings_file import Refusal, Row, clash, on_scales, ratings_read, without_duplicates
from annotation.models import ImportedRating, ImportWithdrawal, MachineRater, RatingsImport, Round
from annotation.selectors.dimensions import OWN
from annotation.selectors.imported import imported_ratings, items_elsewhere
from annotation.services.rounds import round_create
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User

_BATCH = 2_000
_ROWS_TOLD = 20
SCALES = {name: scale for name, (_called, scale, _level) in OWN.items()}


@transaction.atomic
def ratings_import(
    *,
    round: str,  # noqa: A002
    path: Path | None = None,
    data: bytes | None = None,
    name: str = "",
    encoding: str = "",
    duplicates: str = "error",
    machines: Iterable[str] = (),
    actor: User | None = None,
) -> dict[str, Any]:
    """Read ratings from a file (``path``, or its bytes as ``data`` with a ``name``) into the round of that name.

    CSV, TSV or JSON lines, also gzipped; UTF-8 or UTF-16 by its byte order mark, else in ``encoding``. Makes the round,
    without a corpus, when there is none. A row that is there already is skipped; one that is wrong, or that says otherwise
    than what is stored, is refused with its number and the reason, and the others are kept. ``duplicates`` inside the file
    go by a rule: error, first, last or mean. ``machines`` names raters that are no people. Verdicts and grades in a round
    that asks for them have to be on its scale; ``elsewhere`` counts the items that are none of that round, with the first
    rows; they are kept. InvalidInput when the file as a whole cannot be read; then nothing is stored. Writes one Event.
    """
    told = path.name if path is not None else name
    found = Round.objects.select_for_update(no_key=True).filter(name=round).first()
    sent = (data or b"") if path is None else _bytes(path)
    rows, refused, dropped = _read(sent, told, encoding, duplicates, found)
    target = found or round_create(name=round, corpus=None, actor=actor)
    new, clashes, known = _against_stored(target, rows, duplicates)
    _store(target, new, told, actor)
    for machine in machines:
        MachineRater.objects.get_or_create(round=target, name=machine, defaults={"marked_by": actor})
    wrong = sorted([*refused, *clashes])
    skipped = dropped + known
    event_record(
        actor=actor, verb="imported ratings", entity=target, created=len(new), skipped=skipped, refused=len(wrong)
    )
    where = told if path is None else str(path)
    return {
        "round": target.name,
        "created": len(new),
        "skipped": skipped,
        "elsewhere": _elsewhere(found, new),
        "refused": [{"path": where, "row": number, "reason": reason} for number, reason in wrong],
    }


def ratings_preview(
    *,
    round: Round,  # noqa: A002
    data: bytes,
    name: str,
    encoding: str = "",
    duplicates: str = "error",
) -> dict[str, Any]:
    """What ``ratings_import`` would do with a file, without doing it: counts, the first rows, and what is refused."""
    rows, refused, dropped = _read(data, name, encoding, duplicates, round)
    new, clashes, known = _against_stored(round, rows, duplicates)
    return {
        "created": len(new),
        "skipped": dropped + known,
        "refused": sorted([*refused, *clashes]),
        "elsewhere": _elsewhere(round, new),
        "rows": new,
        "items": len({row.item for row in new}),
        "raters": sorted({row.rater for row in new}),
        "dimensions": sorted({row.dimension for row in new}),
    }


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise InvalidInput(_("There is no file %(path)s.") % {"path": path}, field="csv") from error
    except OSError as error:
        told = _("%(path)s cannot be read: %(error)s.") % {"path": path.name, "error": error.strerror}
        raise InvalidInput(told, field="csv") from error


def _read(
    data: bytes, name: str, encoding: str, duplicates: str, round_: Round | None
) -> tuple[list[Row], list[Refusal], int]:
    rows = ratings_read(data, name=name, encoding=encoding)
    return without_duplicates(on_scales(rows, SCALES) if _asks(round_) else rows, duplicates)


def _asks(round_: Round | None) -> bool:
    """Whether a round asks people itself; one that only holds ratings from elsewhere knows no scale and no items."""
    return round_ is not None and round_.corpus_id is not None


def _elsewhere(round_: Round | None, rows: list[Row]) -> dict[str, Any]:
    """How many items of these rows the round does not have, and the numbers of the first rows of such."""
    if round_ is None or not _asks(round_):
        return {"items": 0, "rows": []}
    unknown = items_elsewhere(round=round_, items={row.item for row in rows})
    return {"items": len(unknown), "rows": [row.number for row in rows if row.item in unknown][:_ROWS_TOLD]}


def _store(round_: Round, rows: list[Row], name: str, actor: User | None) -> None:
    if not rows:
        return
    source = RatingsImport.objects.create(round=round_, name=name[:255], imported_by=actor)
    made = (
        ImportedRating(round=round_, source=source, **{k: v for k, v in row._asdict().items() if k != "number"})
        for row in rows
    )
    ImportedRating.objects.bulk_create(made, batch_size=_BATCH)


def _against_stored(round_: Round, rows: list[Row], duplicates: str) -> tuple[list[Row], list[Refusal], int]:
    """Rows that are new; refusals of those that say otherwise than a stored fact; how many are there already."""
    columns = ("item", "rater", "dimension", "value")
    there = {
        (item, rater, dimension): value
        for item, rater, dimension, value in imported_ratings(round=round_).values_list(*columns)
    }
    new = [row for row in rows if row.key not in there]
    known = [row for row in rows if row.key in there]
    clashes = [] if duplicates == "first" else [row for row in known if there[row.key] != row.value]
    return new, [Refusal(row.number, clash(there[row.key], row)) for row in clashes], len(known) - len(clashes)


@transaction.atomic
def import_withdraw(*, source: RatingsImport, reason: str, actor: User) -> ImportWithdrawal:
    """Take an import out again: its ratings stay stored and enter no figure from now on. Writes one Event.

    InvalidInput without a reason, Conflict when it was taken out already.
    """
    if not reason.strip():
        raise InvalidInput(_("Say why this import is taken out."), field="reason")
    RatingsImport.objects.select_for_update().get(pk=source.pk)
    if ImportWithdrawal.objects.filter(source=source).exists():
        raise Conflict(_("This import was taken out already."))
    made = ImportWithdrawal.objects.create(source=source, reason=reason.strip(), withdrawn_by=actor)
    event_record(actor=actor, verb="withdrew ratings", entity=source.round, source=source.uid, reason=made.reason)
    return made


@transaction.atomic
def machine_raters_set(*, round: Round, names: Iterable[str], actor: User) -> list[str]:  # noqa: A002
    """Say which raters of imported judgements are machines; those not named are people. Writes one Event.

    InvalidInput for a name that has rated nothing in the round.
    """
    wanted = sorted(set(names))
    known = set(imported_ratings(round=round).filter(rater__in=wanted).values_list("rater", flat=True))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise InvalidInput(_("Nobody called %(name)s has rated here.") % {"name": unknown[0]}, field="machines")
    there = set(round.machine_raters.values_list("name", flat=True))
    round.machine_raters.exclude(name__in=wanted).delete()
    MachineRater.objects.bulk_create(
        MachineRater(round=round, name=name, marked_by=actor) for name in wanted if name not in there
    )
    event_record(actor=actor, verb="marked machine raters", entity=round, machines=wanted)
    return wanted
