"""A judgement is stored once, gated by what was heard, and closes the item when enough are in."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import Assignment, Judgement, RoundItem
from annotation.selectors import live_judgements, required_clips
from annotation.services import assignment_next, assignments_expire, item_adjudicate, judgement_retract
from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import Conflict, InvalidInput
from tests.annotation.factories import heard_whole, judged_round, lease, round_with, split_of, submit
from tests.eqstudio.factories import annotator, researcher

pytestmark = pytest.mark.django_db


def test_submit_stores_verdict_and_a_grade_for_every_graded_variant():
    found = lease(round_with())

    judgement = submit(found, grade=2)

    assert judgement.verdict == "keep"
    assert sorted(judgement.grades.values_list("value", flat=True)) == [2, 2, 2, 2]
    assert Assignment.objects.get(pk=found.pk).state == "submitted"


def test_submit_twice_with_one_key_stores_one_row():
    found = lease(round_with())

    first = submit(found, client_key="same")
    second = submit(found, client_key="same")

    assert first.pk == second.pk
    assert Judgement.objects.count() == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"verdict": "reject"},
        {"grade": 1},
        {"comment": "not the same"},
        {"answers": {"confidence": 1}},
    ],
)
def test_another_answer_under_the_key_of_the_first_is_no_replay(changes):
    asked = {"confidence": True}
    found = lease(round_with(questions=asked))
    first = submit(found, client_key="same", answers={"confidence": 4})

    with pytest.raises(Conflict, match="another tab") as raised:
        submit(found, **{"client_key": "same", "answers": {"confidence": 4}, **changes})

    assert raised.value.field == "client_key"
    assert Judgement.objects.get() == first


def test_other_reasons_under_the_key_of_the_first_are_no_replay():
    found = lease(round_with())
    submit(found, client_key="same", verdict="reject", reasons=["other"])
    known = [one.code for one in benchmark_get("speecheq").review_form.reasons]

    assert submit(found, client_key="same", verdict="reject", reasons=["other"]).reasons == ["other"]
    with pytest.raises(Conflict, match="another tab"):
        submit(found, client_key="same", verdict="reject", reasons=[known[0], "other"])


def test_submit_again_under_another_key_is_refused():
    found = lease(round_with())
    submit(found)

    with pytest.raises(Conflict, match="already"):
        submit(found)


def test_a_key_used_for_another_item_is_refused():
    person, made = annotator(), round_with(items=2)
    submit(lease(made, person), client_key="same")

    with pytest.raises(Conflict, match="another item"):
        submit(lease(made, person), client_key="same")


def test_submit_without_listening_is_refused_and_stores_nothing():
    found = lease(round_with())
    heard = heard_whole(found.item.dialogue)
    heard.pop(next(iter(heard)))

    with pytest.raises(InvalidInput, match="1 of 8 clips") as raised:
        submit(found, heard=heard)

    assert raised.value.field == "heard"
    assert Judgement.objects.count() == 0
    assert Assignment.objects.get(pk=found.pk).state == "active"


def test_overlapping_intervals_do_not_add_up_to_a_whole_clip():
    found = lease(round_with())
    half = {
        clip.uid: [[0, clip.duration / 2], [0, clip.duration / 2]]
        for clip in required_clips(dialogue=found.item.dialogue)
    }

    with pytest.raises(InvalidInput, match="8 of 8"):
        submit(found, heard=half)


def test_an_open_gate_asks_for_nothing():
    found = lease(round_with(gate_share=0.0))

    assert submit(found, heard={}).heard == {clip.uid: [] for clip in required_clips(dialogue=found.item.dialogue)}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"verdict": "maybe"}, "verdict"),
        ({"grades": {}}, "grades"),
        ({"grades": {"nobody": 3}}, "grades"),
        ({"grade": 5}, "grades"),
        ({"verdict": "reject", "reasons": []}, "reasons"),
        ({"verdict": "reject", "reasons": ["nonsense"]}, "reasons"),
        ({"verdict": "reject", "reasons": ["other"], "comment": " "}, "comment"),
        ({"client_key": ""}, "client_key"),
        ({"client_key": "k" * 65}, "client_key"),
        ({"heard": {}}, "heard"),
        ({"heard": []}, "heard"),
    ],
)
def test_wrong_input_is_refused_by_field(fields, field):
    found = lease(round_with())

    with pytest.raises(InvalidInput) as raised:
        submit(found, **fields)

    assert raised.value.field == field
    assert Judgement.objects.count() == 0


def test_reject_needs_no_grades():
    judgement = submit(lease(round_with()), verdict="reject", grades={})

    assert judgement.reasons == ["other"]
    assert judgement.grades.count() == 0


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("verdicts", "needed", "outcome"),
    [
        (("keep", "keep", "reject"), 2, "kept"),
        (("reject", "keep", "reject"), 2, "rejected"),
        (("keep", "reject"), 2, "disputed"),
        (("keep", "reject"), 1, "disputed"),
        (("keep", "keep", "reject"), 3, "disputed"),
    ],
)
def test_the_last_judgement_closes_the_item(verdicts, needed, outcome):
    made = judged_round(items=1, verdicts=verdicts, grades=(3,) * len(verdicts), agree_needed=needed)

    item = made.items.get()

    assert item.outcome == outcome
    assert item.closed_at is not None
    assert item.dialogue.state == outcome


def test_an_item_stays_open_until_everybody_asked_for_has_judged():
    made = round_with(people_per_item=3)
    submit(lease(made))
    submit(lease(made))

    assert made.items.get().closed_at is None


def test_a_late_answer_counts_while_a_slot_is_free():
    made, now = round_with(people_per_item=1, agree_needed=1), timezone.now()
    found = lease(made, now=now)
    later = now + timedelta(minutes=30)
    assignments_expire(now=later)

    judgement = submit(found, now=later)

    assert judgement.late
    assert list(live_judgements(round=made)) == [judgement]
    assert made.items.get().outcome == "kept"


def test_a_late_answer_whose_slot_is_gone_is_kept_but_not_counted():
    made, now = round_with(people_per_item=1, agree_needed=1), timezone.now()
    found = lease(made, now=now)
    later = now + timedelta(minutes=30)
    counted = submit(lease(made, now=later), verdict="reject", now=later)

    judgement = submit(found, now=later)

    assert judgement.late
    assert list(live_judgements(round=made)) == [counted]
    assert Judgement.objects.count() == 2
    assert Assignment.objects.get(pk=found.pk).state == "late"
    assert made.items.get().outcome == "rejected"


def test_a_late_answer_takes_another_free_slot():
    made, now = round_with(people_per_item=2), timezone.now()
    found = lease(made, now=now)
    later = now + timedelta(minutes=30)
    assignments_expire(now=later)
    lease(made, now=later)

    judgement = submit(found, now=later)

    assert list(live_judgements(round=made)) == [judgement]
    assert Assignment.objects.get(pk=found.pk).slot == 1


def test_an_answer_on_an_old_lease_ends_the_new_one_of_the_same_person():
    made, person, now = round_with(people_per_item=2), annotator(), timezone.now()
    old = lease(made, person, now=now)
    later = now + timedelta(minutes=30)
    new = lease(made, person, now=later)

    judgement = submit(old, now=later)

    assert list(live_judgements(round=made)) == [judgement]
    assert Assignment.objects.get(pk=new.pk).state == "expired"


def test_nobody_is_given_an_item_again_after_a_late_answer_that_does_not_count():
    made, person, now = round_with(people_per_item=1, agree_needed=1), annotator(), timezone.now()
    found = lease(made, person, now=now)
    later = now + timedelta(minutes=30)
    other = lease(made, now=later)
    submit(found, now=later)
    Assignment.objects.filter(pk=other.pk).update(state="expired")

    assert assignment_next(round=made, annotator=person, now=later) is None


def test_retracting_reopens_the_item_and_gives_the_lease_back_with_the_answer_as_draft():
    made = round_with(people_per_item=1, agree_needed=1)
    judgement = submit(lease(made), grade=4)

    back = judgement_retract(judgement=judgement, actor=judgement.annotator, now=timezone.now())

    item = made.items.get()
    assert back.state == "active"
    assert set(back.draft["grades"].values()) == {4}
    assert (item.closed_at, item.outcome, item.dialogue.state) == (None, "", "in_review")
    assert list(live_judgements(round=made)) == []


def test_a_new_judgement_after_a_retraction_is_the_one_that_counts():
    made = round_with(people_per_item=1, agree_needed=1)
    first = submit(lease(made), grade=4)
    back = judgement_retract(judgement=first, actor=first.annotator, now=timezone.now())

    second = submit(back, verdict="reject")

    assert list(live_judgements(round=made)) == [second]
    assert (second.revision, Judgement.objects.count()) == (2, 3)
    assert made.items.get().outcome == "rejected"


def test_a_judgement_is_retracted_only_once():
    judgement = submit(lease(round_with()))
    judgement_retract(judgement=judgement, actor=judgement.annotator, now=timezone.now())

    with pytest.raises(Conflict, match="already"):
        judgement_retract(judgement=judgement, actor=judgement.annotator, now=timezone.now())


def test_the_undo_window_ends():
    judgement = submit(lease(round_with(undo_seconds=60)))

    with pytest.raises(Conflict, match="over"):
        judgement_retract(judgement=judgement, actor=judgement.annotator, now=timezone.now() + timedelta(seconds=61))


def test_a_decided_item_is_not_reopened():
    made = round_with(people_per_item=1, agree_needed=1)
    judgement = submit(lease(made))
    item_adjudicate(item=made.items.get(), verdict="reject", reason="the voice breaks off", actor=researcher())

    with pytest.raises(Conflict, match="expert"):
        judgement_retract(judgement=judgement, actor=judgement.annotator, now=timezone.now())


def test_an_expert_decides_a_disputed_item():
    made = judged_round(items=1, verdicts=("keep", "reject"), grades=(3, 1))
    item = made.items.get()

    decision = item_adjudicate(item=item, verdict="keep", reason="clear enough", actor=researcher())

    item.refresh_from_db()
    assert (item.outcome, item.dialogue.state, decision.verdict) == ("kept", "kept", "keep")


def test_an_expert_may_overrule_consensus_and_the_latest_decision_counts():
    made = judged_round(items=1)
    expert = researcher()

    item_adjudicate(item=made.items.get(), verdict="reject", reason="leaks the answer", actor=expert)
    assert made.items.get().dialogue.state == "rejected"
    item_adjudicate(item=made.items.get(), verdict="keep", reason="looked again", actor=expert)

    assert made.items.get().dialogue.state == "kept"
    assert made.items.get().adjudications.count() == 2


@pytest.mark.parametrize(("verdict", "reason", "field"), [("maybe", "because", "verdict"), ("keep", "  ", "reason")])
def test_a_decision_needs_a_verdict_and_a_reason(verdict, reason, field):
    made = judged_round(items=1)

    with pytest.raises(InvalidInput) as raised:
        item_adjudicate(item=made.items.get(), verdict=verdict, reason=reason, actor=researcher())

    assert raised.value.field == field


def test_nothing_is_decided_before_all_judgements_are_in():
    made = round_with()
    submit(lease(made))

    with pytest.raises(Conflict, match="Not everybody"):
        item_adjudicate(item=made.items.get(), verdict="keep", reason="early", actor=researcher())


def test_frozen_items_change_no_more():
    made = judged_round(items=1, verdicts=("keep",), grades=(3,), agree_needed=1)
    item = RoundItem.objects.get(round=made)
    judgement = item.judgements.get()
    split_of(corpus=made.corpus, items=0)

    with pytest.raises(Conflict, match="frozen"):
        judgement_retract(judgement=judgement, actor=judgement.annotator, now=timezone.now())
    with pytest.raises(Conflict, match="frozen"):
        item_adjudicate(item=item, verdict="reject", reason="too late", actor=researcher())


def test_a_replay_after_undo_returns_the_first_row_and_changes_nothing():
    found = lease(round_with())
    first = submit(found, client_key="one")
    judgement_retract(judgement=first, actor=first.annotator, now=timezone.now())

    again = submit(found, client_key="one")

    assert again.pk == first.pk
    assert Assignment.objects.get(pk=found.pk).state == "active"
