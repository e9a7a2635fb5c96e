"""A row that makes no sense costs no other, whatever it holds: one sentence for it, and the rest goes in."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError
from django.utils import timezone

from generation.importers.huggingface import HuggingFaceImporter
from generation.models import Dialogue, QcReport
from generation.services import corpus_import, importing, upload_create, upload_run
from tests.generation.factories import CorpusFactory, wav_bytes
from tests.generation.test_importers import reasons, sounds, take

pytestmark = pytest.mark.django_db


def variant(label="high", audio="a.wav", **fields):
    return {"label": label, "text": "Hello there.", "audio": audio, **fields}


def turn(*variants, position=4, role="critical"):
    return {"position": position, "role": role, "speaker": "s", "variants": list(variants)}


PAIR = (variant("high", "a.wav"), variant("low", "b.wav"))


def row(name="odd", **fields):
    said = {"dialogue_id": name, "benchmark": "speecheq", "category": "interpersonal_empathy", "language": "en"}
    return {**said, "turns": [turn(*PAIR)], **fields}


ODD = {
    "the same label twice": (
        {"turns": [turn(variant(), variant(audio="b.wav"))]},
        "Line 4 has two variants labelled high (the first 20 characters count).",
    ),
    "labels alike as far as they are kept": (
        {"turns": [turn(variant("h" * 20 + "1"), variant("h" * 20 + "2", "b.wav"))]},
        f"Line 4 has two variants labelled {'h' * 20} (the first 20 characters count).",
    ),
    "two turns at one position": (
        {"turns": [turn(PAIR[0]), turn(PAIR[1])]},
        "Two turns have the position 4.",
    ),
    "a huge position": (
        {"turns": [turn(*PAIR, position=10**30)]},
        "A turn has the position 1e+30; expected at most 32767.",
    ),
    "a position that is a truth value": (
        {"turns": [turn(*PAIR, position=True)]},
        "A turn lacks its position, its role or its variants.",
    ),
    "a benchmark that is an object": ({"benchmark": {}}, "The column benchmark holds no text."),
    "a category that is a list": ({"category": ["a"]}, "The column category holds no text."),
    "an id that is an object": ({"dialogue_id": {}}, "The column dialogue_id holds no text."),
    "no id": ({"dialogue_id": ""}, "The dialogue has no id."),
    "a label that is a list": (
        {"turns": [turn(variant(["high"]))]},
        "Line 4 has a variant without label or text.",
    ),
    "a loudness that is a list": (
        {"turns": [turn(variant(delivery={"volume": [3]}), PAIR[1])]},
        "Line 4, high: the volume of its delivery is [3]; expected one word or figure.",
    ),
    "a gender that is a number": (
        {"turns": [turn(variant(delivery={"gender": 3}), PAIR[1])]},
        "Line 4, high: the gender of its delivery is 3; expected one word or figure.",
    ),
    "nested deeply": (
        {"scenario": json.loads('{"a":' * 150 + "1" + "}" * 150)},
        "It is nested too deeply.",
    ),
}


@pytest.mark.parametrize(("change", "reason"), ODD.values(), ids=ODD)
def test_a_row_that_cannot_be_is_told_and_the_rest_goes_in(tmp_path, change, reason):
    sounds(tmp_path, "a.wav", "b.wav")
    lines = [row("first"), row(**change), row("last")]
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, lines)))

    report = take(tmp_path, "huggingface")

    assert (report.created, reasons(report)) == (2, [("line 2", reason)])


def test_a_loudness_in_words_is_taken_and_counts_as_neutral_in_the_checks(tmp_path):
    sounds(tmp_path, "a.wav", "b.wav")
    pair = (variant(delivery={"volume": "loud"}), variant("low", "b.wav", delivery={"volume": 3}))
    (tmp_path / "m.jsonl").write_text(json.dumps(row(turns=[turn(*pair)])))

    assert take(tmp_path, "huggingface").as_dict() == {"created": 1, "skipped": 0, "refused": []}
    assert QcReport.objects.filter(check_name="loudness match").count() == 1


HEADER = "dialogue_id,position,role,label,text,audio,benchmark,category,language\n"


def rendition(name, position, label, audio):
    return f"{name},{position},critical,{label},Hello.,{audio}.wav,speecheq,interpersonal_empathy,en\n"


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (
            rendition("d2", 4, "high", "a") * 2,
            "Line 4 has two variants labelled high (the first 20 characters count).",
        ),
        (rendition("d2", 99999999999999999999, "high", "a"), "A turn has the position 1e+20; expected at most 32767."),
        (
            rendition("d2", 4, "high", "a") + rendition("d2", "04", "low", "b"),
            "Two turns have the position 4.",
        ),
    ],
)
def test_a_table_with_a_row_per_rendition_loses_only_the_dialogue_that_cannot_be(tmp_path, odd, reason):
    sounds(tmp_path, "a.wav", "b.wav")
    good = [rendition(name, 4, "high", "a") + rendition(name, 4, "low", "b") for name in ("d1", "d3")]
    (tmp_path / "t.csv").write_text(HEADER + good[0] + odd + good[1])

    report = take(tmp_path, "audio")

    assert (report.created, reasons(report)) == (2, [("row 4", reason)])


def test_a_cell_of_parquet_that_is_no_text_is_told_and_the_rest_goes_in(tmp_path):
    texts = pa.array([b"\xff\xfe" if number == 6 else b"Hi." for number in range(12)], pa.binary()).view(pa.string())
    made = [{"bytes": wav_bytes(seconds=0.4, frequency=200 + 9 * n), "path": f"{n}.wav"} for n in range(12)]
    pq.write_table(pa.table({"audio": made, "text": texts, "category": ["happy"] * 12}), tmp_path / "x.parquet")

    report = take(tmp_path, "huggingface", benchmark="echomind")

    said = "Column text holds bytes that are no text in UTF-8; save the file as UTF-8."
    assert (report.created, reasons(report)) == (11, [("row 7", said)])


@pytest.mark.parametrize(
    "error", [IntegrityError("twice"), OverflowError("too large"), KeyError("x"), RecursionError()]
)
def test_what_no_reader_foresaw_is_a_sentence_about_one_row(tmp_path, monkeypatch, error):
    sounds(tmp_path, "a.wav", "b.wav")
    lines = [row("first"), row(), row("last")]
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, lines)))
    write = importing._write

    def trips(corpus, given, *rest):
        if given.external_id == "odd":
            raise error
        return write(corpus, given, *rest)

    monkeypatch.setattr(importing, "_write", trips)
    report = corpus_import(corpus=CorpusFactory(), path=tmp_path, format="huggingface")

    assert report.created == 2
    assert reasons(report)[0][1].startswith(f"It cannot be kept: {type(error).__name__}: ")


def test_an_upload_that_its_reader_trips_over_ends_with_a_sentence(monkeypatch):
    def trips(self, path):
        raise KeyError("benchmark")
        yield

    monkeypatch.setattr(HuggingFaceImporter, "discover", trips)
    sent = [SimpleUploadedFile("a.jsonl", b"{}")]
    upload = upload_create(corpus=CorpusFactory(), files=sent, format="huggingface", defaults={})
    upload_run(upload_id=upload.pk, now=timezone.now())
    upload.refresh_from_db()

    assert upload.finished_at is not None
    assert upload.error == "The files cannot be read any further: KeyError: 'benchmark'."
    assert not Dialogue.objects.exists()


# --- a stray quotation mark ---------------------------------------------------------------------------------------


def table(folder, change, count=12):
    """A table of ``count`` rows, of which ``change`` says some otherwise, by their number in the file."""
    sounds(folder, *(f"{number}.wav" for number in range(2, count + 2)))
    lines = {number: f"{number}.wav,Hello {number}.,happy" for number in range(2, count + 2)} | change
    (folder / "t.csv").write_text("audio,text,category\n" + "".join(f"{line}\n" for line in lines.values()))
    report = take(folder, "audio", benchmark="echomind")
    return report.created, [(where, reason) for where, reason in reasons(report) if where]


def test_a_stray_quote_costs_its_own_row_and_the_numbers_stay_right(tmp_path):
    created, told = table(tmp_path, {6: '6.wav,"Hello 6.,happy', 9: '9.wav,"Hello, 9.",happy', 11: "11.wav,Hello 11."})
    assert (created, [where for where, _reason in told]) == (10, ["row 6", "row 11"])
    assert told[0][1].startswith("The row cannot be read: ")


def test_a_quote_never_closed_costs_its_own_row(tmp_path):
    created, told = table(tmp_path, {6: '6.wav,"Hello 6.,happy'})
    assert (created, told) == (11, [("row 6", "The row cannot be read: unexpected end of data.")])


def test_a_quote_that_another_row_closes_costs_its_own_row(tmp_path):
    created, told = table(tmp_path, {6: '6.wav,"Hello 6.,happy', 9: '9.wav,Hello 9."'})
    assert told[0] == ("row 6", "A quotation mark in the row opens a cell and does not close it.")
    assert (created, [where for where, _reason in told]) == (10, ["row 6", "row 9"])


def test_a_cell_of_several_lines_is_one_and_counts_as_the_lines_it_has(tmp_path):
    created, told = table(tmp_path, {4: '4.wav,"Hello,\n\n4.",happy', 8: "8.wav,Hello 8."})
    assert (created, [where for where, _reason in told]) == (11, ["row 10"])
