"""Items made before this know their category, their place in the circle and how many hold them."""

import hashlib

from django.db import migrations

CIRCLE = 2**31


def shuffle_place(seed, uid):
    digest = hashlib.blake2b(f"{seed}:{uid}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % CIRCLE


def fill(apps, schema_editor):
    items = apps.get_model("annotation", "RoundItem").objects
    rows = items.select_related("round", "dialogue__brief__batch").prefetch_related("assignments")
    for item in rows.iterator(chunk_size=500):
        states = [lease.state for lease in item.assignments.all()]
        dialogue = item.dialogue
        batch = dialogue.brief.batch if dialogue.brief_id else None
        item.category = dialogue.category
        item.language = dialogue.language
        item.author_id = batch.created_by_id if batch else None
        item.twin_key = dialogue.template_key
        item.shuffle = shuffle_place(item.round.seed, item.uid)
        item.wanted = item.round.people_per_item
        item.given = states.count("submitted")
        item.held = item.given + states.count("active")
        item.save()


class Migration(migrations.Migration):
    dependencies = [("annotation", "0002_judging")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
