"""Demo listeners at work: they take what the queue gives them and submit it, each with a character of their own."""

from __future__ import annotations

from datetime import datetime
from random import Random

from annotation.models import Assignment, Round
from annotation.selectors.judgements import required_clips
from annotation.services import assignment_next, grade_submit, round_create, round_top_up
from eqstudio.benchmarks import benchmark_get
from eqstudio.models import User
from evaluation.demo.corpora import YOUR_TURN
from evaluation.demo.oracle import UNASKED, variant_grades
from evaluation.demo.people import LISTENERS, Listener
from generation.models import Corpus, Dialogue
from generation.selectors import item_view

GUIDELINES = (
    "Demo round. Listen to every clip, grade how well the tone serves the moment, then keep or reject the dialogue."
)
GOOD_SHARE, CONTESTED_SHARE = 0.84, 0.08


def round_ensure(corpus: Corpus) -> Round:
    """The demo round over ``corpus``, made on the first call and filled with what is ready."""
    found = Round.objects.filter(name=corpus.name).first()
    if found is None:
        found = round_create(name=corpus.name, corpus=corpus, guidelines=GUIDELINES, seed=7, is_demo=True)
    round_top_up(round=found)
    return found


def round_judge(round_: Round, *, now: datetime, budget: int) -> int:
    """Let the listeners judge what waits for them, at most ``budget`` items.

    In the visitor's round as many do as leave one judgement an item open: the visitor's closes it. Returns how many judgements
    were submitted.
    """
    done = 0
    for listener in LISTENERS[: round_.people_per_item - 1] if round_.name == YOUR_TURN else LISTENERS:
        person = User.objects.get(username=listener.username)
        while done < budget:
            assignment = assignment_next(round=round_, annotator=person, now=now)
            if assignment is None:
                break
            _submit(assignment, listener, now)
            done += 1
    return done


def _submit(assignment: Assignment, listener: Listener, now: datetime) -> None:
    dialogue = assignment.item.dialogue
    rng = Random(f"{listener.username}/{item_seed(dialogue)}")  # noqa: S311 -- pretend listeners, not secrets
    clips = required_clips(dialogue=dialogue)
    verdict = verdict_of(item_seed(dialogue), rng)
    benchmark = benchmark_get(dialogue.benchmark)
    good = variant_grades(benchmark, item_view(dialogue=dialogue))
    grade_submit(
        assignment=assignment,
        client_key=f"demo-{assignment.uid}",
        verdict=verdict,
        grades={clip.uid: _noisy(good.get(clip.uid, UNASKED), listener.noise, rng) for clip in clips if clip.graded},
        reasons=[] if verdict == "keep" else [rng.choice(benchmark.review_form.reasons).code],
        comment="" if verdict == "keep" else "Demo comment: this one does not convince me.",
        heard={clip.uid: [[0.0, clip.duration]] for clip in clips},
        active_ms=int(1000 * sum(clip.duration for clip in clips) * rng.uniform(1.1, 1.9)),
        now=now,
    )


def item_seed(dialogue: Dialogue) -> str:
    """The same on every machine, unlike a public id."""
    return f"{dialogue.benchmark}/{dialogue.category}/{dialogue.language}/{dialogue.ordinal}"


def verdict_of(seed: str, rng: Random) -> str:
    """Most items are good, some divide the listeners, a few are poor; which is which hangs on the item alone."""
    quality = Random(f"quality3/{seed}").random()  # noqa: S311 -- as above
    if quality < GOOD_SHARE:
        keeps = 0.95
    elif quality < GOOD_SHARE + CONTESTED_SHARE:
        keeps = 0.5
    else:
        keeps = 0.1
    return "keep" if rng.random() < keeps else "reject"


def _noisy(grade: int, noise: float, rng: Random) -> int:
    if rng.random() >= noise:
        return grade
    return min(4, max(1, grade + rng.choice((-1, 1))))
