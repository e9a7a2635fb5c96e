"""A studio with many listeners and a large round, made in the database itself:
``python -m tests.benchmarks.listening_seed PEOPLE ITEMS [rules]``. PostgreSQL only.

Prints one JSON object: the round's uid, and for each person an API token and a session key. All items share the clips of
one dialogue, for what is measured is the queue. With ``rules`` the round watches its judges as a new one is advised to:
items with a known answer, repetitions, speed and sameness of answers.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "eqstudio.settings")
django.setup()

from django.conf import settings  # noqa: E402 -- after the setup
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.test import override_settings  # noqa: E402
from rest_framework.authtoken.models import Token  # noqa: E402

from annotation.domain.quality import QualityRules  # noqa: E402
from annotation.models import Round, RoundItem  # noqa: E402
from annotation.selectors.quality import graded_uids  # noqa: E402
from annotation.services.gold import gold_set  # noqa: E402
from annotation.services.rounds import item_fields, round_create  # noqa: E402
from generation.models import Clip, Dialogue, Turn, Variant  # noqa: E402
from tests.benchmarks.listening_load import HEARD  # noqa: E402
from tests.eqstudio.factories import annotator, researcher  # noqa: E402
from tests.generation.factories import CorpusFactory, speecheq_dialogue  # noqa: E402

UID = "substr(md5(random()::text || clock_timestamp()::text), 1, 16)"
GOLD = 60


def copied(model: type[models.Model], changes: Mapping[str, str], source: str, *, order: str = "1") -> None:
    """Insert copies of rows ``s`` of a model as ``source`` joins them; ``changes`` are the columns that differ, in SQL."""
    columns = [field.column for field in model._meta.concrete_fields if not field.primary_key]
    values = ", ".join(changes.get(column, f"s.{column}") for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {model._meta.db_table} ({', '.join(columns)}) SELECT {values} FROM {source} ORDER BY {order}"
        )


def dialogues(first: Dialogue, count: int) -> None:
    """``count`` dialogues in review with the lines and the clips of the first."""
    scene, turn, variant = Dialogue._meta.db_table, Turn._meta.db_table, Variant._meta.db_table
    copied(
        Dialogue,
        {"uid": UID, "state": "'in_review'", "title": "'Scene ' || n", "topic_key": "'scene-' || n"},
        f"{scene} s CROSS JOIN generate_series(1, {count}) n WHERE s.id = {first.pk}",
        order="n",
    )
    new = f"d.corpus_id = {first.corpus_id} AND d.id <> {first.pk}"
    copied(
        Turn,
        {"dialogue_id": "d.id", **({"uid": UID} if _has_uid(Turn) else {})},
        f"{turn} s CROSS JOIN {scene} d WHERE s.dialogue_id = {first.pk} AND {new}",
        order="d.id, s.position",
    )
    copied(
        Variant,
        {"turn_id": "t.id", "uid": UID},
        f"{variant} s JOIN {turn} o ON o.id = s.turn_id AND o.dialogue_id = {first.pk} JOIN {turn} t"
        f" ON t.position = o.position JOIN {scene} d ON d.id = t.dialogue_id WHERE {new}",
        order="d.id, t.position, s.id",
    )


def _has_uid(model: type[models.Model]) -> bool:
    return any(field.name == "uid" for field in model._meta.concrete_fields)


def round_over(first: Dialogue, count: int, rules: QualityRules) -> Round:
    """A round over the copies; the item of the first dialogue is only what theirs are copied from."""
    made = round_create(
        name="large",
        corpus=first.corpus,
        benchmark="speecheq",
        people_per_item=4,
        agree_needed=3,
        quality=rules.as_dict(),
    )
    model = RoundItem.objects.create(**item_fields(round=made, dialogue=first))
    copied(
        RoundItem,
        {
            "uid": UID,
            "dialogue_id": "d.id",
            "twin_key": "d.benchmark || ':' || d.topic_key",
            "shuffle": "floor(random() * 2147483648)::bigint",
        },
        f"{RoundItem._meta.db_table} s CROSS JOIN {Dialogue._meta.db_table} d"
        f" WHERE s.id = {model.pk} AND d.corpus_id = {first.corpus_id} AND d.id <> {first.pk}",
        order="d.id",
    )
    model.delete()
    Dialogue.objects.filter(pk=first.pk).update(state="failed")
    Round.objects.filter(pk=made.pk).update(items_total=count)
    return made


def known_answers(made: Round) -> None:
    """Some items have a known answer, which everybody who keeps and grades 3 meets."""
    actor = researcher()
    for item in made.items.select_related("dialogue").order_by("pk")[:GOLD]:
        gold_set(item=item, verdict="keep", grades=dict.fromkeys(graded_uids(item), 3), actor=actor)


def signed_in(person) -> str:
    session = SessionStore()
    session[SESSION_KEY] = str(person.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[1]
    session[HASH_SESSION_KEY] = person.get_session_auth_hash()
    session.save()
    return session.session_key


def main(people: int, items: int, *, watched: bool) -> None:
    first = speecheq_dialogue(corpus=CorpusFactory())
    with connection.cursor() as cursor:  # as long as the listeners say that they listened, so that nobody is too fast
        cursor.execute(f"UPDATE {Clip._meta.db_table} SET duration = %s", [HEARD[0][1]])
    dialogues(first, items)
    rules = QualityRules(
        gold_first=3, gold_every=15, repeat_every=40, fastest_share=0.4, straight_line=12, same_slot=20
    )
    made = round_over(first, items, rules if watched else QualityRules())
    if watched:
        known_answers(made)
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):  # nobody signs in by it
        everybody = [annotator() for _ in range(people)]
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    told = [{"token": Token.objects.create(user=who).key, "session": signed_in(who)} for who in everybody]
    sys.stdout.write(json.dumps({"round": made.uid, "people": told}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), watched="rules" in sys.argv[3:])
