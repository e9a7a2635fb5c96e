"""What is done to very many items of a round is asked for at once and done by a worker, in steps, once."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Chore, Round
from annotation.services import chores_due, round_chore_run, round_set_state, round_top_up_ask, round_update, rounds
from annotation.services.rounds import ROUND_CLOSED
from annotation.tasks import annotation_sweep
from eqstudio.home import running_jobs
from eqstudio.models import Event
from tests.annotation.factories import lease, round_with, submit
from tests.eqstudio.factories import annotator
from tests.generation.factories import speecheq_dialogue

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Two items are very many."""
    monkeypatch.setattr(rounds, "AT_ONCE", 1)
    monkeypatch.setattr("annotation.services.item_sets.CHUNK", 2)
    monkeypatch.setattr(rounds, "CHUNK", 2)


def begun(items=3, people=2):
    """A round of which each item was judged by one of so many people."""
    made, person = round_with(items=items, people_per_item=people), annotator()
    for _item in range(items):
        submit(lease(made, person))
    return made


def done(made):
    (chore,) = chores_due(now=timezone.now())
    assert chore.round == made
    return round_chore_run(chore_id=chore.pk, now=timezone.now())


def outcomes(made):
    return sorted(made.items.values_list("outcome", flat=True))


def test_closing_and_opening_a_large_round_goes_on_in_the_background(rita):
    made = begun()
    round_set_state(round=made, state=Round.State.CLOSED, actor=rita)
    before = outcomes(made)
    told = [job.label for source in running_jobs for job in source(timezone.now())]
    closed = done(made)
    shut = outcomes(made)
    round_set_state(round=made, state=Round.State.OPEN, actor=rita)
    opened = done(made)

    assert (before, shut, outcomes(made)) == ([""] * 3, ["disputed"] * 3, [""] * 3)
    assert told == [f"Closing round {made.name}"]
    assert [(one.work, one.state, one.done, one.total) for one in (closed, opened)] == [
        ("close", "done", 3, 3),
        ("reopen", "done", 3, 3),
    ]
    assert Event.objects.filter(verb="set aside", detail__reason=ROUND_CLOSED).count() == 3


def test_a_round_that_is_opened_again_meanwhile_stays_open(rita):
    made = begun()
    round_set_state(round=made, state=Round.State.CLOSED, actor=rita)
    round_set_state(round=made, state=Round.State.OPEN, actor=rita)

    assert (done(made).done, outcomes(made)) == (0, [""] * 3)


def test_fewer_people_close_very_many_items_in_the_background(rita):
    made = begun(items=3, people=2)
    round_update(round=made, actor=rita, people_per_item=1, agree_needed=1)
    before = outcomes(made)

    assert (done(made).done, before, outcomes(made)) == (3, [""] * 3, ["kept"] * 3)


def test_a_large_round_is_filled_in_the_background_and_says_so(client, rita, django_capture_on_commit_callbacks):
    made = round_with(items=1)
    for _more in range(3):
        speecheq_dialogue(corpus=made.corpus)
    client.force_login(rita)
    page = client.post(reverse("round_fill", args=[made.uid]), follow=True).content.decode()
    before, due = made.items.count(), chores_due(now=timezone.now()).count()
    with django_capture_on_commit_callbacks(execute=True):
        annotation_sweep()
    ended = Chore.objects.get()
    made.refresh_from_db()

    assert "goes on in the background" in page
    assert (ended.state, ended.done, made.items.count(), made.items_total) == ("done", 3, 4, 4)
    assert (before, due) == (1, 1), "the page itself fills nothing"


def test_a_chore_is_done_once_and_taken_up_again_when_its_worker_is_gone(rita):
    made = begun()
    round_set_state(round=made, state=Round.State.CLOSED, actor=rita)
    chore = Chore.objects.get()
    now = timezone.now()
    Chore.objects.filter(pk=chore.pk).update(state="running", lease_until=now + timedelta(minutes=2))

    busy = round_chore_run(chore_id=chore.pk, now=now)
    assert (busy.state, outcomes(made)) == ("running", [""] * 3)
    assert round_chore_run(chore_id=chore.pk, now=now + DAY).state == "done"
    assert round_chore_run(chore_id=chore.pk, now=now + 2 * DAY).done == 3
    assert Event.objects.filter(verb="set aside").count() == 3


def test_asking_again_while_it_waits_is_one_chore(rita):
    made = round_with(items=0)
    for _more in range(3):
        speecheq_dialogue(corpus=made.corpus)

    assert round_top_up_ask(round=made, actor=rita) == round_top_up_ask(round=made, actor=rita)
