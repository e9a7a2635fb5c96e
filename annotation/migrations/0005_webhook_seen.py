"""A webhook knows which events it has been asked about, and begins with those that come after it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0004_claims")]

    operations = [
        migrations.AddField(
            model_name="webhook",
            name="seen",
            field=models.PositiveBigIntegerField(default=0, help_text="events up to this one have been looked at"),
        ),
    ]
