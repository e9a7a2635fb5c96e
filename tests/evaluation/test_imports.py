"""Answers given elsewhere: what comes in, what is refused, and that the published figures come out."""

import csv
import json

import pytest
from django.core.management import call_command

from eqstudio.benchmarks.base import Trial
from eqstudio.errors import Conflict, InvalidInput, UnknownAlias
from evaluation.models import Response, ScoreRecord, Sitting
from evaluation.services import comparison_build, responses_import, responses_rescore, study_create
from tests.evaluation.factories import emosbench_study, model_respondent, split_of
from tests.generation.factories import speecheq_dialogue

pytestmark = pytest.mark.django_db

PUBLISHED = {
    "gpt-audio-1.5": (7, 9, 3),
    "qwen2.5-omni-3b_001": (7, 7, 2),
    "qwen2.5-omni-7b_001": (7, 5, 2),
    "qwen3-omni-30b-a3b-instruct_001": (10, 9, 6),
    "qwen3-omni-30b-a3b-instruct_001_ser_llm": (6, 5, 2),
    "qwen3-omni-30b-a3b-instruct_001_ser_raw_llm": (9, 7, 5),
}

OUR_READING = {name: (90, 0, figures) for name, figures in PUBLISHED.items()} | {
    "qwen3-omni-30b-a3b-instruct_001": (90, 1, (10, 8, 5))
}
"""Answers, how many our parser reads otherwise than the file, and the figures by our reading of the same raw answers."""


def result(selected, right, raw=None):
    answer = {
        "correct": selected == right,
        "selected_option": selected,
        "high_eq_option": right,
        "reasoning": "because",
    }
    return answer if raw is None else {**answer, "raw_response": raw}


def response(item, first, second):
    turns = {"sentence_4": first, "sentence_6": second}
    return {"dataset_id": item, **{name: {"individual_results": runs} for name, runs in turns.items()}}


@pytest.fixture
def study():
    split = split_of([speecheq_dialogue(external_id=f"item{n}") for n in (1, 2)])
    return study_create(name="imported", split=split)


@pytest.fixture
def write(tmp_path):
    def _write(responses):
        path = tmp_path / "results.json"
        path.write_text(json.dumps({"responses": responses}))
        return path

    return _write


RUNS = [
    result("option1", "option1"),
    result("option2", "option1", '{"reasoning": "flat", "selected": "Option 2"}'),
    result("option2", "option2"),
]


def bring(study, path, name="theirs", format="speecheq"):  # noqa: A002
    return responses_import(study=study, path=path, format=format, name=name)


def test_a_result_file_becomes_three_sittings(study, write):
    report = bring(study, write([response("item1", RUNS, RUNS)]))
    assert (report["created"], report["runs"], report["refused"]) == (6, 3, [])
    assert list(Sitting.objects.values_list("run", "state")) == [(run, "finished") for run in range(3)]


def test_options_stand_as_the_file_says_they_did(study, write):
    bring(study, write([response("item1", RUNS, RUNS)]))
    for score in ScoreRecord.objects.exclude(rule="imported").select_related("response__trial"):
        theirs = score.response.scores.get(rule="imported")
        assert (score.value, score.correct) == (theirs.value, theirs.correct)


def test_a_second_time_adds_nothing(study, write):
    path = write([response("item1", RUNS, RUNS)])
    bring(study, path)
    again = bring(study, path)
    assert (again["created"], again["skipped"], Response.objects.count()) == (0, 6, 6)


def test_a_later_file_adds_what_is_new(study, write):
    bring(study, write([response("item1", RUNS, RUNS)]))
    later = bring(study, write([response("item1", RUNS, RUNS), response("item2", RUNS, RUNS)]))
    assert (later["created"], later["skipped"]) == (6, 6)


