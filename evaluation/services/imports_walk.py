"""One item of a file of answers: its questions are asked in their order, and each takes its answer from the file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Answered, ItemView, Outcome, Parsed, Trial, TrialKind
from eqstudio.benchmarks.scripts import same_words
from eqstudio.errors import Conflict
from eqstudio.models import User
from evaluation.domain.order import trial_mirror
from evaluation.importers import GivenAnswer
from evaluation.models import (
    AnswerImport,
    AnswerImportWithdrawal,
    ImportedAnswer,
    Respondent,
    Response,
    ScoreRecord,
    Sitting,
    TrialRecord,
)
from evaluation.selectors import IMPORTED
from evaluation.services.responses import response_store
from evaluation.services.sittings import answers_so_far, trial_build, trial_store
from generation.models import Dialogue, Variant
from generation.selectors import item_view

PAIR = 2


@dataclass
class Tally:
    """What came of the first ``done`` answers of a file. Kept beside an import, it lets an interrupted one go on from there."""

    done: int = 0
    created: int = 0
    skipped: int = 0
    outside: int = 0
    differs: int = 0
    refused: list[dict[str, Any]] = field(default_factory=list)
    refused_count: int = 0
    """With those of an earlier step that ``refused`` no longer lists."""
    runs: list[int] = field(default_factory=list)


@dataclass
class Bringing:
    """A file on its way into a study, and what came of its answers so far."""

    respondent: Respondent
    format: str
    name: str
    sha256: str
    actor: User | None
    source: AnswerImport | None = None
    tally: Tally = field(default_factory=Tally)
    before: int = 0
    """Of ``created``, what came in before a kill and is met again now."""

    def go_on(self, begun: datetime | None) -> None:
        """Take up what this file brought since ``begun``, so that an interrupted import is told as one."""
        if begun is None or not self.respondent.pk:
            return
        found = AnswerImport.objects.filter(respondent=self.respondent, sha256=self.sha256, created__gte=begun)
        self.source = found.filter(withdrawal=None).first()
        if self.source is not None:
            came = self.source.answers.count()
            self.before, self.tally.created = came - self.tally.created, came

    def hold(self) -> None:
        """Keep the import from being taken out until the transaction ends. Conflict when it has been already."""
        Respondent.objects.select_for_update().get(pk=self.respondent.pk)
        if self.source is not None and AnswerImportWithdrawal.objects.filter(source=self.source).exists():
            raise Conflict(_("This import was taken out while it was coming in."))

    def refuse(self, answers: Iterable[GivenAnswer], reason: str, *, soft: bool = False) -> None:
        """Refuse answers; ``soft``: for this reason only where they have none of their own."""
        for answer in answers:
            told = (answer.problem or reason) if soft and not answer.item else reason
            self.tally.refused.append({"path": self.name, "row": answer.row, "reason": told})
            self.tally.refused_count += 1

    def keep(self, response: Response) -> None:
        """Say of a stored answer that it came with this file."""
        if self.source is None:
            self.source = AnswerImport.objects.create(
                study=self.respondent.study,
                respondent=self.respondent,
                format=self.format,
                name=self.name,
                sha256=self.sha256,
                imported_by=self.actor,
            )
        ImportedAnswer.objects.create(source=self.source, response=response)
        self.tally.created += 1

    def report(self, *, looked_at: int | None = None) -> dict[str, Any]:
        return {
            "respondent": self.respondent.name,
            "runs": len(self.tally.runs),
            "created": self.tally.created,
            "skipped": self.tally.skipped - self.before,
            "outside": self.tally.outside,
            "reading_differs": self.tally.differs,
            "refused": self.tally.refused,
            "looked_at": looked_at,
        }


def item_import(bringing: Bringing, sitting: Sitting, dialogue: Dialogue, answers: Sequence[GivenAnswer]) -> None:
    """Store the answers to one item in one run. A question that the file leaves out is passed over, unless a later one
    depends on it.
    """
    item = item_view(dialogue=dialogue)
    waiting = _waiting(bringing, sitting, dialogue, answers)
    gold = any(answer.history == "gold" for answer in answers)
    passed: list[Answered] = []
    while waiting:
        answered = [*answers_so_far(sitting=sitting, dialogue=dialogue), *passed]
        if gold:
            answered = [_as_right(sitting, item, one.trial) for one in answered]
        trial = trial_build(sitting=sitting, dialogue=dialogue, answered=answered)
        given = waiting.pop(trial.key, None) if trial else None
        if trial and given:
            _answer_import(bringing, sitting, dialogue, trial, given)
        elif trial and (gold or trial.kind is not TrialKind.CHOICE):
            passed.append(Answered(trial, Parsed(Outcome.NOT_HEARD)))
        else:
            _left_over(bringing, trial, waiting.values())
            return


def _left_over(bringing: Bringing, trial: Trial | None, answers: Iterable[GivenAnswer]) -> None:
    for late in answers:
        told = {"trial": late.trial, "next": trial.key if trial else ""}
        words = (
            _("There is no question %(trial)s now: the next question is %(next)s.")
            if trial
            else _("There is no question %(trial)s now: no further question is asked.")
        )
        bringing.refuse([late], words % told)


def _waiting(
    bringing: Bringing, sitting: Sitting, dialogue: Dialogue, answers: Sequence[GivenAnswer]
) -> dict[str, GivenAnswer]:
    """The answers that can go in, by question; those that are there already, or cannot, are counted."""
    waiting: dict[str, GivenAnswer] = {}
    stored = set(sitting.trials.filter(dialogue=dialogue, responses__isnull=False).values_list("key", flat=True))
    met: set[str] = set()
    trials = _trials(sitting, dialogue) if any(not answer.trial for answer in answers) else []
    for given in answers:
        if given.delivery and not given.problem and _delivery(trials) != given.delivery:
            bringing.tally.outside += 1
            continue
        answer = given if given.trial or given.problem else _with_key(given, trials)
        if answer.problem or not answer.trial:
            bringing.refuse([answer], answer.problem or _("It does not say which question it answers."))
        elif answer.trial in met:
            bringing.refuse([answer], _("A second answer to %(trial)s.") % {"trial": answer.trial})
        elif answer.trial in stored:
            bringing.tally.skipped += 1
            met.add(answer.trial)
        else:
            waiting[answer.trial] = answer
            met.add(answer.trial)
    return waiting


def _trials(sitting: Sitting, dialogue: Dialogue) -> list[Trial]:
    """Every question about an item whose questions do not hang on each other's answers."""
    found: list[Answered] = []
    while (trial := trial_build(sitting=sitting, dialogue=dialogue, answered=found)) is not None:
        found.append(Answered(trial, Parsed(Outcome.NOT_HEARD)))
    return [one.trial for one in found]


