# Model runs at work: queue, ledger, workers, retakes; questions as shown are packed.

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import eqstudio.packed

CHUNK = 500


def questions_pack(apps, _editor):
    _convert(apps, "shown", "packed")


def questions_unpack(apps, _editor):
    _convert(apps, "packed", "shown")


def _convert(apps, source, target):
    """Copy a column of every question into another form of it, a page at a time."""
    model = apps.get_model("evaluation", "TrialRecord")
    last = 0
    while rows := list(model.objects.filter(pk__gt=last).order_by("pk")[:CHUNK]):
        for row in rows:
            setattr(row, target, getattr(row, source))
        model.objects.bulk_update(rows, [target])
        last = rows[-1].pk


class Migration(migrations.Migration):

    dependencies = [
        ('evaluation', '0006_rate'),
        ('generation', '0007_stops'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField('trialrecord', 'packed', eqstudio.packed.PackedJSONField(null=True)),
        migrations.AlterField('trialrecord', 'shown', models.JSONField(null=True)),
        migrations.RunPython(questions_pack, questions_unpack),
        migrations.RemoveField('trialrecord', 'shown'),
        migrations.RenameField('trialrecord', 'packed', 'shown'),
        migrations.AlterField('trialrecord', 'shown', eqstudio.packed.PackedJSONField()),
        migrations.CreateModel(
            name='RunCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=60)),
                ('outcome', models.CharField(choices=[('ok', 'ok'), ('refused', 'refused'), ('error', 'error')], max_length=8)),
                ('cause', models.CharField(blank=True, max_length=40)),
                ('error', models.TextField(blank=True)),
                ('tokens_in', models.PositiveIntegerField(null=True)),
                ('tokens_out', models.PositiveIntegerField(null=True)),
                ('latency_ms', models.PositiveIntegerField(null=True)),
                ('cost', models.DecimalField(decimal_places=8, help_text='US dollars', max_digits=12, null=True)),
                ('created', models.DateTimeField()),
            ],
            options={
                'verbose_name': 'call',
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='RunItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('lease_until', models.DateTimeField(help_text='nobody else asks before this', null=True)),
                ('lease_holder', models.CharField(blank=True, help_text='host, process and claim; empty while it waits', max_length=120)),
                ('tries', models.PositiveSmallIntegerField(default=0, help_text='failed tries at the pending question')),
                ('first_try', models.DateTimeField(help_text='when the pending question was first asked', null=True)),
                ('stops', models.PositiveSmallIntegerField(default=0, help_text='how many workers died over it')),
            ],
            options={
                'ordering': ['position'],
            },
        ),
        migrations.CreateModel(
            name='RunPlan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('concurrency', models.PositiveSmallIntegerField(blank=True, help_text='calls at once in one worker', null=True)),
                ('max_calls', models.PositiveIntegerField(blank=True, null=True)),
                ('max_tokens', models.PositiveBigIntegerField(blank=True, null=True)),
                ('max_cost', models.DecimalField(blank=True, decimal_places=6, help_text='US dollars', max_digits=12, null=True)),
                ('calls_begun', models.PositiveIntegerField(default=0, help_text='counted before they are made')),
                ('tokens_spent', models.PositiveBigIntegerField(default=0)),
                ('cost_spent', models.DecimalField(decimal_places=8, default=0, max_digits=16)),
            ],
        ),
        migrations.CreateModel(
            name='RunWorker',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('holder', models.CharField(max_length=120)),
                ('began', models.DateTimeField()),
                ('seen', models.DateTimeField()),
                ('answered', models.PositiveIntegerField(default=0)),
                ('calls', models.PositiveIntegerField(default=0)),
                ('load_s', models.FloatField(help_text='seconds to bring the model into memory', null=True)),
                ('memory_mib', models.FloatField(help_text='largest resident memory of the process', null=True)),
                ('device', models.CharField(blank=True, max_length=80)),
                ('device_mib', models.FloatField(help_text='largest memory taken on the device', null=True)),
                ('git_revision', models.CharField(blank=True, max_length=60)),
            ],
            options={
                'verbose_name': 'worker',
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='TrialRetake',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.RemoveConstraint(
            model_name='trialrecord',
            name='trial_once_per_sitting',
        ),
        migrations.RemoveIndex(
            model_name='sitting',
            name='sitting_due',
        ),
        migrations.RemoveField(
            model_name='sitting',
            name='attempts',
        ),
        migrations.RemoveField(
            model_name='sitting',
            name='lease_holder',
        ),
        migrations.RemoveField(
            model_name='sitting',
            name='lease_until',
        ),
        migrations.AddField(
            model_name='sitting',
            name='not_before',
            field=models.DateTimeField(blank=True, help_text="when the next step of a model's run is due", null=True),
        ),
        migrations.AddField(
            model_name='sitting',
            name='pauses',
            field=models.PositiveSmallIntegerField(default=0, help_text='how often in a row the provider asked for a pause, with no answer in between'),
        ),
        migrations.AddField(
            model_name='sitting',
            name='queued',
            field=models.PositiveIntegerField(default=0, help_text='how many items of the order were put in the queue'),
        ),
        migrations.AddField(
            model_name='trialrecord',
            name='take',
            field=models.PositiveSmallIntegerField(default=0, help_text='counts up when a failed question is asked anew'),
        ),
        migrations.AddIndex(
            model_name='sitting',
            index=models.Index(fields=['state', 'not_before'], name='sitting_due'),
        ),
        migrations.AddConstraint(
            model_name='trialrecord',
            constraint=models.UniqueConstraint(fields=('sitting', 'dialogue', 'part', 'key', 'take'), name='trial_once_per_sitting'),
        ),
        migrations.AddField(
            model_name='runcall',
            name='dialogue',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='generation.dialogue'),
        ),
        migrations.AddField(
            model_name='runcall',
            name='sitting',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='calls', to='evaluation.sitting'),
        ),
        migrations.AddField(
            model_name='runitem',
            name='dialogue',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='generation.dialogue'),
        ),
        migrations.AddField(
            model_name='runitem',
            name='sitting',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='waiting', to='evaluation.sitting'),
        ),
        migrations.AddField(
            model_name='runplan',
            name='respondent',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='plan', to='evaluation.respondent'),
        ),
        migrations.AddField(
            model_name='runworker',
            name='sitting',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='workers', to='evaluation.sitting'),
        ),
        migrations.AddField(
            model_name='trialretake',
            name='created_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='trialretake',
            name='trial',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='retake', to='evaluation.trialrecord'),
        ),
        migrations.AddIndex(
            model_name='runitem',
            index=models.Index(fields=['sitting', 'position'], name='run_item_next'),
        ),
        migrations.AddConstraint(
            model_name='runitem',
            constraint=models.UniqueConstraint(fields=('sitting', 'dialogue'), name='run_item_once'),
        ),
        migrations.AddConstraint(
            model_name='runitem',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('lease_until', None), _negated=True), ('lease_holder', ''), _connector='OR'), name='run_item_held_until_some_time'),
        ),
    ]
