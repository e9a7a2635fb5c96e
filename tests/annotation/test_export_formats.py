"""Every format that the studio also reads gives back the same dialogues, sounds and judgements."""

import csv
import hashlib
import json
import subprocess
import sys

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from annotation.domain.manifest import manifest_hash
from annotation.exporters import Options, exporters
from annotation.models import ImportedRating, Round
from annotation.selectors import live_judgements
from annotation.services import ratings_import, split_export, split_freeze
from eqstudio.errors import InvalidInput
from generation.models import Dialogue, Turn, Variant
from generation.services import corpus_import
from tests.annotation.factories import judged_round, split_of
from tests.generation.factories import (
    CorpusFactory,
    clip_make,
    echomind_dialogue,
    emosbench_dialogue,
    speecheq_dialogue,
)

pytestmark = pytest.mark.django_db

READ_BY = {
    "croissant": ("", "audio"),
    "csv": ("", "audio"),
    "emodialogue": ("", "emodialogue"),
    "huggingface": ("", "huggingface"),
    "jsonl": ("", "audio"),
    "speecheq": ("data", "speecheq"),
}
MAKERS = {"echomind": echomind_dialogue, "emosbench": emosbench_dialogue, "speecheq": speecheq_dialogue}
ANY = [(name, made) for name in ("csv", "huggingface", "jsonl") for made in MAKERS]
ONE = [("croissant", "echomind"), ("emodialogue", "emosbench"), ("speecheq", "speecheq")]
ODD = "=SUM(A1:A9)\n\"quoted\", 'and' — 你好 \U0001f642"


def told_json(document):
    return json.dumps(document, sort_keys=True)


def told(dialogue):
    """Everything about a dialogue that is not an id of this studio."""
    fields = ("external_id", "benchmark", "category", "language", "source", "valence", "title", "scenario", "extras")
    keys = ("template_key", "topic_key")
    lines = [
        (
            (turn.position, turn.role, turn.speaker, turn.speaker_name, turn.gender, turn.voice),
            sorted(
                (
                    v.label,
                    v.text,
                    v.tone,
                    told_json(v.delivery),
                    v.intended_grade or 0,
                    v.rationale,
                    v.clip and v.clip.sha256,
                )
                for v in turn.variants.all()
            ),
        )
        for turn in dialogue.turns.order_by("position")
    ]
    return {**{name: getattr(dialogue, name) for name in fields + keys}, "lines": lines}


def furnished(made, **fields):
    """A dialogue with something in every field, some of it hard to write into a table."""
    dialogue = MAKERS[made](
        language="zh",
        source="recorded",
        template_key="plan:7",
        topic_key="harbour",
        **fields,
    )
    dialogue.title = ODD[:60]
    dialogue.extras = {**dialogue.extras, "note": ODD, "numbers": [1, 2.5, None]}
    dialogue.save(update_fields=["title", "extras"])
    Turn.objects.filter(dialogue=dialogue).update(voice="-fake", speaker_name="@Maya")
    for variant in Variant.objects.filter(turn__dialogue=dialogue):
        text = variant.text if made == "speecheq" else f"{ODD} {variant.label}"
        Variant.objects.filter(pk=variant.pk).update(
            text=text, tone="+warm", delivery={"emotion": "sad", "pitch": "low"}, rationale="because '=so"
        )
    return dialogue


@pytest.mark.parametrize(("name", "made"), [*ANY, *ONE])
def test_what_was_exported_comes_in_again_as_it_was(tmp_path, name, made):
    corpus = CorpusFactory()
    there = [furnished(made, corpus=corpus, external_id=f"set-{n}") for n in range(3)]
    split = split_freeze(name="arena", corpus=corpus, now=timezone.now())

    split_export(split=split, format=name, output=tmp_path / "out")
    folder, importer = READ_BY[name]
    fresh = CorpusFactory()
    report = corpus_import(corpus=fresh, path=tmp_path / "out" / folder, format=importer)

    assert report.as_dict() == {"created": 3, "skipped": 0, "refused": []}
    here = list(Dialogue.objects.filter(corpus=fresh).order_by("external_id"))
    assert [told(dialogue) for dialogue in here] == [told(dialogue) for dialogue in there]
    assert {dialogue.uid for dialogue in here}.isdisjoint(dialogue.uid for dialogue in there)


