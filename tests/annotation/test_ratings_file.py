"""Files of ratings in every shape they come in, and out again: encodings, delimiters, duplicates, bad rows, formulas."""

import csv
import gzip
import io
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.domain.ratings_file import Refusal, Row, ratings_read, without_duplicates
from annotation.models import ImportedRating, Round
from annotation.selectors.long_table import HEAD, long_table, pseudonym
from annotation.services import ratings_import
from eqstudio.errors import InvalidInput
from eqstudio.tables import BOM, cell_plain, cell_safe, csv_lines
from tests.annotation.factories import judged_round

GOOD = "item,rater,value\n1,安娜,2\n2,Zoë,3\n"


def read(data, **options):
    return list(ratings_read(data if isinstance(data, bytes) else data.encode(), name="ratings.csv", **options))


def values(rows):
    return [(row.item, row.rater, row.value) for row in rows]


EXPECTED = [("1", "安娜", "2"), ("2", "Zoë", "3")]


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (GOOD.encode(), ""),
        (GOOD.encode("utf-8-sig"), ""),
        (GOOD.encode("utf-8-sig"), "cp1252"),
        (GOOD.encode("utf-16"), ""),
        (GOOD.encode("utf-16-le"), "utf-16-le"),
        (GOOD.encode("utf-32"), ""),
        (GOOD.encode("gb18030"), "gb18030"),
        (gzip.compress(GOOD.encode("utf-16")), ""),
    ],
    ids=["utf-8", "utf-8 marked", "mark over word", "utf-16", "utf-16 told", "utf-32", "gb18030", "gzip"],
)
def test_a_file_is_read_in_its_encoding(data, encoding):
    assert values(read(data, encoding=encoding)) == EXPECTED


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("item,rater,value\n1,Zoë,2\n".encode("cp1252"), r"byte 21 \(0xeb\) in row 2.*cp1252"),
        (GOOD.encode("gb18030"), r"byte 19 \(0xb0\) in row 2.*gb18030"),
        (GOOD.encode("utf-16-le"), "row 1: no column item, rater, value|byte"),
    ],
    ids=["cp1252", "gb18030", "utf-16 without mark"],
)
def test_another_encoding_is_told_with_byte_row_and_what_it_may_be(data, message):
    with pytest.raises(InvalidInput, match=message):
        read(data)


def test_an_encoding_that_is_none_is_told():
    with pytest.raises(InvalidInput, match=r"no encoding called 'utf-9'.*gb18030"):
        read(GOOD, encoding="utf-9")


def test_a_broken_gzip_file_is_told():
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        read(gzip.compress(GOOD.encode() * 50)[:-20])


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.replace(",", "\t"),
        GOOD.replace(",", ";"),
        GOOD.replace("\n", "\r\n"),
        "rater,notes,RATING,Item\n安娜,x,2,1\nZoë,,3,2\n",
        "label,item,rater\n2,1,安娜\n3,2,Zoë\n",
        '{"item": 1, "rater": "安娜", "value": 2}\n\n{"item": "2", "rater": "Zoë", "rating": 3.0, "more": [1]}\n',
        'item,rater,value\n"1","安娜","2"\n\n"2",Zoë,3\n',
    ],
    ids=["comma", "tab", "semicolon", "crlf", "order and rating", "label", "jsonl", "quotes and blank line"],
)
def test_a_file_is_read_in_its_shape(text):
    assert values(read(text)) == EXPECTED


