"""What a claim and its page need without counting: totals, answers told to people, and an index by disagreement."""

from django.db import migrations, models
from django.db.models import Count, Q


def fill(apps, schema_editor):
    rounds = apps.get_model("annotation", "Round").objects
    for round_ in rounds.annotate(n=Count("items", filter=Q(items__kind="work"))):
        rounds.filter(pk=round_.pk).update(items_total=round_.n)
    counted = Q(state__in=["submitted", "late"]) & ~Q(kind="training")
    leases = apps.get_model("annotation", "Assignment").objects.filter(counted)
    people = apps.get_model("annotation", "Participation").objects
    for row in leases.order_by().values("item__round_id", "annotator_id").annotate(n=Count("pk"), done=Count("pk", filter=Q(kind="work"))):
        people.update_or_create(
            round_id=row["item__round_id"],
            annotator_id=row["annotator_id"],
            defaults={"answered": row["n"], "done": row["done"]},
        )
    items = apps.get_model("annotation", "RoundItem").objects
    for item in items.select_related("dialogue").only("dialogue__benchmark", "dialogue__topic_key").iterator(chunk_size=500):
        topic = item.dialogue.topic_key
        twin = f"{item.dialogue.benchmark}:{topic}"[:120] if topic else ""
        items.filter(pk=item.pk).update(twin_key=twin)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0003_item_counts")]

    operations = [
        migrations.AddField(
            model_name="round",
            name="items_total",
            field=models.PositiveIntegerField(
                default=0, help_text="items of kind work, kept so that no page counts them"
            ),
        ),
        migrations.AddField(
            model_name="round",
            name="paused_because",
            field=models.CharField(blank=True, help_text="what people read while it is paused", max_length=300),
        ),
        migrations.AddField(
            model_name="participation",
            name="answered",
            field=models.PositiveIntegerField(default=0, help_text="what the person is told: every kind but training"),
        ),
        migrations.RemoveIndex(model_name="rounditem", name="round_item_queue"),
        migrations.RemoveIndex(model_name="rounditem", name="round_item_balance"),
        *(
            migrations.AddIndex(
                model_name="rounditem",
                index=models.Index(fields=["round", "kind", *fields], condition=Q(closed_at=None), name=name),
            )
            for name, fields in (
                ("round_item_queue", ["held", "shuffle"]),
                ("round_item_balance", ["category", "shuffle"]),
                ("round_item_doubt", ["disagreement", "shuffle"]),
                ("round_item_fixed", ["id"]),
            )
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
