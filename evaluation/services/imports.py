"""Answers given elsewhere: a file becomes sittings of one respondent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation.models import SplitItem
from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Outcome, Parsed, Trial
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.domain.order import trial_mirror
from evaluation.importers import GivenAnswer, answer_importers
from evaluation.models import Respondent, Response, ScoreRecord, Sitting, Study, TrialRecord
from evaluation.selectors import IMPORTED
from evaluation.services.responses import response_store
from evaluation.services.sittings import answers_so_far, sitting_finish, sitting_open, trial_build, trial_store
from generation.models import Dialogue
from generation.selectors import item_view


@dataclass
class _Tally:
    """What came of the answers in a file."""

    created: int = 0
    skipped: int = 0
    differs: int = 0
    refused: list[dict[str, Any]] = field(default_factory=list)

    def report(self, respondent: Respondent, *, runs: int) -> dict[str, Any]:
        return {
            "respondent": respondent.name,
            "runs": runs,
            "created": self.created,
            "skipped": self.skipped,
            "reading_differs": self.differs,
            "refused": self.refused,
        }


def responses_import(
    *,
    study: Study,
    path: Path | str,
    format: str,  # noqa: A002 -- the word of the command
    name: str,
    actor: User | None = None,
) -> dict[str, Any]:
    """Bring the answers of a file into ``study`` under the respondent ``name``; a second time adds nothing.

    Each run of the file is a sitting. What cannot be matched is refused with its row and reason, the rest goes in. Inserts
    TrialRecords, Responses and ScoreRecords, and one Event. Where the file holds a verdict, it is the score that counts
    (rule ``imported``); what our parser reads from the same raw answer is kept beside it under its own version.
    """
    source = answer_importers.get(format)()
    file = Path(path)
    answers = list(source.read(file))
    if not answers:
        raise InvalidInput(f"{file.name} holds no answers.", field="path")
    respondent = _respondent(study, name)
    dialogues = _dialogues(study)
    tally = _Tally()
    sittings: dict[int, Sitting] = {}
    for (item, run), group in _by_item_and_run(answers):
        dialogue = dialogues.get(item)
        if dialogue is None:
            reason = f"The split has no item {item!r}."
            tally.refused += [{"path": file.name, "row": answer.row, "reason": reason} for answer in group]
            continue
        if run not in sittings:
            sittings[run] = sitting_open(study=study, respondent=respondent, run=run)
        with transaction.atomic():
            problems = _item_import(sittings[run], dialogue, group, tally)
        tally.refused += [{"path": file.name, **problem} for problem in problems]
    for sitting in sittings.values():
        sitting_finish(sitting=sitting)
    event_record(actor=actor, verb="responses_import", entity=study, respondent=name, created=tally.created)
    return tally.report(respondent, runs=len(sittings))


def _respondent(study: Study, name: str) -> Respondent:
    found, _created = Respondent.objects.get_or_create(
        study=study, name=name, defaults={"kind": Respondent.Kind.IMPORTED}
    )
    if found.kind != Respondent.Kind.IMPORTED:
        raise Conflict(
            f"{name} already sits this study as a {found.get_kind_display()}; choose another name.", field="respondent"
        )
    return found


def _dialogues(study: Study) -> dict[str, Dialogue]:
    """The split's dialogues by their public id and by the id they had where they came from."""
    rows = [row.dialogue for row in SplitItem.objects.filter(split=study.split).select_related("dialogue")]
    named = {row.external_id: row for row in rows if row.external_id}
    return {**named, **{row.uid: row for row in rows}}


def _by_item_and_run(answers: list[GivenAnswer]) -> Iterator[tuple[tuple[str, int], list[GivenAnswer]]]:
    groups: dict[tuple[str, int], list[GivenAnswer]] = {}
    for answer in answers:
        groups.setdefault((answer.item, answer.run), []).append(answer)
    yield from groups.items()


def _item_import(
    sitting: Sitting, dialogue: Dialogue, answers: list[GivenAnswer], tally: _Tally
) -> list[dict[str, Any]]:
    """Walk the item's questions in the order they are asked, taking each answer from the file."""
    waiting: dict[str, GivenAnswer] = {}
    problems = []
    stored = set(sitting.trials.filter(dialogue=dialogue, responses__isnull=False).values_list("key", flat=True))
    for answer in answers:
        if answer.trial in stored:
            tally.skipped += 1
        elif answer.problem or answer.trial in waiting:
            problems.append({"row": answer.row, "reason": answer.problem or f"A second answer to {answer.trial}."})
        else:
            waiting[answer.trial] = answer
    while waiting:
        answered = answers_so_far(sitting=sitting, dialogue=dialogue)
        trial = trial_build(sitting=sitting, dialogue=dialogue, answered=answered)
        given = waiting.pop(trial.key, None) if trial else None
        if trial is None or given is None:
            asked = f"the next question is {trial.key}" if trial else "no further question is asked"
            problems += [
                {"row": late.row, "reason": f"There is no question {late.trial} now: {asked}."}
                for late in waiting.values()
            ]
            break
        _answer_import(sitting, dialogue, trial, given, tally)
    return problems


def _answer_import(sitting: Sitting, dialogue: Dialogue, trial: Trial, given: GivenAnswer, tally: _Tally) -> None:
    trial = _as_shown_there(sitting, dialogue, trial, given)
    record = trial_store(sitting=sitting, dialogue=dialogue, trial=trial)
    response = response_store(
        trial=record,
        raw=_raw_with_letters(trial, given.raw),
        failure=given.failure,
        paradata={"row": given.row, **given.paradata},
    )
    tally.created += 1
    if given.correct is not None:
        tally.differs += _verdict_store(response, record, given)


def _as_shown_there(sitting: Sitting, dialogue: Dialogue, trial: Trial, given: GivenAnswer) -> Trial:
    """The options in the order the file says they had: it tells in which slot the right one was, ``score`` knows which it is."""
    if given.right_slot is None:
        return trial
    benchmark = benchmark_get(sitting.respondent.study.benchmark)
    item = item_view(dialogue=dialogue)
    letter = trial.options[given.right_slot].letter
    right_there = benchmark.score(item, trial, Parsed(Outcome.ANSWERED, letter)).correct
    return trial if right_there else trial_mirror(trial)


def _raw_with_letters(trial: Trial, raw: str) -> str:
    """An answer may name an option by the public id of its rendition."""
    named = next((option.letter for option in trial.options if option.variant and option.variant == raw.strip()), None)
    return f"ANSWER: {named}" if named else raw


def _verdict_store(response: Response, record: TrialRecord, given: GivenAnswer) -> bool:
    """Insert the file's own verdict; True where our reading comes to another answer."""
    letter = ""
    if given.slot is not None:
        letter = Trial.from_dict(record.shown).options[given.slot].letter
    ScoreRecord.objects.get_or_create(
        response=response,
        version=IMPORTED,
        defaults={
            "outcome": Outcome.ANSWERED.value if letter else Outcome.UNPARSED.value,
            "value": letter,
            "rule": IMPORTED,
            "correct": given.correct,
        },
    )
    ours = response.scores.exclude(rule=IMPORTED).order_by("-pk").first()
    return ours is not None and ours.value != letter
