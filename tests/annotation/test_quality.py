"""What follows from judgements: counts, gold, flags with evidence, pauses, standing; and gold itself."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import Flag, Judgement, Participation, Standing
from annotation.selectors import live_judgements
from annotation.services import grade_submit, item_adjudicate, judgement_retract
from annotation.services.flags import flag_decide, standing_set
from annotation.services.gold import gold_set
from annotation.services.participations import judgement_checked, participation_resume
from annotation.services.quality import participation_recheck
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.models import Event
from tests.annotation.factories import heard_whole, judged_round, submit
from tests.annotation.quality import (
    answer_special,
    judge,
    lease_on,
    place,
    quality_round,
    variant_uids,
    work,
)
from tests.eqstudio.factories import annotator, researcher

pytestmark = pytest.mark.django_db
State = Participation.State


def flags(round_, code=None):
    found = Flag.objects.filter(round=round_).order_by("pk")
    return list(found.filter(code=code) if code else found)


def test_counts_towards_gold_and_repeats():
    made = quality_round(items=3, gold=1, quality={"gold_first": 1, "gold_every": 9, "repeat_every": 9})
    person = annotator()
    answer_special(made, person)
    work(made, person, 2)
    row = place(made, person)
    assert (row.since_gold, row.since_repeat) == (2, 2)

    first = made.items.filter(kind="work").order_by("pk").first()
    judge(first, person, "repeat")
    row = place(made, person)
    assert (row.since_gold, row.since_repeat) == (2, 0)


def test_a_second_word_on_a_lease_counts_once():
    made = quality_round(items=1, quality={"gold_every": 9})
    person = annotator()
    place(made, person)
    work(made, person, 1)
    lease = judgement_retract(judgement=Judgement.objects.get(), actor=person, now=timezone.now())
    submit(lease, grade=2)

    assert place(made, person).since_gold == 1


def test_gold_below_the_mark_pauses_with_its_evidence():
    rules = {"gold_first": 3, "gold_window": 5, "gold_pass": 0.6, "auto_pause": True}
    made = quality_round(gold=3, quality=rules)
    person = annotator()

    answer_special(made, person, grade=1)
    answer_special(made, person, grade=1)
    assert place(made, person).state == State.ACTIVE
    answer_special(made, person, grade=3)

    row = place(made, person)
    assert (row.state, row.reason) == (State.PAUSED, "gold_low")
    assert {name: row.evidence[name] for name in ("right", "asked", "mark")} == {"right": 1, "asked": 3, "mark": 0.6}
    assert [flag.evidence for flag in flags(made, "gold_low")] == [{"right": 1, "asked": 3, "mark": 0.6}]


def test_without_auto_pause_gold_is_flagged_only():
    made = quality_round(gold=2, quality={"gold_first": 2, "gold_pass": 0.6})
    person = annotator()
    for _ in range(2):
        answer_special(made, person, grade=1)

    assert len(flags(made, "gold_low")) == 1
    assert place(made, person).state == State.ACTIVE


def test_after_a_review_the_old_gold_no_longer_counts():
    rules = {"gold_first": 2, "gold_every": 2, "gold_window": 2, "gold_pass": 0.6, "auto_pause": True}
    made = quality_round(items=20, gold=6, quality=rules)
    person = annotator()
    for _ in range(2):
        answer_special(made, person, grade=1)
    participation_resume(participation=place(made, person), actor=researcher(), note="Use the examples.")

    while (given := answer_special(made, person, grade=3)) is None:
        work(made, person, 1)
    assert given.assignment.kind == "gold"
    assert place(made, person).state == State.ACTIVE

    while place(made, person).state == State.ACTIVE:
        if answer_special(made, person, grade=1) is None:
            work(made, person, 1)
    assert place(made, person).evidence["asked"] == 2


def judge_at_once(item, person):
    """An answer in the second in which the item was given."""
    lease = lease_on(item, person, minutes_ago=0)
    dialogue = item.dialogue
    return grade_submit(
        assignment=lease,
        client_key="at once",
        verdict="keep",
        grades=dict.fromkeys(variant_uids(dialogue), 3),
        heard=heard_whole(dialogue),
        active_ms=60_000,
        now=lease.created,
    )


def test_impossible_speed_is_flagged_with_its_times():
    made = quality_round(items=3, quality={"fastest_share": 0.4})
    person = annotator()
    place(made, person)
    first, second, third = made.items.order_by("pk")
    heard = sum(end for intervals in judge(first, person).heard.values() for _, end in intervals)

    judge(second, person, active_ms=int(heard * 390))
    judge_at_once(third, person)

    speed = flags(made, "speed")
    assert [flag.judgement.item for flag in speed] == [second, third]
    assert speed[0].evidence["active_s"] == pytest.approx(heard * 0.39, abs=0.1)
    assert speed[0].evidence["heard_s"] == pytest.approx(heard, abs=0.1)
    assert speed[1].evidence["wall_s"] < heard / 2


def test_what_was_heard_on_an_earlier_lease_of_the_item_is_not_too_fast():
    made = quality_round(items=1, quality={"fastest_share": 0.4})
    person = annotator()
    item = made.items.get()
    earlier = lease_on(item, person, minutes_ago=30)
    earlier.__class__.objects.filter(pk=earlier.pk).update(state="expired", ended_at=timezone.now())

    judge(item, person, minutes_ago=0)

    assert flags(made) == []


def test_a_straight_line_is_one_flag_that_names_its_judgements():
    made = quality_round(items=7, quality={"straight_line": 4})
    person = annotator()
    place(made, person)
    work(made, person, 1, grade=2)
    work(made, person, 6, grade=3)

    (flag,) = flags(made, "straight_line")
    given = list(person.judgements.order_by("pk").values_list("uid", flat=True))
    assert flag.evidence == {"in_a_row": 4, "judgements": given[1:5]}


def test_different_grades_are_no_straight_line():
    made = quality_round(items=6, quality={"straight_line": 3})
    person = annotator()
    place(made, person)
    for place_ in range(6):
        work(made, person, 1, grade=1 + place_ % 2)

    assert flags(made) == []


def first_slot_higher(item, person, *, slot=0):
    """Grades in which the rendition shown in ``slot`` of each line is the better one."""
    lease = lease_on(item, person)
    graded = set(variant_uids(item.dialogue))
    grades = {}
    for uids in lease.shown.values():
        for place_, uid in enumerate(uids):
            if uid in graded:
                grades[uid] = 4 if place_ == slot else 2
    return submit(lease, grades=grades)


def test_always_the_same_slot_is_flagged_with_the_exact_test():
    made = quality_round(items=7, quality={"same_slot": 6})
    person = annotator()
    place(made, person)
    for item in made.items.order_by("pk"):
        first_slot_higher(item, person, slot=1)

    (flag,) = flags(made, "same_slot")
    assert len(flag.evidence.pop("judgements")) == 6
    # two lines of two renditions in each of six items: 2 / 2^12
    assert flag.evidence == {"slot": 2, "times": 12, "of": 12, "slots": 2, "p": 0.00049}


def test_slots_in_turn_are_not_flagged():
    made = quality_round(items=12, quality={"same_slot": 10})
    person = annotator()
    place(made, person)
    for place_, item in enumerate(made.items.order_by("pk")):
        first_slot_higher(item, person, slot=place_ % 2)

    assert flags(made, "same_slot") == []


def test_enough_open_flags_pause_and_dismissed_ones_do_not():
    made = quality_round(items=5, quality={"fastest_share": 0.4, "auto_pause": True, "flags_pause": 2})
    person, lead = annotator(), researcher()
    place(made, person)
    work(made, person, 1, active_ms=0)
    flag_decide(flag=flags(made)[0], uphold=False, reason="old browser", actor=lead, now=timezone.now())
    work(made, person, 1, active_ms=0)
    assert place(made, person).state == State.ACTIVE
    work(made, person, 1, active_ms=0)

    row = place(made, person)
    assert (row.state, row.reason, row.evidence["speed"]) == (State.PAUSED, "flags", 2)


def test_checking_again_changes_nothing():
    rules = {"gold_first": 2, "gold_pass": 0.6, "straight_line": 3, "fastest_share": 0.4, "same_slot": 4}
    made = quality_round(items=5, gold=2, quality=rules)
    person = annotator()
    for _ in range(2):
        answer_special(made, person, grade=1)
    work(made, person, 5, active_ms=0)
    before = [(flag.pk, flag.code, flag.key, flag.evidence) for flag in flags(made)]
    events = Event.objects.count()

    for _ in range(2):
        participation_recheck(participation=place(made, person), now=timezone.now())

    assert {code for _, code, _, _ in before} == {"gold_low", "straight_line", "speed"}
    assert [(flag.pk, flag.code, flag.key, flag.evidence) for flag in flags(made)] == before
    assert Event.objects.count() == events


def test_checking_again_finds_what_a_mended_answer_shows():
    made = quality_round(gold=2, quality={"gold_first": 2, "gold_pass": 0.6})
    person = annotator()
    for _ in range(2):
        answer_special(made, person, grade=3)
    assert flags(made) == []

    for item in made.items.all():
        gold_set(item=item, verdict="reject", actor=researcher())

    participation_recheck(participation=place(made, person), now=timezone.now())
    assert [flag.code for flag in flags(made)] == ["gold_low"]


def test_late_gold_is_checked_like_any_other():
    made = quality_round(gold=1, quality={"gold_first": 1, "gold_pass": 1.0})
    person = annotator()
    place(made, person)
    lease = lease_on(made.items.get(), person, "gold")
    lease.__class__.objects.filter(pk=lease.pk).update(lease_until=timezone.now() - timedelta(minutes=5))

    judgement = submit(lease, grade=1)

    assert judgement.late
    assert [flag.code for flag in flags(made)] == ["gold_low"]


# Flags are decided, judgements keep or lose their standing


def test_a_flag_is_decided_once_with_a_reason():
    made = quality_round(items=1, quality={"fastest_share": 0.4})
    person, lead = annotator(), researcher()
    place(made, person)
    work(made, person, 1, active_ms=0)
    (flag,) = flags(made)

    with pytest.raises(InvalidInput, match="Say why"):
        flag_decide(flag=flag, uphold=True, reason=" ", actor=lead, now=timezone.now())
    decided = flag_decide(flag=flag, uphold=True, reason="clicked through", actor=lead, now=timezone.now())
    assert (decided.state, decided.decision, decided.decided_by) == ("upheld", "clicked through", lead)
    with pytest.raises(Conflict, match="decided this flag already"):
        flag_decide(flag=flag, uphold=False, reason="no", actor=lead, now=timezone.now())
    assert Standing.objects.count() == 0
    assert Judgement.objects.count() == 1


def test_an_upheld_flag_may_make_its_judgements_unusable_and_still_paid():
    made = quality_round(items=4, quality={"straight_line": 3}, people_per_item=2)
    person, other = annotator(), annotator()
    place(made, person)
    work(made, person, 4)
    work(made, other, 4, grade=2)
    (flag, _others) = flags(made)

    flag_decide(flag=flag, uphold=True, reason="no listening", actor=researcher(), now=timezone.now(), usable=False)

    live = live_judgements(round=made)
    assert live.filter(annotator=person).count() == 1
    assert live.filter(annotator=other).count() == 4
    assert person.judgements.count() == 4
    assert set(Standing.objects.values_list("accepted", "usable")) == {(True, False)}


def test_standing_is_written_beside_the_judgement_and_the_outcome_follows():
    made = judged_round(items=1, verdicts=("keep", "keep", "reject"), agree_needed=2)
    item = made.items.get()
    assert item.outcome == "kept"
    judgement = item.judgements.filter(verdict="keep").first()
    lead = researcher()

    standing_set(
        judgement=judgement, accepted=True, usable=False, reason="machine noise", actor=lead, now=timezone.now()
    )

    item.refresh_from_db()
    assert item.outcome != "kept"  # one keep and one reject are left
    again = standing_set(
        judgement=judgement, accepted=True, usable=False, reason="again", actor=lead, now=timezone.now()
    )
    assert Standing.objects.get() == again

    standing_set(judgement=judgement, accepted=True, usable=True, reason="it was fine", actor=lead, now=timezone.now())
    item.refresh_from_db()
    assert item.outcome == "kept"
    assert Standing.objects.count() == 2


def test_standing_leaves_an_experts_decision_alone():
    made = judged_round(items=1, verdicts=("keep", "keep", "reject"), agree_needed=2)
    item = made.items.get()
    lead = researcher()
    item_adjudicate(item=item, verdict="keep", reason="clear", actor=lead)

    for judgement in item.judgements.all():
        standing_set(judgement=judgement, accepted=False, usable=False, reason="test", actor=lead, now=timezone.now())

    item.refresh_from_db()
    assert (item.outcome, live_judgements(item=item).count()) == ("kept", 0)


def test_standing_needs_a_reason():
    made = judged_round(items=1)

    with pytest.raises(InvalidInput, match="Say why") as raised:
        standing_set(
            judgement=made.items.get().judgements.first(),
            accepted=False,
            usable=True,
            reason="",
            actor=researcher(),
            now=timezone.now(),
        )

    assert raised.value.field == "reason"


def test_checks_cost_few_queries(django_assert_max_num_queries):
    rules = {"gold_first": 1, "gold_every": 20, "repeat_every": 20, "straight_line": 8, "same_slot": 8}
    made = quality_round(items=2, gold=1, quality={**rules, "fastest_share": 0.4, "auto_pause": True})
    person = annotator()
    answer_special(made, person)
    work(made, person, 1)
    judgement = judge(made.items.filter(kind="work").last(), person)
    row = place(made, person)

    with django_assert_max_num_queries(6):
        judgement_checked(judgement=judgement, participation=row, now=timezone.now())
