"""Splits from before this hold the entries of their items in one document: they go into the rows of the items."""

import secrets

from django.db import migrations


def entries_to_rows(apps, schema_editor):
    split_model = apps.get_model("annotation", "Split")
    item_model = apps.get_model("annotation", "SplitItem")
    for split in split_model.objects.iterator():
        entries = split.manifest.pop("items", [])
        rows = list(item_model.objects.filter(split=split).order_by("position"))
        for row, entry in zip(rows, entries, strict=False):
            row.entry, row.identity = entry, entry.get("content", "")
        item_model.objects.bulk_update(rows, ["entry", "identity"], batch_size=200)
        split.salt = secrets.token_hex(32)
        split.save(update_fields=["manifest", "salt"])


def rows_to_entries(apps, schema_editor):
    split_model = apps.get_model("annotation", "Split")
    for split in split_model.objects.iterator():
        split.manifest["items"] = list(split.items.order_by("position").values_list("entry", flat=True))
        split.save(update_fields=["manifest"])


class Migration(migrations.Migration):
    dependencies = [("annotation", "0007_curation")]

    operations = [migrations.RunPython(entries_to_rows, rows_to_entries)]
