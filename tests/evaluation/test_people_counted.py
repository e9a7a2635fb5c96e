"""Whose answers count: declared rules, unblinding, withdrawals, and what of people is told."""

import csv
import io
import zipfile

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import HeadphoneCheck
from eqstudio.errors import Conflict
from eqstudio.models import Event
from evaluation.domain.flow import Stage
from evaluation.models import Part, Participant, PersonalDetails, Response
from evaluation.selectors import findings_of, marks_of, outcome_counts, sitting_progress
from evaluation.selectors.participants import demographics_published, funnel_of, people_lines
from evaluation.services import (
    comparison_build,
    protocol_lock,
    release_build,
)
from evaluation.services.invitations import invitations_create
from evaluation.services.participants import (
    details_store,
    eligibility_answer,
    sitting_settle,
)
from evaluation.services.robustness import robustness_build
from evaluation.services.unblinding import study_unblind
from evaluation.services.withdrawal import participant_withdraw
from tests.evaluation.factories import (
    model_respondent,
    sit_through,
    speecheq_study,
    wrong_answer,
)
from tests.evaluation.people import answer_all, join, protocol, specials

pytestmark = pytest.mark.django_db
NOW = timezone.now


@pytest.fixture
def study():
    return speecheq_study(items=4)


def rules(study, *names):
    protocol(study, analysis={"exclusions": [{"rule": name, "threshold": None} for name in names]})


def people_row(study):
    return next((row for row in comparison_build(study=study)["respondents"] if row["kind"] == "people"), None)


def test_whom_a_rule_leaves_out_is_in_no_figure_and_nothing_is_deleted(study):
    specials(study, Part.ATTENTION, 1)
    protocol(study, execution={"attention": 1})
    rules(study, "attention_failed")
    answer_all(join(study).sitting)
    careless = join(study)
    answer_all(careless.sitting, choose=wrong_answer)

    assert people_row(study)["people"] == 1
    assert people_row(study)["estimates"]["acc_traj"]["value"] == 1.0
    flagged = {respondent: found[0].flagged for respondent, found in findings_of(study).items()}
    assert flagged == {
        one.respondent_id: one.respondent_id == careless.sitting.respondent_id for one in Participant.objects.all()
    }
    assert Response.objects.filter(trial__sitting=careless.sitting).count() == 10
    assert sitting_settle(sitting=careless.sitting).outcome == "failed_attention"


def test_results_with_and_without_stand_side_by_side(study):
    specials(study, Part.ATTENTION, 1)
    protocol(study, execution={"attention": 1})
    rules(study, "attention_failed", "incomplete")
    answer_all(join(study).sitting)
    answer_all(join(study).sitting, choose=wrong_answer)
    sit_through(study, respondent=model_respondent(study), choose=wrong_answer)

    table = {one.rule: one for one in robustness_build(study=study)}

    assert {rule: (one.excluded, one.people, one.figure.value) for rule, one in table.items()} == {
        "nobody": (0, 2, 0.5),
        "rules": (1, 1, 1.0),
        "attention_failed": (1, 1, 1.0),
        "incomplete": (0, 2, 0.5),
    }
    assert table["rules"].gap.value == 1.0
    assert table["nobody"].gap.value == 0.5


@pytest.mark.parametrize(("answers", "share"), [(1, 0.0), (2, 0.25), (3, 0.25), (6, 0.75)])
def test_a_sitting_that_was_left_is_incomplete_and_its_finished_dialogues_count(study, answers, share):
    rules(study, "incomplete")
    answer_all(join(study).sitting, stop=answers)

    (found,) = next(iter(findings_of(study).values()))
    assert (found.value, found.flagged) == (share, True)


def test_practice_stands_apart_from_the_answers_that_everybody_counts(study):
    specials(study, Part.PRACTICE, 1)
    protocol(study, execution={"practice": 1})
    sitting = join(study).sitting
    asked = answer_all(sitting)

    (line,) = people_lines(study=study)
    assert (line.answers, line.practice) == (8, 2)
    assert (len(asked), sitting_progress(sitting=sitting).answers) == (10, 8)
    assert outcome_counts(sitting=sitting) == {"answered": 8}


