"""The page of answers from elsewhere, and both readings on the comparison and the item page."""

import csv
import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from eqstudio.blobs import blob_key
from eqstudio.errors import Conflict
from evaluation.models import AnswerImport, AnswerIntake, ImportedAnswer, Respondent, Response, Sitting
from evaluation.selectors import marks_of
from evaluation.services import answers_withdraw, responses_import, responses_preview
from evaluation.services.intakes import intake_request, intake_run, intakes_due
from tests.eqstudio.factories import researcher
from tests.evaluation.factories import model_respondent
from tests.evaluation.test_imports import RUNS, response, result, study, write  # noqa: F401 -- fixtures

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(client):
    client.force_login(researcher())
    return client


@pytest.fixture
def send(browser, study, django_capture_on_commit_callbacks):  # noqa: F811
    """Send a form as the page does, let the worker take the file, and see the page again."""

    def sending(fields):
        address = reverse("answer_imports", args=[study.uid])
        with django_capture_on_commit_callbacks(execute=True):
            answered = browser.post(address, fields)
        return browser.get(address) if answered.status_code == 302 else answered

    return sending


def sent(content, name="results.json", **fields):
    data = json.dumps({"responses": content}).encode()
    return {"file": SimpleUploadedFile(name, data), "format": "speecheq", "respondent": "theirs", **fields}


def test_a_file_comes_in_by_the_page_and_is_listed(send):
    page = send(sent([response("item1", RUNS, RUNS)])).content.decode()
    assert Response.objects.count() == 6
    assert page.count("results.json") == 2
    assert "6 answers, 0 there already, 0 refused." in page


def test_what_is_refused_is_said_with_its_row(send):
    page = send(sent([response("nowhere", RUNS, RUNS), response("item1", RUNS, RUNS)])).content.decode()
    assert "The split has no item &#x27;nowhere&#x27;." in page
    assert Response.objects.count() == 6


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"respondent": ""}, "This field is required."),
        ({"format": "xml"}, "Select a valid choice"),
        ({"file": None}, "This field is required."),
        ({"respondent": "sitter"}, "already sits this study as a"),
    ],
)
def test_a_wrong_form_keeps_what_was_entered_and_says_why(send, study, fields, says):  # noqa: F811
    model_respondent(study, name="sitter")
    fields = {name: value for name, value in sent([], **fields).items() if value is not None}
    answered = send(fields)
    assert answered.status_code == 422
    assert says in answered.content.decode()
    assert not AnswerIntake.objects.exists()


def test_looking_first_tells_and_stores_nothing(send):
    page = send(sent([response("item1", RUNS, RUNS), response("nowhere", RUNS, RUNS)], look="1")).content.decode()
    assert "6 answers, 0 there already, 6 refused." in page
    assert "only looked at" in page
    assert not Response.objects.exists()
    assert not Respondent.objects.exists()


def test_looking_again_at_what_is_there_and_at_a_run_that_was_taken_out(study, write):  # noqa: F811
    path = write([response("item1", RUNS, RUNS), response("item2", RUNS, RUNS)])
    given = {"study": study, "path": path, "format": "speecheq", "name": "theirs"}
    responses_import(**given)
    assert (responses_preview(**given)["created"], responses_preview(**given)["skipped"]) == (0, 12)
    answers_withdraw(source=AnswerImport.objects.get(), reason="wrong", actor=researcher(username="other"))
    assert responses_preview(**given)["created"] == 12
    assert ImportedAnswer.objects.count() == 12
    assert responses_import(**given)["runs"] == 3
    assert {sitting.run_told for sitting in Sitting.objects.filter(state="finished")} == {1, 2, 3}


def test_a_large_file_is_looked_at_in_its_first_answers(study, write, monkeypatch):  # noqa: F811
    monkeypatch.setattr("evaluation.services.imports.MOST_LOOKED_AT", 6)
    path = write([response("item1", RUNS, RUNS), response("item2", RUNS, RUNS)])
    told = responses_preview(study=study, path=path, format="speecheq", name="theirs")
    assert (told["looked_at"], told["created"]) == (6, 6)


