"""The few figures that must not get worse: `make bench` prints them and fails when one passes its limit.

The limits are several times what two cores need, so that only a change of kind passes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from statistics import median

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.domain.agreement import agreement
from annotation.domain.ratings import Rating
from annotation.services import assignment_next, assignment_release
from eqstudio.benchmarks.parsing import answer_parse
from eqstudio.benchmarks.trials import Option, Outcome, Trial, TrialKind
from generation.models import Corpus
from generation.services import dialogues_run
from tests.annotation.factories import round_with
from tests.eqstudio import factories
from tests.generation.pipeline import batch_of

LETTERS = Trial(
    key="t1",
    kind=TrialKind.CHOICE,
    category="any",
    language="en",
    question="Which one?",
    options=(Option("A", text="the first"), Option("B", text="the second")),
)


def timed(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def report(what: str, seconds: float) -> float:
    """Print a figure and hand it on."""
    print(f"\n{what}: {1000 * seconds:.1f} ms")
    return seconds


def test_agreement_of_100_000_ratings():
    rng = Random(1)
    truth = {f"item{item}": rng.randint(1, 4) for item in range(20_000)}
    ratings = [
        Rating(item, f"rater{rater}", min(4, max(1, value + rng.choice((-1, 0, 0, 0, 1)))))
        for item, value in truth.items()
        for rater in range(5)
    ]
    assert (
        report("agreement of 100,000 ratings with intervals", timed(lambda: agreement(ratings, domain=[1, 2, 3, 4])))
        < 60
    )


def test_reading_an_answer():
    answers = ["A", "The answer is B.", "I would say the first one, option A", "no idea"] * 250
    seconds = timed(lambda: [answer_parse(LETTERS, answer) for answer in answers]) / len(answers)
    assert answer_parse(LETTERS, "A").outcome == Outcome.ANSWERED
    assert report("reading one answer", seconds) < 0.005


@pytest.mark.django_db
def test_next_item_out_of_500():
    round_ = round_with(items=500)
    person = factories.annotator()

    def one() -> float:
        begun = time.perf_counter()
        lease = assignment_next(round=round_, annotator=person, now=timezone.now())
        seconds = time.perf_counter() - begun
        assignment_release(assignment=lease, now=timezone.now(), reason="bench")
        return seconds

    assert report("the next item out of 500", median(one() for _ in range(20))) < 0.5


@pytest.mark.django_db
def test_page_of_a_corpus_with_500_dialogues(client):
    round_with(items=500)
    client.force_login(factories.researcher(), backend="eqstudio.signin.PasswordBackend")
    address = reverse("corpus", args=[Corpus.objects.get().uid])
    assert client.get(address).status_code == 200
    assert (
        report("the page of a corpus with 500 dialogues", median(timed(lambda: client.get(address)) for _ in range(10)))
        < 1
    )


@pytest.mark.django_db
def test_dialogue_through_the_pipeline_with_fakes():
    batch = batch_of(count=4)
    ids = [dialogue.pk for brief in batch.briefs.all() for dialogue in brief.dialogues.all()]
    assert report("one dialogue through the pipeline with fakes", timed(lambda: dialogues_run(ids=ids)) / len(ids)) < 15
