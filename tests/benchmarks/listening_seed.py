"""A studio with many listeners and a large round, made in bulk: ``python -m tests.benchmarks.listening_seed PEOPLE ITEMS``.

Prints one JSON object: the round's uid, and for each person an API token and a session key. All items share the clips of
one dialogue, for what is measured is the queue.
"""

from __future__ import annotations

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "eqstudio.settings")
django.setup()

from django.conf import settings  # noqa: E402 -- after the setup
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.db import connection  # noqa: E402
from rest_framework.authtoken.models import Token  # noqa: E402

from annotation.models import Round, RoundItem  # noqa: E402
from annotation.services.rounds import item_fields, round_create  # noqa: E402
from generation.models import Dialogue, Turn, Variant  # noqa: E402
from tests.eqstudio.factories import annotator  # noqa: E402
from tests.generation.factories import CorpusFactory, speecheq_dialogue  # noqa: E402

CHUNK = 2_000


def dialogues(corpus, count: int) -> None:
    """``count`` dialogues in review with the lines and the clips of the first."""
    first = speecheq_dialogue(corpus=corpus)
    lines = [(turn, list(turn.variants.all())) for turn in first.turns.all()]
    for begin in range(0, count, CHUNK):
        made = Dialogue.objects.bulk_create(
            Dialogue(
                corpus=corpus,
                benchmark=first.benchmark,
                category=first.category,
                language="en",
                state="in_review",
                title=f"Scene {number}",
                scenario=first.scenario,
                topic_key=f"scene-{number}",
            )
            for number in range(begin, min(begin + CHUNK, count))
        )
        turns = Turn.objects.bulk_create(
            Turn(dialogue=dialogue, position=turn.position, role=turn.role, speaker=turn.speaker)
            for dialogue in made
            for turn, _variants in lines
        )
        Variant.objects.bulk_create(
            Variant(turn=turn, label=variant.label, text=variant.text, clip_id=variant.clip_id)
            for number, turn in enumerate(turns)
            for variant in lines[number % len(lines)][1]
        )
    Dialogue.objects.filter(pk=first.pk).update(state="failed")


def round_over(corpus, count: int) -> Round:
    made = round_create(name="large", corpus=corpus, benchmark="speecheq", people_per_item=4, agree_needed=3)
    found = Dialogue.objects.filter(corpus=corpus, state="in_review").select_related("brief__batch")
    rows: list[RoundItem] = []
    for dialogue in found.iterator(chunk_size=CHUNK):
        rows.append(RoundItem(**item_fields(round=made, dialogue=dialogue)))
        if len(rows) == CHUNK:
            RoundItem.objects.bulk_create(rows)
            rows = []
    RoundItem.objects.bulk_create(rows)
    Round.objects.filter(pk=made.pk).update(items_total=count)
    return made


def signed_in(person) -> str:
    session = SessionStore()
    session[SESSION_KEY] = str(person.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[1]
    session[HASH_SESSION_KEY] = person.get_session_auth_hash()
    session.save()
    return session.session_key


def main(people: int, items: int) -> None:
    corpus = CorpusFactory()
    dialogues(corpus, items)
    made = round_over(corpus, items)
    everybody = [annotator() for _ in range(people)]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    told = [{"token": Token.objects.create(user=who).key, "session": signed_in(who)} for who in everybody]
    sys.stdout.write(json.dumps({"round": made.uid, "people": told}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
