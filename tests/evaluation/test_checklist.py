"""The reporting checklist, filled in from protocol and rows; what nobody said stays open."""

import pytest
from django.db import connection
from django.urls import reverse

from evaluation.models import Response
from evaluation.services import checklist_build, comparison_build, protocol_lock, protocol_save
from evaluation.services.checklist_declared import declared_of, differences_of
from tests.eqstudio.factories import annotator, researcher
from tests.evaluation.factories import model_respondent, sit_through, speecheq_study

pytestmark = pytest.mark.django_db

WHOLE = {
    "design": {"comment": True},
    "sampling": {"plan": "random", "size": 3, "seed": 7},
    "recruitment": {
        "population": "Adults in Leeds",
        "eligibility": "Over 18",
        "languages": ["en"],
        "source": "panel",
        "people": 20,
        "pay": 6,
        "currency": "GBP",
        "bonus": "1 GBP for 90 %",
        "demographics": ["age_band"],
        "consent": {"ethics": "Board 3/26"},
    },
    "execution": {"headphones": "required", "no_ai_statement": True, "differences": "Models have no clock."},
    "analysis": {
        "smallest_difference": 0.1,
        "exclusions": [{"rule": "too_fast", "threshold": 0.2}, {"rule": "exposed_before"}],
    },
}


def answers(study):
    blocks = checklist_build(study=study, comparison=comparison_build(study=study))
    return {row.number: row.answer for block in blocks for row in block.rows}


def test_nothing_is_answered_for_a_study_that_declares_nothing():
    found = answers(speecheq_study(items=2))
    silent = [
        "1.6",
        "1.8",
        "1.9",
        "1.10",
        "2.1",
        "2.2",
        "2.3",
        "2.5",
        "2.6",
        "2.7",
        "2.7.3",
        "3.5",
        "4.6",
        "5.1.1",
        "5.2",
    ]
    assert {number: found[number] for number in silent} == dict.fromkeys(silent)


def test_what_the_protocol_says_fills_the_checklist():
    study = speecheq_study(items=5)
    version = protocol_save(study=study, content=WHOLE)
    protocol_lock(study=study)
    study.refresh_from_db()
    found = answers(study)
    expected = {
        "1.2.1": "3 of 5 items: a simple random sample, seed 7; the probability of each is stored",
        "1.9": "Board 3/26",
        "1.10": f"Yes: locked on {study.locked_at:%Y-%m-%d %H:%M UTC}, hash {version.hash[:12]}",
        "2.1": "Adults in Leeds",
        "2.1.1": "Over 18; English",
        "2.2": "a panel",
        "2.3": "Yes",
        "2.3.1": "a headphone check that has to be passed",
        "2.3.2": "0 people",
        "2.5": "Yes: nobody is asked an item, or its twin, that they wrote or judged",
        "2.6": "No",
        "2.6.1": None,
        "2.7": "Yes",
        "2.7.1": "6 GBP for a complete sitting",
        "2.7.2": "Yes",
        "2.7.2.1": "1 GBP for 90 %",
        "2.7.3": "No: with a bonus",
        "3.3.2": "Models have no clock.",
        "3.5.1": "People state that they use no AI tools",
        "5.1.1": "Yes, for groups of five or more: age band",
    }
    assert {number: found[number] for number in expected} == expected
    assert "10 points were called a difference that counts" in found["1.8.1"]
    assert "answers before the sound can have ended (share of answers, above): 0.2" in found["3.2.1"]


def test_a_study_that_was_answered_before_a_lock_is_said_not_to_be_registered():
    study = speecheq_study(items=1)
    sit_through(study, respondent=model_respondent(study))
    assert answers(study)["1.10"] == "No: the first answer came before any protocol was locked"


def test_a_pilot_is_told_and_counts_for_nothing():
    study = speecheq_study(items=1)
    protocol_save(study=study, content={"execution": {"pilot": True}})
    sit_through(study, user=annotator())
    found = answers(study)
    assert (found["1.6"], found["1.1"]) == ("Yes: a pilot with 1 person, kept out of every figure", "0")


def test_an_hour_of_pay_comes_from_the_median_active_time(client):
    study = speecheq_study(items=2)
    protocol_save(study=study, content={"recruitment": {"pay": 5, "currency": "EUR"}})
    sitting = sit_through(study, user=annotator())
    pks = list(Response.objects.filter(trial__sitting=sitting).values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE evaluation_response SET paradata = %s WHERE id IN (" + ",".join(map(str, pks)) + ")",
            ['{"active_ms": 225000}'],
        )
    study.participants.update(outcome="complete")
    assert declared_of(study).hourly == pytest.approx(5 / (len(pks) * 225 / 3600))
    client.force_login(researcher())
    page = client.get(reverse("study_report", args=[study.uid])).content.decode()
    assert ("20.00 EUR an hour" in page, "How far people came" in page) == (True, True)


def test_differences_between_people_and_models_are_written_down(client):
    study = speecheq_study(items=1)
    protocol_save(study=study, content={**WHOLE, "sampling": {}})
    told = differences_of(declared_of(study), hears=False)
    assert ("Models have no clock." in told, any("without the sound" in one for one in told)) == (True, True)
    client.force_login(researcher())
    text = client.get(reverse("study_report", args=[study.uid]), {"download": 1}).content.decode()
    assert ("Models have no clock." in text, "not reported" in text) == (True, True)
