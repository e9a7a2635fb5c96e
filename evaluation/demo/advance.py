"""One look at the demo: what is due next is done, a little at a time."""

from __future__ import annotations

from datetime import datetime

from evaluation.demo.exam import people_sit, rules_ensure, study_ensure
from evaluation.demo.flagged import flagged_settle
from evaluation.demo.judging import round_ensure, round_judge
from generation.models import Corpus

BUDGET = 20
"""Judgements and answers in one step, so that the step stays short beside real work."""


def demo_advance(*, now: datetime) -> int:
    """Send on what was flagged without need, judge what is ready, freeze what is judged, sit what is frozen. Returns how much was done; 0 when nothing was due."""
    done = 0
    for corpus in Corpus.objects.filter(is_demo=True, batches__isnull=False).distinct().order_by("pk"):
        done += flagged_settle(corpus)
        round_ = round_ensure(corpus)
        done += round_judge(round_, now=now, budget=BUDGET - done)
        study = study_ensure(corpus, round_, now=now) if _has_exam(corpus) else None
        if study is not None:
            done += rules_ensure(study) + people_sit(study, budget=BUDGET - done)
        if done >= BUDGET:
            break
    return done


def _has_exam(corpus: Corpus) -> bool:
    """The visitor's corpus mixes benchmarks; a split holds one."""
    return corpus.dialogues.order_by().values("benchmark").distinct().count() == 1
