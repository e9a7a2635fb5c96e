"""Files of answers in steps: what a stop, a kill, a withdrawal or an odd file leaves behind."""

import csv
import json

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.core.files.storage import default_storage
from django.db import OperationalError
from django.urls import reverse
from django.utils import timezone

from eqstudio.blobs import blob_key
from eqstudio.errors import Conflict
from eqstudio.models import Event
from evaluation.importers import answer_importers
from evaluation.models import AnswerImport, AnswerIntake, ImportedAnswer, Response, Sitting
from evaluation.selectors import marks_of
from evaluation.services import answers_withdraw, responses_import
from evaluation.services.intakes import intake_request, intake_run, intake_stop
from tests.annotation.test_races import at_once
from tests.eqstudio.factories import researcher
from tests.evaluation.test_imports import RUNS, response, result, study, write  # noqa: F401 -- fixtures
from tests.evaluation.test_imports_pages import browser, intake_of  # noqa: F401 -- a fixture

pytestmark = pytest.mark.django_db


def step(intake, **given):
    return intake_run(intake_id=intake.pk, now=timezone.now(), **given)


def test_what_is_taken_out_while_it_comes_in_does_not_come_back(study):  # noqa: F811
    intake, look = intake_of(study), intake_of(study, look=True)
    assert step(intake, step_s=0).state == "waiting"
    came = ImportedAnswer.objects.count()
    assert 0 < came < 12
    answers_withdraw(source=AnswerImport.objects.get(), reason="wrong", actor=researcher())
    assert step(intake).state == "stopped"
    assert (AnswerImport.objects.count(), ImportedAnswer.objects.count()) == (1, came)
    assert not list(marks_of(study=study))
    assert step(look).state == "done"


def test_a_step_notices_that_its_import_is_taken_out(study, write):  # noqa: F811
    def taken_out(done, total):
        if done == 4:
            answers_withdraw(source=AnswerImport.objects.get(), reason="wrong", actor=researcher())

    path = write([response("item1", RUNS, RUNS), response("item2", RUNS, RUNS)])
    with pytest.raises(Conflict, match="taken out while it was coming in"):
        responses_import(study=study, path=path, format="speecheq", name="theirs", progress=taken_out)
    assert ImportedAnswer.objects.count() == 4


def test_an_import_in_many_steps_is_told_as_one_without(study):  # noqa: F811
    odd = result("option2", "option2", '{"selected": "option1", "reasoning": "Option 2 is subdued"}')
    rows = [response("item1", [odd, *RUNS], RUNS), response("item1", [odd], RUNS), response("item2", [odd], [odd])]
    data = json.dumps({"responses": [*rows, response("nowhere", RUNS, RUNS)]}).encode()
    given = {"study": study, "data": data, "name": "r.json", "format": "speecheq"}
    whole = step(intake_request(**given, respondent="whole")).told
    intake, places = intake_request(**given, respondent="parts"), []
    while step(intake, step_s=0).state == "waiting":
        intake.refresh_from_db()
        places.append(intake.done)
    intake.refresh_from_db()
    assert {**intake.told, "respondent": "whole"} == whole
    assert places == sorted(set(places))
    assert len(places) > 3
    assert any("A second answer" in refusal["reason"] for refusal in whole["refused"])
    assert whole["reading_differs"] > 1


def test_a_step_begins_where_the_last_one_ended(study, monkeypatch):  # noqa: F811
    intake, looked = intake_of(study), []
    monkeypatch.setattr(
        "evaluation.services.imports.item_import", lambda bringing, sitting, dialogue, group: looked.append(group[0])
    )
    while step(intake, step_s=0).state == "waiting":
        pass
    assert len(looked) == len({(one.item, one.run) for one in looked}) == 6


