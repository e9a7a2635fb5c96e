"""100,000 judged items freeze in under 60 s, and the second machine gets the same hash."""

from __future__ import annotations

import sys
import time

import pytest
from django.utils import timezone

from annotation.models import Assignment, Grade, Judgement, Round, RoundItem
from annotation.services import split_freeze
from generation.models import Clip, Dialogue, Turn, Variant
from tests.eqstudio.factories import annotator
from tests.generation.factories import CorpusFactory

COUNT, CHUNK, PEOPLE = 100_000, 2_000, 3
MOST_S = 60.0
CATEGORIES = ["interpersonal_empathy", "self_perception_self_regard", "stress_management_optimism"]
RECIPE = {
    "minimum_people": PEOPLE,
    "minimum_agreement": 0.6,
    "indivisible": ["template"],
    "dev": 0.1,
    "train": 0.6,
    "seed": 7,
}


@pytest.fixture
def judged(db):
    corpus = CorpusFactory()
    round_ = Round.objects.create(name="large", corpus=corpus, benchmark="speecheq", people_per_item=PEOPLE)
    people = [annotator() for _ in range(PEOPLE)]
    for start in range(0, COUNT, CHUNK):
        _chunk(corpus, round_, people, start)
    return round_


def _chunk(corpus, round_, people, start):
    dialogues = Dialogue.objects.bulk_create(
        Dialogue(
            corpus=corpus, benchmark="speecheq", category=CATEGORIES[n % 3], language="zh" if n % 2 else "en", state="kept",
            title=f"Scene {n}", external_id=f"set/{n}", template_key=f"template-{n % 500}", scenario={"context": f"Scene {n}"},
        )
        for n in range(start, start + CHUNK)
    )  # fmt: skip
    turns = Turn.objects.bulk_create(Turn(dialogue=one, position=1, role="critical", speaker="s") for one in dialogues)
    clips = Clip.objects.bulk_create(
        Clip(
            sha256=f"{start + n:064x}", media_type="audio/wav", size=1, frames=1, sample_rate=8000, channels=1,
            duration=1.0, peak=-3.0,
        )
        for n in range(CHUNK)
    )  # fmt: skip
    variants = Variant.objects.bulk_create(
        Variant(turn=turn, label=label, text=f"Words of scene {start + n}.", clip=clips[n])
        for n, turn in enumerate(turns)
        for label in ("high", "low")
    )
    items = RoundItem.objects.bulk_create(
        RoundItem(round=round_, dialogue=one, outcome="kept", wanted=PEOPLE, closed_at=timezone.now())
        for one in dialogues
    )
    _judge(items, people, variants, start)


def _judge(items, people, variants, start):
    leases = Assignment.objects.bulk_create(
        Assignment(item=item, annotator=person, slot=slot, state="submitted", lease_until=timezone.now())
        for item in items
        for slot, person in enumerate(people)
    )
    judgements = Judgement.objects.bulk_create(
        Judgement(
            item=lease.item, annotator=lease.annotator, assignment=lease, client_key=f"{start}-{n}",
            verdict="reject" if n % 17 == 0 else "keep",
        )
        for n, lease in enumerate(leases)
    )  # fmt: skip
    Grade.objects.bulk_create(
        Grade(judgement=judgement, variant=variants[2 * (n // PEOPLE) + k], value=1 + (n // PEOPLE + k + n % 2) % 4)
        for n, judgement in enumerate(judgements)
        for k in range(2)
    )


def test_a_hundred_thousand_judged_items_freeze_in_time(judged, capsys):
    # The database is in this process, so its processor time is the whole work, whatever else the machine does.
    started, on_the_clock = time.process_time(), time.perf_counter()
    split = split_freeze(name="large", round=judged, recipe=RECIPE, now=timezone.now())
    took, on_the_clock = time.process_time() - started, time.perf_counter() - on_the_clock

    again = split_freeze(name="other", round=judged, recipe=RECIPE, now=timezone.now())

    with capsys.disabled():
        sys.stdout.write(
            f"\n{took:.1f} s of processor time, {on_the_clock:.1f} s on the clock, for {split.item_count:,} items\n"
        )
    assert split.item_count == COUNT
    assert again.manifest_hash == split.manifest_hash
    assert took < MOST_S
