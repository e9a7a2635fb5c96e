import json

import pytest
from django.core.management import call_command

from eqstudio.errors import InvalidInput, UnknownAlias
from eqstudio.models import Event
from generation.models import Clip, Dialogue, Variant
from generation.selectors import item_view
from generation.services import corpus_import
from tests.generation.factories import CorpusFactory, wav_bytes

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_enough]

LABEL = "Interpersonal - Empathy"


def metadata(dataset_id="20260101_000000_abcdefabcdef", **changes):
    """A metadata.json as its makers write it, with paths of a machine that is not here."""
    lines = [
        {"speaker": f"speaker{2 - number % 2}", "sentence_number": number, "text": f"Line {number}."}
        for number in range(1, 7)
    ]
    files, number = [], 0
    for line in lines:
        for level in ("high", "low") if line["sentence_number"] in {4, 6} else ("high",):
            number += 1
            files.append(
                {
                    **line,
                    "eq_level": level,
                    "audio_path": f"/Users/somebody/data/{dataset_id}/audio/{number:02d}.wav",
                    "tone_description": f"Tone {level}.",
                }
            )
    scenario = {
        "title": "The greenhouse",
        "context": "Two people meet.",
        "scenario_valence": "Positive",
        **{f"speaker{n}_{what}": f"{what} {n}" for n in (1, 2) for what in ("name", "role", "gender", "voice")},
        "speaker2_persona_high": "Warm.",
        "speaker2_persona_low": "Cold.",
        "eq_skill_tested": LABEL,
    }
    made = {"dataset_id": dataset_id, "subscale_slug": "interpersonal_empathy"}
    return {
        "scenario": scenario,
        "conversation": lines,
        "eq_scale": LABEL,
        "audio_files": files,
        "generation_metadata": made,
        **changes,
    }


def folder_make(root, dataset_id="20260101_000000_abcdefabcdef", content=None, tone=200.0):
    folder = root / "interpersonal_empathy" / dataset_id
    (folder / "audio").mkdir(parents=True)
    for number in range(1, 9):
        (folder / "audio" / f"{number:02d}.wav").write_bytes(wav_bytes(seconds=0.4, frequency=tone + 7 * number))
    text = content if isinstance(content, str) else json.dumps(content or metadata(dataset_id))
    (folder / "metadata.json").write_text(text, encoding="utf-8")
    return folder


def refusals(root):
    report = corpus_import(corpus=CorpusFactory(), path=root, format="speecheq")
    assert not Dialogue.objects.exists()
    return [(refusal.row, refusal.reason) for refusal in report.refused]


def test_a_folder_becomes_a_dialogue_by_folder_and_file_name(tmp_path):
    folder = folder_make(tmp_path)

    report = corpus_import(corpus=CorpusFactory(), path=tmp_path, format="speecheq")

    assert report.as_dict() == {"created": 1, "skipped": 0, "refused": []}
    dialogue = Dialogue.objects.get()
    assert (dialogue.category, dialogue.language, dialogue.source, dialogue.state, dialogue.valence) == (
        "interpersonal_empathy",
        "en",
        "imported",
        "ready",
        "positive",
    )
    assert (dialogue.external_id, dialogue.title) == (folder.name, "The greenhouse")
    assert dialogue.scenario["speaker2_persona_low"] == "Cold."
    view = item_view(dialogue=dialogue)
    assert [[variant.label for variant in turn.variants] for turn in view.turns] == [
        ["only"],
        ["only"],
        ["only"],
        ["high", "low"],
        ["only"],
        ["high", "low"],
    ]
    low = Variant.objects.get(turn__position=6, label="low")
    stored = Clip.objects.get(pk=low.clip_id)
    assert stored.size == (folder / "audio" / "08.wav").stat().st_size
    assert (low.tone, low.turn.voice, low.turn.speaker_name, low.turn.gender) == (
        "Tone low.",
        "voice 2",
        "name 2",
        "gender 2",
    )
    assert list(Event.objects.filter(entity="dialogue").order_by("pk").values_list("verb", flat=True)) == [
        "imported",
        "moved",
    ]


