"""A freeze in the background: followed, stopped, killed, asked for twice; and what is judged while it reads."""

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from annotation.domain.curation import Recipe
from annotation.home import running
from annotation.models import Freeze, Split
from annotation.selectors import changes
from annotation.services import (
    assignment_next,
    audit_request,
    freeze_request,
    freeze_run,
    freeze_stop,
    split_freeze,
    splits,
)
from annotation.tasks import annotation_sweep
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.models import Event
from generation.models import Dialogue
from tests.annotation.factories import judged_round, round_with, split_of, submit
from tests.annotation.test_export_kill import database_url
from tests.eqstudio.factories import annotator
from tests.generation.factories import CorpusFactory, speecheq_dialogue

pytestmark = pytest.mark.django_db


@pytest.fixture
def corpus():
    made = CorpusFactory(name="source")
    for n in range(3):
        speecheq_dialogue(corpus=made, external_id=f"set-{n}")
    return made


def asked(corpus, **recipe):
    return freeze_request(name="exam", recipe=Recipe(corpus=corpus.name, **recipe))


def test_a_freeze_is_asked_for_and_run_once(corpus, rita):
    freeze = freeze_request(name="exam", recipe=Recipe(corpus=corpus.name), actor=rita)

    first = freeze_run(freeze_id=freeze.pk, now=timezone.now())
    second = freeze_run(freeze_id=freeze.pk, now=timezone.now())

    split = Split.objects.get()
    assert (first.state, first.split, first.done, first.total) == ("done", split, 3, 3)
    assert (second.split, split.created_by) == (split, rita)


def test_the_same_freeze_asked_for_twice_is_one(corpus):
    assert asked(corpus) == asked(corpus)
    assert asked(corpus, size=2) != asked(corpus)


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"name": "no good", "recipe": Recipe(corpus="source")}, "name"), ({"name": "x", "recipe": Recipe()}, "rounds")],
)
def test_a_freeze_of_nothing_is_refused_at_once(corpus, fields, field):
    with pytest.raises(InvalidInput) as refused:
        freeze_request(**fields)

    assert refused.value.field == field
    assert Freeze.objects.count() == 0


def test_what_stands_in_the_way_is_told_with_the_items(client, corpus, rita):
    freeze = asked(corpus, minimum_people=2)

    freeze_run(freeze_id=freeze.pk, now=timezone.now())

    freeze.refresh_from_db()
    assert freeze.state == "failed"
    assert all(uid in freeze.error for uid in Dialogue.objects.values_list("uid", flat=True))
    client.force_login(rita)
    page = client.get(reverse("freeze", args=[freeze.uid])).content.decode()
    form = client.get(reverse("split_new"), {"freeze": freeze.uid}).content.decode()
    assert "The rule people removed the last 3" in page
    assert "failed" in client.get(reverse("splits")).content.decode()
    assert 'name="minimum_people" value="2"' in form


def test_a_stopped_freeze_freezes_nothing(corpus, monkeypatch):
    freeze = asked(corpus)

    def stop_meanwhile():
        freeze_stop(freeze=freeze)
        return changes.mark_now()

    monkeypatch.setattr(splits, "mark_now", stop_meanwhile)
    freeze_run(freeze_id=freeze.pk, now=timezone.now())

    freeze.refresh_from_db()
    assert (freeze.state, freeze.split, Split.objects.count()) == ("stopped", None, 0)
    assert Event.objects.filter(verb="stopped freeze", entity_uid=freeze.uid).count() == 1
    with pytest.raises(Conflict):
        freeze_stop(freeze=freeze)


def test_the_sweep_takes_up_what_nobody_works_on(corpus, django_capture_on_commit_callbacks):
    freeze = asked(corpus)
    Freeze.objects.update(state="running", lease_until=timezone.now() + timedelta(minutes=1))
    with django_capture_on_commit_callbacks(execute=True):
        annotation_sweep()
    held = Split.objects.count()

    Freeze.objects.update(lease_until=timezone.now())
    with django_capture_on_commit_callbacks(execute=True):
        annotation_sweep()

    freeze.refresh_from_db()
    assert (held, freeze.state, Split.objects.count()) == (0, "done", 1)


