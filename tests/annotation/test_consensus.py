"""Consensus: rules as data, adaptive people, ties that stay ties, and nothing decided while judgements are missing."""

import numpy as np
import pytest
from django.utils import timezone

from annotation.domain.consensus import Context, chance_decided, chance_of_agreement, disagreement, rules, rules_over
from annotation.domain.dawid_skene import dawid_skene
from annotation.models import Assignment, RoundItem
from annotation.selectors.consensus import chance_of_rule, item_grades, model_tables
from annotation.services import assignment_next, item_set_aside, judgement_retract
from annotation.services.flags import standing_set
from annotation.services.gold import gold_set
from annotation.services.judgements import judgement_revise
from eqstudio.errors import Conflict, UnknownAlias
from eqstudio.models import Event
from tests.annotation.factories import heard_whole, judged_round, round_with, submit
from tests.eqstudio.factories import annotator, researcher

K, R = "keep", "reject"


@pytest.mark.parametrize(
    ("name", "votes", "needed", "decided"),
    [
        ("k_of_n", [K, K, K, R], 3, K),
        ("k_of_n", [K, K, R, R], 3, None),
        ("k_of_n", [K, K, R, R], 2, None),
        ("k_of_n", [], 1, None),
        ("majority", [K, K, R], 3, K),
        ("majority", [K, R], 1, None),
        ("majority", [], 1, None),
        ("median", [1, 4, 4], 3, 4.0),
        ("median", [2, 3], 3, 2.5),
        ("median", [], 3, None),
        ("dawid_skene", [], 1, None),
    ],
)
def test_a_rule_decides_or_leaves_it_open(name, votes, needed, decided):
    assert rules.get(name)().decide(votes, Context(needed=needed)) == decided


@pytest.mark.parametrize(
    ("likely", "decided"), [({K: 0.95, R: 0.05}, K), ({K: 0.5, R: 0.5}, None), ({K: 0.89, R: 0.11}, None), (None, None)]
)
def test_dawid_skene_decides_what_it_holds_for_certain(likely, decided):
    assert rules.get("dawid_skene")().decide([K, R], Context(likely=likely)) == decided


def test_rules_say_what_they_can_decide():
    assert rules_over("verdict") == ["dawid_skene", "k_of_n", "majority"]
    assert rules_over("grade") == ["dawid_skene", "k_of_n", "majority", "median"]


def test_an_unknown_rule_names_those_there_are():
    with pytest.raises(UnknownAlias, match="dawid_skene, k_of_n, majority, median"):
        rules.get("oracle")


@pytest.mark.parametrize(
    ("votes", "share"), [([], 0.0), ([K], 0.0), ([K, R], 0.5), ([K, K, K, R], 0.25), ([1, 2, 3], 2 / 3)]
)
def test_disagreement_is_the_share_outside_the_most_frequent(votes, share):
    assert disagreement(votes) == pytest.approx(share)


def test_dawid_skene_finds_the_rater_who_always_says_the_same():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 300)
    given = np.stack([np.where(rng.random(300) < 0.9, truth, 1 - truth) for _ in range(4)] + [np.zeros(300, dtype=int)])
    item = np.tile(np.arange(300), 5)
    rater = np.repeat(np.arange(5), 300)

    found = dawid_skene(item=item, rater=rater, value=given.reshape(-1), values=2)

    assert found.converged
    assert (found.posterior.argmax(axis=1) == truth).mean() > 0.95
    assert found.confusion[4, :, 0].tolist() == pytest.approx([1, 1], abs=0.01)
    assert found.confusion[0].diagonal().tolist() == pytest.approx([0.9, 0.9], abs=0.07)


def test_dawid_skene_says_when_it_has_not_settled():
    ratings = {"item": np.array([0, 0, 1, 1]), "rater": np.array([0, 1, 0, 1]), "value": np.array([0, 1, 1, 0])}

    assert not dawid_skene(**ratings, values=2, iterations=1, tolerance=0.0).converged


pytestmark = pytest.mark.django_db


def judge(item: RoundItem, verdict: str, *, slot: int, person=None, grade: int = 3):
    """One more person judges the item."""
    now = timezone.now()
    lease = Assignment.objects.create(
        item=item, annotator=person or annotator(), slot=slot, lease_until=now + timezone.timedelta(minutes=20)
    )
    return submit(lease, verdict=verdict, grade=grade)


def spoil(judgement) -> None:
    """A researcher says that it does not enter figures."""
    standing_set(
        judgement=judgement, accepted=True, usable=False, reason="the same", actor=researcher(), now=timezone.now()
    )