@pytest.mark.parametrize("error", [OperationalError("gone"), SoftTimeLimitExceeded()])
def test_what_may_go_well_again_is_tried_again(study, monkeypatch, error):  # noqa: F811
    def failing(**given):
        raise error

    monkeypatch.setattr("evaluation.services.intakes.responses_import", failing)
    intake = intake_of(study)
    with pytest.raises(type(error)):
        step(intake)
    intake.refresh_from_db()
    assert intake.state == "running"


def test_what_no_reader_foresaw_ends_the_intake(study, monkeypatch):  # noqa: F811
    def failing(**given):
        raise KeyError("odd")

    monkeypatch.setattr("evaluation.services.intakes.responses_import", failing)
    ended = step(intake_of(study))
    assert (ended.state, ended.lease_until) == ("failed", None)
    assert "could not be read to its end" in ended.error


def test_a_file_that_is_gone_is_said(study):  # noqa: F811
    intake = intake_of(study)
    default_storage.delete(blob_key(intake.sha256))
    assert "no longer stored" in step(intake).error


def test_characters_that_no_database_stores_are_left_out(study):  # noqa: F811
    odd = {**result("option1", "option1", "A\x00\ud800"), "reasoning": {"why\x00": ["fl\x00at", float("nan")]}}
    data = json.dumps({"responses": [response("item1", [odd], [odd]), response("no\x00where", [odd], [])]}).encode()
    ended = step(intake_request(study=study, data=data, name="r.json", format="speecheq", respondent="theirs"))
    assert (ended.state, ended.told["created"]) == ("done", 2)
    stored = Response.objects.first()
    assert (stored.raw, stored.paradata["reasoning"]) == ("A", {"why": ["flat", "nan"]})


@pytest.mark.parametrize("run", ["²", "9" * 5000, "-1", "1.0"])
def test_a_run_that_is_no_number_is_refused(tmp_path, run):
    path = tmp_path / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("item", "trial", "answer", "run"), ("item1", "s4", "A", run)])
    (answer,) = answer_importers.get("csv")().read(path)
    assert "run should be a whole number" in answer.problem


@pytest.mark.parametrize(
    ("sample", "field"),
    [
        ({"scores": [{"value": "C"}]}, "scores"),
        ({"scores": {"match": "C"}}, "scores.match"),
        ({"output": {"usage": [1]}}, "output.usage"),
        ({"output": {"choices": {"message": "A"}, "time": float("inf")}, "metadata": {"kind": ["mcq"]}}, ""),
        ({"output": {"choices": [{"message": "A"}]}, "scores": {"match": None}}, ""),
    ],
)
def test_a_sample_of_another_shape_is_refused_by_its_name(tmp_path, sample, field):
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"eval": {}, "samples": [{"id": "item1/s4", **sample}, {"id": "item1/s6"}]}))
    odd, plain = answer_importers.get("inspect")().read(path)
    assert odd.problem == (f"Sample item1/s4: {field} should be an object." if field else "")
    assert not plain.problem


def test_odd_lines_of_lm_eval_are_read_or_refused(tmp_path):
    path = tmp_path / "samples.jsonl"
    doc = {"id": "item1/s4", "parts": 3, "kind": ["mcq"]}
    lines = [json.dumps({"doc": doc, "resps": [["A"]], "metrics": 1}), "[" * 100_000]
    path.write_text("\n".join(lines))
    first, second = answer_importers.get("lmeval")().read(path)
    assert (first.raw, first.problem) == ("A", "")
    assert "is not JSON" in second.problem


def test_what_is_told_is_in_the_language_of_who_sent_it(study):  # noqa: F811
    given = {"study": study, "data": b"{", "name": "r.json", "format": "speecheq", "respondent": "theirs"}
    sender = researcher(language="zh-hans")
    assert "不是" in step(intake_request(**given, actor=sender)).error
    assert "is not JSON" in step(intake_request(**given)).error


