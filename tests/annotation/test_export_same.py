"""One split gives the same bytes in every process and on every database, and comes in again from wherever its items lie."""

import csv
import os
import subprocess
import sys
from collections import Counter

import pyarrow as pa
import pytest
from django.conf import settings
from django.utils import timezone

from annotation.domain.curation import Recipe
from annotation.exporters import Options, card, exporters, huggingface
from annotation.exporters.clips import clips_load
from annotation.exporters.columns import table_of
from annotation.exporters.papers import manifest_lines
from annotation.exporters.rows import split_records
from annotation.exporters.sink import files_in
from annotation.models import Split
from annotation.services import split_export, split_freeze
from eqstudio.templatetags.studio import figure
from generation.models import Dialogue, Variant
from generation.services import corpus_import
from tests.annotation.factories import judged_round, split_of
from tests.annotation.test_export_formats import MAKERS, READ_BY, told
from tests.annotation.test_export_kill import database_url
from tests.generation.factories import CorpusFactory, emosbench_dialogue, speecheq_dialogue

EXPORTS = """
import sys
from collections import Counter
from pathlib import Path
import django
django.setup()
from annotation.exporters import exporters
from annotation.models import Split
from annotation.services import split_export
for split in Split.objects.all():
    for name in exporters:
        if exporters.get(name).benchmark in ("", split.benchmark):
            split_export(split=split, format=name, output=Path(sys.argv[1]) / str(split) / name)
"""


def held(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files_in(folder)}


@pytest.mark.django_db(transaction=True)
def test_every_format_gives_the_same_bytes_in_another_process(tmp_path):
    rounds = [judged_round(items=2, make=emosbench_dialogue, benchmark="emosbench") for _ in range(2)]
    split_freeze(name="graded", recipe=Recipe(rounds=[one.name for one in rounds]), now=timezone.now())
    split_of(items=2, name="pairs", make=speecheq_dialogue)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "EQSTUDIO_DATA": str(settings.DATA_DIR),
        "DATABASE_URL": database_url(),
    }

    for seed in ("1", "2"):
        command = [sys.executable, "-c", EXPORTS, str(tmp_path / seed)]
        subprocess.run(command, env={**environment, "PYTHONHASHSEED": seed}, check=True, capture_output=True)

    first, second = held(tmp_path / "1"), held(tmp_path / "2")
    assert {name.split("/")[1] for name in first} == set(exporters)
    assert [name for name in first if first[name] != second.get(name)] == []
    assert len(first) == len(second)


@pytest.mark.django_db
def test_a_manifest_is_written_in_one_order_however_the_database_kept_it():
    split = split_of(items=1)
    before = list(manifest_lines(split))

    Split.objects.filter(pk=split.pk).update(manifest=dict(reversed(split.manifest.items())))
    split.refresh_from_db()

    assert list(manifest_lines(split)) == before


@pytest.mark.django_db
def test_ratings_are_in_one_order_of_letters(tmp_path):
    made = judged_round(items=1, make=emosbench_dialogue, benchmark="emosbench")
    for old, new in zip("1234", ("b", "B", "a", "É"), strict=True):
        Variant.objects.filter(label=old).update(label=new)
    split = split_freeze(name="arena", round=made, now=timezone.now())

    split_export(split=split, format="jsonl", output=tmp_path / "out")

    with (tmp_path / "out" / "judgements" / "ratings.csv").open(encoding="utf-8") as handle:
        graded = [row["item"].split("/")[-1] for row in csv.DictReader(handle) if row["dimension"] == "grade"]
    assert graded == ["B", "a", "b", "É"] * 3


def test_a_figure_between_two_does_not_tip_with_the_processor():
    found = {"value": 0.625, "lo": 0.125, "hi": None, "n": 8, "reason": None}
    noisy = {**found, "value": 0.625 + 2e-16, "lo": 0.125 + 1e-16}

    assert figure(card._settled(noisy)) == figure(card._settled(found))