def _delivery(trials: Sequence[Trial]) -> str:
    """Which delivery of the line is asked about here."""
    heard = next((segment.variant for trial in trials for segment in trial.context if segment.variant), None)
    return Variant.objects.filter(uid=heard).values_list("label", flat=True).first() or "" if heard else ""


def _with_key(given: GivenAnswer, trials: Sequence[Trial]) -> GivenAnswer:
    """The same answer with the key of the question that has its words and its options."""
    wanted = _folded(given.options)
    for trial in trials:
        words = [option.text or "" for option in trial.options]
        if trial.options and same_words(trial.question, given.question) and _folded(words) == wanted:
            return replace(given, trial=trial.key)
    return replace(given, problem=_("No question of this item has these words and these options."))


def _folded(words: Iterable[str]) -> list[str]:
    return sorted(" ".join(word.casefold().split()) for word in words)


def _as_right(sitting: Sitting, item: ItemView, trial: Trial) -> Answered:
    """The question as if it had been answered right: a log in which earlier questions counted as right."""
    benchmark = benchmark_get(sitting.respondent.study.benchmark)
    for option in trial.options:
        parsed = Parsed(Outcome.ANSWERED, option.letter)
        if benchmark.score(item, trial, parsed).correct:
            return Answered(trial, parsed)
    return Answered(trial, Parsed(Outcome.NOT_HEARD))


def _answer_import(bringing: Bringing, sitting: Sitting, dialogue: Dialogue, trial: Trial, given: GivenAnswer) -> None:
    trial = _as_shown_there(sitting, dialogue, trial, given)
    if not _same_recording(sitting, dialogue, trial, given):
        bringing.refuse([given], _("It was asked about another recording: another option is the right one there."))
        return
    record = trial_store(sitting=sitting, dialogue=dialogue, trial=trial)
    response = response_store(
        trial=record,
        raw=_raw_with_letters(trial, given.raw),
        failure=given.failure,
        error=given.error,
        paradata={"row": given.row, **given.paradata},
    )
    bringing.keep(response)
    if given.correct is not None:
        bringing.tally.differs += _verdict_store(response, record, given)