def test_unknown_items_are_refused_and_the_rest_goes_in(study, write):
    report = bring(study, write([response("elsewhere", RUNS, RUNS), response("item1", RUNS, RUNS)]))
    assert (report["created"], len(report["refused"])) == (6, 6)
    assert report["refused"][0] == {
        "path": "results.json",
        "row": 0,
        "reason": "The split has no item 'elsewhere'.",
    }


def test_the_verdict_of_the_file_counts_and_our_reading_stays_beside_it(study, write):
    odd = result("option2", "option2", '{"selected": "option1", "reasoning": "Option 2 is subdued"}')
    report = bring(study, write([response("item1", [odd], [odd])]))
    assert report["reading_differs"] == 2
    assert sorted(ScoreRecord.objects.values_list("rule", "correct")) == [
        ("imported", True),
        ("imported", True),
        ("json:selected", False),
        ("json:selected", False),
    ]
    rows = {row["name"]: row for row in comparison_build(study=study)["respondents"]}
    assert rows["theirs"]["estimates"]["acc_traj"]["value"] == 1.0


def test_rescoring_does_not_overrule_the_file(study, write, monkeypatch):
    odd = result("option2", "option2", '{"selected": "option1"}')
    bring(study, write([response("item1", [odd], [odd])]))
    monkeypatch.setattr("evaluation.services.scoring.PARSER_VERSION", "later")
    assert responses_rescore(study=study)["scored"] == 2
    rows = {row["name"]: row for row in comparison_build(study=study)["respondents"]}
    assert rows["theirs"]["estimates"]["acc_traj"]["value"] == 1.0


def test_an_error_of_theirs_is_unparsed_here(study, write):
    error = {**result("error", "option1"), "correct": False}
    bring(study, write([response("item1", [error], [error])]))
    row = next(row for row in comparison_build(study=study)["respondents"] if row["name"] == "theirs")
    assert (row["unparsed"]["value"], row["estimates"]["acc1"]["value"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"dataset_id": "item1", "sentence_4": None, "sentence_6": None}, "s4 has no individual_results"),
        ({"dataset_id": "item1", "sentence_4": {"individual_results": [{}]}}, "high_eq_option or correct is missing"),
        ({"sentence_4": {}}, "has no dataset_id"),
        ("rubbish", "has no dataset_id"),
    ],
)
def test_a_broken_row_is_refused_with_its_reason(study, write, broken, reason):
    report = bring(study, write([broken, response("item2", RUNS, RUNS)]))
    assert report["created"] == 6
    assert any(reason in refusal["reason"] for refusal in report["refused"])


def test_a_turn_without_the_one_before_is_refused(study, write):
    late = {"dataset_id": "item1", "sentence_4": None, "sentence_6": {"individual_results": RUNS[:1]}}
    report = bring(study, write([late, response("item2", RUNS, RUNS)]))
    assert any("the next question is s4" in refusal["reason"] for refusal in report["refused"])


@pytest.mark.parametrize(
    ("content", "says"),
    [("{", "is not JSON"), ("[]", "no list 'responses'"), ('{"responses": []}', "holds no answers")],
)
def test_what_is_no_result_file_is_said_to_be_none(study, tmp_path, content, says):
    path = tmp_path / "results.json"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=says):
        bring(study, path)
    assert not Response.objects.exists()


