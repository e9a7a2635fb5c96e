"""EchoMind folders and sets of the hub: what they become, and which words a bad record gets."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Answered, Outcome, Parsed
from eqstudio.blobs import blob_read
from eqstudio.errors import InvalidInput
from generation.models import Dialogue, Variant
from generation.selectors import item_view
from generation.services import corpus_import
from tests.generation.factories import CorpusFactory, wav_bytes

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_enough]


def sounds(folder, *names):
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(wav_bytes(seconds=0.4, frequency=180 + 11 * number))


def take(path, format, **defaults):  # noqa: A002
    return corpus_import(corpus=CorpusFactory(), path=path, format=format, defaults=defaults)


def reasons(report):
    return [(refusal.row, refusal.reason) for refusal in report.refused]


# --- EchoMind -----------------------------------------------------------------------------------------------------

CASE = {
    "case_id": 7,
    "topic": "health",
    "spoken_info": {"text": "I have to be at the office by nine."},
    "target_audio_info": {"target_input_audio_file": "/cluster/someone/data_human/audio/cough/7_target.wav"},
    "neutral_audio_info": {"neutral_input_audio_flie": "audio/cough/7_neutral.wav"},
    "alternative_audio_info": {"alternative_input_audio_file": "audio/cough/7_alternative.wav"},
}


def question(audio, answer, **changes):
    return {
        "question_id": f"q-{audio}",
        "audio_dir": "cough",
        "audio_name": f"{audio}.wav",
        "question": "What do you hear?",
        "options_text": "A. A cough\nB. A sigh\nC. Nothing special",
        "answer": answer,
        **changes,
    }


def echomind_folder(tmp_path, cases=(CASE,), understanding=(), reasoning=()):
    folder = tmp_path / "data_human"
    sounds(folder, *(f"audio/cough/7_{label}.wav" for label in ("target", "neutral", "alternative")))
    (folder / "MCQ").mkdir()
    (folder / "script_info_human.json").write_text(json.dumps(list(cases)), encoding="utf-8")
    (folder / "MCQ" / "understanding.json").write_text(json.dumps(list(understanding)), encoding="utf-8")
    (folder / "MCQ" / "reasoning.json").write_text(json.dumps(list(reasoning)), encoding="utf-8")
    return tmp_path


def test_a_script_of_echomind_becomes_one_line_with_its_deliveries_and_questions(tmp_path):
    asked = [
        question("7_target", "A"),
        question("7_neutral", "C. Nothing special"),
        question("7_alternative", "a sigh"),
    ]
    why = question("7_target", "B", options_text=["(A) By bus", "(B) By car"], question="How does she go?")
    folder = echomind_folder(tmp_path, understanding=asked, reasoning=[why])

    report = take(folder, "echomind")

    assert report.as_dict() == {"created": 1, "skipped": 0, "refused": []}
    dialogue = Dialogue.objects.get()
    assert (dialogue.category, dialogue.source, dialogue.language, dialogue.external_id) == (
        "cough",
        "recorded",
        "en",
        "data_human:7",
    )
    assert list(Variant.objects.values_list("label", flat=True)) == ["target", "neutral", "alternative"]
    assert dialogue.extras["questions"] == [
        {
            "key": "understanding-1",
            "kind": "understanding",
            "type": "understanding",
            "question": "What do you hear?",
            "options": ["A cough", "A sigh", "Nothing special"],
            "answers": {"target": "A cough", "neutral": "Nothing special", "alternative": "A sigh"},
        },
        {
            "key": "reasoning-1",
            "kind": "reasoning",
            "type": "reasoning",
            "question": "How does she go?",
            "options": ["By bus", "By car"],
            "answers": {"target": "By car"},
        },
    ]


def test_a_question_is_asked_only_of_the_delivery_it_was_written_for(tmp_path):
    take(echomind_folder(tmp_path, understanding=[question("7_target", "A")]), "echomind")
    view = item_view(dialogue=Dialogue.objects.get())
    benchmark = benchmark_get("echomind")

    asked = {}
    for variant in view.turns[0].variants:
        heard = replace(view, turns=(replace(view.turns[0], variants=(variant,)),))
        answers, trial = [], benchmark.next_trial(heard, [], Random(0))
        while trial is not None:
            answers.append(Answered(trial, Parsed(Outcome.REFUSED, None)))
            trial = benchmark.next_trial(heard, answers, Random(0))
        asked[variant.label] = [answer.trial.key for answer in answers]

    assert asked == {
        "target": ["asr", "mcq-understanding-1", "reply"],
        "neutral": ["asr", "reply"],
        "alternative": ["asr", "reply"],
    }


def test_a_question_that_cannot_be_read_is_told_and_the_dialogue_goes_in(tmp_path):
    bad = [question("7_target", "E"), question("7_target", "A", options_text="A. only one"), "nonsense"]
    report = take(echomind_folder(tmp_path, understanding=bad), "echomind")

    assert report.created == 1
    assert reasons(report) == [
        ("q-7_target", "The answer 'E' is none of the options. Expected a letter or the words of one."),
        ("q-7_target", "A question needs audio_name, question and at least two options in options_text."),
        ("record 3", "Expected an object, got 'nonsense'."),
    ]


@pytest.mark.parametrize(
    ("change", "row", "reason"),
    [
        ({"case_id": ""}, "record 1", "case_id is missing."),
        ({"spoken_info": {}}, "7", "spoken_info holds no text."),
        ({"target_audio_info": {}}, "7", "The target delivery is missing."),
        (
            {"target_audio_info": {"target_input_audio_file": "audio/cough/9.wav"}},
            "7",
            "The file audio/cough/9.wav is missing (target).",
        ),
        ({"attribute": "levitating", "target_audio_info": CASE["target_audio_info"]}, None, None),
    ],
)
def test_a_script_that_lacks_something_is_told(tmp_path, change, row, reason):
    report = take(echomind_folder(tmp_path, cases=[{**CASE, **change}]), "echomind")

    if row is None:  # an attribute that is not known is looked for in the folder's name
        assert (report.created, Dialogue.objects.get().category) == (1, "cough")
    else:
        assert reasons(report) == [(row, reason)]


def test_scripts_that_are_no_json_are_told(tmp_path):
    folder = echomind_folder(tmp_path)
    (folder / "data_human" / "script_info_human.json").write_text("[{")

    [(row, reason)] = reasons(take(folder, "echomind"))

    assert (row, reason.startswith("This is not JSON: ")) == ("", True)
    with pytest.raises(InvalidInput, match="holds no EchoMind data"):
        take(tmp_path / "data_human" / "audio", "echomind")


# --- Hugging Face -------------------------------------------------------------------------------------------------

AUDIO = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def parquet(path, rows, *, audio="audio", features=None, **columns):
    schema = pa.schema([(audio, AUDIO), *columns.items()])
    if features:
        schema = schema.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, row_group_size=2)


def test_a_flat_set_of_the_hub_becomes_dialogues(tmp_path):
    rows = [
        {
            "audio": {"bytes": wav_bytes(seconds=0.4, frequency=200 + 20 * n), "path": f"{n}.wav"},
            "sentence": f"Line {n}.",
            "label": n % 2,
        }
        for n in range(5)
    ]
    features = {"label": {"names": ["happy", "sad"], "_type": "ClassLabel"}}
    parquet(tmp_path / "data" / "train-0.parquet", rows, features=features, sentence=pa.string(), label=pa.int64())

    report = take(tmp_path, "huggingface", speaker="s1")

    assert report.as_dict() == {"created": 5, "skipped": 0, "refused": []}
    found = Dialogue.objects.order_by("pk")
    assert list(found.values_list("category", flat=True)) == ["happy", "sad", "happy", "sad", "happy"]
    assert found[2].external_id == "data/train-0.parquet#3"
    assert blob_read(Variant.objects.get(text="Line 3.").clip.sha256) == rows[3]["audio"]["bytes"]


def test_a_bad_row_of_parquet_is_told_and_the_rest_goes_in(tmp_path):
    good = {"bytes": wav_bytes(seconds=0.4), "path": "x.wav"}
    rows = [
        {"audio": None, "text": "No sound.", "emotion": "sad"},
        {"audio": {"bytes": b"nonsense" * 20, "path": "noise.wav"}, "text": "No sound either.", "emotion": "sad"},
        {"audio": {"bytes": None, "path": "../out.wav"}, "text": "Out.", "emotion": "sad"},
        {"audio": good, "text": "Good.", "emotion": "sad"},
    ]
    parquet(tmp_path / "a.parquet", rows, text=pa.string(), emotion=pa.string())
    (tmp_path / "b.parquet").write_bytes(b"PAR1 nothing")
    parquet(tmp_path / "c.parquet", [{"other": good}], audio="other", text=pa.string())

    report = take(tmp_path, "huggingface")

    assert report.created == 1
    told = [(refusal.path, refusal.row, refusal.reason) for refusal in report.refused]
    assert told[:3] == [
        ("a.parquet", "row 1", "The row has no audio."),
        ("a.parquet", "row 2", "noise.wav: it is not a sound file, or broken (Format not recognised)."),
        (
            "a.parquet",
            "row 3",
            "audio names '../out.wav', which lies outside the folder; only files inside it are read.",
        ),
    ]
    assert told[3][:2] == ("b.parquet", "")
    assert told[3][2].startswith("This Parquet file cannot be read: ")
    assert told[4][0:2] == ("c.parquet", "row 1")
    assert told[4][2] == "The cell in the column text is empty. Fill it in."


def test_a_folder_of_audio_with_its_metadata_table_is_read_too(tmp_path):
    sounds(tmp_path, "train/a.wav")
    (tmp_path / "train" / "metadata.csv").write_text("file_name,transcription,label\na.wav,Good.,happy\n")

    assert take(tmp_path, "huggingface").created == 1
    assert Dialogue.objects.get().source == "imported"
    with pytest.raises(InvalidInput, match="holds no Parquet file and no metadata table"):
        take(tmp_path / "nothing", "huggingface")