def intake_of(study, **fields):  # noqa: F811
    data = json.dumps({"responses": [response("item1", RUNS, RUNS), response("item2", RUNS, RUNS)]}).encode()
    given = {"name": "results.json", "format": "speecheq", "respondent": "theirs"}
    return intake_request(study=study, data=data, **{**given, **fields})


def test_an_intake_that_was_killed_goes_on_and_is_told_as_one(study, monkeypatch):  # noqa: F811
    intake = intake_of(study)
    now = timezone.now()

    def killed(done, total):
        if done:
            raise SystemExit

    path = Path(default_storage.path(blob_key(intake.sha256)))
    with pytest.raises(SystemExit):
        responses_import(
            study=study, path=path, format="speecheq", name="theirs", actor=intake.created_by, progress=killed
        )
    AnswerIntake.objects.update(state="running", lease_until=now + timedelta(minutes=1))
    assert intake_run(intake_id=intake.pk, now=now).state == "running"
    later = now + timedelta(minutes=2)
    assert list(intakes_due(now=later)) == [intake]
    ended = intake_run(intake_id=intake.pk, now=later)
    assert (ended.state, ended.told["created"], ended.told["skipped"]) == ("done", 12, 0)
    assert (AnswerImport.objects.count(), ImportedAnswer.objects.count()) == (1, 12)
    assert (ended.done, ended.total) == (12, 12)


def test_what_came_in_before_a_stop_counts_and_can_be_taken_out(study):  # noqa: F811
    intake = intake_of(study)

    def stopped(done, total):
        if done:
            raise Conflict("stopped")

    path = Path(default_storage.path(blob_key(intake.sha256)))
    with pytest.raises(Conflict):
        responses_import(study=study, path=path, format="speecheq", name="theirs", progress=stopped)
    assert set(Sitting.objects.values_list("state", flat=True)) == {"finished"}
    assert len(list(marks_of(study=study))) == Response.objects.count() > 0


def test_a_step_that_is_over_leaves_the_rest_to_the_next(study):  # noqa: F811
    intake = intake_of(study)
    assert intake_run(intake_id=intake.pk, now=timezone.now(), step_s=0).state == "waiting"
    assert intake_run(intake_id=intake.pk, now=timezone.now()).told["created"] == 12


def test_the_same_file_under_way_is_asked_for_once_and_can_be_stopped(browser, study):  # noqa: F811
    intake = intake_of(study)
    assert intake_request(
        study=study, data=b"x", name="a", format="speecheq", respondent="theirs", look=True
    ) != intake_request(study=study, data=b"x", name="a", format="speecheq", respondent="theirs")
    assert intake_of(study) == intake
    assert "Reading results.json into imported</a>" in browser.get(reverse("running")).content.decode()
    stop = reverse("answer_intake_stop", args=[study.uid])
    for waiting in AnswerIntake.objects.all():
        browser.post(stop, {"intake": waiting.uid})
    assert set(AnswerIntake.objects.values_list("state", flat=True)) == {"stopped"}
    assert "nothing to stop" in browser.post(stop, {"intake": intake.uid}, follow=True).content.decode()
    assert intake_run(intake_id=intake.pk, now=timezone.now()).state == "stopped"
    assert not Response.objects.exists()


def test_an_import_is_taken_out_on_the_page(browser, study, write):  # noqa: F811
    responses_import(study=study, path=write([response("item1", RUNS, RUNS)]), format="speecheq", name="theirs")
    source = AnswerImport.objects.get()
    address = reverse("answer_import_withdraw", args=[study.uid])
    assert "Say why" in browser.post(address, {"import": source.uid}, follow=True).content.decode()
    page = browser.post(address, {"import": source.uid, "reason": "other model"}, follow=True).content.decode()
    assert "other model" in page
    assert browser.post(address, {"import": "nothing"}).status_code == 404
    comparison = browser.get(reverse("comparison", args=[study.uid])).content.decode()
    assert "theirs" not in comparison