def test_every_format_that_is_read_again_is_tried_above():
    told = {name for name in exporters if "corpus_import" in exporters.get(name).opening}

    assert set(READ_BY) == told | {"huggingface"}
    assert {name for name, _made in [*ANY, *ONE]} == set(READ_BY)


@pytest.mark.parametrize("name", sorted(exporters))
def test_every_format_is_checked_by_the_script_inside(tmp_path, name):
    exporter = exporters.get(name)
    split = split_of(items=2, make=MAKERS[exporter.benchmark or "speecheq"])
    split_export(split=split, format=name, output=tmp_path / "out")
    command = [sys.executable, "-I", str(tmp_path / "out" / "verify.py")]

    whole = subprocess.run(command, capture_output=True, text=True, check=False)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    manifest["items"][0]["category"] = "another"
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (tmp_path / "out" / "chart.svg").unlink()
    spoilt = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (whole.returncode, whole.stdout) == (0, "whole and unchanged\n")
    assert manifest["manifest_hash"] == split.manifest_hash
    assert spoilt.returncode == 1
    assert spoilt.stdout.splitlines() == [
        "missing: chart.svg",
        "changed: manifest.json",
        "the manifest does not give its own hash",
    ]


def _spelled(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _hashed(document):
    return hashlib.sha256(_spelled(document)).hexdigest()


FORMATS = {
    1: ({"uid", "valence", "source"}, lambda items: sorted(items, key=_spelled)),
    2: ({"uid"}, lambda items: sorted(map(_hashed, items))),
}
"""By format of a manifest: what of an item its hash leaves out, and how the items stand in what is hashed."""


@pytest.mark.parametrize("version", FORMATS)
def test_the_script_and_the_studio_know_every_format_of_manifests(tmp_path, version):
    split_export(split=split_of(items=2), format="csv", output=tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8")) | {"format": version}
    left_out, standing = FORMATS[version]
    for item in manifest["items"]:
        item["valence"] = "négatif"
    items = [{name: value for name, value in item.items() if name not in left_out} for item in manifest["items"]]
    head = {name: manifest[name] for name in ("format", "benchmark", "benchmark_version", "recipe")}
    manifest["manifest_hash"] = _hashed({**head, "items": standing(items)})
    path.write_text(json.dumps(manifest), encoding="utf-8")

    told = subprocess.run(
        [sys.executable, "-I", str(tmp_path / "out" / "verify.py")], capture_output=True, text=True, check=False
    )

    assert told.stdout == "changed: manifest.json\n"
    assert manifest_hash(manifest) == manifest["manifest_hash"]


@pytest.mark.parametrize("name", sorted(exporters))
def test_every_format_gives_the_same_bytes_twice(tmp_path, name):
    split = split_of(items=2, make=MAKERS[exporters.get(name).benchmark or "speecheq"])

    first, second = (split_export(split=split, format=name, output=tmp_path / folder) for folder in ("a", "b"))

    assert first["files"] == second["files"]


@pytest.mark.parametrize("name", sorted(READ_BY))
def test_judgements_come_in_again_as_ratings(tmp_path, name):
    benchmark = exporters.get(name).benchmark or "speecheq"
    made = judged_round(items=3, make=MAKERS[benchmark], benchmark=benchmark)
    split = split_freeze(name="arena", round=made, now=timezone.now())

    split_export(split=split, format=name, output=tmp_path / "out")
    report = ratings_import(path=tmp_path / "out" / "judgements" / "ratings.csv", round="again")

    assert report["refused"] == []
    rows = ImportedRating.objects.filter(round=Round.objects.get(name="again"))
    verdicts = rows.filter(dimension="verdict")
    live = live_judgements(round=made)
    names = set(verdicts.values_list("rater", flat=True))
    there = sorted((item, verdict) for item, verdict in live.values_list("item__dialogue__uid", "verdict"))
    assert sorted(verdicts.values_list("item", "value")) == there
    assert (len(names), rows.filter(dimension="grade").count()) == (3, 3 * 3 * 4)
    grades = sorted(live.values_list("item__dialogue__uid", "grades__variant__turn__position", "grades__value"))
    back = [(item.split("/")[0], int(item.split("/")[1]), int(value)) for item, value in _of(rows, "grade")]
    assert sorted(back) == grades


def _of(rows, dimension):
    return rows.filter(dimension=dimension).values_list("item", "value")


def test_pseudonyms_differ_from_split_to_split_and_names_stay_inside(tmp_path):
    made = judged_round(items=1)
    people = list(live_judgements(round=made).values_list("annotator__username", flat=True))
    raters = []
    for name in ("one", "two"):
        split = split_freeze(name=name, round=made, now=timezone.now())
        split_export(split=split, format="csv", output=tmp_path / name)
        with (tmp_path / name / "judgements" / "raters.csv").open(encoding="utf-8") as handle:
            raters.append({row["rater"] for row in csv.DictReader(handle)})

    everything = b"".join(path.read_bytes() for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert raters[0].isdisjoint(raters[1])
    assert [name for name in people if name.encode() in everything] == []


def test_cells_that_look_like_formulas_are_neutralised_and_a_byte_order_mark_is_there_on_demand(tmp_path):
    corpus = CorpusFactory()
    furnished("emosbench", corpus=corpus, external_id="=1+1")
    split = split_freeze(name="arena", corpus=corpus, now=timezone.now())

    split_export(split=split, format="csv", output=tmp_path / "out", options=Options(bom=True))

    raw = (tmp_path / "out" / "metadata.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    with (tmp_path / "out" / "metadata.csv").open(encoding="utf-8-sig", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == 5
    measured = {"loudness", "pitch"}  # negative numbers are no formulas
    cells = [(name, cell) for row in rows for name, cell in row.items() if name not in measured]
    assert [(name, cell) for name, cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))] == []
    assert {row["external_id"] for row in rows} == {"'=1+1"}


def test_audio_beside_a_table_is_as_it_was_stored(tmp_path):
    split = split_of(items=1)

    split_export(split=split, format="csv", output=tmp_path / "out")

    with (tmp_path / "out" / "metadata.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    found = [hashlib.sha256((tmp_path / "out" / row["audio"]).read_bytes()).hexdigest() for row in rows]
    assert found == [row["sha256"] for row in rows]


def test_speecheq_lies_in_its_own_layout(tmp_path):
    corpus = CorpusFactory()
    speecheq_dialogue(corpus=corpus, external_id="20260101_000000_abc")
    split = split_freeze(name="arena", corpus=corpus, now=timezone.now())

    split_export(split=split, format="speecheq", output=tmp_path / "out")

    folder = tmp_path / "out" / "data" / "interpersonal_empathy" / "20260101_000000_abc"
    metadata = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    assert sorted(path.name for path in (folder / "audio").iterdir()) == [f"0{n}.wav" for n in range(1, 9)]
    assert metadata["eq_scale"] == "Interpersonal - Empathy"
    assert [(each["sentence_number"], each["eq_level"]) for each in metadata["audio_files"]] == [
        (1, "high"),
        (2, "high"),
        (3, "high"),
        (4, "high"),
        (4, "low"),
        (5, "high"),
        (6, "high"),
        (6, "low"),
    ]
    assert not metadata["audio_files"][0]["audio_path"].startswith("/")


def test_the_released_dialogues_come_out_as_they_went_in(tmp_path, shared):
    corpus = CorpusFactory()
    report = corpus_import(corpus=corpus, path=shared / "data" / "speecheq", format="speecheq")
    Dialogue.objects.filter(corpus=corpus).update(state="ready")
    split = split_freeze(name="arena", corpus=corpus, now=timezone.now())

    split_export(split=split, format="speecheq", output=tmp_path / "out")
    fresh = CorpusFactory()
    again = corpus_import(corpus=fresh, path=tmp_path / "out" / "data", format="speecheq")

    assert (again.created, again.refused) == (report.created, [])
    before, after = (Dialogue.objects.filter(corpus=each).order_by("external_id") for each in (corpus, fresh))
    assert [told(dialogue) for dialogue in after] == [told(dialogue) for dialogue in before]


def test_emodialogue_holds_grades_and_rationales_for_training(tmp_path):
    corpus = CorpusFactory()
    furnished("emosbench", corpus=corpus, external_id="one")
    split = split_freeze(name="arena", corpus=corpus, now=timezone.now())

    split_export(split=split, format="emodialogue", output=tmp_path / "out")

    line = json.loads((tmp_path / "out" / "test.jsonl").read_text(encoding="utf-8"))
    assert [(reply["grade"], reply["rationale"]) for reply in line["responses"]] == [
        (n, "because '=so") for n in range(1, 5)
    ]
    assert line["input"]["emotion"] == "sad"


@pytest.mark.parametrize(("name", "made"), [("speecheq", "emosbench"), ("emodialogue", "speecheq")])
def test_a_split_of_another_benchmark_is_refused_by_name(tmp_path, name, made):
    split = split_of(items=1, make=MAKERS[made])

    with pytest.raises(InvalidInput, match=f"is a split of {made}"):
        split_export(split=split, format=name, output=tmp_path / "out")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("speecheq", lambda dialogue: Turn.objects.filter(dialogue=dialogue, position=2).update(position=9)),
        ("emodialogue", lambda dialogue: Variant.objects.filter(label="3").update(intended_grade=4)),
    ],
)
def test_a_dialogue_of_another_build_is_named(tmp_path, name, spoil):
    exporter = exporters.get(name)
    split = split_of(items=2, make=MAKERS[exporter.benchmark])
    dialogue = split.items.last().dialogue
    spoil(dialogue)

    with pytest.raises(InvalidInput, match=r"Dialogue \w+ is not built as"):
        split_export(split=split, format=name, output=tmp_path / "out")


@pytest.mark.parametrize("name", ["csv", "huggingface", "jsonl", "speecheq"])
def test_half_a_character_is_told_with_the_item(tmp_path, name):
    if connection.vendor == "postgresql":
        pytest.skip("PostgreSQL refuses half a character itself, so none can be there")
    split = split_of(items=2)
    dialogue = split.items.last().dialogue
    Dialogue.objects.filter(pk=dialogue.pk).update(extras={"note": "half \ud83d of it"})

    with pytest.raises(InvalidInput, match=f"Dialogue {dialogue.uid} cannot be exported.*lone surrogate"):
        split_export(split=split, format=name, output=tmp_path / "out")

    assert list(tmp_path.iterdir()) == []


def test_a_line_without_sound_leaves_without(tmp_path):
    corpus = CorpusFactory()
    dialogue = emosbench_dialogue(corpus=corpus)
    Variant.objects.filter(turn__dialogue=dialogue, label="only").update(clip=None)
    split = split_freeze(name="arena", corpus=corpus, now=timezone.now())

    for name in ("csv", "huggingface", "jsonl"):
        split_export(split=split, format=name, output=tmp_path / name)

    line = json.loads((tmp_path / "jsonl" / "test.jsonl").read_text(encoding="utf-8"))
    assert line["turns"][0]["variants"][0]["audio"] is None


def test_two_lines_with_the_same_sound_share_a_file(tmp_path):
    corpus = CorpusFactory()
    dialogue = emosbench_dialogue(corpus=corpus)
    clip = clip_make()
    Variant.objects.filter(turn__dialogue=dialogue).update(clip=clip)
    split = split_freeze(name="arena", corpus=corpus, now=timezone.now())

    split_export(split=split, format="jsonl", output=tmp_path / "out")

    assert [path.name for path in (tmp_path / "out" / "audio").iterdir()] == [f"{clip.sha256[:24]}.wav"]


def test_the_command_takes_a_format_and_a_byte_order_mark(tmp_path, capsys):
    split_of(items=1, name="arena")

    call_command("split_export", "arena", "--format", "csv", "--bom", "--output", str(tmp_path / "out"), "--json")

    assert json.loads(capsys.readouterr().out)["format"] == "csv"
    assert (tmp_path / "out" / "metadata.csv").read_bytes()[:3] == b"\xef\xbb\xbf"