def test_a_second_import_adds_nothing(tmp_path):
    folder_make(tmp_path)
    corpus = CorpusFactory()

    corpus_import(corpus=corpus, path=tmp_path, format="speecheq")
    again = corpus_import(corpus=corpus, path=tmp_path, format="speecheq")

    assert again.as_dict() == {"created": 0, "skipped": 1, "refused": []}
    assert (Dialogue.objects.count(), Clip.objects.count()) == (1, 8)


def test_a_broken_dialogue_stops_no_other(tmp_path):
    folder_make(tmp_path, "a_first")
    folder_make(tmp_path, "b_broken", content='{"scenario": ', tone=300)
    folder_make(tmp_path, "c_last", tone=400)

    report = corpus_import(corpus=CorpusFactory(), path=tmp_path, format="speecheq")

    assert report.created == 2
    assert [(refusal.path, refusal.row) for refusal in report.refused] == [
        ("interpersonal_empathy/b_broken/metadata.json", "line 1")
    ]
    assert report.refused[0].reason.startswith("This is not JSON: Expecting value at line 1")


def test_chinese_words_make_it_chinese(tmp_path):
    content = metadata()
    for part in (content["conversation"], content["audio_files"]):
        for line in part:
            line["text"] = f"第{line['sentence_number']}句话。"
    folder_make(tmp_path, content=content)

    corpus_import(corpus=CorpusFactory(), path=tmp_path, format="speecheq")

    assert Dialogue.objects.get().language == "zh"


def changed(change):
    content = metadata()
    change(content)
    return content


@pytest.mark.parametrize(
    ("change", "row", "reason"),
    [
        (lambda m: m.pop("eq_scale"), "eq_scale", "eq_scale: Field required"),
        (
            lambda m: m["scenario"].pop("speaker2_name"),
            "scenario.speaker2_name",
            "scenario.speaker2_name: Field required",
        ),
        (
            lambda m: m["audio_files"][2].update(eq_level="medium"),
            "audio_files[2].eq_level",
            "audio_files[2].eq_level: Input should be 'high' or 'low', got 'medium'",
        ),
        (
            lambda m: m.update(conversation="none"),
            "conversation",
            "conversation: Input should be a valid list, got 'none'",
        ),
        (lambda m: m["conversation"].pop(), "conversation", "conversation: List should have at least 6 items"),
        (lambda m: m["audio_files"].pop(), "audio_files", "audio_files: List should have at least 8 items"),
        (
            lambda m: m["audio_files"][4].update(eq_level="high"),
            "audio_files",
            "Sentence 4 has the renditions high, high; expected high and low.",
        ),
        (
            lambda m: m.update(eq_scale="Courage - Bravery"),
            "eq_scale",
            "Unknown subscale 'Courage - Bravery'. Expected one of: ",
        ),
        (
            lambda m: m["scenario"].update(eq_skill_tested="Self-Regard"),
            "scenario.eq_skill_tested",
            "scenario.eq_skill_tested says 'Self-Regard', but eq_scale says 'Interpersonal - Empathy'.",
        ),
        (
            lambda m: m["conversation"][1].update(speaker="speaker1"),
            "conversation[1].speaker",
            "Sentence 2 is spoken by speaker1; expected speaker2",
        ),
        (
            lambda m: m["conversation"][1].update(sentence_number=1),
            "conversation",
            "Sentence 1 is there 2 times; expected once.",
        ),
        (
            lambda m: m["audio_files"][4].update(text="Other words."),
            "audio_files[4].text",
            "It differs from the text of sentence 4 in conversation; expected the same.",
        ),
        (
            lambda m: m["audio_files"][0].update(audio_path="C:\\data\\audio\\99.wav"),
            "audio_files[0].audio_path",
            "The file audio/99.wav is missing beside metadata.json (sentence 1, high).",
        ),
        (
            lambda m: m["audio_files"][0].update(audio_path="../../../../etc/passwd"),
            "audio_files[0].audio_path",
            "The file audio/passwd is missing beside metadata.json (sentence 1, high).",
        ),
        (
            lambda m: m["audio_files"][4].update(audio_path="x/04.wav"),
            "audio_files",
            "audio/04.wav stands for two renditions; expected eight different files.",
        ),
    ],
)
def test_a_refusal_names_the_field_and_what_was_expected(tmp_path, change, row, reason):
    folder_make(tmp_path, content=changed(change))

    [(said_row, said_reason)] = refusals(tmp_path)

    assert said_row == row
    assert said_reason.startswith(reason)


