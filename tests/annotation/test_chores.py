"""What is done to very many items of a round is asked for at once and done by a worker, in steps, once."""

from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.urls import reverse
from django.utils import timezone

from annotation.models import Chore, Round
from annotation.services import (
    chores,
    chores_due,
    round_chore_run,
    round_set_state,
    round_top_up_ask,
    round_update,
    rounds,
)
from annotation.services.rounds import ROUND_CLOSED
from annotation.tasks import annotation_sweep
from eqstudio.errors import Conflict
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


@pytest.mark.parametrize("order", [("settle", "close"), ("close", "settle")])
def test_a_round_closed_before_its_complete_items_were_closed_keeps_them(rita, order):
    made = begun(items=3, people=2)
    round_update(round=made, actor=rita, people_per_item=1, agree_needed=1)
    round_set_state(round=made, state=Round.State.CLOSED, actor=rita)
    ended = {}
    for work in order:
        chore = Chore.objects.get(work=work)
        ended[work] = round_chore_run(chore_id=chore.pk, now=timezone.now()).done

    assert outcomes(made) == ["kept"] * 3
    assert ended == {order[0]: 3, order[1]: 0}
    assert not Event.objects.filter(verb="set aside").exists()


def test_a_round_with_few_items_waits_for_its_complete_items_to_be_closed(rita, monkeypatch):
    made = begun(items=3, people=2)
    round_update(round=made, actor=rita, people_per_item=1, agree_needed=1)
    monkeypatch.setattr(rounds, "AT_ONCE", 500)
    round_set_state(round=made, state=Round.State.CLOSED, actor=rita)
    before = outcomes(made)
    Chore.objects.filter(work="settle").delete()

    assert (done(made).work, before, outcomes(made)) == ("close", [""] * 3, ["kept"] * 3)


def test_closing_a_round_at_once_closes_what_is_complete_and_sets_the_rest_aside(rita, monkeypatch):
    made = begun(items=2, people=2)
    round_update(round=made, actor=rita, people_per_item=1, agree_needed=1)
    Chore.objects.all().delete()
    made.items.filter(pk=made.items.first().pk).update(wanted=2)
    monkeypatch.setattr(rounds, "AT_ONCE", 500)
    round_set_state(round=made, state=Round.State.CLOSED, actor=rita)

    assert outcomes(made) == ["disputed", "kept"]


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


def unfilled(items, **rules):
    """A round without items, beside so many dialogues that are ready for it."""
    made = round_with(items=0, **rules)
    for _one in range(items):
        speecheq_dialogue(corpus=made.corpus)
    return made


def killed_after_a_step(chore, monkeypatch):
    """Run a chore whose worker is killed once it has told of its first step; its lease is over then."""
    filling = rounds._filling

    def cut_off(*args):
        yield next(filling(*args))
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(rounds, "_filling", cut_off)
        with pytest.raises(KeyboardInterrupt):
            round_chore_run(chore_id=chore.pk, now=timezone.now())
    chore.refresh_from_db()
    Chore.objects.update(lease_until=timezone.now())


def test_a_fill_that_was_cut_off_goes_on_counting_and_tells_of_all(rita, monkeypatch):
    made = unfilled(8, query={"limit": 5, "seed": 2})
    drawn = rounds.dialogues_for_round(round=made)
    chore = round_top_up_ask(round=made, actor=rita)
    killed_after_a_step(chore, monkeypatch)
    ended = done(made)

    assert (chore.state, chore.done, chore.total) == ("running", 2, 5)
    assert (ended.state, ended.done, ended.total) == ("done", 5, 5)
    assert sorted(made.items.values_list("dialogue", flat=True)) == drawn
    assert [event.detail["added"] for event in Event.objects.filter(verb="topped up").order_by("pk")] == [5]


def test_asking_while_a_worker_begins_the_one_that_waits_is_another_chore(rita, monkeypatch):
    made = unfilled(3)
    first = round_top_up_ask(round=made, actor=rita)
    add = chores._chore_add

    def begins(*args):
        try:
            return add(*args)
        except IntegrityError:
            Chore.objects.update(state="running", lease_until=timezone.now())
            raise

    monkeypatch.setattr(chores, "_chore_add", begins)
    second = round_top_up_ask(round=made, actor=rita)

    assert (second.state, second.pk != first.pk) == ("waiting", True)


def test_two_that_fill_a_round_at_once_keep_its_limit(rita, monkeypatch):
    made = unfilled(8, query={"limit": 4})
    ready = list(made.corpus.dialogues.order_by("pk").values_list("pk", flat=True))
    seen = iter([ready[:4], ready[4:]])
    monkeypatch.setattr(rounds, "dialogues_for_round", lambda round: next(seen))  # noqa: A006 -- its argument
    first, second = rounds._filling(made, rita), rounds._filling(made, rita)
    added = [next(first), next(second), *first, *second]
    made.refresh_from_db()

    assert added == [2, 2, 2, 2]
    assert (made.items.count(), made.items_total) == (4, 4)


def test_a_limit_that_is_lowered_meanwhile_is_kept(rita):
    made = unfilled(4, query={"limit": 4})
    filling = rounds._filling(made, rita)
    next(filling)
    round_update(round=made, actor=rita, query={"limit": 3}, people_per_item=4)
    list(filling)

    assert list(made.items.order_by("pk").values_list("wanted", flat=True)) == [4, 4, 4]


def test_a_round_that_was_closed_takes_no_more(client, rita):
    made = unfilled(4)
    filling = rounds._filling(made, rita)
    next(filling)
    round_set_state(round=made, state=Round.State.CLOSED, actor=rita)

    assert (list(filling), made.items.count()) == ([2], 2)
    with pytest.raises(Conflict, match="Open it again"):
        round_top_up_ask(round=made, actor=rita)
    client.force_login(rita)
    assert "Take in what is ready" not in client.get(reverse("round", args=[made.uid])).content.decode()


def test_asking_again_while_it_waits_is_one_chore(rita):
    made = round_with(items=0)
    for _more in range(3):
        speecheq_dialogue(corpus=made.corpus)

    assert round_top_up_ask(round=made, actor=rita) == round_top_up_ask(round=made, actor=rita)
