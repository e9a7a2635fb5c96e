"""Judgements made elsewhere: read from CSV, refused row by row, and measured like our own."""

import csv
import gzip
import json

import pytest
from django.core.management import call_command

from annotation.models import ImportedRating, Round
from annotation.selectors import round_agreement
from annotation.services import ratings_import
from eqstudio.errors import InvalidInput, UnknownAlias
from tests.annotation.factories import judged_round
from tests.generation.factories import CorpusFactory, DialogueFactory

pytestmark = pytest.mark.django_db
GOOD = "item,rater,value\n1,a,2\n1,b,2\n2,a,3\n2,b,4\n"


@pytest.fixture
def csv_file(tmp_path):
    def write(text, name="ratings.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return path

    return write


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_ratings_are_stored_and_the_round_is_made(csv_file, encoding):
    told = ratings_import(path=csv_file(GOOD, encoding=encoding), round="elsewhere")

    assert told == {"round": "elsewhere", "created": 4, "skipped": 0, "refused": []}
    assert Round.objects.get().corpus is None
    assert ImportedRating.objects.order_by("pk").values_list("item", "rater", "value").first() == ("1", "a", "2")


def test_importing_twice_stores_once(csv_file):
    path = csv_file(GOOD)
    ratings_import(path=path, round="elsewhere")

    assert ratings_import(path=path, round="elsewhere")["skipped"] == 4
    assert ImportedRating.objects.count() == 4


def test_columns_may_come_in_any_order_and_case_with_dimension_and_level(csv_file):
    text = 'Rater,Value,ITEM,level,dimension\na,"3",x,Ordinal,happy\n"b, the second",3,x,ordinal,sad\n'

    ratings_import(path=csv_file(text), round="elsewhere")

    rows = list(ImportedRating.objects.order_by("pk").values_list("item", "rater", "value", "dimension", "level"))
    assert rows == [("x", "a", "3", "happy", "ordinal"), ("x", "b, the second", "3", "sad", "ordinal")]


def test_a_gzipped_file_is_read(csv_file):
    path = csv_file(gzip.compress(GOOD.encode()), name="ratings.csv.gz")

    assert ratings_import(path=path, round="elsewhere")["created"] == 4


def test_wrong_rows_are_refused_by_number_and_the_others_kept(csv_file):
    text = f"item,rater,value,level\n1,a,2,\n,b,2,\n2,a,,\n1,a,3,\n3,a,1,odd\n4,{'r' * 201},1,\n5,a,1,nominal\n"

    told = ratings_import(path=csv_file(text), round="elsewhere")

    assert told["created"] == 2
    assert [(refusal["row"], refusal["reason"]) for refusal in told["refused"]] == [
        (3, "item is empty"),
        (4, "value is empty"),
        (5, "a already rated 1 as 2; 3 was not stored"),
        (6, "level is 'odd', not one of nominal, ordinal, interval, ratio"),
        (7, "rater is longer than 200 characters"),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("item,value\n1,2\n", "row 1: no column rater"),
        ("", "row 1: no column item, rater, value"),
        (b"item,rater,value\n1,\xff,2\n", "not UTF-8 text"),
        ('item,rater,value\n1,"a"x,2\n', "cannot be read as CSV"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_whole(csv_file, content, message):
    with pytest.raises(InvalidInput, match=message):
        ratings_import(path=csv_file(content), round="elsewhere")

    assert Round.objects.count() == 0
    assert ImportedRating.objects.count() == 0


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InvalidInput, match=r"nothing\.csv"):
        ratings_import(path=tmp_path / "nothing.csv", round="elsewhere")


def test_the_agreement_command_prints_every_coefficient(csv_file, capsys):
    call_command("ratings_import", str(csv_file(GOOD)), "--round", "elsewhere", "--json")
    assert json.loads(capsys.readouterr().out)["created"] == 4

    call_command("agreement", "elsewhere", "--json")
    (group,) = json.loads(capsys.readouterr().out)["groups"]

    assert {key: group[key] for key in ("by", "items", "ratings", "raters")} == {
        "by": "rating",
        "items": 2,
        "ratings": 4,
        "raters": 2,
    }
    assert group["estimates"]["percent_agreement"]["value"] == 0.5
    assert set(group["estimates"]["alpha_ordinal"]) == {"value", "lo", "hi", "n", "reason"}


def test_the_agreement_command_speaks_to_a_person(csv_file, capsys):
    call_command("ratings_import", str(csv_file(GOOD + ",,\n")), "--round", "elsewhere")
    call_command("agreement", "elsewhere")

    told = capsys.readouterr().out
    assert "4 ratings stored" in told
    assert "row 6 refused: item is empty" in told
    assert "percent_agreement  0.50" in told


def test_agreement_by_dimension_is_one_group_each(csv_file):
    text = "item,rater,value,dimension\n1,a,2,happy\n1,b,2,happy\n1,a,0,sad\n1,b,3,sad\n"
    ratings_import(path=csv_file(text), round="elsewhere")

    groups = round_agreement(round=Round.objects.get(), by="dimension")

    assert [(group["by"], group["estimates"]["percent_agreement"]["value"]) for group in groups] == [
        ("happy", 1.0),
        ("sad", 0.0),
    ]


def test_imported_items_find_their_dialogues_category(csv_file):
    corpus = CorpusFactory()
    DialogueFactory(corpus=corpus, external_id="d1", category="optimism")
    made = Round.objects.create(name="elsewhere", corpus=corpus)
    ratings_import(path=csv_file("item,rater,value\nd1,a,2\nd1,b,2\nlost,a,1\nlost,b,1\n"), round="elsewhere")

    assert [group["by"] for group in round_agreement(round=made, by="category")] == ["optimism", "unknown"]


def test_a_judged_round_has_grades_and_verdicts():
    made = judged_round(items=2)

    grade, verdict = round_agreement(round=made)

    assert (grade["by"], grade["items"], grade["ratings"], grade["raters"]) == ("grade", 8, 24, 3)
    assert (verdict["by"], verdict["items"], verdict["ratings"]) == ("verdict", 2, 6)
    assert verdict["estimates"]["percent_agreement"]["value"] == pytest.approx(1 / 3)


def test_agreement_by_annotator_holds_each_against_the_others():
    made = judged_round(items=2)

    groups = [group for group in round_agreement(round=made, by="annotator") if group["dimension"] == "verdict"]

    assert [group["estimates"]["percent_agreement"]["value"] for group in groups] == [0.5, 0.5, 0.0]


def test_an_unknown_grouping_names_those_there_are():
    with pytest.raises(UnknownAlias, match="annotator, category, day, dimension, kind, language, pair, week, without"):
        round_agreement(round=judged_round(items=1), by="mood")


def test_the_published_emotion_agreement_comes_out_of_the_command(shared, tmp_path, capsys):
    with gzip.open(shared / "data" / "ratings" / "abaw2023.csv.gz", "rt", encoding="utf-8") as handle:
        kept = [row for row in csv.DictReader(handle) if row["keep"] == "keep"]
    path = tmp_path / "abaw.csv"
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, ["item", "rater", "dimension", "value"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(kept)

    ratings_import(path=path, round="abaw")
    call_command("agreement", "abaw", "--by", "dimension", "--json")

    groups = json.loads(capsys.readouterr().out)["groups"]
    assert {group["by"]: round(group["estimates"]["alpha_interval"]["value"], 2) for group in groups} == {
        "anger": 0.38,
        "disgust": 0.22,
        "fear": 0.33,
        "happy": 0.39,
        "sad": 0.27,
        "surprise": 0.29,
    }
