"""An audit in the background: what it says of how far it is, how it is stopped, and what happens after a kill."""

from datetime import timedelta

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.urls import reverse
from django.utils import timezone

from annotation import tasks
from annotation.home import running
from annotation.models import ClipPrint, SplitAudit
from annotation.services import audit_make, audit_request, audit_stop, audits
from annotation.tasks import annotation_sweep, audit_run
from eqstudio.errors import Conflict
from eqstudio.models import Event
from generation.models import Clip
from tests.annotation.factories import split_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def every_row(monkeypatch):
    """Progress is told of every row, not twice a second."""
    monkeypatch.setattr(audits, "_TELL_EVERY_S", 0.0)


def followed(monkeypatch, meanwhile=lambda audit: None):
    """Every (part, done, total) that the row of an audit held while it was made."""
    seen = []
    tell = audits._Claim.tell

    def told(self, part, done, total):
        tell(self, part, done, total)
        audit = SplitAudit.objects.get(pk=self._pk)
        seen.append((audit.part, audit.done, audit.total))
        meanwhile(audit)

    monkeypatch.setattr(audits._Claim, "tell", told)
    return seen


def test_an_audit_counts_the_rows_of_each_part(monkeypatch, every_row):
    split, other = split_of(items=2, name="arena"), split_of(items=3, name="other")
    asked = audit_request(split=split, against=other)
    seen = followed(monkeypatch)

    audit_make(audit_id=asked.pk, now=timezone.now())

    clips = ClipPrint.objects.count()
    parts = {part: [(done, total) for name, done, total in seen if name == part] for part, _done, _total in seen}
    assert list(parts) == ["prints", "read", "texts", "sounds", "people"]
    assert parts["prints"][0][0] == 0
    assert sum(total for done, total in parts["prints"] if done == total - 1) == clips
    assert parts["read"][-1] == (5, 5)
    assert parts["texts"][-1] == (5, 5)
    assert parts["sounds"][0][0] == 0
    assert parts["sounds"][-1][1] == 2 * 2 * len(split_clips(split))
    for told in parts.values():
        assert all(done <= total for done, total in told)


def split_clips(split):
    return set(split.items.values_list("dialogue__turns__variants__clip", flat=True))


def test_a_stopped_audit_has_no_report_and_keeps_what_it_measured(monkeypatch, every_row, rita):
    asked = audit_request(split=split_of(items=1))

    def stop(audit):
        if audit.part == "read" and audit.state == "running":
            audit_stop(audit=audit, actor=rita)

    followed(monkeypatch, stop)
    made = audit_make(audit_id=asked.pk, now=timezone.now())

    assert (made.state, made.report, made.lease_until) == ("stopped", {}, None)
    assert ClipPrint.objects.count() == 8
    assert Event.objects.filter(verb="stopped audit", actor=rita).count() == 1
    assert audit_make(audit_id=asked.pk, now=timezone.now()).state == "stopped"
    with pytest.raises(Conflict, match="ended already"):
        audit_stop(audit=asked)


def test_measuring_goes_on_in_the_next_task(django_capture_on_commit_callbacks):
    asked = audit_request(split=split_of(items=1))

    for measured in (1, 2):
        step = audit_make(audit_id=asked.pk, now=timezone.now(), until=timezone.now())
        assert (step.state, step.report, ClipPrint.objects.count()) == ("waiting", {}, measured)
    with django_capture_on_commit_callbacks(execute=True):
        audit_run(asked.pk)

    asked.refresh_from_db()
    assert (asked.state, ClipPrint.objects.count()) == ("done", 8)
    assert asked.seconds > step.seconds


def test_a_step_counts_what_the_steps_before_it_measured(monkeypatch, every_row):
    asked = audit_request(split=split_of(items=1))
    audit_make(audit_id=asked.pk, now=timezone.now(), until=timezone.now())
    began = SplitAudit.objects.get().part_began
    seen = followed(monkeypatch)
    audit_make(audit_id=asked.pk, now=timezone.now(), until=timezone.now())

    assert seen == [("prints", 1, 8)]
    assert SplitAudit.objects.get().part_began == began


