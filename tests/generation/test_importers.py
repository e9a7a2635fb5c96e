"""Audio from elsewhere: what each format becomes, and which words a bad row gets."""

from __future__ import annotations

import json

import pytest

from annotation.selectors import required_clips
from eqstudio.errors import InvalidInput
from generation.models import Clip, Dialogue, QcReport, Variant
from generation.selectors import item_view
from generation.services import corpus_import
from tests.generation.factories import CorpusFactory, wav_bytes

pytestmark = pytest.mark.django_db
GOOD = {"audio": "a.wav", "text": "Good morning.", "category": "happy"}


def sounds(folder, *names):
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(wav_bytes(seconds=0.4, frequency=180 + 11 * number))


def take(path, format, **defaults):  # noqa: A002
    return corpus_import(corpus=CorpusFactory(), path=path, format=format, defaults=defaults)


def reasons(report):
    return [(refusal.row, refusal.reason) for refusal in report.refused]


# --- a table of audio ---------------------------------------------------------------------------------------------


def test_a_row_of_recorded_speech_becomes_a_dialogue_with_speaker_consent_and_licence(tmp_path):
    sounds(tmp_path, "clips/a.wav")
    (tmp_path / "table.csv").write_text(
        "audio,transcript,speaker,gender,consent,license,language,label\n"
        'clips/a.wav,"Good ""morning"",\nsaid she.",s1,Female,form 12,CC-BY-4.0,en-GB,Happy\n',
        encoding="utf-8",
    )

    report = take(tmp_path, "audio")

    assert report.as_dict() == {"created": 1, "skipped": 0, "refused": []}
    dialogue = Dialogue.objects.get()
    assert (dialogue.source, dialogue.benchmark, dialogue.category, dialogue.language, dialogue.external_id) == (
        "recorded",
        "echomind",
        "happy",
        "en",
        "clips/a.wav",
    )
    assert dialogue.extras == {"recording": {"speaker": "s1", "consent": "form 12", "licence": "CC-BY-4.0"}}
    variant = Variant.objects.select_related("turn").get()
    assert (variant.text, variant.turn.speaker_name, variant.turn.gender, variant.turn.role) == (
        'Good "morning",\nsaid she.',
        "s1",
        "female",
        "critical",
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-bom", "utf-32", "gb18030"])
def test_a_table_is_read_in_the_encoding_it_has(tmp_path, encoding):
    sounds(tmp_path, "a.wav")
    text = "audio;text;category\na.wav;今天天气真好，我们出去走走。;happy\n"
    data = b"\xff\xfe" + text.encode("utf-16-le") if encoding == "utf-16-le-bom" else text.encode(encoding)
    (tmp_path / "table.csv").write_bytes(data)

    assert take(tmp_path, "audio").created == 1
    assert Variant.objects.get().text == "今天天气真好，我们出去走走。"
    assert Dialogue.objects.get().language == "zh"


def test_a_bad_row_is_told_with_its_number_and_the_rest_goes_in(tmp_path):
    sounds(tmp_path, "a.wav", "b.wav", "c.wav")
    (tmp_path / "table.csv").write_bytes(
        b"audio,text,category\n"
        b"a.wav,First.,happy\n"
        b"b.wav,Too,many,fields\n"
        b"b.wav,Caf\xe9.,happy\n"
        b"b.wav,N\x00L.,happy\n"
        b"missing.wav,Where?,happy\n"
        b"../../etc/passwd,Out.,happy\n"
        b"/etc/passwd,Out.,happy\n"
        b"b.wav,,happy\n"
        b"b.wav,Which?,melancholy\n"
        b",No file.,happy\n"
        b"c.wav,Last.,sad\n"
    )

    report = take(tmp_path, "audio")

    assert report.created == 2
    assert reasons(report) == [
        ("row 3", "The row has 4 fields; the header names 3."),
        ("row 4", "Column text holds bytes that are no text in UTF-8; save the file as UTF-8."),
        ("row 5", "Column text holds a NUL character."),
        ("row 6", "The file missing.wav is missing (audio)."),
        ("row 7", "audio names '../../etc/passwd', which lies outside the folder; only files inside it are read."),
        ("row 8", "audio names '/etc/passwd', which lies outside the folder; only files inside it are read."),
        ("row 9", "The cell in the column text is empty. Fill it in."),
        ("row 10", reasons(report)[7][1]),
        ("row 11", "The cell in the column audio is empty. Fill it in."),
    ]
    assert reasons(report)[7][1].startswith("Unknown category 'melancholy'. Expected one of: ")


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("audio,category\na.wav,happy\n", "The transcript is missing. Expected a column called one of: text, "),
        ("text,category\nHello.,happy\n", "The audio file is missing. Expected a column called one of: audio, file"),
        ("audio,text\na.wav,Hello.\n", "The category is missing. Expected a column called one of: category, "),
        ("audio,text,category\na.wav,Hello.,\n", "The cell in the column category is empty. Fill it in."),
    ],
)
def test_a_column_that_is_not_there_is_told_otherwise_than_an_empty_cell(tmp_path, table, reason):
    sounds(tmp_path, "a.wav")
    (tmp_path / "table.csv").write_text(table)

    row, said = reasons(take(tmp_path, "audio"))[0]

    assert (row, said[: len(reason)]) == ("row 2", reason)