def test_metadata_that_is_not_text_is_refused(tmp_path):
    (folder_make(tmp_path) / "metadata.json").write_bytes(b"\xff\xfe\x00")

    assert refusals(tmp_path) == [("", "The file is not UTF-8 text (byte 0).")]


def test_audio_that_is_no_sound_is_refused_and_nothing_is_half_written(tmp_path):
    folder = folder_make(tmp_path)
    (folder / "audio" / "05.wav").write_bytes(b"<!doctype html>")

    [(row, reason)] = refusals(tmp_path)

    assert row == folder.name
    assert reason.startswith(f"interpersonal_empathy/{folder.name}/audio/05.wav: ")
    assert not Variant.objects.exists()


def test_audio_without_metadata_and_an_id_used_twice_are_refused(tmp_path):
    first = folder_make(tmp_path, "a")
    folder_make(tmp_path, "b", content=metadata("a"), tone=500)
    orphan = folder_make(tmp_path, "c", tone=700)
    (orphan / "audio" / "01.mp3").touch()
    (orphan / "metadata.json").unlink()

    report = corpus_import(corpus=CorpusFactory(), path=tmp_path, format="speecheq")

    assert report.created == 1
    assert [refusal.reason for refusal in report.refused] == [
        f"Its id is also that of interpersonal_empathy/{first.name}/metadata.json; expected a different one.",
        "The folder has audio but no metadata.json.",
    ]


def test_what_is_not_there_or_empty_or_unknown_is_said(tmp_path):
    corpus = CorpusFactory()

    with pytest.raises(InvalidInput, match="is not a folder"):
        corpus_import(corpus=corpus, path=tmp_path / "nowhere", format="speecheq")
    with pytest.raises(InvalidInput, match="holds no SpeechEQ dialogue"):
        corpus_import(corpus=corpus, path=tmp_path, format="speecheq")
    with pytest.raises(UnknownAlias, match="Unknown import format 'speechq'"):
        corpus_import(corpus=corpus, path=tmp_path, format="speechq")


def test_command_gives_one_json_document(tmp_path, capsys):
    folder_make(tmp_path)

    call_command("corpus_import", tmp_path, format="speecheq", name="arena", json=True)
    call_command("corpus_import", tmp_path, format="speecheq", name="arena")

    first, second = capsys.readouterr().out.splitlines()
    assert json.loads(first) == {"created": 1, "skipped": 0, "refused": []}
    assert second == "Created 0, skipped 1, refused 0."


def test_command_makes_no_corpus_when_there_is_nothing_to_import(tmp_path, capsys):
    with pytest.raises(SystemExit):
        call_command("corpus_import", tmp_path / "nowhere", format="speecheq", name="arena", json=True)

    document = json.loads(capsys.readouterr().out)
    assert document["field"] == "path"
    assert not Event.objects.filter(entity="corpus").exists()


def test_the_fifteen_real_dialogues_come_in_whole(shared):
    corpus = CorpusFactory()
    path = shared / "data" / "speecheq" / "data"

    first = corpus_import(corpus=corpus, path=path, format="speecheq")
    second = corpus_import(corpus=corpus, path=path, format="speecheq")

    assert first.as_dict() == {"created": 15, "skipped": 0, "refused": []}
    assert second.as_dict() == {"created": 0, "skipped": 15, "refused": []}
    assert Clip.objects.count() == 120
    assert set(Clip.objects.values_list("sample_rate", "media_type")) == {(24000, "audio/mpeg")}
    assert len(set(Dialogue.objects.values_list("category", flat=True))) == 15
    assert set(Dialogue.objects.values_list("state", flat=True)) == {"ready"}
    assert not Variant.objects.filter(tone="").exists()