def test_a_missing_file_is_named(study, tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        bring(study, tmp_path / "nowhere.json")


def test_a_name_that_sits_already_is_not_taken(study, write):
    model_respondent(study, name="theirs")
    with pytest.raises(Conflict):
        bring(study, write([response("item1", RUNS, RUNS)]))


def test_an_unknown_format_names_those_there_are(study, tmp_path):
    with pytest.raises(UnknownAlias, match="csv, echomind, inspect, lmeval, speecheq"):
        bring(study, tmp_path / "x", format="xml")


def table(tmp_path, rows, columns=("item", "trial", "answer", "run")):
    path = tmp_path / "answers.csv"
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(columns)
        writer.writerows(rows)
    return path


def test_a_table_of_choices_names_renditions(study, tmp_path):
    dialogue = study.split.items.first().dialogue
    right = {turn.position: turn.variants.get(label="high") for turn in dialogue.turns.filter(role="critical")}
    path = table(tmp_path, [["item1", "s4", right[4].uid, 0], ["item1", "s6", right[6].uid, 0]])
    assert bring(study, path, format="csv")["created"] == 2
    assert set(ScoreRecord.objects.values_list("correct", flat=True)) == {True}


def test_a_table_of_grades(tmp_path):
    study = emosbench_study(items=1)
    dialogue = study.split.items.get().dialogue
    variants = list(dialogue.turns.get(role="response").variants.all())
    from evaluation.models import Respondent
    from evaluation.services.sittings import sitting_open, trial_build

    probe = Respondent.objects.create(study=study, name="probe", kind=Respondent.Kind.IMPORTED)
    keys, answered = [], []
    sitting = sitting_open(study=study, respondent=probe)
    from eqstudio.benchmarks.base import Answered, Outcome, Parsed

    while (trial := trial_build(sitting=sitting, dialogue=dialogue, answered=answered)) is not None:
        keys.append(trial.key)
        answered.append(Answered(trial, Parsed(Outcome.ANSWERED, 1)))
    path = table(tmp_path, [[dialogue.uid, key, 3] for key in keys], columns=("item", "trial", "answer"))
    assert bring(study, path, format="csv")["created"] == len(keys) == len(variants)
    assert set(ScoreRecord.objects.values_list("number", flat=True)) == {3.0}


def test_a_table_without_its_columns_is_refused(study, tmp_path):
    with pytest.raises(InvalidInput) as caught:
        bring(study, table(tmp_path, [], columns=("item", "answer")), format="csv")
    assert caught.value.field == "trial"


def test_odd_rows_of_a_table_are_refused(study, tmp_path):
    rows = [["item1", "s4", "A", "x"], ["item1", "s9", "A", 0], ["item2", "s4", "A", 0], ["item2", "s4", "B", 0]]
    report = bring(study, table(tmp_path, rows), format="csv")
    assert (report["created"], len(report["refused"])) == (1, 3)


def test_answers_from_tables_share_one_order(study, tmp_path):
    path = table(tmp_path, [["item1", "s4", "A", 0]])
    bring(study, path, name="one", format="csv")
    bring(study, path, name="two", format="csv")
    shown = [Trial.from_dict(score.response.trial.shown).options for score in ScoreRecord.objects.all()]
    assert shown[0] == shown[1]


def test_the_published_figures_come_out(shared, tmp_path, capsys, settings):
    settings.MEDIA_ROOT = tmp_path
    data = shared / "data" / "speecheq"
    call_command("corpus_import", str(data / "data"), "--format", "speecheq", "--name", "arena", "--json")
    call_command("split_freeze", "arena", "--corpus", "arena", "--json")
    call_command("study_create", "arena", "--split", "arena", "--benchmark", "speecheq", "--json")
    for name in PUBLISHED:
        path = str(data / "model_response" / f"{name}.json")
        call_command("responses_import", "arena", path, "--format", "speecheq", "--respondent", name, "--json")
    capsys.readouterr()
    call_command("compare", "arena", "--json")
    told = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row["estimates"] for row in told["respondents"]}
    figures = {
        name: tuple(round(15 * rows[name][m]["value"], 6) for m in ("acc1", "acc2", "acc_traj")) for name in PUBLISHED
    }
    assert figures == PUBLISHED
    assert {rows[name]["acc_traj"]["n"] for name in PUBLISHED} == {15}
    readings = {
        one["name"]: (
            one["answers"],
            one["differ"],
            tuple(round(15 * one["by_us"][m]["value"], 6) for m in ("acc1", "acc2", "acc_traj")),
        )
        for one in told["readings"]
    }
    assert readings == OUR_READING
