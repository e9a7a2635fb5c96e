"""Judgements made elsewhere: read from CSV, refused row by row, and measured like our own."""

import csv
import gzip
import json
import re

import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.urls import reverse

from annotation.models import ImportedRating, Round
from annotation.selectors import round_agreement
from annotation.selectors.imported import ratings_imports
from annotation.selectors.long_table import long_table
from annotation.selectors.overview import imported_raters
from annotation.services import import_withdraw, ratings_import
from eqstudio.errors import Conflict, InvalidInput, UnknownAlias
from eqstudio.models import Event
from generation.models import Variant
from tests.annotation.factories import judged_round
from tests.eqstudio.factories import researcher
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

    assert told == {
        "round": "elsewhere",
        "created": 4,
        "skipped": 0,
        "elsewhere": {"items": 0, "rows": []},
        "refused": [],
    }
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

    shares = [group["estimates"]["percent_agreement"]["value"] for group in groups]
    assert sorted(shares) == [0.0, 0.5, 0.5]  # they stand in the order of their names


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


def imported(round_, text, **fields):
    head = "item,rater,value,dimension\n"
    return ratings_import(round=round_.name, data=(head + text).encode(), name="elsewhere.csv", **fields)


def graded_code(round_, place=0):
    variants = Variant.objects.filter(turn__dialogue__round_items__round=round_, turn__role="critical")
    return variants.order_by("pk")[place].uid


def test_values_off_the_scale_of_the_round_are_refused_with_their_row():
    made = judged_round(items=1)
    item = made.items.get().uid
    rows = [("9", "grade"), ("2.5", "grade"), ("maybe", "verdict"), ("３", "grade"), ("Keep", "verdict"), ("9", "mood")]

    told = imported(made, "".join(f"{item},r{n},{value},{name}\n" for n, (value, name) in enumerate(rows)))

    assert [(refusal["row"], refusal["reason"]) for refusal in told["refused"]] == [
        (2, "value '9' is not on the scale of grade; expected one of 1, 2, 3, 4"),
        (3, "value '2.5' is not on the scale of grade; expected one of 1, 2, 3, 4"),
        (4, "value 'maybe' is not on the scale of verdict; expected one of keep, reject"),
    ]
    stored = set(ImportedRating.objects.values_list("dimension", "value"))
    assert stored == {("grade", "3"), ("verdict", "keep"), ("mood", "9")}


def test_what_the_round_asks_itself_is_a_question_of_its_own_where_it_is_imported():
    made = judged_round(items=2)
    first, second = graded_code(made, 0), graded_code(made, 1)

    imported(made, f"{first},x,1,grade\n{first},y,1,grade\n{second},x,4,grade\n{second},y,2,grade\n")
    found = {one["dimension"]: one for one in round_agreement(round=made)}

    assert {name: one["ratings"] for name, one in found.items()} == {"grade": 24, "verdict": 6, "imported grade": 4}
    assert found["imported grade"]["estimates"]["percent_agreement"]["value"] == 0.5
    assert found["imported grade"]["estimates"]["alpha_ordinal"]["value"] is not None


def test_items_that_the_round_does_not_have_are_kept_and_told():
    made = judged_round(items=1)
    item = made.items.select_related("dialogue").get()
    codes = [item.uid, item.dialogue.uid, graded_code(made), "nosuch", "neither"]

    told = imported(made, "".join(f"{code},x,3,grade\n" for code in codes))

    assert told["created"] == 5
    assert told["elsewhere"] == {"items": 2, "rows": [5, 6]}


def test_an_import_that_is_taken_out_enters_no_figure_and_can_come_again():
    made, actor = judged_round(items=1), researcher()
    code = graded_code(made)
    imported(made, f"{code},x,1,grade\n{code},y,1,grade\n")
    (source,) = ratings_imports(round=made)
    before = round_agreement(round=made)

    import_withdraw(source=source, reason="read in the wrong encoding", actor=actor)

    assert len(round_agreement(round=made)) == len(before) - 1
    assert not [row for row in long_table(round=made) if row[1] in ("x", "y")]
    assert imported_raters(round=made) == []
    assert ImportedRating.objects.count() == 2
    assert Event.objects.get(verb="withdrew ratings").detail["source"] == source.uid
    with pytest.raises(Conflict, match="already"):
        import_withdraw(source=source, reason="again", actor=actor)
    assert imported(made, f"{code},x,2,grade\n{code},y,1,grade\n")["created"] == 2
    assert round_agreement(round=made)[-1]["ratings"] == 2


def test_the_page_offers_each_question_once_and_takes_an_import_out(client):
    made = judged_round(items=1)
    client.force_login(researcher())
    imported(made, f"{graded_code(made)},x,1,grade\nnosuch,x,keep,verdict\n")
    address = reverse("round_agreement", args=[made.uid])

    page = client.get(address).content.decode()
    values = re.findall(r'<option value="([^"]+)"', page.split('name="question"')[1].split("</select>")[0])
    source = re.search(r'name="import" value="(\w+)"', page)[1]
    take_out = reverse("round_import_withdraw", args=[made.uid])
    refused = client.post(take_out, {"import": source, "reason": " "})
    client.post(take_out, {"import": source, "reason": "a mistake"})
    after = client.get(address).content.decode()

    assert values == ["grade", "verdict", "imported grade", "imported verdict"]
    assert refused.status_code == 400
    assert "imported grade" not in after
    assert "a mistake" in after
    assert client.post(take_out, {"import": "nosuch", "reason": "x"}).status_code == 404


def test_the_page_says_which_rows_are_of_no_item_here(client):
    made = judged_round(items=1)
    client.force_login(researcher())
    sent = {"file": ContentFile(b"item,rater,value\nnosuch,a,2\n", name="x.csv"), "duplicates": "error"}

    seen = client.post(reverse("round_import_preview", args=[made.uid]), sent).content.decode()
    sent["file"].seek(0)
    stored = client.post(reverse("round_import", args=[made.uid]), sent, follow=True).content.decode()

    assert "1 item is not in this round (rows 2)" in seen
    assert "1 item is not in this round (rows 2)" in stored
