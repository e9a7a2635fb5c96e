"""The page of answers from elsewhere, and both readings on the comparison and the item page."""

import csv
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from evaluation.models import AnswerImport, Response
from evaluation.services import responses_import
from tests.eqstudio.factories import researcher
from tests.evaluation.test_imports import RUNS, response, result, study, write  # noqa: F401 -- fixtures

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(client):
    client.force_login(researcher())
    return client


def sent(content, name="results.json", **fields):
    data = json.dumps({"responses": content}).encode()
    return {"file": SimpleUploadedFile(name, data), "format": "speecheq", "respondent": "theirs", **fields}


def test_a_file_comes_in_by_the_page_and_is_listed(browser, study):  # noqa: F811
    address = reverse("answer_imports", args=[study.uid])
    answered = browser.post(address, sent([response("item1", RUNS, RUNS)]), follow=True)
    assert Response.objects.count() == 6
    page = answered.content.decode()
    assert "results.json" in page
    assert "6 answers stored." in page


def test_what_is_refused_is_said_with_its_row(browser, study):  # noqa: F811
    address = reverse("answer_imports", args=[study.uid])
    page = browser.post(
        address, sent([response("nowhere", RUNS, RUNS), response("item1", RUNS, RUNS)])
    ).content.decode()
    assert "The split has no item &#x27;nowhere&#x27;." in page
    assert Response.objects.count() == 6


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"respondent": ""}, "This field is required."),
        ({"format": "xml"}, "Select a valid choice"),
        ({"file": SimpleUploadedFile("x.json", b"{")}, "is not JSON"),
    ],
)
def test_a_wrong_form_keeps_what_was_entered_and_says_why(browser, study, fields, says):  # noqa: F811
    address = reverse("answer_imports", args=[study.uid])
    answered = browser.post(address, sent([response("item1", RUNS, RUNS)], **fields))
    assert answered.status_code == 422
    assert says in answered.content.decode()
    assert not Response.objects.exists()


def test_looking_first_tells_and_stores_nothing(browser, study):  # noqa: F811
    address = reverse("answer_import_preview", args=[study.uid])
    page = browser.post(
        address, sent([response("item1", RUNS, RUNS), response("nowhere", RUNS, RUNS)])
    ).content.decode()
    assert "6 answers, 0 there already, 6 refused." in page
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
        with django_assert_num_queries(5):
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
def test_an_error_names_the_upload_and_what_is_wrong_with_it(browser, study, name, format, data, says):  # noqa: A002, F811, PLR0917
    fields = {"file": SimpleUploadedFile(name, data), "format": format, "respondent": "theirs"}
    for address in ("answer_imports", "answer_import_preview"):
        fields["file"].seek(0)
        assert says in browser.post(reverse(address, args=[study.uid]), fields).content.decode()


def test_a_table_that_cannot_be_read_says_at_which_line(browser, study):  # noqa: F811
    wide = SimpleUploadedFile("wide.csv", b"item,trial,answer\na,b," + b"x" * 2_000)
    before = csv.field_size_limit(1_000)
    try:
        page = browser.post(
            reverse("answer_imports", args=[study.uid]), {"file": wide, "format": "csv", "respondent": "theirs"}
        )
    finally:
        csv.field_size_limit(before)
    assert "wide.csv, line 2: is no row" in page.content.decode()


@pytest.mark.parametrize(
    ("encoding", "separator"), [("utf-16", "\t"), ("utf-8-sig", ";"), ("utf-8", ","), ("utf-16-be", ",")]
)
def test_a_table_comes_in_as_office_programs_save_it(browser, study, encoding, separator):  # noqa: F811
    rows = [("item", "trial", "answer"), ("item1", "s4", "A")]
    text = "\r\n".join(separator.join(row) for row in rows)
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    sent = SimpleUploadedFile("table.csv", (mark + text).encode(encoding))
    page = browser.post(
        reverse("answer_import_preview", args=[study.uid]), {"file": sent, "format": "csv", "respondent": "theirs"}
    ).content.decode()
    assert "1 answers, 0 there already, 0 refused." in page