def test_the_list_asks_no_more_for_more_files(browser, study, write, django_assert_num_queries):  # noqa: F811
    counts = []
    for number in (1, 2, 3):
        path = write([response("item1", RUNS, RUNS)])
        responses_import(study=study, path=path, format="speecheq", name=f"system {number}")
        with django_assert_num_queries(6):
            browser.get(reverse("answer_imports", args=[study.uid]))
        counts.append(AnswerImport.objects.count())
    assert counts == [1, 2, 3]


def test_both_readings_stand_on_the_comparison_and_on_the_item(browser, study, write):  # noqa: F811
    odd = result("option2", "option2", '{"selected": "option1", "reasoning": "Option 2 is subdued"}')
    plain = result("option1", "option1", '{"selected": "option1"}')
    responses_import(study=study, path=write([response("item1", [odd], [plain])]), format="speecheq", name="theirs")
    page = browser.get(reverse("comparison", args=[study.uid])).content.decode()
    block = page[page.index('id="readings"') :]
    block = " ".join(block[: block.index("</section>")].split())
    assert "1 of 2" in block
    assert block.index("<td>the file</td>") < block.index("<td>our parser</td>")
    item = study.split.items.get(dialogue__external_id="item1").dialogue
    shown = browser.get(reverse("comparison_item", args=[study.uid, item.uid])).content.decode()
    assert shown.count("our reading:") == 2
    assert shown.count(">differs<") == 1


def test_a_study_without_files_shows_no_second_reading(browser, study):  # noqa: F811
    assert 'id="readings"' not in browser.get(reverse("comparison", args=[study.uid])).content.decode()


@pytest.mark.parametrize(
    ("name", "format", "data", "says"),
    [
        ("résultats.json", "speecheq", b"{", "résultats.json: is not JSON"),
        ("log.eval", "inspect", b"PK\x03\x04 and no more", "log.eval: is not a whole .eval log"),
        ("log.eval", "inspect", b"", "The submitted file is empty"),
        ("half.csv", "csv", b"\xff\xfei", "half.csv: is not UTF-16 text"),
        ("名" * 80 + ".json", "speecheq", b"{", "名名.json: is not JSON"),
    ],
)
def test_an_error_names_the_upload_and_what_is_wrong_with_it(send, name, format, data, says):  # noqa: A002
    for look in ({}, {"look": "1"}):
        fields = {"file": SimpleUploadedFile(name, data), "format": format, "respondent": "theirs", **look}
        assert says in send(fields).content.decode()


def test_a_table_that_cannot_be_read_says_at_which_line(send):
    wide = SimpleUploadedFile("wide.csv", b"item,trial,answer\na,b," + b"x" * 2_000)
    before = csv.field_size_limit(1_000)
    try:
        page = send({"file": wide, "format": "csv", "respondent": "theirs"})
    finally:
        csv.field_size_limit(before)
    assert "wide.csv, line 2: is no row" in page.content.decode()


@pytest.mark.parametrize(
    ("encoding", "separator"), [("utf-16", "\t"), ("utf-8-sig", ";"), ("utf-8", ","), ("utf-16-be", ",")]
)
def test_a_table_comes_in_as_office_programs_save_it(send, encoding, separator):
    rows = [("item", "trial", "answer"), ("item1", "s4", "A")]
    text = "\r\n".join(separator.join(row) for row in rows)
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    table = SimpleUploadedFile("table.csv", (mark + text).encode(encoding))
    page = send({"file": table, "format": "csv", "respondent": "theirs", "look": "1"}).content.decode()
    assert "1 answers, 0 there already, 0 refused." in page