def test_a_quoted_field_may_hold_commas_quotes_and_lines():
    (row,) = read('item,rater,value\n"a, ""b""\nc",x,1\n')

    assert (row.item, row.number) == ('a, "b"\nc', 3)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("item,rater,value\n1,a,2\n,a,2\n1,b,3,4\n2,a,2\n", [(3, "item is empty"), (4, "has 4 cells where the header has 3")]),
        ("item,rater,value\n1,a\0b,2\n2,a,2\n3,a,2\n", [(2, "rater holds a NUL character")]),
        (f"item,rater,value\n{'i' * 300_000},a,2\n1,a,2\n2,a,2\n", [(2, "item is longer than 200 characters")]),
        ('{"item":1,"rater":"a","value":2}\n{"item":2,\n[3]\n{"item":{},"rater":"b","value":1}\n{"item":2,"rater":"b","value":1}\n',
         [(2, "is no JSON"), (3, "is no JSON object"), (4, "item is no text or number")]),
        ('{"item":1,"rater":"\\ud800","value":2}\n{"item":2,"rater":"a","value":2}\n{"item":3,"rater":"a","value":2}\n',
         [(1, "rater holds half of a character (a lone surrogate)")]),
        ("item,rater,value,level\n1,a,2,odd\n2,a,2,ordinal\n3,a,2,\n", [(2, "level is 'odd', not one of")]),
    ],
    ids=["short and long rows", "NUL", "huge field", "JSON", "surrogate", "level"],
)  # fmt: skip
def test_wrong_rows_are_told_by_number_and_the_rest_is_read(text, refused):
    rows = read(text)

    told = [(row.number, row.reason) for row in rows if isinstance(row, Refusal)]
    assert len(told) == len(refused)
    for (number, reason), (expected_number, expected) in zip(told, refused, strict=True):
        assert (number, reason[: len(expected)]) == (expected_number, expected)
    assert len(rows) - len(told) == 2


def test_a_file_with_two_columns_of_one_meaning_is_refused():
    with pytest.raises(InvalidInput, match="more than one column for value"):
        read("item,rater,value,rating\n1,a,2,3\n")


def row(number, value, rater="a"):
    return Row(number, "1", rater, value, "", "")


@pytest.mark.parametrize(
    ("rule", "kept", "refused", "dropped"),
    [
        ("error", ["2"], [(4, "a already rated 1 as 2; 4 was not stored")], 1),
        ("first", ["2"], [], 2),
        ("last", ["4"], [], 2),
        ("mean", ["2.666667"], [], 2),
    ],
)
def test_duplicates_go_by_a_rule(rule, kept, refused, dropped):
    rows = [row(2, "2"), row(3, "2"), row(4, "4")]

    found = without_duplicates(rows, rule)

    assert ([one.value for one in found[0]], found[1], found[2]) == (kept, refused, dropped)


def test_there_is_no_mean_of_words():
    found, refused, _dropped = without_duplicates([row(2, "keep"), row(3, "3")], "mean")

    assert [one.value for one in found] == ["3"]
    assert refused == [(2, "value 'keep' is no number, so there is no mean")]


def test_an_unknown_rule_for_duplicates_names_those_there_are():
    with pytest.raises(InvalidInput, match="error, first, last, mean"):
        without_duplicates([], "newest")


cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(cells)
def test_a_safe_cell_runs_in_no_spreadsheet_and_comes_back(text):
    safe = cell_safe(text)

    assert cell_plain(safe) == text or text.startswith("'")
    if safe[:1] in set("=+-@\t\r"):
        float(safe)
    assert cell_plain(cell_safe(safe)) == safe


@pytest.mark.parametrize(
    "text", ["=1+1", "@cmd", "-x", "+44 20", "\t=1", "'=1", "''-x", "-1.5", "1e5", "plain", "'quoted"]
)
def test_known_cells_come_back(text):
    assert cell_plain(cell_safe(text)) == text


names = cells.map(str.strip).filter(lambda text: text and "\0" not in text and len(text) <= 30)
stored = st.dictionaries(st.tuples(names, names, st.sampled_from(["", "happy", "=sad"])), names, min_size=1, max_size=8)