def test_audio_that_no_row_names_is_told_once_with_its_names(tmp_path):
    sounds(tmp_path, "a.wav", "clips/b.wav", "clips/c.wav", "d.wav")
    nested = {"turns": [{"variants": [{"audio": "clips/c.wav"}]}]}
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps(row) for row in ({**GOOD, "audio": "./a.wav"}, nested)))

    report = take(tmp_path, "audio")

    assert report.created == 1
    assert reasons(report)[-1] == (
        "",
        "2 files are named by no row of a table and were left out: clips/b.wav, d.wav.",
    )
    (tmp_path / "sole").mkdir()
    sounds(tmp_path / "sole", "a.wav")
    (tmp_path / "sole" / "t.jsonl").write_text(json.dumps(GOOD))
    assert reasons(take(tmp_path / "sole", "audio")) == []


# --- what people judge --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "more", "expected"),
    [
        ("interpersonal_empathy", {}, ("critical", "only", 1, True)),
        ("bap", {}, ("response", "only", 1, True)),
        ("bap", {"grade": "3"}, ("response", "3", 1, True)),
        ("happy", {}, ("critical", "target", 1, True)),
        ("happy", {"role": "context"}, ("context", "only", 1, False)),
        (
            "interpersonal_empathy",
            {"role": "Critical", "rendition": "high", "position": "4"},
            ("critical", "high", 4, True),
        ),
        ("happy", {"role": "narrator", "position": "last"}, ("critical", "target", 1, True)),
    ],
)
def test_a_lone_clip_is_what_people_grade_unless_its_row_says_otherwise(tmp_path, category, more, expected):
    sounds(tmp_path, "a.wav")
    (tmp_path / "t.jsonl").write_text(json.dumps({**GOOD, "category": category, **more}))

    take(tmp_path, "audio")

    variant = Variant.objects.select_related("turn__dialogue").get()
    [clip] = required_clips(dialogue=variant.turn.dialogue)
    assert (variant.turn.role, variant.label, variant.turn.position, clip.graded) == expected


def test_a_row_per_rendition_makes_whole_dialogues(tmp_path):
    sounds(tmp_path, "a.wav", "high.wav", "low.wav")
    (tmp_path / "t.csv").write_text(
        "dialogue_id, position, role, label, text, audio\n"
        "d1,1,context,only,I lost my job.,a.wav\n"
        "d1,2,critical,high,I see.,high.wav\n"
        "d1,2,critical,low,I see.,low.wav\n"
    )

    report = take(tmp_path, "audio", benchmark="speecheq", category="interpersonal_empathy")

    assert report.as_dict() == {"created": 1, "skipped": 0, "refused": []}
    view = item_view(dialogue=Dialogue.objects.get())
    assert [(turn.role, [variant.label for variant in turn.variants]) for turn in view.turns] == [
        ("context", ["only"]),
        ("critical", ["high", "low"]),
    ]