def _as_shown_there(sitting: Sitting, dialogue: Dialogue, trial: Trial, given: GivenAnswer) -> Trial:
    """The options in the order the file says they had: by their words, else by the slot of the right one (``score`` knows
    which it is).
    """
    words = [option.text or "" for option in trial.options]
    if given.options and _folded(words) == _folded(given.options):
        return _in_order(trial, [_place(words, wanted) for wanted in given.options])
    if given.right_slot is None or given.right_slot >= len(trial.options):
        return trial
    benchmark = benchmark_get(sitting.respondent.study.benchmark)
    item = item_view(dialogue=dialogue)
    right = [
        place
        for place, option in enumerate(trial.options)
        if benchmark.score(item, trial, Parsed(Outcome.ANSWERED, option.letter)).correct
    ]
    if not right or right[0] == given.right_slot:
        return trial
    if len(trial.options) == PAIR:
        return trial_mirror(trial)
    order = list(range(len(trial.options)))
    order[right[0]], order[given.right_slot] = order[given.right_slot], order[right[0]]
    return _in_order(trial, order)


def _same_recording(sitting: Sitting, dialogue: Dialogue, trial: Trial, given: GivenAnswer) -> bool:
    """Whether the option that is right there is right here, where both are known by their words."""
    if not given.options or given.right_slot is None or given.right_slot >= len(trial.options):
        return True
    benchmark = benchmark_get(sitting.respondent.study.benchmark)
    parsed = Parsed(Outcome.ANSWERED, trial.options[given.right_slot].letter)
    return benchmark.score(item_view(dialogue=dialogue), trial, parsed).correct is not False


def _place(words: Sequence[str], wanted: str) -> int:
    return next(place for place, word in enumerate(words) if _folded([word]) == _folded([wanted]))


def _in_order(trial: Trial, order: Sequence[int]) -> Trial:
    moved = tuple(
        replace(trial.options[place], letter=slot.letter) for slot, place in zip(trial.options, order, strict=True)
    )
    return replace(trial, options=moved)


def _raw_with_letters(trial: Trial, raw: str) -> str:
    """An answer may name an option by the public id of its rendition."""
    named = next((option.letter for option in trial.options if option.variant and option.variant == raw.strip()), None)
    return f"ANSWER: {named}" if named else raw


def _verdict_store(response: Response, record: TrialRecord, given: GivenAnswer) -> bool:
    """Insert the file's own verdict; True where our reading comes to something else.

    Where the file does not tell what it read, a wrong answer counts as read if we can read it.
    """
    trial = Trial.from_dict(record.shown)
    ours = response.scores.exclude(rule=IMPORTED).order_by("-pk").first()
    theirs = _theirs(trial, given)
    benchmark = benchmark_get(record.sitting.respondent.study.benchmark)
    read = Parsed(Outcome.UNPARSED) if theirs is None else Parsed(Outcome.ANSWERED, theirs)
    score = benchmark.score(item_view(dialogue=record.dialogue), trial, read)
    outcome = read.outcome.value
    if theirs is None and not given.tells and ours is not None:
        outcome = ours.outcome
    ScoreRecord.objects.get_or_create(
        response=response,
        version=IMPORTED,
        defaults={
            "outcome": outcome,
            "value": "" if theirs is None else str(theirs),
            "rule": IMPORTED,
            "correct": given.correct,
            "number": score.value,
            "gold": score.gold,
        },
    )
    if ours is None:
        return False
    if theirs is None and not given.tells:
        return bool(ours.correct) != given.correct
    return ours.value != ("" if theirs is None else str(theirs))


def _theirs(trial: Trial, given: GivenAnswer) -> str | int | None:
    """What the file read: a letter or a grade that could be answered."""
    if given.slot is not None and given.slot < len(trial.options):
        return trial.options[given.slot].letter
    if trial.scale:
        grade = int(given.value) if given.value.isdecimal() else None
        return grade if grade is not None and trial.scale[0] <= grade <= trial.scale[1] else None
    return given.value if given.value in {option.letter for option in trial.options} else None