def test_a_stop_is_told_of_and_ends_what_a_kill_left_open(study):  # noqa: F811
    intake, actor = intake_of(study), researcher()
    step(intake, step_s=0)
    Sitting.objects.update(state=Sitting.State.OPEN, finished_at=None)
    intake_stop(intake=intake, actor=actor)
    assert set(Sitting.objects.values_list("state", flat=True)) == {"finished"}
    assert len(list(marks_of(study=study))) == Response.objects.count() > 0
    event = Event.objects.get(verb="answer_intake_stop")
    assert (event.actor, event.detail["file"]) == (actor, "results.json")
    with pytest.raises(Conflict):
        intake_stop(intake=intake, actor=actor)
    intake_stop(intake=intake_of(study, look=True), actor=actor)
    assert Event.objects.filter(verb="answer_intake_stop").count() == 1


def test_what_a_kill_left_open_is_finished_by_the_step_that_has_nothing_more_to_do(study):  # noqa: F811
    intake = intake_of(study)
    step(intake)
    Sitting.objects.update(state=Sitting.State.OPEN, finished_at=None)
    AnswerIntake.objects.update(state="waiting", told={"done": 12, "created": 12, "runs": [0, 1, 2]})
    ended = step(intake)
    assert (ended.state, ended.told["created"], ended.told["skipped"], ended.told["runs"]) == ("done", 12, 0, 3)
    assert set(Sitting.objects.values_list("state", flat=True)) == {"finished"}


def test_taking_out_a_killed_import_leaves_no_sitting_open(study):  # noqa: F811
    responses_of_another = json.dumps({"responses": [response("item2", RUNS, RUNS)]}).encode()
    step(
        intake_request(study=study, data=responses_of_another, name="a.json", format="speecheq", respondent="theirs"),
    )
    step(intake_of(study), step_s=0)
    Sitting.objects.update(state=Sitting.State.OPEN, finished_at=None)
    answers_withdraw(source=AnswerImport.objects.first(), reason="wrong", actor=researcher())
    assert set(Sitting.objects.values_list("state", flat=True)) == {"finished"}


@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_once_ask_for_a_file_once(study):  # noqa: F811
    first, second = at_once(*[lambda: intake_of(study)] * 2)
    assert first == second
    assert AnswerIntake.objects.count() == 1


def test_the_page_tells_of_all_under_way_and_the_last_that_ended(browser, study):  # noqa: F811
    waiting = [intake_of(study, name=f"waiting{n}.json", respondent=f"w{n}") for n in range(4)]
    ended = [intake_of(study, name=f"ended{n}.json", respondent=f"e{n}") for n in range(5)]
    AnswerIntake.objects.filter(pk__in=[one.pk for one in ended]).update(state="stopped")
    page = browser.get(reverse("answer_imports", args=[study.uid])).content.decode()
    assert [n for n in range(4) if f"waiting{n}.json" in page] == [0, 1, 2, 3]
    assert [n for n in range(5) if f"ended{n}.json" in page] == [2, 3, 4]
    assert all(f"was={one.uid}" in page for one in waiting)


def test_when_a_file_ends_the_list_is_swapped_and_not_the_page(browser, study):  # noqa: F811
    intake, other = intake_of(study), intake_of(study, respondent="other")
    address = reverse("answer_intakes", args=[study.uid])
    assert "hx-swap-oob" not in browser.get(address, {"was": [intake.uid, other.uid]}).content.decode()
    step(intake)
    answered = browser.get(address, {"was": [intake.uid, other.uid]})
    assert "HX-Refresh" not in answered.headers
    part = answered.content.decode()
    assert 'id="imports" hx-swap-oob="true"' in part
    assert f'id="out-{AnswerImport.objects.get().uid}" hx-preserve' in part
    assert "every 1s" in part
    assert intake.uid not in part
    assert "hx-swap-oob" not in browser.get(address, {"was": other.uid}).content.decode()
    step(other)
    assert "every 1s" not in browser.get(address, {"was": other.uid}).content.decode()
