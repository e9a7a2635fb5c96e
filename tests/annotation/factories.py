"""Rounds with work in them, leases, judgements and frozen splits, all made by the services that make real ones."""

import itertools
from datetime import timedelta

from django.utils import timezone

from annotation.models import Assignment, GuidelineExample, Judgement, Round, Split
from annotation.selectors import required_clips
from annotation.services import (
    assignment_next,
    example_add,
    grade_submit,
    round_create,
    round_top_up,
    split_freeze,
)
from tests.eqstudio.factories import annotator
from tests.generation.factories import CorpusFactory, speecheq_dialogue

SET_AFTER = ("questions", "show_feedback", "rubric_language")
"""Fields of a round that only its page and feedback go by."""
_serial = itertools.count(1)


def round_with(*, items: int = 1, corpus=None, make=speecheq_dialogue, benchmark: str = "speecheq", **fields) -> Round:
    """An open round over ``items`` whole dialogues made by ``make``, all in review."""
    corpus = corpus or CorpusFactory()
    for _ in range(items):
        make(corpus=corpus)
    set_after = {name: fields.pop(name) for name in SET_AFTER if name in fields}
    made = round_create(**{"name": f"round-{next(_serial)}", "corpus": corpus, "benchmark": benchmark, **fields})
    for name, value in set_after.items():
        setattr(made, name, value)
    made.save(update_fields=list(set_after))
    round_top_up(round=made)
    return made


def example_of(round_: Round, **fields) -> GuidelineExample:
    """A worked example in a round's guidelines, from a dialogue of another corpus."""
    graded = speecheq_dialogue().turns.filter(role="critical").first()
    variant = graded.variants.select_related("turn").first()
    return example_add(**{"round": round_, "variant": variant, "grade": 4, "why": "Warm where it matters.", **fields})


def lease(round_: Round, person=None, now=None) -> Assignment:
    """The next item of a round for a (new) annotator."""
    found = assignment_next(round=round_, annotator=person or annotator(), now=now or timezone.now())
    assert found is not None, "the round has nothing for this person"
    return found


def heard_whole(dialogue) -> dict[str, list[list[float]]]:
    """Every clip of a dialogue, heard from start to end."""
    return {clip.uid: [[0.0, clip.duration]] for clip in required_clips(dialogue=dialogue)}


def submit(
    assignment: Assignment, *, verdict: str = "keep", grade: int = 3, grades=None, now=None, **fields
) -> Judgement:
    """A complete judgement after an hour of listening: everything heard, every graded variant with ``grade``."""
    began = (now or timezone.now()) - timedelta(hours=1)
    Assignment.objects.filter(pk=assignment.pk, created__gt=began).update(created=began)
    assignment.created = min(assignment.created, began)
    dialogue = assignment.item.dialogue
    graded = {clip.uid: grade for clip in required_clips(dialogue=dialogue) if clip.graded}
    return grade_submit(
        **{
            "assignment": assignment,
            "client_key": f"key-{next(_serial)}",
            "verdict": verdict,
            "grades": graded if grades is None else grades,
            "reasons": ["other"] if verdict == "reject" else [],
            "comment": "does not sound right" if verdict == "reject" else "",
            "heard": heard_whole(dialogue),
            "active_ms": 12_000,
            "now": now or timezone.now(),
            **fields,
        }
    )


def judged_round(
    *, items: int = 2, verdicts=("keep", "keep", "reject"), grades=(3, 3, 2), people=None, **fields
) -> Round:
    """A round in which everybody has judged every item: person n gives ``verdicts[n]`` and ``grades[n]``."""
    people = people or [annotator() for _ in verdicts]
    made = round_with(items=items, **{"people_per_item": len(verdicts), **fields})
    for person, verdict, grade in zip(people, verdicts, grades, strict=True):
        while (found := assignment_next(round=made, annotator=person, now=timezone.now())) is not None:
            submit(found, verdict=verdict, grade=grade)
    return made


def split_of(*, items: int = 2, corpus=None, make=speecheq_dialogue, name: str | None = None, **fields) -> Split:
    """A frozen split of ``items`` ready dialogues, straight from a corpus."""
    corpus = corpus or CorpusFactory()
    for _ in range(items):
        make(corpus=corpus)
    return split_freeze(**{"name": name or f"split-{next(_serial)}", "corpus": corpus, "now": timezone.now(), **fields})
