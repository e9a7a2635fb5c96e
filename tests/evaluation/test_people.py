"""People of a study: who comes in, what they are asked, what counts, and what a withdrawal leaves."""

import csv
import io
import json
import zipfile
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import HeadphoneCheck
from eqstudio.access import is_guest
from eqstudio.errors import Conflict, InvalidInput, NotFound
from eqstudio.models import Event, User
from evaluation.models import Part, Participant, PersonalDetails, PlanEntry, Response, TrialRecord
from evaluation.selectors import findings_of, marks_of, protocol_of, sitting_progress, sittings_told
from evaluation.selectors.participants import demographics_published, people_lines
from evaluation.services import (
    comparison_build,
    protocol_lock,
    protocol_save,
    release_build,
    response_record,
    sitting_open,
    study_create,
    trial_next,
)
from evaluation.services.feedback import practice_feedback
from evaluation.services.invitations import invitation_open, invitation_revoke, invitation_token, invitations_create
from evaluation.services.joining import person_join, person_resume
from evaluation.services.participants import (
    consent_record,
    details_store,
    eligibility_answer,
    headphones_fail,
    sitting_settle,
)
from evaluation.services.robustness import retest_build, robustness_build
from evaluation.services.specials import specials_offered, specials_set
from evaluation.services.unblinding import study_unblind
from evaluation.services.withdrawal import participant_withdraw
from tests.annotation.factories import lease, round_with
from tests.eqstudio.factories import annotator
from tests.evaluation.factories import (
    heard_all,
    model_respondent,
    right_answer,
    sit_through,
    speecheq_study,
    split_of,
    wrong_answer,
)
from tests.generation.factories import emosbench_dialogue, speecheq_dialogue

pytestmark = pytest.mark.django_db
NOW = timezone.now


def protocol(study, **blocks):
    """Save a protocol with these changes to the one that stands, as {block: {field: value}}."""
    content = protocol_of(study).model_dump(mode="json")
    for block, fields in blocks.items():
        content[block] |= fields
    return protocol_save(study=study, content=content)


def join(study, *, invitation=None, user=None, crowd=None, **link):
    invitation = invitation or invitations_create(study=study, **link)[0]
    return person_join(invitation=invitation, user=user, crowd=crowd or {}, language="en", now=NOW())


def answer_all(sitting, choose=right_answer, *, stop=None):
    """Answer what is asked, in order; the parts of what was asked."""
    parts = []
    while (record := trial_next(sitting=sitting)) is not None and len(parts) != stop:
        response_record(trial=record, raw=json.dumps({"answer": choose(record)}), heard=heard_all(record))
        parts.append(record.part)
    return parts


def specials(study, purpose, count):
    made = [speecheq_dialogue() for _ in range(count)]
    specials_set(study=study, purpose=purpose, codes=[one.uid for one in made])
    return made


@pytest.fixture
def study():
    return speecheq_study(items=4)


# Coming in


def test_a_guest_gets_a_row_a_code_and_no_role(study):
    joined = join(study)

    participant = Participant.objects.get()
    assert is_guest(joined.user)
    assert not joined.user.has_usable_password()
    assert (participant.respondent.user, participant.respondent.name) == (joined.user, "Person 1")
    assert len(participant.code) == 14
    assert Event.objects.filter(verb="study_join", entity_uid=study.uid).count() == 1


@pytest.mark.parametrize("spoil", ["revoke", "expire", "use_up", "close"])
def test_a_link_that_takes_nobody_says_why_and_makes_nobody(study, spoil):
    link = invitations_create(study=study, max_uses=2, expires_at=NOW() + timedelta(days=1))[0]
    if spoil == "revoke":
        invitation_revoke(invitation=link)
    elif spoil == "close":
        study.is_open = False
        study.save(update_fields=["is_open"])
    elif spoil == "use_up":
        for _ in range(2):
            join(study, invitation=link)
    people = User.objects.count()

    with pytest.raises(Conflict):
        person_join(
            invitation=invitation_open(token=invitation_token(link)),
            user=None,
            crowd={},
            language="en",
            now=NOW() + timedelta(days=2 if spoil == "expire" else 0),
        )

    assert User.objects.count() == people


@pytest.mark.parametrize("token", ["nonsense", "", "a.b", "23456789abcdefgh.forged"])
def test_a_forged_link_is_not_found(study, token):
    with pytest.raises(NotFound):
        invitation_open(token=token)


def test_a_personal_link_brings_its_person_back(study):
    link = invitations_create(study=study)[0]

    first, again = join(study, invitation=link), join(study, invitation=link)

    assert (again.user, again.sitting, again.fresh) == (first.user, first.sitting, False)
    assert Participant.objects.count() == 1


def test_a_link_for_many_makes_a_person_each_time(study):
    link = invitations_create(study=study, max_uses=3)[0]

    assert len({join(study, invitation=link).user for _ in range(3)}) == 3