def test_who_has_only_practised_has_answered_nothing_yet(study):
    specials(study, Part.PRACTICE, 1)
    protocol(study, execution={"practice": 1})
    answer_all(join(study).sitting, stop=2)

    funnel = dict(funnel_of(lines=people_lines(study=study), asked=[Stage.INSTRUCTIONS]))
    assert (funnel["instructions"], funnel["answered"], funnel["counted"]) == (1, 0, 0)


def test_the_headphone_check_of_a_person_is_looked_at(study):
    rules(study, "headphones_failed")
    joined = join(study)
    HeadphoneCheck.objects.create(annotator=joined.user, seed=1, right=2, asked=6, passed=False)

    (found,) = next(iter(findings_of(study).values()))
    assert found.flagged


def test_unblinding_needs_a_locked_protocol_and_is_kept_as_an_event(study, rita):
    rules(study, "incomplete")
    with pytest.raises(Conflict, match="Lock"):
        study_unblind(study=study, actor=rita)
    protocol_lock(study=study, actor=rita)
    answer_all(join(study).sitting, stop=2)

    study_unblind(study=study, actor=rita)
    study_unblind(study=study, actor=rita)

    assert Event.objects.get(verb="study_unblind").detail == {"excluded": {"incomplete": 1}}


# Withdrawal


def told(study):
    """Every figure that a person's answers could be in."""
    with zipfile.ZipFile(io.BytesIO(release_build(study=study))) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("answers.csv").decode())))
    return {
        "marks": len(list(marks_of(study=study))),
        "people": (people_row(study) or {"people": 0})["people"],
        "release": sorted({row["respondent"] for row in rows}),
    }


def test_a_withdrawal_takes_the_answers_out_of_every_figure(study):
    stays, goes = join(study), join(study)
    answer_all(stays.sitting)
    answer_all(goes.sitting)
    sitting_settle(sitting=goes.sitting)
    participant = Participant.objects.get(respondent=goes.sitting.respondent)
    before = told(study)

    assert participant_withdraw(participant=participant, reason="own", actor=goes.user)

    assert before == {"marks": 16, "people": 2, "release": ["Person 1", "Person 2"]}
    assert told(study) == {"marks": 8, "people": 1, "release": ["Person 1"]}
    assert (participant.outcome, participant.withdrawn_at is not None) == ("complete", True)
    assert Event.objects.filter(verb="participant_withdraw", entity_uid=participant.uid).count() == 1
    assert not participant_withdraw(participant=participant, reason="own")


def test_a_withdrawal_deletes_what_was_known_of_the_person_and_bars_a_second_part(study):
    protocol(study, recruitment={"demographics": ["age_band"]})
    link = invitations_create(study=study, max_uses=5, parameters={"person": "PROLIFIC_PID"})[0]
    joined = join(study, invitation=link, crowd={"person": "pid-1"})
    participant = Participant.objects.get()
    eligibility_answer(participant=participant, eligible=True, language="en")
    details_store(participant=participant, answers={"age_band": "25-34"})

    participant_withdraw(participant=participant, reason="own")

    participant.refresh_from_db()
    assert PersonalDetails.objects.count() == 0
    assert (participant.language, participant.outcome) == ("", "withdrawn")
    joined.sitting.refresh_from_db()
    assert joined.sitting.state == "cancelled"
    with pytest.raises(Conflict):
        join(study, invitation=link, crowd={"person": "pid-1"})
    with pytest.raises(Conflict):
        details_store(participant=participant, answers={"age_band": "25-34"})


# What may be published, and what is paid


def test_demographics_leave_as_counts_of_five_or_more(study):
    protocol(study, recruitment={"demographics": ["age_band"]})
    link = invitations_create(study=study, max_uses=20)[0]
    for place in range(13):
        participant = Participant.objects.get(respondent=join(study, invitation=link).sitting.respondent)
        details_store(
            participant=participant, answers={"age_band": "25-34" if place < 6 else "35-44" if place < 12 else "65+"}
        )

    assert demographics_published(study=study) == {"age_band": {"25-34": None, "35-44": 6, "65+": None}}


def test_the_payment_list_is_constant_in_queries(study):
    link = invitations_create(study=study, max_uses=20)[0]
    counts = []
    for people in (1, 3):
        while Participant.objects.count() < people:
            answer_all(join(study, invitation=link).sitting, stop=2)
        with CaptureQueriesContext(connection) as counted:
            people_lines(study=study)
        counts.append(len(counted))

    assert counts[0] == counts[1]