def revise(judgement, verdict: str = R):
    """The person changes their mind."""
    return judgement_revise(
        judgement=judgement, client_key=f"r-{judgement.uid}", verdict=verdict, grades={}, reasons=["other"],
        comment="changed", heard=heard_whole(judgement.item.dialogue), actor=judgement.annotator, now=timezone.now(),
    )  # fmt: skip


def stands(item: RoundItem) -> tuple[str, bool, str, int]:
    item = RoundItem.objects.select_related("dialogue").get(pk=item.pk)
    return item.outcome, item.closed_at is None, item.dialogue.state, item.given


def late_on(item: RoundItem):
    """An answer to a closed item whose place had gone to others."""
    found = Assignment.objects.create(
        item=item, annotator=annotator(), slot=0, state="expired", lease_until=timezone.now(), ended_at=timezone.now()
    )
    return submit(found, verdict=K)


def test_a_late_answer_that_does_not_count_may_change_and_the_item_stays_closed():
    item = one_item(people_per_item=2, agree_needed=2)
    for slot in range(2):
        judge(item, K, slot=slot)
    late = late_on(item)
    assert late.assignment.state == "late"

    revise(late)

    assert stands(item) == ("kept", False, "kept", 2)
    assert not Event.objects.filter(verb="reopened").exists()


def test_a_late_answer_that_does_not_count_cannot_be_taken_back():
    item = one_item(people_per_item=1, agree_needed=1)
    judge(item, K, slot=0)
    late = late_on(item)

    with pytest.raises(Conflict, match="came after"):
        judgement_retract(judgement=late, actor=late.annotator, now=timezone.now())

    assert Assignment.objects.get(pk=late.assignment_id).state == "late"
    assert stands(item) == ("kept", False, "kept", 1)


def undo(judgement):
    return judgement_retract(judgement=judgement, actor=judgement.annotator, now=timezone.now())


@pytest.mark.parametrize(("change", "given"), [(revise, 2), (spoil, 1), (undo, 1)])
def test_an_item_that_became_gold_keeps_its_outcome_whatever_becomes_of_its_judgements(change, given):
    item = one_item(people_per_item=2, agree_needed=2)
    said = [judge(item, K, slot=slot) for slot in range(2)]
    gold_set(item=item, kind="gold", verdict=K, actor=researcher())

    change(said[0])

    assert stands(item) == ("kept", False, "kept", given)


@pytest.mark.parametrize(("change", "given"), [(revise, 1), (spoil, 0), (undo, 0)])
def test_an_item_that_was_set_aside_stays_with_the_experts_whatever_becomes_of_its_judgements(change, given):
    item = one_item(people_per_item=3, agree_needed=2)
    said = judge(item, K, slot=0)
    item_set_aside(item=item, reason="nothing can be heard", now=timezone.now())

    change(said)

    assert stands(item) == ("disputed", False, "disputed", given)


def one_item(**fields) -> RoundItem:
    return round_with(items=1, **fields).items.select_related("round").get()


def test_nothing_is_decided_while_judgements_are_missing():
    item = one_item(people_per_item=4, agree_needed=3)
    for slot in range(3):
        judge(item, K, slot=slot)
        item.refresh_from_db()
        assert (item.outcome, item.closed_at, item.given) == ("", None, slot + 1)

    judge(item, K, slot=3)

    item.refresh_from_db()
    assert (item.outcome, item.given, item.disagreement) == ("kept", 4, 0.0)


@pytest.mark.parametrize(
    ("rule", "verdicts", "outcome"),
    [
        ("k_of_n", [K, K, K, R], "kept"),
        ("k_of_n", [K, K, R, R], "disputed"),
        ("majority", [K, R, R, R], "rejected"),
        ("majority", [K, K, R, R], "disputed"),
    ],
)
def test_the_rule_of_the_round_decides(rule, verdicts, outcome):
    made = judged_round(items=1, verdicts=verdicts, grades=[3] * 4, people_per_item=4, agree_needed=3, rule=rule)

    item = made.items.get()
    assert item.outcome == outcome
    assert item.dialogue.state == outcome


def test_the_model_of_the_whole_round_decides_where_the_rule_says_so():
    made = judged_round(
        items=6, verdicts=[K, K, K, R], grades=[3] * 4, people_per_item=4, agree_needed=3, rule="dawid_skene"
    )

    assert set(made.items.values_list("outcome", flat=True)) == {"kept"}
    tables = model_tables(round=made, question="verdict")
    assert tables["priors"][0] > 0.9
    assert len(tables["people"]) == 4


@pytest.mark.parametrize(("last", "outcome"), [(K, "kept"), (R, "rejected")])
def test_an_undecided_item_asks_one_more_person(last, outcome):
    item = one_item(people_per_item=2, agree_needed=2, people_at_most=4)
    seen = []
    for slot, verdict in enumerate([K, R, last]):
        judge(item, verdict, slot=slot)
        item.refresh_from_db()
        seen.append((item.wanted, item.outcome))

    assert seen == [(2, ""), (3, ""), (3, outcome)]


