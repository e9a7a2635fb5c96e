"""Items that were taken in for their known answer get the twin key of all others: they had one of their own."""

from django.db import migrations
from django.db.models import F

CHUNK = 500


def rename(apps, _editor):
    items = apps.get_model("annotation", "RoundItem").objects
    known = items.filter(twin_key=F("dialogue__template_key"))
    wrong = known.exclude(dialogue__template_key="", dialogue__topic_key="")
    keys = list(wrong.values_list("pk", flat=True))
    for begin in range(0, len(keys), CHUNK):
        rows = list(items.filter(pk__in=keys[begin : begin + CHUNK]).select_related("dialogue"))
        for row in rows:
            topic = row.dialogue.topic_key
            row.twin_key = f"{row.dialogue.benchmark}:{topic}"[:120] if topic else ""
        items.bulk_update(rows, ["twin_key"])


class Migration(migrations.Migration):
    dependencies = [("annotation", "0013_audit_progress"), ("generation", "0001_initial")]

    operations = [migrations.RunPython(rename, migrations.RunPython.noop)]