@pytest.mark.django_db
@pytest.mark.parametrize("form", ["csv", "jsonl"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ratings=stored)
def test_importing_an_export_gives_the_same_ratings(form, ratings):
    Round.objects.filter(name__in=["first", "second"]).delete()
    first = Round.objects.create(name="first")
    ImportedRating.objects.bulk_create(
        ImportedRating(round=first, item=item, rater=rater, dimension=dimension, value=value, level="nominal")
        for (item, rater, dimension), value in ratings.items()
    )
    rows = long_table(round=first)
    lines = (
        csv_lines(HEAD, rows, bom=True)
        if form == "csv"
        else (json.dumps(dict(zip(HEAD, one, strict=True)), ensure_ascii=False) + "\n" for one in rows)
    )

    told = ratings_import(round="second", data="".join(lines).encode(), name=f"x.{form}")

    columns = ("item", "rater", "dimension", "value", "level")
    assert told["refused"] == []
    assert sorted(ImportedRating.objects.filter(round__name="second").values_list(*columns)) == sorted(
        first.imported_ratings.values_list(*columns)
    )


@pytest.mark.django_db
def test_importing_an_export_again_stores_nothing_twice():
    made = judged_round(items=1)
    data = "".join(csv_lines(HEAD, long_table(round=made))).encode()

    first = ratings_import(round="copy", data=data, name="x.csv")
    second = ratings_import(round="copy", data=data, name="x.csv")

    assert (first["created"], second["created"], second["skipped"]) == (15, 0, 15)


@pytest.mark.django_db
def test_the_long_table_is_the_one_that_the_figures_rest_on(client, rita):
    made = judged_round(items=2)
    client.force_login(rita)

    answer = client.get(reverse("round_ratings", args=[made.uid, "csv"]) + "?bom=1")
    text = b"".join(answer.streaming_content).decode()
    rows = list(csv.DictReader(io.StringIO(text.removeprefix(BOM), newline="")))

    assert text.startswith(BOM)
    assert answer["Content-Disposition"] == f'attachment; filename="{made.name}-ratings.csv"'
    assert sum(one["dimension"] == "grade" for one in rows) == 24
    assert sum(one["dimension"] == "verdict" for one in rows) == 6
    given_by = {given.annotator for item in made.items.all() for given in item.judgements.all()}
    assert {one["rater"] for one in rows} == {pseudonym(round=made, person_uid=person.uid) for person in given_by}
    assert all(person.username not in text for person in given_by)
    assert all(one["given_at"].endswith("+00:00") for one in rows)
    assert client.get(reverse("round_ratings", args=[made.uid, "pdf"])).status_code == 404


@pytest.mark.django_db
def test_the_figures_can_be_taken_away_as_csv(client, rita):
    made = judged_round(items=2)
    client.force_login(rita)

    text = client.get(reverse("round_figures", args=[made.uid]), {"by": "pair"}).content.decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))

    assert {one["question"] for one in rows} == {"grade", "verdict"}
    assert {"alpha_nominal", "ac1", "icc_a_1"} <= {one["coefficient"] for one in rows}
    assert all(one["value"] or one["reason"] for one in rows)


def sent(data, name="ratings.csv", **fields):
    return {"file": SimpleUploadedFile(name, data), "encoding": "", "duplicates": "error", **fields}


@pytest.mark.django_db
def test_a_file_is_looked_at_before_it_is_taken(client, rita):
    made = Round.objects.create(name="elsewhere")
    client.force_login(rita)
    address = reverse("round_import_preview", args=[made.uid])

    html = client.post(address, sent(b"item,rater,value\n1,a,2\n,a,2\n")).content.decode()
    wrong = client.post(address, sent(b"item,value\n1,2\n")).content.decode()
    none = client.post(address, {"duplicates": "error"}).content.decode()

    assert "1 ratings of 1 items by 1 raters would be stored" in html
    assert "row 3: item is empty" in html
    assert "no column rater" in wrong
    assert "Choose a file first" in none
    assert ImportedRating.objects.count() == 0


@pytest.mark.django_db
def test_a_file_is_taken_from_the_page_and_what_was_refused_is_told(client, rita):
    made = Round.objects.create(name="elsewhere")
    client.force_login(rita)
    address = reverse("round_import", args=[made.uid])

    some = client.post(address, sent(GOOD.encode("gb18030") + b",x,1\n", encoding="gb18030"))
    all_of_it = client.post(address, sent(b"item,rater,value\n9,a,2\n"))
    unreadable = client.post(address, sent(GOOD.encode("gb18030")))

    assert "2 ratings stored, 0 there already or repeated, 1 refused" in some.content.decode()
    assert "row 4: item is empty" in some.content.decode()
    assert all_of_it.url == reverse("round_agreement", args=[made.uid])
    assert unreadable.status_code == 422
    assert "is not UTF-8 text" in unreadable.content.decode()
    assert made.imported_ratings.count() == 3


@pytest.mark.django_db
def test_raters_are_marked_on_the_page(client, rita):
    made = Round.objects.create(name="elsewhere")
    ratings_import(round="elsewhere", data=b"item,rater,value\n1,a,2\n1,gpt,2\n", name="x.csv")
    client.force_login(rita)

    client.post(reverse("round_machines", args=[made.uid]), {"machine": ["gpt"]})

    assert list(made.machine_raters.values_list("name", "marked_by__username")) == [("gpt", "rita")]
    assert client.post(reverse("round_machines", args=[made.uid]), {"machine": ["oracle"]}).status_code == 400
