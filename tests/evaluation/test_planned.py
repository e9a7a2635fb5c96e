"""What a study can see, from its own items: clusters, design effect, and what the protocol wants."""

import pytest
from django.urls import reverse

from evaluation.domain.clusters import cluster_size, likeness
from evaluation.domain.power import Plan, people_needed
from evaluation.domain.protocol import Protocol
from evaluation.selectors import planned_of
from evaluation.services import protocol_save, study_create
from tests.eqstudio.factories import researcher
from tests.evaluation.factories import (
    model_respondent,
    right_answer,
    sit_through,
    speecheq_study,
    split_of,
    wrong_answer,
)
from tests.generation.factories import speecheq_dialogue


def test_the_size_of_an_items_cluster_weighs_large_ones():
    assert cluster_size(["a", "b", "c"]) == 1
    assert cluster_size(["a", "a", "b", "b"]) == 2
    assert cluster_size(["a", "a", "a", "b"]) == (9 + 1) / 4
    assert cluster_size([]) == 1


def test_likeness_is_one_within_equal_clusters_and_none_where_items_stand_alone():
    clusters = {1: "a", 2: "a", 3: "b", 4: "b"}
    assert likeness({1: 1.0, 2: 1.0, 3: 0.0, 4: 0.0}, clusters) == pytest.approx(1)
    assert likeness({1: 1.0, 2: 0.0, 3: 1.0, 4: 0.0}, clusters) == 0
    assert likeness({1: 1.0, 3: 0.0}, clusters) is None


def test_likeness_agrees_with_a_published_table():
    """Shrout and Fleiss 1979: ICC(1,1) of six targets by four judges is .17."""
    table = [(9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7)]
    values = {4 * row + place: float(one) for row, line in enumerate(table) for place, one in enumerate(line)}
    assert likeness(values, {item: str(item // 4) for item in values}) == pytest.approx(0.17, abs=0.005)


def test_people_needed_is_the_fewest_that_see_the_difference():
    plan = Plan(items=1000, people=1)
    found = people_needed(0.05, plan)
    assert Plan(items=1000, people=found).detectable() <= 0.05 < Plan(items=1000, people=found - 1).detectable()
    assert people_needed(0.001, Plan(items=10, people=1)) is None


@pytest.fixture
def bound(db):
    """Eight items, of which six belong to two prompts."""
    topics = ["x", "x", "x", "y", "y", "y", "", ""]
    split = split_of([speecheq_dialogue(topic_key=topic) for topic in topics])
    return study_create(name="bound", split=split)


def test_a_plan_starts_from_the_items_their_clusters_and_the_protocol(bound):
    found = planned_of(study=bound, protocol=Protocol())
    assert (found.items, found.clusters, found.cluster_size, found.claimed) == (8, 4, (9 + 9 + 1 + 1) / 8, False)
    wanted = Protocol.model_validate(
        {
            "recruitment": {"people": 30},
            "analysis": {"smallest_difference": 0.04},
            "sampling": {"plan": "random", "size": 3},
        }
    )
    found = planned_of(study=bound, protocol=wanted)
    assert (found.items, found.people, found.claim, found.claimed) == (3, 30, 0.04, True)


@pytest.mark.django_db
def test_the_power_page_warns_when_the_study_cannot_see_what_the_protocol_claims(client):
    study = speecheq_study(items=4)
    client.force_login(researcher())
    address = reverse("study_power", args=[study.uid])
    assert "names no smallest difference" in client.get(address).content.decode()
    protocol_save(study=study, content={"analysis": {"smallest_difference": 0.02}})
    page = client.get(address).content.decode()
    assert ("calls 2.0 points" in page, "No number of people" in page) == (True, True)
    protocol_save(study=study, content={"analysis": {"smallest_difference": 0.9}})
    assert "notice warn" not in client.get(address).content.decode()


def test_the_power_page_takes_the_likeness_that_the_answers_show(bound, client):
    def by_prompt(record):
        return right_answer(record) if record.dialogue.topic_key == "x" else wrong_answer(record)

    sit_through(bound, respondent=model_respondent(bound), choose=by_prompt)
    client.force_login(researcher())
    page = client.get(reverse("study_power", args=[bound.uid]))
    assert (page.context["observed"], page.context["form"]["correlation"].value()) == (1.0, 1.0)
    assert page.context["deff"] == pytest.approx(2.5)


@pytest.mark.django_db
def test_power_says_what_a_study_can_see(client):
    study = speecheq_study(items=2)
    client.force_login(researcher())
    address = reverse("study_power", args=[study.uid])
    page = client.get(address, {"items": "300", "people": "5", "claim": "2"}).content.decode()
    assert "It can see" in page
    assert "less than it takes" in page
    wrong = client.get(address, {"items": "none"}).content.decode()
    assert ("It can see" in wrong, 'value="none"' in wrong) == (False, True)
