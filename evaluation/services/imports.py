"""Answers given elsewhere: a file becomes sittings of one respondent, can be looked at first, and can be taken out again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import SplitItem
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.importers import GivenAnswer, answer_importers
from evaluation.models import (
    AnswerImport,
    AnswerImportWithdrawal,
    AnswerIntake,
    ImportedAnswer,
    Respondent,
    Sitting,
    Study,
)
from evaluation.models.respondents import RUNS
from evaluation.services.imports_walk import Bringing, Tally, item_import
from evaluation.services.sittings import sitting_finish, sitting_open
from generation.models import Dialogue

_BLOCK = 1024 * 1024
MOST_LOOKED_AT = 3_000
"""Looking first does everything and takes it back; so many answers show what a file is like."""
UNDER_WAY = (AnswerIntake.State.WAITING, AnswerIntake.State.RUNNING)
Progress = Callable[[int, int], None]


def responses_import(
    *,
    study: Study,
    path: Path | str,
    format: str,  # noqa: A002 -- the word of the command
    name: str,
    file_name: str = "",
    actor: User | None = None,
    progress: Progress | None = None,
    begun: datetime | None = None,
    tally: Tally | None = None,
) -> dict[str, Any]:
    """Bring the answers of a file into ``study`` under the respondent ``name``; a second time adds nothing.

    Each run of the file is a sitting. What cannot be matched is refused with its row and reason, the rest goes in; answers to
    items that are in the split but not asked here count as ``outside``. Inserts TrialRecords, Responses, ScoreRecords and one
    AnswerImport with its ImportedAnswers, and one Event. Where the file holds a verdict, it is the score that counts (rule
    ``imported``); what our parser reads from the same raw answer is kept beside it under its own version. ``file_name`` is
    what the file is called when ``path`` is a copy. ``progress`` is called between items, outside any transaction, with how many
    answers were looked at and how many there are; what it raises ends the import there, and what has come in counts. An import
    of this file that was interrupted after ``begun`` is gone on with, from where ``tally`` had got, which is kept up to date
    whenever ``progress`` is called. Conflict where the import is taken out meanwhile.
    """
    walk = _Walk(study, path, format, name, file_name, actor)
    walk.bringing.tally = tally or Tally()
    walk.bringing.go_on(begun)
    sittings: dict[int, Sitting] = {}
    try:
        for run, group in walk.groups(progress):
            dialogue = walk.dialogue_of(group)
            if dialogue is None:
                continue
            number = walk.number_of(run, dialogue)
            if number not in sittings:
                sittings[number] = sitting_open(study=study, respondent=walk.bringing.respondent, run=number)
            with transaction.atomic():
                walk.bringing.hold()
                item_import(walk.bringing, sittings[number], dialogue, group)
    finally:
        sittings_end(study=study, name=walk.bringing.respondent.name)
    created = walk.bringing.tally.created
    event_record(actor=actor, verb="responses_import", entity=study, respondent=name, created=created)
    return walk.bringing.report()


def responses_preview(
    *,
    study: Study,
    path: Path | str,
    format: str,  # noqa: A002 -- as above
    name: str,
    file_name: str = "",
    progress: Progress | None = None,
) -> dict[str, Any]:
    """What ``responses_import`` would do with the first thousands of answers of this file (``looked_at`` says how many, where
    there are more). What is written for an item is rolled back before the next one, so that nobody waits long to write.
    """
    walk = _Walk(study, path, format, name, file_name, None, keep=False)
    for run, group in walk.groups(progress):
        dialogue = walk.dialogue_of(group)
        if dialogue is None:
            continue
        number = walk.number_of(run, dialogue)
        with transaction.atomic():
            walk.bringing.respondent = _respondent(study, name)
            sitting = sitting_open(study=study, respondent=walk.bringing.respondent, run=number)
            item_import(walk.bringing, sitting, dialogue, group)
            walk.bringing.source = None
            transaction.set_rollback(True)
    return walk.bringing.report(looked_at=walk.looked_at)


class _Walk:
    """The answers of a file by item and run, and where each belongs."""

    def __init__(  # noqa: PLR0917 -- the arguments of the two services
        self,
        study: Study,
        path: Path | str,
        format: str,  # noqa: A002 -- as above
        name: str,
        file_name: str,
        actor: User | None,
        *,
        keep: bool = True,
    ) -> None:
        source, file = answer_importers.get(format)(), Path(path)
        answers = list(source.read(file))
        if not answers:
            raise InvalidInput(_("%(name)s holds no answers.") % {"name": file_name or file.name}, field="path")
        self.looked_at = None if keep or len(answers) <= MOST_LOOKED_AT else MOST_LOOKED_AT
        self.answers = answers[: self.looked_at]
        respondent = _respondent(study, name, keep=keep)
        self.bringing = Bringing(respondent, format, (file_name or file.name)[:255], _sha256(file), actor)
        self.taken_out, self.cancelled = _taken_out(respondent) if respondent.pk else (set(), set())
        self.by_id, self.asked = _dialogues(study)

    def groups(self, progress: Progress | None) -> Iterator[tuple[int, list[GivenAnswer]]]:
        tally, place = self.bringing.tally, 0
        for run, group in _by_item_and_run(self.answers):
            place += len(group)
            if place <= tally.done:
                continue
            if progress is not None:
                progress(tally.done, len(self.answers))
            yield run, group
            tally.done = place
        if progress is not None:
            progress(tally.done, len(self.answers))

    def dialogue_of(self, group: list[GivenAnswer]) -> Dialogue | None:
        """The item that these answers are about; None (and counted) where the study does not ask it."""
        dialogue = _named(self.by_id, group[0])
        if dialogue is None:
            reason = _("The split has no item %(item)r.") % {"item": group[0].item}
            self.bringing.refuse(group, reason, soft=True)
        elif dialogue.pk not in self.asked:
            self.bringing.tally.outside += len(group)
            return None
        return dialogue

    def number_of(self, run: int, dialogue: Dialogue) -> int:
        """The sitting of a run: one further on for each time that the item, or the whole, was taken out."""
        if run % RUNS not in self.bringing.tally.runs:
            self.bringing.tally.runs.append(run % RUNS)
        number = run
        while number in self.cancelled or (number, dialogue.pk) in self.taken_out:
            number += RUNS
        return number


@transaction.atomic
def answers_withdraw(*, source: AnswerImport, reason: str, actor: User) -> AnswerImportWithdrawal:
    """Take an import of answers out again: they stay stored and enter no figure from now on. Writes one Event.

    A sitting of which nothing is left is cancelled, and where the same file is still coming in under this name, it is stopped.
    InvalidInput without a reason, Conflict when it was taken out already.
    """
    if not reason.strip():
        raise InvalidInput(_("Say why this import is taken out."), field="reason")
    Respondent.objects.select_for_update().get(pk=source.respondent_id)
    if AnswerImportWithdrawal.objects.filter(source=source).exists():
        raise Conflict(_("This import was taken out already."))
    made = AnswerImportWithdrawal.objects.create(source=source, reason=reason.strip(), withdrawn_by=actor)
    coming = AnswerIntake.objects.filter(study=source.study, respondent=source.respondent.name, sha256=source.sha256)
    stopped = coming.filter(look=False, state__in=UNDER_WAY).update(state=AnswerIntake.State.STOPPED, lease_until=None)
    left = ImportedAnswer.objects.filter(source__withdrawal=None).values("response__trial__sitting")
    empty = Sitting.objects.filter(respondent=source.respondent).exclude(pk__in=left)
    empty.filter(trials__responses__imported__source=source).update(state=Sitting.State.CANCELLED)
    if stopped:
        sittings_end(study=source.study, name=source.respondent.name)
    event_record(actor=actor, verb="answers_withdraw", entity=source.study, source=source.uid, reason=made.reason)
    return made


def sittings_end(*, study: Study, name: str) -> None:
    """Finish what is open under the name of an imported respondent, also what a killed import left: all its answers count then."""
    imported = Sitting.objects.filter(respondent__study=study, respondent__kind=Respondent.Kind.IMPORTED)
    for sitting in imported.filter(respondent__name=name, state=Sitting.State.OPEN):
        sitting_finish(sitting=sitting)


def respondent_check(study: Study, name: str) -> Respondent | None:
    """The respondent of a file that has this name already; InvalidInput or Conflict where answers cannot go under it."""
    if not name.strip() or len(name.strip()) > Respondent._meta.get_field("name").max_length:  # type: ignore[operator]  # noqa: SLF001 -- Django's documented way
        raise InvalidInput(_("A respondent needs a name of at most 120 characters."), field="respondent")
    found = Respondent.objects.filter(study=study, name=name.strip()).first()
    if found is not None and found.kind != Respondent.Kind.IMPORTED:
        raise Conflict(
            _("%(name)s already sits this study as a %(kind)s; choose another name.")
            % {"name": found.name, "kind": found.get_kind_display()},
            field="respondent",
        )
    return found


def _respondent(study: Study, name: str, *, keep: bool = True) -> Respondent:
    found = respondent_check(study, name)
    kind = Respondent.Kind.IMPORTED
    if found is None and not keep:
        return Respondent(study=study, name=name.strip(), kind=kind)
    return found or Respondent.objects.get_or_create(study=study, name=name.strip(), defaults={"kind": kind})[0]


def _dialogues(study: Study) -> tuple[dict[str, Dialogue | None], set[int]]:
    """The split's dialogues by their public id and by the id they had where they came from (None where two share it), and
    which of them the study asks about.
    """
    rows = [row.dialogue for row in SplitItem.objects.filter(split=study.split).select_related("dialogue")]
    named: dict[str, Dialogue | None] = {}
    for row in rows:
        tail = row.external_id.rsplit(":", 1)[-1]
        for known in {row.external_id, tail} - {""}:
            named[known] = None if known in named and known != row.external_id else row
    drawn = set(study.items.values_list("dialogue_id", flat=True))
    return {**named, **{row.uid: row for row in rows}}, drawn or {row.pk for row in rows}


def _named(by_id: dict[str, Dialogue | None], answer: GivenAnswer) -> Dialogue | None:
    return next((found for name in (answer.item, *answer.also) if (found := by_id.get(name))), None)


def _taken_out(respondent: Respondent) -> tuple[set[tuple[int, int]], set[int]]:
    """What of this respondent was taken out, as (number of the sitting, item); and which sittings are no more."""
    gone = ImportedAnswer.objects.filter(source__respondent=respondent).exclude(source__withdrawal=None)
    pairs = gone.values_list("response__trial__sitting__run", "response__trial__dialogue_id").distinct()
    cancelled = respondent.sittings.filter(state=Sitting.State.CANCELLED).values_list("run", flat=True)
    return set(pairs), set(cancelled)


def _by_item_and_run(answers: list[GivenAnswer]) -> Iterator[tuple[int, list[GivenAnswer]]]:
    groups: dict[tuple[str, tuple[str, ...], int], list[GivenAnswer]] = {}
    for answer in answers:
        groups.setdefault((answer.item, answer.also, answer.run), []).append(answer)
    for (_item, _also, run), group in groups.items():
        yield run, group


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