def test_recordings_that_cannot_be_read_do_not_hold_an_audit_up(django_capture_on_commit_callbacks, monkeypatch):
    asked = audit_request(split=split_of(items=1))
    gone = set(Clip.objects.order_by("pk").values_list("pk", flat=True)[:3])
    measure = audits.clip_print

    def read(*, clip):
        if clip.pk in gone:
            raise FileNotFoundError
        return measure(clip=clip)

    monkeypatch.setattr(audits, "clip_print", read)
    monkeypatch.setattr(tasks, "STEP", timedelta(0))

    with django_capture_on_commit_callbacks(execute=True):
        audit_run(asked.pk)

    asked.refresh_from_db()
    assert (asked.state, ClipPrint.objects.count(), len(asked.report["unreadable"])) == ("done", 5, 3)


def test_an_audit_that_no_worker_can_end_says_what_to_do(monkeypatch):
    asked = audit_request(split=split_of(items=1, name="arena"), against=split_of(items=1, name="other"))

    def stopped(**_given):
        raise SoftTimeLimitExceeded

    monkeypatch.setattr(audits, "split_audit", stopped)
    made = audit_make(audit_id=asked.pk, now=timezone.now())

    assert (made.state, made.lease_until) == ("failed", None)
    assert "manage.py split_audit arena-v1 --against other-v1" in made.error
    assert not audits.audits_due(now=timezone.now() + timedelta(days=1)).exists()


def test_the_task_hands_the_rest_to_the_next(monkeypatch, django_capture_on_commit_callbacks):
    asked = audit_request(split=split_of(items=1))
    monkeypatch.setattr(tasks, "STEP", timedelta(0))

    with django_capture_on_commit_callbacks(execute=True):
        audit_run(asked.pk)

    asked.refresh_from_db()
    assert (asked.state, ClipPrint.objects.count()) == ("done", 8)


def test_the_sweep_takes_up_an_audit_whose_worker_was_killed(django_capture_on_commit_callbacks):
    asked = audit_request(split=split_of(items=1))
    now = timezone.now()
    SplitAudit.objects.update(state="running", part="texts", done=7, total=9, lease_until=now + timedelta(minutes=1))
    with django_capture_on_commit_callbacks(execute=True):
        annotation_sweep()
    asked.refresh_from_db()
    held = asked.state

    SplitAudit.objects.update(lease_until=now)
    with django_capture_on_commit_callbacks(execute=True):
        annotation_sweep()

    asked.refresh_from_db()
    assert (held, asked.state, asked.part) == ("running", "done", "people")


def test_the_page_and_the_strip_tell_the_part_its_rows_and_the_time_left(client, rita):
    split = split_of(items=1, name="arena")
    now = timezone.now()
    audit = audit_request(split=split)
    SplitAudit.objects.update(
        state="running", part="texts", done=1_500, total=4_500, part_began=now - timedelta(minutes=2), lease_until=now
    )
    client.force_login(rita)

    part = client.get(reverse("split_audit", args=[split.uid])).content.decode()
    (job,) = running(now)

    assert f'id="stop-{audit.uid}"' in part
    assert "part 3 of 5: texts compared, 1,500 of 4,500, about 4 minutes left" in " ".join(part.split())
    assert (job.label, job.done, job.total) == ("Auditing arena-v1: texts compared", 1_500, 4_500)
    assert job.seconds_left == 240
    page = client.post(reverse("audit_end", args=[audit.uid]), follow=True).content.decode()
    assert "The audit is stopped." in page
    assert "Stop the audit" not in page
    assert client.post(reverse("audit_end", args=[audit.uid])).status_code == 409


def test_nothing_is_said_of_the_time_left_before_there_is_a_pace():
    now = timezone.now()
    audit = SplitAudit(state="running", part="texts", done=0, total=9, part_began=now - timedelta(minutes=1))

    assert audit.seconds_left(now) is None
    assert SplitAudit(state="running", part="texts", done=3, total=9, part_began=now).seconds_left(now) is None
