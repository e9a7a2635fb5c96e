"""The experts' queue and what they do with an item: decide, ask for more people, take a decision back."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Adjudication, Assignment, AudioProblem
from annotation.selectors import disputed_items, live_judgements, required_clips
from annotation.selectors.experts import dispute_after
from annotation.services import (
    item_adjudicate,
    item_ask_more,
    item_decision_reopen,
    item_reopen,
    judgement_retract,
    split_freeze,
)
from annotation.services.judgements import judgement_revise
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.models import Event
from tests.annotation.factories import heard_whole, judged_round, round_with, submit
from tests.eqstudio.factories import annotator, researcher

pytestmark = pytest.mark.django_db
K, R = "keep", "reject"


def disputed(items: int = 2, **fields):
    return judged_round(items=items, verdicts=(K, R), grades=(4, 1), **fields)


def test_own_grades_are_kept_with_the_decision():
    item = disputed(items=1).items.get()
    (clip, *_rest) = [clip for clip in required_clips(dialogue=item.dialogue) if clip.graded]

    made = item_adjudicate(item=item, verdict=K, reason="clear", grades={clip.uid: 2}, actor=researcher())

    assert made.grades == {clip.uid: 2}


@pytest.mark.parametrize("grades", [{"nonsense": 2}, {"clip": 5}, {"clip": True}])
def test_a_wrong_grade_of_an_expert_is_refused(grades):
    item = disputed(items=1).items.get()
    clip = next(clip.uid for clip in required_clips(dialogue=item.dialogue) if clip.graded)

    with pytest.raises(InvalidInput):
        item_adjudicate(
            item=item, verdict=K, reason="x", grades={name.replace("clip", clip): n for name, n in grades.items()},
            actor=researcher(),
        )  # fmt: skip
    assert not item.adjudications.exists()


def test_a_decision_freezes_the_judgements_and_keeps_their_authors():
    made = disputed(items=1)
    item = made.items.get()
    authors = set(item.judgements.values_list("annotator_id", flat=True))
    item_adjudicate(item=item, verdict=R, reason="leaks", actor=researcher())

    with pytest.raises(Conflict, match="An expert has decided"):
        judgement_retract(judgement=item.judgements.first(), actor=None, now=timezone.now())

    assert set(live_judgements(item=item).values_list("annotator_id", flat=True)) == authors


def test_more_people_are_asked_and_the_dialogue_is_in_review_again():
    item = disputed(items=1).items.select_related("round", "dialogue").get()

    item_ask_more(item=item, people=2, reason="too close", actor=researcher(), now=timezone.now())

    item.refresh_from_db()
    item.dialogue.refresh_from_db()
    assert (item.closed_at, item.outcome, item.wanted, item.dialogue.state) == (None, "", 4, "in_review")
    assert Event.objects.get(verb="asked for more judgements").detail["people"] == 2
    for slot in (2, 3):
        lease = Assignment.objects.create(
            item=item, annotator=annotator(), slot=slot, lease_until=timezone.now() + timezone.timedelta(minutes=5)
        )
        assert item.outcome == ""
        submit(lease, verdict=R)
        item.refresh_from_db()
    assert item.outcome == "rejected"


def test_as_many_more_people_are_asked_when_somebody_who_judged_before_changes_their_answer():
    item = disputed(items=1).items.select_related("round", "dialogue").get()
    said = item.judgements.get(verdict=K)
    item_ask_more(item=item, people=2, reason="too close", actor=researcher(), now=timezone.now())

    judgement_revise(
        judgement=said, client_key="changed", verdict=R, grades={}, reasons=["other"], comment="heard it now",
        heard=heard_whole(item.dialogue), actor=said.annotator, now=timezone.now(),
    )  # fmt: skip

    item.refresh_from_db()
    assert (item.outcome, item.wanted, item.given) == ("", 4, 2)


@pytest.mark.parametrize("people", [0, 51])
def test_an_odd_number_of_more_people_is_refused(people):
    with pytest.raises(InvalidInput, match="1 to 50"):
        item_ask_more(
            item=disputed(items=1).items.get(), people=people, reason="x", actor=researcher(), now=timezone.now()
        )


def test_more_people_cannot_be_asked_for_an_open_or_a_decided_item():
    now, expert = timezone.now(), researcher()
    with pytest.raises(Conflict, match="still being judged"):
        item_ask_more(item=round_with().items.get(), people=1, reason="x", actor=expert, now=now)
    item = disputed(items=1).items.get()
    item_adjudicate(item=item, verdict=K, reason="clear", actor=expert)
    with pytest.raises(Conflict, match="is decided"):
        item_ask_more(item=item, people=1, reason="x", actor=expert, now=now)


def test_a_decision_can_be_taken_back_and_stays_in_the_trail():
    made, expert = disputed(items=1), researcher()
    item = made.items.get()
    item_adjudicate(item=item, verdict=K, reason="clear", actor=expert)

    item_decision_reopen(item=item, reason="heard it again", actor=expert)

    item.refresh_from_db()
    assert item.outcome == "disputed"
    assert item.dialogue.__class__.objects.get(pk=item.dialogue_id).state == "disputed"
    assert list(item.adjudications.values_list("action", "reason")) == [
        ("reopened", "heard it again"),
        ("decided", "clear"),
    ]
    assert disputed_items(round=made).get() == item
    judgement_retract(judgement=item.judgements.first(), actor=None, now=timezone.now())
    item.refresh_from_db()
    assert item.outcome == ""


def test_without_a_standing_decision_there_is_nothing_to_take_back():
    with pytest.raises(Conflict, match="No decision stands"):
        item_decision_reopen(item=disputed(items=1).items.get(), reason="x", actor=researcher())


@pytest.mark.parametrize("first", [K, R])
def test_a_second_decision_may_be_the_opposite(first):
    item, expert = disputed(items=1).items.get(), researcher()
    for verdict in (first, R if first == K else K):
        item_adjudicate(item=item, verdict=verdict, reason="looked", actor=expert)

    item.refresh_from_db()
    state = item.dialogue.__class__.objects.get(pk=item.dialogue_id).state
    assert item.outcome == state == ("rejected" if first == K else "kept")


def test_a_frozen_item_is_left_alone():
    made = judged_round(items=1, verdicts=(K, K, K), grades=(3, 3, 3))
    split_freeze(name="frozen", round=made, now=timezone.now())
    item, expert = made.items.get(), researcher()

    for act in (
        lambda: item_ask_more(item=item, people=1, reason="x", actor=expert, now=timezone.now()),
        lambda: item_adjudicate(item=item, verdict=R, reason="x", actor=expert),
        lambda: item_reopen(item=item, actor=expert, reason="x"),
    ):
        with pytest.raises(Conflict, match="frozen split"):
            act()


def test_a_person_who_left_breaks_neither_queue_nor_item_nor_figures(client, rita):
    made = disputed(items=1)
    item = made.items.get()
    for given in item.judgements.all():
        given.annotator.is_active = False
        given.annotator.save(update_fields=["is_active"])
        given.annotator.groups.clear()
    client.force_login(rita)

    assert item.judgements.count() == 2
    assert client.get(reverse("adjudicate", args=[item.uid])).status_code == 200
    assert "0.00" in client.get(reverse("round", args=[made.uid])).content.decode()
    answer = client.post(reverse("adjudicate", args=[item.uid]), {"verdict": K, "reason": "clear"})
    assert answer.status_code == 302
    item.refresh_from_db()
    assert item.outcome == "kept"


def test_the_queue_is_first_closed_first_and_can_be_narrowed(client, rita):
    early, late = disputed(items=2), disputed(items=1)
    client.force_login(rita)

    whole = client.get(reverse("disputes"))
    one = client.get(reverse("disputes"), {"round": late.uid})
    none = client.get(reverse("disputes"), {"category": "no such category"})

    assert [item.round for item, _label in whole.context["rows"]] == [early, early, late]
    assert [item.round for item, _label in one.context["rows"]] == [late]
    assert none.context["rows"] == []
    assert "Nothing is in dispute" in none.content.decode()


def test_the_queue_is_constant_in_queries(client, rita):
    client.force_login(rita)
    disputed(items=1)

    def queries():
        client.get(reverse("disputes"))
        with CaptureQueriesContext(connection) as captured:
            client.get(reverse("disputes"))
        return len(captured)

    one = queries()
    disputed(items=3)
    assert queries() == one


def test_after_the_last_of_the_queue_comes_the_first_again():
    first, second = disputed(items=2).items.order_by("closed_at", "pk")

    assert dispute_after(item=first, round=None, category="") == second
    assert dispute_after(item=second, round=None, category="") == first
    assert dispute_after(item=first, round=first.round, category="nonsense") is None


def test_a_decision_leads_to_the_next_of_the_same_queue(client, rita):
    other, made = disputed(items=1), disputed(items=2)
    first, second = made.items.order_by("closed_at", "pk")
    client.force_login(rita)
    within = f"?round={made.uid}"

    answer = client.post(reverse("adjudicate", args=[first.uid]) + within, {"verdict": K, "reason": "clear"})
    last = client.post(reverse("adjudicate", args=[second.uid]) + within, {"verdict": R, "reason": "leaks"})

    assert answer.url == reverse("adjudicate", args=[second.uid]) + within
    assert last.url == reverse("disputes") + within
    assert disputed_items().get() == other.items.get()


def test_the_page_takes_grades_asks_for_more_and_takes_back(client, rita):
    item = disputed(items=1).items.get()
    clip = next(clip.uid for clip in required_clips(dialogue=item.dialogue) if clip.graded)
    client.force_login(rita)

    client.post(reverse("adjudicate_more", args=[item.uid]), {"people": 1, "reason": "too close"})
    item.refresh_from_db()
    assert (item.outcome, item.wanted) == ("", 3)
    lease = Assignment.objects.create(
        item=item, annotator=annotator(), slot=2, lease_until=timezone.now() + timezone.timedelta(minutes=5)
    )
    submit(lease, verdict=K)
    body = {"verdict": K, "reason": "clear", f"grade_{clip}": "3"}
    client.post(reverse("adjudicate", args=[item.uid]), body)
    assert Adjudication.objects.filter(action="decided").get().grades == {clip: 3}
    client.post(reverse("adjudicate_reopen", args=[item.uid]), {"reason": "again"})

    item.refresh_from_db()
    html = client.get(reverse("adjudicate", args=[item.uid])).content.decode()
    assert item.outcome == "disputed"
    for word in ("too close", "clear", "again", "asked for more judgements", "reopened"):
        assert word in html


@pytest.mark.parametrize(
    ("name", "body"), [("adjudicate_more", {"people": 1, "reason": ""}), ("adjudicate_reopen", {"reason": "x"})]
)
def test_what_cannot_be_done_is_said_on_the_page(client, rita, name, body):
    item = disputed(items=1).items.get()
    client.force_login(rita)

    answer = client.post(reverse(name, args=[item.uid]), body)

    assert answer.status_code == 422
    assert item.adjudications.count() == 0


def test_the_page_shows_similar_decisions_problems_and_what_was_given_back(client, rita):
    made = disputed(items=2)
    first, second = made.items.select_related("dialogue")
    second.dialogue.__class__.objects.update(category=first.dialogue.category)
    item_adjudicate(item=second, verdict=R, reason="the words give it away", actor=rita)
    person = annotator()
    AudioProblem.objects.create(item=first, annotator=person, problem="crackles", detail="in the middle")
    Assignment.objects.create(
        item=first, annotator=person, slot=9, state="released", skip="unjudgeable", reason="two voices at once",
        lease_until=timezone.now(),
    )  # fmt: skip
    client.force_login(rita)

    html = client.get(reverse("adjudicate", args=[first.uid])).content.decode()

    for word in ("the words give it away", "in the middle", "two voices at once"):
        assert word in html


def test_a_frozen_item_offers_no_decision_and_names_its_split(client, rita):
    round_ = judged_round(items=1, verdicts=("keep", "keep", "keep"))
    item = round_.items.get()
    client.force_login(rita)
    before = client.get(reverse("adjudicate", args=[item.uid])).content.decode()

    split = split_freeze(name="exam", round=round_, now=timezone.now())
    after = client.get(reverse("adjudicate", args=[item.uid])).content.decode()

    assert "Save the decision" in before
    assert "Ask more people" in before
    assert "Save the decision" not in after
    assert "Ask more people" not in after
    assert reverse("split", args=[split.uid]) in after