def test_an_open_quote_costs_its_row_and_is_told(tmp_path):
    sounds(tmp_path, "a.wav")
    (tmp_path / "table.csv").write_text('audio,text,category\na.wav,First.,happy\nb.wav,"never closed,happy\n')

    report = take(tmp_path, "audio")

    assert (report.created, reasons(report)) == (1, [("row 3", "The row cannot be read: unexpected end of data.")])


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path):
    outside = tmp_path / "secret.wav"
    outside.write_bytes(wav_bytes())
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.wav").symlink_to(outside)
    (folder / "t.jsonl").write_text(json.dumps(GOOD))

    [(row, reason)] = reasons(take(folder, "audio"))

    assert (row, "lies outside the folder" in reason) == ("line 1", True)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "This is not JSON: Expecting property name enclosed in double quotes at column 2."),
        ("[1]", "Expected an object with columns, got [1]."),
        ("[" * 100_000, "It is nested too deeply."),
        (json.dumps({**GOOD, "text": "half \ud83d"}), "Column text holds half of a character (a lone surrogate)."),
        (json.dumps({**GOOD, "text": "a\x00b"}), "Column text holds a NUL character."),
        (json.dumps({**GOOD, "score": float("nan")}), "Column score holds a number that is none (nan)."),
        (json.dumps({**GOOD, "language": "fr"}), "The language 'fr' is not known. Expected en or zh."),
        (json.dumps({**GOOD, "consent": "no"}), "The speaker has not consented (consent is 'no')."),
        (json.dumps({**GOOD, "grade": 5}), "The grade is '5'; expected 1, 2, 3 or 4."),
        (
            json.dumps({**GOOD, "benchmark": "emo"}),
            "Unknown benchmark 'emo'. Expected one of: echomind, emosbench, speecheq.",
        ),
        (
            json.dumps({**GOOD, "audio": "no.wav"}),
            "no.wav: it is a web page, not a sound; the download has probably failed.",
        ),
    ],
)
def test_a_bad_line_says_what_is_wrong(tmp_path, line, reason):
    sounds(tmp_path, "a.wav", "b.wav")
    (tmp_path / "no.wav").write_text("<html>404</html>")
    (tmp_path / "t.jsonl").write_text(f"{line}\n\n{json.dumps({**GOOD, 'audio': 'b.wav'})}\n", encoding="utf-8")

    report = take(tmp_path, "audio")

    assert report.created == 1
    first, *left_out = reasons(report)
    assert first == ("line 1", reason)
    assert all("named by no row" in said for _row, said in left_out)


def test_what_holds_for_all_rows_may_be_given(tmp_path):
    sounds(tmp_path, "a.wav")
    (tmp_path / "t.tsv").write_text("audio\ttext\na.wav\tGood morning.\n")

    report = take(tmp_path, "audio", category="sad", licence="CC0-1.0", speaker="s7")

    assert report.created == 1
    dialogue = Dialogue.objects.get()
    assert (dialogue.category, dialogue.extras["recording"]) == ("sad", {"speaker": "s7", "licence": "CC0-1.0"})


def test_an_id_of_any_length_is_kept_apart(tmp_path):
    sounds(tmp_path, "a.wav", "b.wav")
    rows = [{**GOOD, "audio": name, "id": "x" * 300 + name} for name in ("a.wav", "b.wav")]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))

    assert take(tmp_path, "audio").created == 2
    assert max(map(len, Dialogue.objects.values_list("external_id", flat=True))) == 200


def test_the_same_bytes_are_stored_once(tmp_path):
    sounds(tmp_path, "a.wav")
    (tmp_path / "b.wav").write_bytes((tmp_path / "a.wav").read_bytes())
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps({**GOOD, "audio": name}) for name in ("a.wav", "b.wav")))

    assert take(tmp_path, "audio").created == 2
    assert Clip.objects.count() == 1


