"""Logs of evaluation harnesses and outputs of EchoMind come in as respondents.

The logs in ``given`` were written by Inspect 0.3.285 and lm-eval 0.4.13 from task files that our exporters made, with a mock
model; sounds were taken out of them. The ids of their items are in ``items_<benchmark>.json``.
"""

import json
import zipfile
from pathlib import Path

import pytest

from eqstudio.benchmarks.base import Trial
from eqstudio.errors import Conflict, InvalidInput
from evaluation.models import AnswerImport, Respondent, Response, ScoreRecord, Sitting, StudyItem
from evaluation.services import answers_withdraw, comparison_build, responses_import, responses_preview, study_create
from generation.models import Turn
from tests.eqstudio.factories import researcher
from tests.evaluation.factories import split_of
from tests.generation.factories import echomind_dialogue, speecheq_dialogue

pytestmark = pytest.mark.django_db
GIVEN = Path(__file__).parent / "given"
READ = {
    '{"reason": "the voice is flat", "answer": "A"}': ("A", "A"),
    '{"reason": "the voice is flat", "answer": "B"}': ("B", "B"),
    "ANSWER: A": ("A", "A"),
    "ANSWER: B": ("B", "B"),
    "A": ("A", "A"),
    "B": ("B", "B"),
    "I would not take A. The answer is B.": ("", "B"),
    "I would not take B. The answer is A.": ("", "A"),
    "I cannot tell.": ("", ""),
}
"""What the mock model said: the one letter that the task file finds alone in it, and the letter that our parser reads."""


def dialogues_of(benchmark):
    """The dialogues that the logs are about, with the ids they had."""
    make = {"speecheq": speecheq_dialogue, "echomind": echomind_dialogue}[benchmark]
    for known in json.loads((GIVEN / f"items_{benchmark}.json").read_text(encoding="utf-8")):
        fields = {name: known[name] for name in ("uid", "external_id", "scenario", "extras")}
        dialogue = make(**fields)
        for position, label, uid in known["variants"]:
            turn = Turn.objects.get(dialogue=dialogue, position=position)
            turn.variants.filter(label=label).update(uid=uid)
        yield dialogue


@pytest.fixture
def study(request):
    return study_create(name="logs", split=split_of(dialogues_of(getattr(request, "param", "speecheq"))))


def bring(study, file, format, name="theirs"):  # noqa: A002
    return responses_import(study=study, path=file, format=format, name=name)


def samples_in(path):
    if path.suffix == ".jsonl":
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {(line["doc"]["id"], 0): (line["resps"][0][0], line["target"]) for line in lines}
    if path.suffix == ".json":
        samples = json.loads(path.read_text(encoding="utf-8"))["samples"]
        return {(one["id"], one["epoch"] - 1): (one["output"]["completion"], one["target"]) for one in samples}
    return None


LOGS = [
    ("speecheq", "inspect_speecheq.json", "inspect", 2),
    ("speecheq", "samples_speecheq.jsonl", "lmeval", 1),
    ("echomind", "samples_echomind.jsonl", "lmeval", 1),
]


@pytest.mark.parametrize(("study", "file", "format", "runs"), LOGS, indirect=["study"])
def test_a_log_of_our_own_task_comes_back_with_both_readings(study, file, format, runs):  # noqa: A002
    samples = samples_in(GIVEN / file)
    report = bring(study, GIVEN / file, format)
    assert (report["created"], report["runs"], report["refused"]) == (len(samples), runs, [])
    for response in Response.objects.select_related("trial__dialogue", "trial__sitting"):
        record = response.trial
        raw, target = samples[f"{record.dialogue.uid}/{record.key}", record.sitting.run]
        theirs, ours = READ[raw]
        own = response.scores.exclude(rule="imported").get()
        given = response.scores.get(rule="imported")
        assert (response.raw, own.value) == (raw, ours)
        assert bool(own.correct) == (ours == target)
        assert given.correct is (theirs == target)