def test_the_platforms_person_is_never_twice_in_a_study_and_their_name_is_in_the_guarded_table_only(study):
    link = invitations_create(study=study, max_uses=5, parameters={"person": "PROLIFIC_PID"})[0]
    crowd = {"person": "5f0c1d2e3a4b5c6d7e8f9a0b", "session": "s1"}
    join(study, invitation=link, crowd=crowd)

    with pytest.raises(Conflict, match="already"):
        join(study, invitation=link, crowd=crowd)

    assert PersonalDetails.objects.get().crowd == crowd
    assert Participant.objects.filter(identity__contains=crowd["person"]).count() == 0
    assert link.participants.count() == 1
    link.refresh_from_db()
    assert link.uses == 1
    other = join(speecheq_study(items=1), crowd=crowd)
    assert other.fresh


def test_somebody_with_an_account_takes_part_as_who_they_are_once(study, alice):
    link = invitations_create(study=study, max_uses=5)[0]

    first, again = (join(study, invitation=link, user=alice) for _ in range(2))

    assert (first.user, again.user, again.fresh) == (alice, alice, False)
    assert first.sitting == sitting_open(study=study, user=alice)


def test_a_guest_comes_back_by_their_code_however_it_is_typed(study):
    joined = join(study)
    code = Participant.objects.get().code

    for typed in (code, code.upper(), code.replace("-", " "), f" {code.replace('-', '')} "):
        assert person_resume(code=typed).sitting == joined.sitting


def test_wrong_codes_and_codes_of_accounts_are_answered_the_same(study, alice):
    join(study, user=alice)
    mine = Participant.objects.get().code

    said = set()
    for code in (mine, "2222-3333-4444", "", "x" * 500):
        with pytest.raises(NotFound) as raised:
            person_resume(code=code)
        said.add(raised.value.message)

    assert len(said) == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"count": 0}, "count"),
        ({"max_uses": 0}, "max_uses"),
        ({"expires_at": NOW() - timedelta(days=1)}, "expires_at"),
        ({"parameters": {"colour": "x"}}, "parameters"),
        ({"codes": {"won": "x"}}, "codes"),
        ({"return_url": "javascript:alert(1)"}, "return_url"),
        ({"return_url": "http://example.org/{code}"}, "return_url"),
    ],
)
def test_an_invitation_that_makes_no_sense_names_the_field(study, wrong, field):
    with pytest.raises(InvalidInput) as raised:
        invitations_create(study=study, **wrong)

    assert raised.value.field == field


# Consent and outcomes


def test_consent_is_kept_with_version_and_text(study):
    protocol(study, recruitment={"consent": {"version": "2", "text": {"en": "Do you agree?"}, "ethics": ""}})
    join(study)
    participant = Participant.objects.get()

    given = consent_record(participant=participant, agreed=True, language="en")

    assert (given.version, given.language, given.agreed) == ("2", "en", True)
    assert len(given.text_hash) == 64
    assert participant.outcome == ""


def test_who_does_not_consent_is_withdrawn_and_gets_the_code_for_it(study):
    link = invitations_create(study=study, codes={"withdrawn": "GOODBYE"})[0]
    join(study, invitation=link)
    participant = Participant.objects.get()

    consent_record(participant=participant, agreed=False, language="en")

    participant.refresh_from_db()
    assert (participant.outcome, participant.reason) == ("withdrawn", "no_consent")
    assert participant.completion_codes.get().code == "GOODBYE"


def test_who_is_not_eligible_is_screened_out(study):
    join(study)

    participant = eligibility_answer(participant=Participant.objects.get(), eligible=False, language="en")

    assert participant.outcome == "screened_out"
    assert participant.completion_codes.get().outcome == "screened_out"


@pytest.mark.parametrize(("wanted", "outcome", "let_on"), [("required", "screened_out", False), ("asked", "", True)])
def test_failed_headphone_checks_screen_out_only_where_headphones_are_required(study, wanted, outcome, let_on):
    protocol(study, execution={"headphones": wanted})
    join(study)
    participant = Participant.objects.get()

    for tries in (1, 2):
        headphones_fail(participant=participant, tries=tries)
        assert (participant.outcome, participant.headphones_at) == ("", None)
    headphones_fail(participant=participant, tries=3)

    assert participant.outcome == outcome
    assert (participant.headphones_at is not None) == let_on


def test_a_complete_sitting_gets_one_code_and_the_first_outcome_stands(study):
    joined = join(study)
    answer_all(joined.sitting)

    codes = {sitting_settle(sitting=joined.sitting).completion_codes.get().code for _ in range(2)}

    assert len(codes) == 1
    assert Participant.objects.get().outcome == "complete"


# The plan


