"""Splits, studies, respondents and answered sittings for tests."""

import hashlib
import itertools
import json

from django.utils import timezone

from annotation.models import Split, SplitItem
from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Outcome, Parsed, Trial, TrialKind
from evaluation.models import Respondent, Study, StudyItem
from evaluation.services import response_record, sitting_open, study_create, trial_next
from generation.selectors import item_view
from tests.generation.factories import echomind_dialogue, emosbench_dialogue, speecheq_dialogue

_serial = itertools.count(1)


def _first_category(benchmark: str) -> str:
    return benchmark_get(benchmark).categories[0].key


def split_of(dialogues, **fields) -> Split:
    """A frozen split of the given dialogues, in their order."""
    dialogues = list(dialogues)
    split = Split.objects.create(
        **{
            "name": f"split-{next(_serial)}",
            "benchmark": dialogues[0].benchmark,
            "corpus": dialogues[0].corpus,
            "manifest_hash": hashlib.sha256("".join(d.uid for d in dialogues).encode()).hexdigest(),
            "item_count": len(dialogues),
            "frozen_at": timezone.now(),
            **fields,
        }
    )
    for position, dialogue in enumerate(dialogues):
        SplitItem.objects.create(split=split, dialogue=dialogue, position=position)
    return split


def speecheq_study(items=3, **fields) -> Study:
    return study_create(
        **{
            "name": f"study-{next(_serial)}",
            "split": split_of([speecheq_dialogue() for _ in range(items)]),
            **fields,
        }
    )


def emosbench_study(items=2, **fields) -> Study:
    return study_create(
        **{
            "name": f"study-{next(_serial)}",
            "split": split_of([emosbench_dialogue(category=_first_category("emosbench")) for _ in range(items)]),
            **fields,
        }
    )


def echomind_study(items=2, **fields) -> Study:
    return study_create(
        **{"name": f"study-{next(_serial)}", "split": split_of([echomind_dialogue() for _ in range(items)]), **fields}
    )


def uneven_study(items=4) -> Study:
    """A sample in which some items were likelier to be drawn than others."""
    study = speecheq_study(items=items + 2)
    for place, row in enumerate(study.split.items.order_by("position")[:items]):
        StudyItem.objects.create(study=study, dialogue=row.dialogue, probability=0.4 if place % 2 else 0.8)
    return study


def model_respondent(study, name="model", kind=Respondent.Kind.MODEL) -> Respondent:
    return Respondent.objects.create(study=study, name=name, kind=kind)


def heard_all(record) -> dict:
    """Every clip of a question, played from start to end."""
    trial = Trial.from_dict(record.shown)
    parts = [*trial.context, *trial.options]
    return {part.variant: [[0.0, 1000.0]] for part in parts if part.variant}


def answers_for(trial: Trial) -> list:
    """Everything that may be answered to a question."""
    if trial.kind is TrialKind.GRADE:
        return list(range(trial.scale[0], trial.scale[1] + 1))
    if trial.options:
        return [option.letter for option in trial.options]
    return ["some words"]


def right_answer(record):
    """The answer the key calls right, found by asking ``score`` about every possible answer."""
    trial = Trial.from_dict(record.shown)
    benchmark = benchmark_get(record.sitting.respondent.study.benchmark)
    item = item_view(dialogue=record.dialogue)
    for answer in answers_for(trial):
        if benchmark.score(item, trial, Parsed(Outcome.ANSWERED, answer)).correct:
            return answer
    raise LookupError(record.key)


def wrong_answer(record):
    right = right_answer(record)
    return next(answer for answer in answers_for(Trial.from_dict(record.shown)) if answer != right)


def sit_through(study, *, user=None, respondent=None, choose=right_answer, run=0):
    """Answer every question by ``choose(record)``."""
    sitting = sitting_open(study=study, user=user, respondent=respondent, run=run)
    while (record := trial_next(sitting=sitting)) is not None:
        response_record(trial=record, raw=json.dumps({"answer": choose(record)}), heard=heard_all(record))
    return sitting