def test_a_zip_and_a_document_of_the_same_task_read_alike(study):
    zipped = bring(study, GIVEN / "inspect_speecheq.eval", "inspect", "zipped")
    plain = bring(study, GIVEN / "inspect_speecheq.json", "inspect", "plain")
    assert (zipped["created"], zipped["runs"]) == (plain["created"], plain["runs"]) == (12, 2)


def test_where_the_verdict_of_a_log_differs_is_counted(study):
    samples = samples_in(GIVEN / "inspect_speecheq.json")
    report = bring(study, GIVEN / "inspect_speecheq.json", "inspect")
    apart = [raw for raw, _target in samples.values() if READ[raw][0] != READ[raw][1]]
    assert report["reading_differs"] == len(apart) > 0


def test_an_earlier_question_counts_as_answered_right_in_a_log(study):
    bring(study, GIVEN / "inspect_speecheq.json", "inspect")
    for record in Response.objects.filter(trial__key="s6").select_related("trial__dialogue"):
        heard = Trial.from_dict(record.trial.shown).context[3].variant
        right = record.trial.dialogue.turns.get(position=4).variants.get(label="high")
        assert heard == right.uid


@pytest.mark.parametrize("study", ["echomind"], indirect=True)
def test_options_of_a_log_stand_as_they_did_there(study):
    bring(study, GIVEN / "inspect_echomind.eval", "inspect")
    logged = {
        line["doc"]["id"]: line["doc"]
        for line in map(json.loads, (GIVEN / "samples_echomind.jsonl").read_text(encoding="utf-8").splitlines())
    }
    records = Response.objects.select_related("trial__dialogue")
    assert records.count() == len(logged) == 9
    for response in records:
        options = Trial.from_dict(response.trial.shown).options
        texts = [
            part.get("text", "") for part in logged[f"{response.trial.dialogue.uid}/{response.trial.key}"]["parts"]
        ]
        assert [f"{option.letter}: {option.text}" for option in options] == texts[-1 - len(options) : -1]


def test_an_item_is_found_by_the_id_it_had_elsewhere(study, tmp_path):
    lines = (GIVEN / "samples_speecheq.jsonl").read_text(encoding="utf-8").splitlines()
    samples = [json.loads(line) for line in lines]
    names = {row.dialogue.uid: row.dialogue.external_id for row in study.split.items.select_related("dialogue")}
    for sample in samples:
        doc = sample["doc"]
        uid = doc.pop("dialogue_id")
        doc["external_id"], doc["id"] = names[uid], f"elsewhere/{doc['id'].split('/')[1]}"
    path = tmp_path / "samples.jsonl"
    path.write_text("\n".join(map(json.dumps, samples)))
    assert bring(study, path, "lmeval")["created"] == 6


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x1e", "\n\r\n"])
def test_a_line_separator_within_an_answer_ends_no_line(study, tmp_path, separator):
    doc = {"id": f"{study.split.items.first().dialogue.uid}/s4", "kind": "choice"}
    sample = {"doc_id": 0, "doc": doc, "resps": [[f"It is warm.{separator}ANSWER: A"]]}
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps(sample, ensure_ascii=False) + "\r\n", encoding="utf-8", newline="")
    assert bring(study, path, "lmeval")["created"] == 1
    assert Response.objects.get().raw == f"It is warm.{separator}ANSWER: A"


def test_likelihoods_of_options_are_an_answer(study, tmp_path):
    item = study.split.items.first().dialogue
    sample = {
        "doc_id": 0,
        "doc": {"id": f"{item.uid}/s4", "values": ["A", "B"], "kind": "choice", "target": "B"},
        "resps": [[["-3.5", "False"]], [["-1.25", "True"]]],
        "metrics": ["acc"],
        "acc": 1.0,
    }
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps(sample))
    assert bring(study, path, "lmeval")["created"] == 1
    own = ScoreRecord.objects.exclude(rule="imported").get()
    assert (own.value, own.correct) == ("B", True)


