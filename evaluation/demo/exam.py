"""The demo's exam: a frozen split, a study on it, a few rules and a few listeners who sit it."""

from __future__ import annotations

import json
from datetime import datetime
from random import Random
from typing import Any

from annotation.models import Round, Split
from annotation.services import split_freeze
from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Benchmark, ItemView, Trial, TrialKind
from eqstudio.errors import InvalidInput
from eqstudio.models import User
from evaluation.demo.oracle import gold_grade, right_letters
from evaluation.demo.people import LISTENERS, Listener
from evaluation.models import Sitting, Study, TrialRecord
from evaluation.services import response_record, sitting_open, study_create, study_run, trial_next
from evaluation.services.hearing import clips_of
from generation.domain.lifecycle import IN_PRODUCTION, DialogueState
from generation.models import Corpus, Dialogue
from generation.selectors import item_view, variants_by_uid

RULES = ("random", "first", "rule-quieter", "rule-longer", "rule-lower")
REPLIES = {
    "en": "I hear you, and I can tell how much this matters to you. What would help most right now?",
    "zh": "我听到了，也明白这件事对你很重要。现在怎样做最能帮到你？",
}


def study_ensure(corpus: Corpus, round_: Round, *, now: datetime) -> Study | None:
    """Freeze the corpus' round and make the study, once every dialogue is through; None before that or if nothing was kept."""
    found = Study.objects.filter(name=corpus.name).first()
    if found is not None or not _complete(corpus, round_):
        return found
    split = Split.objects.filter(name=corpus.name).first()
    if split is None:
        try:
            split = split_freeze(name=corpus.name, round=round_, now=now)
        except InvalidInput:
            return None
    return study_create(name=corpus.name, split=split, seed=11, is_demo=True)


def _complete(corpus: Corpus, round_: Round) -> bool:
    waiting = [*(state.value for state in IN_PRODUCTION), DialogueState.READY.value, DialogueState.IN_REVIEW.value]
    through = not Dialogue.objects.filter(corpus=corpus, state__in=waiting).exists()
    return through and round_.items.exists() and not round_.items.filter(closed_at=None).exists()


def rules_ensure(study: Study) -> int:
    """Have the rules sit the study that have not begun yet; their questions are answered by the ordinary tasks."""
    missing = [alias for alias in RULES if not study.respondents.filter(run_spec__content__backend=alias).exists()]
    for alias in missing:
        study_run(study=study, backend=alias)
    return len(missing)


def people_sit(study: Study, *, budget: int) -> int:
    """Two listeners answer at most ``budget`` questions. Returns how many they answered."""
    done = 0
    for listener in LISTENERS[:2]:
        person = User.objects.get(username=listener.username)
        sitting = sitting_open(study=study, user=person)
        while done < budget and sitting.state == Sitting.State.OPEN:
            trial = trial_next(sitting=sitting)
            if trial is None:
                break
            _answer(trial, listener)
            done += 1
    return done


def _answer(record: TrialRecord, listener: Listener) -> None:
    trial = Trial.from_dict(record.shown)
    rng = Random(f"{listener.username}/{record.dialogue.ordinal}/{record.key}/{record.dialogue.category}")  # noqa: S311 -- pretend people
    benchmark = benchmark_get(record.sitting.respondent.study.benchmark)
    answer = answer_of(benchmark, item_view(dialogue=record.dialogue), trial, listener.skill, rng)
    variants = variants_by_uid(uids=[uid for uid, _name in clips_of(trial)])
    heard = {uid: [[0.0, variant.clip.duration]] for uid, variant in variants.items() if variant.clip}
    response_record(
        trial=record,
        raw=json.dumps({"answer": answer}, ensure_ascii=False),
        heard=heard,
        paradata={"demo": True, "active_ms": int(rng.uniform(6000, 20000))},
    )


def answer_of(benchmark: Benchmark, item: ItemView, trial: Trial, skill: float, rng: Random) -> Any:
    """What a pretend person says. What is right is asked of the benchmark's scorer, the only reader of the key."""
    if trial.kind == TrialKind.TRANSCRIBE:
        return _transcript(item, trial, skill, rng)
    if trial.kind == TrialKind.REPLY:
        return REPLIES[trial.language]
    if trial.kind == TrialKind.GRADE:
        return _grade(benchmark, item, trial, rng)
    right = right_letters(benchmark, item, trial)
    wrong = [option.letter for option in trial.options if option.letter not in right]
    return rng.choice(right if right and (rng.random() < skill or not wrong) else wrong)


def _grade(benchmark: Benchmark, item: ItemView, trial: Trial, rng: Random) -> int:
    low, high = trial.scale or (1, 4)
    gold = gold_grade(benchmark, item, trial)
    guess = rng.gauss(gold if gold is not None else (low + high) / 2, 0.6)
    return min(high, max(low, round(guess)))


def _transcript(item: ItemView, trial: Trial, skill: float, rng: Random) -> str:
    """The words that were heard, with one left out now and then."""
    heard = {uid for uid, _name in clips_of(trial)}
    texts = [variant.text for turn in item.turns for variant in turn.variants if variant.uid in heard]
    words = " ".join(texts).split(" ")
    if len(words) > 1 and rng.random() > skill:
        words.pop(rng.randrange(len(words)))
    return " ".join(words)