def test_a_plan_holds_practice_attention_and_repeats_and_only_items_are_data(study):
    specials(study, Part.PRACTICE, 1)
    specials(study, Part.ATTENTION, 2)
    protocol(study, execution={"practice": 1, "attention": 2, "repeats": 1})
    joined = join(study)

    parts = answer_all(joined.sitting)

    assert sorted(parts) == [""] * 8 + ["attention"] * 4 + ["practice"] * 2 + ["repeat"] * 2
    assert parts[:2] == ["practice"] * 2
    marks = list(marks_of(study=study))
    assert len(marks) == 8
    assert {mark.item for mark in marks} == set(study.split.items.values_list("dialogue", flat=True))
    progress = sitting_progress(sitting=joined.sitting)
    assert (progress.done, progress.total) == (7, 7)
    orders = list(Response.objects.order_by("pk").values_list("paradata__order", flat=True))
    assert orders == list(range(1, 17))


def test_a_repetition_shows_the_options_the_other_way_round(study):
    protocol(study, execution={"repeats": 1})
    answer_all(join(study).sitting)

    again = TrialRecord.objects.filter(part="repeat").first()
    first = TrialRecord.objects.get(dialogue=again.dialogue, part="", key=again.key)

    def shown(record):
        return [option["variant"] for option in record.shown["options"]]

    assert shown(again) == shown(first)[::-1]
    assert retest_build(sats=sittings_told(study=study).values()).value == 1.0


def test_who_presses_the_same_slot_is_inconsistent_in_repetitions(study):
    protocol(study, execution={"repeats": 2})
    answer_all(join(study).sitting, choose=lambda _record: "A")

    assert retest_build(sats=sittings_told(study=study).values()).value == 0.0


def test_practice_is_answered_with_what_was_expected_and_nothing_else_is(study):
    specials(study, Part.PRACTICE, 1)
    protocol(study, execution={"practice": 1})
    answer_all(join(study).sitting, choose=wrong_answer)

    told = [practice_feedback(response=response) for response in Response.objects.order_by("pk")]

    assert [one.right for one in told[:2]] == [False, False]
    assert told[2:] == [None] * 8


def test_a_study_without_the_items_its_protocol_asks_for_says_so_before_the_first_question(study):
    protocol(study, execution={"attention": 1})

    with pytest.raises(Conflict, match="not ready"):
        trial_next(sitting=join(study).sitting)


def test_people_share_the_items_evenly(study):
    protocol(study, execution={"per_sitting": 2})

    for _ in range(4):
        trial_next(sitting=join(study).sitting)

    counts = [
        PlanEntry.objects.filter(dialogue=item).count() for item in study.split.items.values_list("dialogue", flat=True)
    ]
    assert counts == [2, 2, 2, 2]


def test_no_new_item_begins_when_the_time_is_up(study):
    protocol(study, execution={"max_minutes": 1})
    sitting = join(study).sitting
    record = trial_next(sitting=sitting)
    response_record(trial=record, raw='{"answer": "A"}', heard=heard_all(record), paradata={"active_ms": 60_000})

    record = trial_next(sitting=sitting)
    assert record.key == "s6"
    response_record(trial=record, raw='{"answer": "A"}', heard=heard_all(record))

    assert trial_next(sitting=sitting) is None
    assert sitting.state == "finished"


def test_items_somebody_judged_before_are_barred_where_the_protocol_declares_it_and_else_marked():
    mine, now = annotator(), NOW()
    round_ = round_with(items=2)
    judged = lease(round_, mine, now - timedelta(hours=1)).item.dialogue
    other = round_.items.exclude(dialogue=judged).get().dialogue
    declared = study_create(name="declared", split=split_of([judged, other]))
    open_ = study_create(name="open", split=split_of([judged, other]))
    protocol(declared, analysis={"exclusions": [{"rule": "exposed_before", "threshold": None}]})

    plans = []
    for one in (declared, open_):
        sitting = sitting_open(study=one, user=mine)
        trial_next(sitting=sitting)
        plans.append(set(sitting.plan.values_list("dialogue_id", flat=True)))

    assert plans == [{other.pk}, {judged.pk, other.pk}]


# Attention items and practice items


@pytest.mark.parametrize("wrong", ["unknown", "own", "benchmark", "silent"])
def test_a_dialogue_that_will_not_do_as_a_special_item_is_named(study, wrong):
    if wrong == "unknown":
        code = "no-such-dialogue"
    elif wrong == "own":
        code = study.split.items.first().dialogue.uid
    elif wrong == "benchmark":
        code = emosbench_dialogue(category="praise").uid
    else:
        dialogue = speecheq_dialogue()
        for turn in dialogue.turns.all():
            turn.variants.update(clip=None)
        code = dialogue.uid

    with pytest.raises(InvalidInput, match=code):
        specials_set(study=study, purpose=Part.ATTENTION, codes=[code])


def test_offered_dialogues_are_none_of_the_study(study):
    outside = speecheq_dialogue()

    assert specials_offered(study=study, purpose=Part.ATTENTION) == [outside]


# Rules


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


def test_a_sitting_that_was_left_is_incomplete(study):
    rules(study, "incomplete")
    answer_all(join(study).sitting, stop=2)

    (found,) = next(iter(findings_of(study).values()))
    assert (found.value, found.flagged) == (0.0, True)


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