def test_pages_follow_a_freeze_and_lead_to_the_split(client, corpus, rita):
    freeze = asked(corpus)
    client.force_login(rita)
    Freeze.objects.update(state="running", done=1_500, total=4_000, lease_until=timezone.now())

    page = client.get(reverse("freeze", args=[freeze.uid])).content.decode()
    part = client.get(reverse("freeze_part", args=[freeze.uid])).content.decode()

    assert "1,500 of 4,000 items read" in page
    assert "1,500 of 4,000 items read" in part
    assert 'hx-trigger="every 1s"' in part
    freeze_run(freeze_id=freeze.pk, now=timezone.now())
    moved = client.get(reverse("freeze_part", args=[freeze.uid]), headers={"HX-Request": "true"})
    assert moved["HX-Redirect"] == reverse("freeze", args=[freeze.uid])
    assert client.get(moved["HX-Redirect"]).url == reverse("split", args=[Split.objects.get().uid])


def test_a_page_stops_a_freeze(client, corpus, rita):
    freeze = asked(corpus)
    client.force_login(rita)

    answer = client.post(reverse("freeze_end", args=[freeze.uid]), follow=True)

    assert "Somebody stopped it. Nothing was frozen." in answer.content.decode()
    assert client.post(reverse("freeze_end", args=[freeze.uid])).status_code == 409


def test_the_strip_shows_freezes_and_audits(corpus):
    freeze = asked(corpus)
    split = split_of(items=1, name="arena")
    audit_request(split=split)

    jobs = {job.label: (job.done, job.total, job.href) for job in running(timezone.now())}

    assert jobs == {
        "Freezing exam": (0, 1, reverse("freeze", args=[freeze.uid])),
        "Auditing arena-v1": (0, 1, reverse("split", args=[split.uid])),
    }


def changing_as_it_reads(monkeypatch, change, times):
    """Have ``change`` happen after the items were read and before they are written, so many times."""
    left = iter(range(times))
    look = changes.changed_since

    def changed(**fields):
        if next(left, None) is not None:
            change()
        return look(**fields)

    monkeypatch.setattr(splits, "changed_since", changed)


def test_what_is_judged_while_a_freeze_reads_is_in_it(monkeypatch):
    people = [annotator() for _ in range(3)]
    round_ = round_with(items=1, people_per_item=3, agree_needed=1)
    for person in people:
        latest = submit(assignment_next(round=round_, annotator=person, now=timezone.now()), grade=2)

    def reconsider():
        submit_again(latest)

    changing_as_it_reads(monkeypatch, reconsider, 1)

    split = split_freeze(name="exam", round=round_, now=timezone.now())

    assert split.items.get().entry["judgements"]["votes"] == {"keep": 2, "reject": 1}


def submit_again(judgement):
    """The same person changes their mind: a new row."""
    fields = {name: getattr(judgement, name) for name in ("item", "annotator", "assignment", "heard")}
    type(judgement).objects.create(**fields, revision=judgement.revision + 1, client_key="again", verdict="reject")


def test_items_that_keep_changing_are_named_and_nothing_is_frozen(corpus, monkeypatch):
    restless = corpus.dialogues.get(external_id="set-1")

    def touch():
        Event.objects.create(verb="corrected words", entity="dialogue", entity_uid=restless.uid)

    changing_as_it_reads(monkeypatch, touch, 9)

    with pytest.raises(Conflict, match=restless.uid):
        split_freeze(name="exam", corpus=corpus, now=timezone.now())
    assert Split.objects.count() == 0


def test_what_is_judged_elsewhere_meanwhile_does_not_matter(monkeypatch):
    first = judged_round(items=1)
    changing_as_it_reads(monkeypatch, lambda: judged_round(items=1), 9)

    assert split_freeze(name="exam", round=first, now=timezone.now())


SLOWED = """
import time
import django
django.setup()
from annotation.services import freezes, splits
from django.utils import timezone
def slowly(**fields):
    print("read", flush=True)
    time.sleep(60)
splits.changed_since = slowly
from annotation.models import Freeze
freezes.freeze_run(freeze_id=Freeze.objects.get().pk, now=timezone.now())
"""


@pytest.mark.django_db(transaction=True)
def test_a_killed_freeze_is_taken_up_again(corpus):
    freeze = asked(corpus)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "EQSTUDIO_DATA": str(settings.DATA_DIR),
        "DATABASE_URL": database_url(),
    }
    with subprocess.Popen(
        [sys.executable, "-c", SLOWED], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "read\n"
        process.send_signal(signal.SIGKILL)

    freeze.refresh_from_db()
    lease, state = freeze.lease_until, freeze.state
    taken_up = freeze_run(freeze_id=freeze.pk, now=lease)

    assert state == "running"
    assert lease - timezone.now() < timedelta(minutes=5)
    assert (taken_up.state, Split.objects.count()) == ("done", 1)