def test_rounds_are_told_in_the_order_of_the_recipe(db):
    rounds = [judged_round(items=1) for _ in range(3)]
    names = [rounds[place].name for place in (1, 0, 2)]
    split = split_freeze(name="arena", recipe=Recipe(rounds=names), now=timezone.now())

    assert f"| rounds | {', '.join(names)} |" in card.card_text(split, exporters.get("csv")())


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(READ_BY))
def test_two_corpora_may_use_the_same_id_and_no_dialogue_is_lost(tmp_path, name):
    benchmark = exporters.get(name).benchmark or "speecheq"
    rounds = [judged_round(items=1, make=MAKERS[benchmark], benchmark=benchmark) for _ in range(2)]
    for number, dialogue in enumerate(Dialogue.objects.all()):
        Variant.objects.filter(turn__dialogue=dialogue, turn__position=1).update(text=f"Words of corpus {number}.")
    Dialogue.objects.update(external_id="001")
    split = split_freeze(name="both", recipe={"rounds": [one.name for one in rounds]}, now=timezone.now())

    split_export(split=split, format=name, output=tmp_path / "out")
    folder, importer = READ_BY[name]
    fresh = CorpusFactory()
    report = corpus_import(corpus=fresh, path=tmp_path / "out" / folder, format=importer)

    uids = set(split.items.values_list("dialogue__uid", flat=True))
    assert report.as_dict() == {"created": 2, "skipped": 0, "refused": []}
    assert set(Dialogue.objects.filter(corpus=fresh).values_list("external_id", flat=True)) == uids
    said = Variant.objects.filter(turn__dialogue__corpus=fresh, turn__position=1)
    assert set(said.values_list("text", flat=True)) == {"Words of corpus 0.", "Words of corpus 1."}
    with (tmp_path / "out" / "judgements" / "ratings.csv").open(encoding="utf-8", newline="") as handle:
        assert {row["item"].partition("/")[0] for row in csv.DictReader(handle)} == uids


def three_sides(corpus):
    """Sides go by a hash of texts that hold the ids of rows, so with some seeds one of them is empty, each time with others."""
    for seed in range(50):
        recipe = {"dev": 0.3, "train": 0.3, "seed": seed}
        split = split_freeze(name=f"arena-{seed}", corpus=corpus, recipe=recipe, now=timezone.now())
        if len(set(split.items.values_list("side", flat=True))) == 3:
            return split
    raise AssertionError("no seed leaves something on every side")


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(READ_BY))
def test_every_side_and_every_file_of_it_comes_in_again(tmp_path, name, monkeypatch):
    monkeypatch.setattr(huggingface, "SHARD_BYTES", 1)  # a file an item
    made = exporters.get(name).benchmark or "emosbench"
    corpus = CorpusFactory()
    for n in range(12):
        MAKERS[made](corpus=corpus, external_id=f"set-{n:02d}")
    split = three_sides(corpus)

    split_export(split=split, format=name, output=tmp_path / "out", options=Options(bom=True))
    folder, importer = READ_BY[name]
    fresh = CorpusFactory()
    report = corpus_import(corpus=fresh, path=tmp_path / "out" / folder, format=importer)

    assert report.as_dict() == {"created": 12, "skipped": 0, "refused": []}
    before, after = (Dialogue.objects.filter(corpus=each).order_by("external_id") for each in (corpus, fresh))
    assert [told(dialogue) for dialogue in after] == [told(dialogue) for dialogue in before]


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["emodialogue", "huggingface", "jsonl"])
def test_datasets_opens_every_side(tmp_path, monkeypatch, name):
    for variable in ("HF_HOME", "HF_DATASETS_CACHE", "HF_HUB_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    corpus = CorpusFactory()
    for n in range(12):
        dialogue = emosbench_dialogue(corpus=corpus, external_id=f"set-{n:02d}")
        if name == "huggingface":  # which keeps them as text; elsewhere all have to have the same fields
            extras = {"note": n if n % 2 else [{"at": "five"}], f"only {n}": n}
            Dialogue.objects.filter(pk=dialogue.pk).update(extras=extras)
    split = three_sides(corpus)
    split_export(split=split, format=name, output=tmp_path / "out")

    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))

    sides = Counter(split.items.values_list("side", flat=True))
    assert {side: rows.num_rows for side, rows in loaded.items()} == sides
    if name == "huggingface":
        parquet = [str(path) for path in (tmp_path / "out" / "data").glob("test-*.parquet")]
        assert datasets.Dataset.from_parquet(parquet, cache_dir=str(tmp_path / "one")).num_rows == sides["test"]


@pytest.mark.django_db
@pytest.mark.parametrize("sound", ["only", ""])
def test_columns_are_those_that_pyarrow_itself_makes_of_the_rows(sound):
    split = split_freeze(name="arena", round=judged_round(items=2), now=timezone.now())
    if sound:
        Variant.objects.filter(label=sound).update(clip=None)
    rows = [huggingface._filled(clips_load(row)) for row in split_records(split)]
    bare = {**rows[0], "turns": [], "judgements": []}

    for group in (rows, [bare, *rows], [bare]):
        made = table_of(group, huggingface.schema())
        made.validate(full=True)
        assert made.equals(pa.Table.from_pylist(group, schema=huggingface.schema()))
