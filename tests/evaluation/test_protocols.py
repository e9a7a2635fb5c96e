"""The protocol of a study: versions, the lock, and the pilot that counts for nothing."""

import pytest
from django.urls import reverse

from eqstudio.errors import Conflict, InvalidInput
from eqstudio.models import Event
from evaluation.domain.protocol import Protocol, ProtocolError, protocol_diff, protocol_hash, protocol_read
from evaluation.selectors import marks_of, protocol_of
from evaluation.services import comparison_build, protocol_lock, protocol_save, sitting_cancel, sitting_open, study_run
from tests.eqstudio.factories import annotator, researcher
from tests.evaluation.factories import model_respondent, sit_through, speecheq_study

pytestmark = pytest.mark.django_db

PILOT = {"execution": {"pilot": True}}


def test_a_study_without_a_version_goes_by_the_default_and_its_own_gate():
    study = speecheq_study(items=1, gate_share=0.5)
    found = protocol_of(study)
    assert (found.execution.gate_share, found.sampling.plan, study.protocols.count()) == (0.5, "full", 0)


def test_a_change_is_a_new_version_and_the_same_again_is_none():
    study = speecheq_study(items=1)
    who = researcher()
    first = protocol_save(study=study, content={"recruitment": {"people": 12}}, actor=who)
    again = protocol_save(study=study, content={"recruitment": {"people": 12}}, actor=who)
    second = protocol_save(study=study, content={"recruitment": {"people": 13}}, actor=who)
    assert (first.number, again.pk, second.number) == (1, first.pk, 2)
    assert first.hash == protocol_hash(first.content) != second.hash
    assert [row.detail["number"] for row in Event.objects.filter(verb="protocol_save").order_by("pk")] == [1, 2]


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({"sampling": {"size": "many"}}, "sampling.size"),
        ({"execution": {"gate_share": 1.2}}, "execution.gate_share"),
        ({"execution": {"gates": 1}}, "execution.gates"),
        ({"design": {"history": "mine"}}, "design.history"),
        ({"sampling": {"plan": "random"}}, "sampling.size"),
        ({"sampling": {"plan": "random", "size": 9}}, "sampling.size"),
        ({"sampling": {"size": 1}}, "sampling.size"),
        ({"analysis": {"primary_metric": "charm"}}, "analysis.primary_metric"),
        ({"execution": {"instructions": {"fr": "Bonjour"}}}, "execution.instructions"),
        ({"recruitment": {"pay": float("nan")}}, "recruitment.pay"),
    ],
)
def test_what_is_wrong_is_named_by_its_field_and_nothing_is_saved(content, field):
    study = speecheq_study(items=2)
    with pytest.raises(InvalidInput) as refused:
        protocol_save(study=study, content=content)
    assert (refused.value.field, field in refused.value.message, study.protocols.count()) == (field, True, 0)


def test_an_unknown_field_is_told_with_the_known_ones():
    with pytest.raises(ProtocolError) as refused:
        protocol_read({"sampling": {"sise": 3}})
    assert (refused.value.field, "seed" in refused.value.expected) == ("sampling.sise", True)


def test_a_lock_ends_the_line_of_versions():
    study = speecheq_study(items=1)
    protocol_save(study=study, content={"recruitment": {"people": 3}})
    who = researcher()
    version = protocol_lock(study=study, actor=who)
    study.refresh_from_db()
    assert (version.number, study.locked_by, study.locked_at is None) == (1, who, False)
    with pytest.raises(Conflict):
        protocol_save(study=study, content={"recruitment": {"people": 4}})
    with pytest.raises(Conflict):
        protocol_lock(study=study)
    detail = Event.objects.get(verb="protocol_lock").detail
    assert (detail["number"], detail["hash"], bool(detail["revision"])) == (1, version.hash, True)


def test_a_lock_without_a_version_declares_the_default():
    study = speecheq_study(items=1)
    assert protocol_lock(study=study).content == Protocol().model_dump(mode="json")


def test_nothing_is_declared_beforehand_after_an_answer():
    study = speecheq_study(items=1)
    sit_through(study, respondent=model_respondent(study))
    with pytest.raises(Conflict, match="answered already"):
        protocol_lock(study=study)
    study.refresh_from_db()
    assert (study.locked_at, study.protocols.count()) == (None, 0)


def test_a_cancelled_sitting_counts_as_an_answer_too():
    study = speecheq_study(items=1)
    sitting_cancel(sitting=sit_through(study, user=annotator()))
    with pytest.raises(Conflict):
        protocol_lock(study=study)