def test_repeats_of_a_sample_are_runs_and_a_second_filter_is_no_second_answer(study, tmp_path):
    item = study.split.items.first().dialogue
    doc = {"id": f"{item.uid}/s4", "values": ["A", "B"], "kind": "choice", "target": "A"}
    sample = {"doc_id": 0, "doc": doc, "resps": [["ANSWER: A", "ANSWER: B"]]}
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps({**sample, "filter": "strict"}) + "\n" + json.dumps({**sample, "filter": "loose"}))
    report = bring(study, path, "lmeval")
    assert (report["created"], report["runs"]) == (2, 2)
    assert sorted(Response.objects.values_list("trial__sitting__run", "scores__correct")) == [(0, True), (1, False)]


def test_a_sample_that_failed_is_an_error_and_not_a_wrong_answer(study, tmp_path):
    document = json.loads((GIVEN / "inspect_speecheq.json").read_text(encoding="utf-8"))
    document["samples"] = document["samples"][:1]
    document["samples"][0] |= {"error": {"message": "the endpoint closed"}, "scores": {}, "output": {"choices": []}}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))
    bring(study, path, "inspect")
    assert Response.objects.values_list("failure", "error").get() == ("error", "the endpoint closed")
    assert ScoreRecord.objects.values_list("outcome", "correct").get() == ("error", None)


@pytest.mark.parametrize(
    ("format", "content", "says"),
    [
        ("lmeval", "{", "line 1: is not JSON"),
        ("lmeval", '{"doc": 1}', "line 1: expected a sample of lm-eval"),
        ("inspect", "{}", "has no field 'eval'"),
        ("inspect", '{"eval": {}}', "holds no samples"),
        ("echomind", '[{"question": "x"}]', "predicted_text_answer"),
    ],
)
def test_what_is_no_such_log_is_said_to_be_none(study, tmp_path, format, content, says):  # noqa: A002
    path = tmp_path / "log"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=says):
        bring(study, path, format)
    assert not Response.objects.exists()


def test_a_broken_line_and_a_broken_sample_are_refused_and_the_rest_goes_in(study, tmp_path):
    lines = (GIVEN / "samples_speecheq.jsonl").read_text(encoding="utf-8").splitlines()
    path = tmp_path / "samples.jsonl"
    path.write_text("\n".join([*lines[:2], "{broken", *lines[2:]]))
    report = bring(study, path, "lmeval")
    assert (report["created"], [refusal["row"] for refusal in report["refused"]]) == (6, [3])
    archive = tmp_path / "log.eval"
    sample = json.loads((GIVEN / "inspect_speecheq.json").read_text(encoding="utf-8"))["samples"][0]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("samples/1_epoch_1.json", json.dumps(sample))
        made.writestr("samples/2_epoch_1.json", "{broken")
    report = bring(study, archive, "inspect", "zip")
    assert (report["created"], len(report["refused"])) == (1, 1)
    assert "samples/2_epoch_1.json" in report["refused"][0]["reason"]


def echomind_output(study, **changes):
    """A file as EchoMind's script leaves it: the questions with the prediction in each record, for every delivery."""
    records = []
    for row in study.split.items.select_related("dialogue"):
        for question in row.dialogue.extras["questions"]:
            for label, answer in question["answers"].items():
                options = question["options"]
                lettered = "\n".join(f"{letter}. {text}" for letter, text in zip("ABCD", options, strict=False))
                right = "ABCD"[options.index(answer)]
                records.append(
                    {
                        "question_id": f"q{len(records)}",
                        "audio_dir": "cough",
                        "audio_name": f"id_{row.dialogue.external_id}_cough_health_{label}.wav",
                        "question": question["question"],
                        "options_text": lettered,
                        "predicted_audio_answer": "",
                        "predicted_text_answer": f"The answer is {right}.",
                        **changes,
                    }
                )
    return records