def test_an_item_that_stays_undecided_is_disputed_at_the_cap():
    item = one_item(people_per_item=4, agree_needed=4, people_at_most=5)
    for slot, verdict in enumerate([K, K, R, R]):
        judge(item, verdict, slot=slot)
    item.refresh_from_db()
    assert (item.wanted, item.outcome) == (5, "")

    judge(item, K, slot=4)

    item.refresh_from_db()
    assert (item.wanted, item.outcome) == (5, "disputed")


def test_taking_a_judgement_back_opens_the_item_and_corrects_its_counts():
    item = one_item(people_per_item=2, agree_needed=2)
    judge(item, K, slot=0)
    second = judge(item, R, slot=1)
    item.refresh_from_db()
    assert (item.outcome, item.given, item.disagreement) == ("disputed", 2, 0.5)

    judgement_retract(judgement=second, actor=second.annotator, now=timezone.now())

    item.refresh_from_db()
    assert (item.outcome, item.given, item.disagreement) == ("", 1, 0.0)


def test_a_judgement_that_is_not_usable_leaves_a_gap_for_somebody_else():
    item = one_item(people_per_item=2, agree_needed=2)
    judge(item, K, slot=0)
    spoilt = judge(item, R, slot=1)
    item.refresh_from_db()
    assert item.outcome == "disputed"

    spoil(spoilt)

    item.refresh_from_db()
    assert (item.outcome, item.given, item.wanted) == ("", 1, 3)
    judge(item, K, slot=2)
    item.refresh_from_db()
    assert (item.outcome, item.given, item.disagreement) == ("kept", 2, 0.0)


def test_an_item_that_cannot_be_judged_goes_to_an_expert_undecided():
    item = one_item(people_per_item=3, agree_needed=2)
    judge(item, K, slot=0)

    item_set_aside(item=item, reason="nothing can be heard", now=timezone.now())

    assert item.outcome == "disputed"
    assert item.dialogue.__class__.objects.get(pk=item.dialogue_id).state == "disputed"
    assert Event.objects.get(verb="set aside").detail == {"reason": "nothing can be heard"}
    judge(item, K, slot=1)
    item.refresh_from_db()
    assert (item.outcome, item.given) == ("disputed", 2)


def test_consensus_grades_have_their_spread_and_ties_stay_ties():
    made = judged_round(items=1, verdicts=[K, K], grades=[2, 4], people_per_item=2, agree_needed=2, grade_rule="median")
    item = made.items.select_related("round").get()

    assert {(grade.value, grade.spread) for grade in item_grades(item=item)} == {(3.0, 2)}
    item.round.grade_rule = "majority"
    assert {(grade.value, grade.spread) for grade in item_grades(item=item)} == {(None, 2)}


def test_by_chance_a_tie_decides_nothing():
    assert chance_decided(people=4, needed=2, share=0.5) == pytest.approx(10 / 16)
    assert chance_decided(people=4, needed=3, share=0.3) == pytest.approx(
        chance_of_agreement(people=4, needed=3, shares=[0.3, 0.7])
    )


def test_the_chance_of_the_rule_goes_by_how_often_the_round_says_keep():
    fresh = round_with(people_per_item=4, agree_needed=3)
    assert chance_of_rule(round=fresh) == pytest.approx(2 * (4 + 1) / 16)

    judged = judged_round(items=2, verdicts=[K, K, K, R], grades=[3] * 4, people_per_item=4, agree_needed=3)
    assert chance_of_rule(round=judged) == pytest.approx(chance_of_agreement(people=4, needed=3, shares=[0.75, 0.25]))
    judged.rule = "majority"
    assert chance_of_rule(round=judged) is None


def test_the_second_opinion_is_collected_after_the_first():
    """B05: two votes each on three items; what one has judged stays in the queue of the next until it is full."""
    made = round_with(items=3, people_per_item=2, agree_needed=2)
    now = timezone.now()
    one, two, three = annotator(), annotator(), annotator()
    mine = []
    for _time in range(2):
        lease = assignment_next(round=made, annotator=one, now=now)
        mine.append(lease.item_id)
        submit(lease)
    for person in (two, three):
        while (lease := assignment_next(round=made, annotator=person, now=now)) is not None:
            submit(lease)
            mine += [lease.item_id] if person == two else []

    rest = assignment_next(round=made, annotator=one, now=now)
    assert len(set(mine[:2])) == 2
    assert set(mine[:2]) <= set(mine[2:])
    assert rest is None or rest.item_id not in mine[:2]
    assert [item.judgements.count() for item in made.items.all()] == [2, 2, 2]