def test_after_an_answer_what_is_asked_stands_and_what_is_told_may_change():
    study = speecheq_study(items=2)
    sit_through(study, respondent=model_respondent(study))
    for asked in (
        {"design": {"order": "answer_first"}},
        {"sampling": {"plan": "random", "size": 1}},
        {"execution": {"instructions": {"en": "Guess."}}},
        {"execution": {"gate_share": 0.1}},
    ):
        with pytest.raises(Conflict, match="answered already"):
            protocol_save(study=study, content=asked)
    assert protocol_save(study=study, content={"recruitment": {"pay": 8.5, "currency": "GBP"}}).number == 1


def test_a_pilot_counts_in_no_figure_and_does_not_keep_the_lock_away():
    study = speecheq_study(items=2)
    protocol_save(study=study, content=PILOT)
    person, model = annotator(), model_respondent(study)
    pilot = sit_through(study, user=person)
    sit_through(study, respondent=model)
    assert (pilot.pilot, list(marks_of(study=study))) == (True, [])
    assert {entry["kind"] for entry in comparison_build(study=study)["respondents"]} == {"chance"}
    with pytest.raises(InvalidInput) as refused:
        protocol_lock(study=study)
    assert refused.value.field == "execution.pilot"
    protocol_save(study=study, content={})
    protocol_lock(study=study)
    counts = sit_through(study, user=person)
    assert (counts.pk == pilot.pk, counts.pilot) == (False, False)
    assert {mark.respondent for mark in marks_of(study=study)} == {counts.respondent_id}


def test_a_sitting_begun_in_a_pilot_stays_a_pilots():
    study = speecheq_study(items=1)
    protocol_save(study=study, content=PILOT)
    begun = sitting_open(study=study, user=annotator())
    protocol_save(study=study, content={})
    begun.refresh_from_db()
    assert begun.pilot


def test_instructions_of_the_protocol_are_those_of_page_and_prompt():
    study = speecheq_study(items=1)
    before = study.instructions_hash
    protocol_save(study=study, content={"execution": {"instructions": {"en": "Listen, then choose."}}})
    study.refresh_from_db()
    assert (study.instructions["en"], bool(study.instructions["zh"])) == ("Listen, then choose.", True)
    assert study.instructions_hash != before
    protocol_save(study=study, content={})
    study.refresh_from_db()
    assert study.instructions_hash == before


def test_a_difference_is_told_field_by_field():
    one = Protocol().model_dump(mode="json")
    other = Protocol.model_validate({"sampling": {"plan": "random", "size": 4}}).model_dump(mode="json")
    assert protocol_diff(one, other) == [("sampling.plan", "full", "random"), ("sampling.size", None, 4)]
    assert protocol_diff(one, one) == []
    shuffled = {"sampling": {"size": 4, "plan": "random"}}  # as a database that orders keys its own way gives it back
    assert [row[0] for row in protocol_diff({"sampling": {"size": None, "plan": "full"}}, shuffled)] == [
        "sampling.plan",
        "sampling.size",
    ]


def test_questions_are_asked_as_the_design_says_to_people_and_models():
    study = speecheq_study(items=1)
    protocol_save(study=study, content={"design": {"history": "none", "order": "answer_first"}})
    for sitting in (sit_through(study, user=annotator()), sit_through(study, respondent=model_respondent(study))):
        shown = list(sitting.trials.order_by("pk").values_list("shown", flat=True))
        assert [(one["context"], one["order"]) for one in shown] == [([], "answer_first")] * 2


def test_the_design_is_part_of_what_a_run_is():
    hashes = set()
    for order in ("answer_first", "rationale_first"):
        study = speecheq_study(items=1, name="twice")
        protocol_save(study=study, content={"design": {"order": order}})
        hashes.add(study_run(study=study, backend="first", runs=1).run_spec.hash)
        study.delete()
    assert len(hashes) == 2


def test_the_comparison_tells_how_many_are_in_no_figure(client):
    study = speecheq_study(items=1)
    protocol_save(study=study, content=PILOT)
    sit_through(study, user=annotator())
    protocol_save(study=study, content={})
    sit_through(study, user=annotator())
    assert comparison_build(study=study)["left_out"] == {"pilot": 1, "withdrawn": 0, "rules": 0}
    client.force_login(researcher())
    assert "1 person of a pilot." in client.get(reverse("comparison", args=[study.uid])).content.decode()