def test_a_folder_without_a_table_and_an_empty_table_are_said(tmp_path):
    with pytest.raises(InvalidInput, match="holds no table and no audio"):
        take(tmp_path, "audio")
    (tmp_path / "t.csv").touch()
    assert reasons(take(tmp_path, "audio")) == [("", "The table is empty.")]


def test_audio_without_a_table_is_taken_with_the_words_beside_it_or_flagged(tmp_path):
    sounds(tmp_path, "a.wav", "b.wav")
    (tmp_path / "a.txt").write_text("Good morning.\n")

    assert take(tmp_path, "audio", category="happy").created == 2
    assert [(d.title, d.state) for d in Dialogue.objects.order_by("pk")] == [("a", "ready"), ("b", "flagged")]
    finding = QcReport.objects.get(passed=False, check_name="transcript")
    assert finding.message == "There is no transcript. Listen to it, then decide."
    assert finding.variant.text == ""


# --- EmoDialogue --------------------------------------------------------------------------------------------------


def emo(**changes):
    return {
        "id": "d1",
        "language": "en",
        "category": "bap",
        "context": "A caller speaks to a desk.",
        "history": [{"speaker": "user", "text": "Hello.", "audio": "au/0.wav"}],
        "input": {"text": "It broke again.", "audio": "au/1.wav", "gender": "female", "emotion": "angry"},
        "responses": [
            {
                "grade": grade,
                "text": f"Reply {grade}.",
                "audio": f"au/{grade + 1}.wav",
                "rationale": f"Because {grade}.",
                "rate": "slow",
            }
            for grade in (4, 3, 2, 1)
        ],
        **changes,
    }


def emo_folder(tmp_path, *entries):
    sounds(tmp_path, *(f"au/{number}.wav" for number in range(6)))
    (tmp_path / "d.jsonl").write_text("\n".join(json.dumps(entry) for entry in entries), encoding="utf-8")
    return tmp_path


def test_a_line_of_emodialogue_becomes_an_input_and_four_graded_responses(tmp_path):
    report = take(emo_folder(tmp_path, emo()), "emodialogue")

    assert report.as_dict() == {"created": 1, "skipped": 0, "refused": []}
    view = item_view(dialogue=Dialogue.objects.get())
    assert [(turn.role, turn.speaker, [variant.grade for variant in turn.variants]) for turn in view.turns] == [
        ("context", "user", [None]),
        ("context", "user", [None]),
        ("response", "responder", [1, 2, 3, 4]),
    ]
    last = Variant.objects.get(label="4")
    assert (last.text, last.rationale, last.delivery) == ("Reply 4.", "Because 4.", {"rate": "slow"})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": ""}, "id: String should have at least 1 character, got ''"),
        (
            {"responses": emo()["responses"][:3]},
            "The responses are graded 2, 3, 4; expected one each of 1, 2, 3 and 4.",
        ),
        (
            {"responses": [{**emo()["responses"][0], "grade": 9}]},
            "responses[0].grade: Input should be less than or equal to 4, got 9",
        ),
        ({"input": {"text": "Hi."}}, "input.audio: Field required"),
        ({"input": {"text": "Hi.", "audio": "au/9.wav"}}, "The file au/9.wav is missing (the user's line)."),
        (
            {"responses": [{**each, "audio": "au/2.wav"} for each in emo()["responses"]]},
            "Two responses name the same audio file; expected four different ones.",
        ),
        ({"category": "happy"}, "Unknown category 'happy'. Expected one of: bap, "),
    ],
)
def test_a_bad_line_of_emodialogue_is_told(tmp_path, change, reason):
    report = take(emo_folder(tmp_path, emo(**change), emo(id="d2")), "emodialogue")

    assert report.created == 1
    [(row, said)] = reasons(report)
    assert row == "line 1"
    assert said.startswith(reason)