@pytest.mark.parametrize("study", ["echomind"], indirect=True)
def test_an_output_of_echomind_is_matched_by_recording_words_and_options(study, tmp_path):
    records = echomind_output(study)
    path = tmp_path / "gpt4o_mcq_understanding.json"
    path.write_text(json.dumps(records))
    report = bring(study, path, "echomind")
    assert (report["created"], report["refused"]) == (9, [])
    assert report["outside"] == len(records) - 9
    assert set(ScoreRecord.objects.values_list("correct", flat=True)) == {True}
    assert bring(study, path, "echomind")["skipped"] == 9


@pytest.mark.parametrize("study", ["echomind"], indirect=True)
def test_an_empty_prediction_and_an_unknown_question_are_refused_with_the_reason(study, tmp_path):
    records = echomind_output(study)
    records[0]["predicted_text_answer"] = ""
    records[1]["question"] = "What colour is it?"
    path = tmp_path / "out.json"
    path.write_text(json.dumps(records))
    report = bring(study, path, "echomind")
    reasons = {refusal["row"]: refusal["reason"] for refusal in report["refused"]}
    assert "predicted_text_answer is empty" in reasons[1]
    assert set(reasons) <= {1, 2}


def test_a_look_first_stores_nothing(study):
    seen = responses_preview(study=study, path=GIVEN / "inspect_speecheq.json", format="inspect", name="theirs")
    assert seen["created"] == 12
    assert not Response.objects.exists()
    assert not Respondent.objects.exists()


def test_an_item_that_the_study_does_not_ask_about_is_left_outside(study):
    kept = study.split.items.first().dialogue
    StudyItem.objects.create(study=study, dialogue=kept, probability=1 / 3)
    report = bring(study, GIVEN / "samples_speecheq.jsonl", "lmeval")
    assert (report["created"], report["outside"], report["refused"]) == (2, 4, [])


def accuracies(study):
    rows = {row["name"]: row for row in comparison_build(study=study)["respondents"]}
    return rows["theirs"]["estimates"]["acc1"] if "theirs" in rows else None


def test_an_import_that_is_taken_out_enters_no_figure_and_can_come_in_again(study):
    bring(study, GIVEN / "inspect_speecheq.json", "inspect")
    before = accuracies(study)
    answers_withdraw(source=AnswerImport.objects.get(), reason="the wrong model", actor=researcher())
    assert accuracies(study) is None
    assert set(Sitting.objects.values_list("state", flat=True)) == {"cancelled"}
    assert Response.objects.count() == 12
    again = bring(study, GIVEN / "inspect_speecheq.json", "inspect")
    assert (again["created"], again["runs"]) == (12, 2)
    assert accuracies(study) == before


def test_an_import_is_taken_out_once_and_with_a_reason(study):
    bring(study, GIVEN / "samples_speecheq.jsonl", "lmeval")
    source, actor = AnswerImport.objects.get(), researcher()
    with pytest.raises(InvalidInput):
        answers_withdraw(source=source, reason=" ", actor=actor)
    answers_withdraw(source=source, reason="wrong", actor=actor)
    with pytest.raises(Conflict):
        answers_withdraw(source=source, reason="wrong", actor=actor)


def test_what_another_file_brought_stays_when_one_is_taken_out(study, tmp_path):
    lines = (GIVEN / "samples_speecheq.jsonl").read_text(encoding="utf-8").splitlines()
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text("\n".join(lines[:4]))
    second.write_text("\n".join(lines[4:]))
    bring(study, first, "lmeval")
    bring(study, second, "lmeval")
    answers_withdraw(source=AnswerImport.objects.get(name="first.jsonl"), reason="wrong", actor=researcher())
    assert accuracies(study)["n"] == 1
    bring(study, first, "lmeval")
    assert accuracies(study)["n"] == 3
    rows = {row["name"]: row for row in comparison_build(study=study)["respondents"]}
    assert rows["theirs"]["runs"] == 1
