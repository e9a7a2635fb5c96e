"""Who is better, by how much: one table of scores, grouped."""

import json

import pytest
from django.core.management import call_command

from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import InvalidInput
from evaluation.domain.sampling import item_set_hash
from evaluation.models import Respondent, Sitting
from evaluation.services import (
    comparison_build,
    items_apart,
    respondent_drive,
    response_record,
    sitting_cancel,
    sitting_open,
    study_create,
    study_run,
    trial_next,
)
from evaluation.words import comparison_sentence, metric_label
from tests.eqstudio.factories import annotator, researcher
from tests.evaluation.factories import (
    emosbench_study,
    heard_all,
    model_respondent,
    right_answer,
    sit_through,
    speecheq_study,
    split_of,
    wrong_answer,
)
from tests.generation.factories import speecheq_dialogue

pytestmark = pytest.mark.django_db


def rows_of(result):
    return {row["name"]: row for row in result["respondents"]}


def figure(result, name, metric):
    return rows_of(result)[name]["estimates"][metric]


def test_an_oracle_scores_full_marks_and_its_opposite_none():
    study = speecheq_study(items=3)
    sit_through(study, respondent=model_respondent(study, name="oracle"))
    sit_through(study, respondent=model_respondent(study, name="never"), choose=wrong_answer)
    result = comparison_build(study=study)
    assert [figure(result, "oracle", name)["value"] for name in ("acc1", "acc2", "acc_traj")] == [1.0, 1.0, 1.0]
    assert [figure(result, "never", name)["value"] for name in ("acc1", "acc2", "acc_traj")] == [0.0, 0.0, 0.0]
    assert figure(result, "oracle", "acc1")["n"] == 3


def test_an_oracle_grades_exactly():
    study = emosbench_study(items=2)
    sit_through(study, respondent=model_respondent(study, name="oracle"))
    assert figure(comparison_build(study=study), "oracle", "exact")["value"] == 1.0


def test_random_is_near_chance_and_blind_to_the_key():
    study = speecheq_study(items=30)
    respondent_drive(respondent=study_run(study=study, backend="random", runs=2))
    respondent_drive(respondent=study_run(study=study, backend="first", runs=2))
    result = comparison_build(study=study)
    assert 0.25 < figure(result, "random", "acc1")["value"] < 0.75
    assert figure(result, "first", "acc1")["value"] == 0.5
    assert figure(result, "first", "acc2")["value"] == 0.5


def test_chance_stands_beside_everybody():
    row = rows_of(comparison_build(study=speecheq_study(items=1)))["chance"]
    assert (row["kind"], row["estimates"]["acc_traj"]["value"]) == ("chance", 0.25)


def test_people_are_pooled_and_stay_pseudonyms():
    study = speecheq_study(items=3)
    sit_through(study, user=annotator(username="zoe"))
    sit_through(study, user=annotator(username="yan"), choose=wrong_answer)
    result = comparison_build(study=study)
    rows = rows_of(result)
    assert list(rows) == ["people (mean)", "people (median)", "people (best)", "Person 1", "Person 2", "chance"]
    assert (rows["people (mean)"]["people"], figure(result, "people (mean)", "acc1")["value"]) == (2, 0.5)
    assert not any(name in json.dumps(result) for name in ("zoe", "yan"))


def test_pairs_are_tested_and_corrected():
    study = speecheq_study(items=8)
    for _person in range(2):
        sit_through(study, user=annotator())
    sit_through(study, respondent=model_respondent(study, name="bad"), choose=wrong_answer)
    sit_through(study, respondent=model_respondent(study, name="good"))
    pairs = {
        (pair["a"], pair["b"]): pair for pair in comparison_build(study=study)["pairs"] if pair["metric"] == "acc1"
    }
    assert set(pairs) == {("people (mean)", "bad"), ("people (mean)", "good"), ("bad", "good")}
    models = pairs["bad", "good"]
    assert (models["difference"]["value"], models["p"], models["test"]) == (-1.0, 2 / 2**8, "exact McNemar")
    assert models["p"] == models["p_holm"]
    assert [pair["family"] for pair in pairs.values()] == ["people", "people", "systems"]
    assert pairs["people (mean)", "bad"]["p_holm"] == 2 * pairs["people (mean)", "bad"]["p"]
    assert pairs["people (mean)", "bad"]["difference"]["value"] == 1.0
    assert pairs["people (mean)", "good"]["p"] == 1.0


def test_the_same_study_gives_the_same_figures():
    study = speecheq_study(items=4)
    respondent_drive(respondent=study_run(study=study, backend="random"))
    respondent_drive(respondent=study_run(study=study, backend="fake"))
    assert comparison_build(study=study, by="category") == comparison_build(study=study, by="category")


def test_what_cannot_be_read_is_wrong_and_counted():
    study = speecheq_study(items=2)
    sit_through(study, respondent=model_respondent(study, name="mute"), choose=lambda _record: "both")
    row = rows_of(comparison_build(study=study))["mute"]
    assert (row["estimates"]["acc1"]["value"], row["unparsed"]["value"], row["unparsed"]["n"]) == (0.0, 1.0, 4)
    assert row["outcomes"] == {"unparsed": 4}


def test_an_item_in_the_middle_does_not_count_yet():
    study = speecheq_study(items=2)
    sitting = sitting_open(study=study, respondent=model_respondent(study))
    for _question in range(3):
        record = trial_next(sitting=sitting)
        response_record(trial=record, raw=json.dumps({"answer": right_answer(record)}))
    assert figure(comparison_build(study=study), "model", "acc_traj")["n"] == 1


def test_a_cancelled_sitting_is_not_compared():
    study = speecheq_study(items=1)
    sitting = sitting_open(study=study, respondent=model_respondent(study))
    record = trial_next(sitting=sitting)
    response_record(trial=record, raw="A")
    assert sitting_cancel(sitting=sitting)
    assert set(rows_of(comparison_build(study=study))) == {"chance"}


def test_three_runs_vote():
    study = speecheq_study(items=2)
    respondent = model_respondent(study)
    for run, choose in enumerate((right_answer, wrong_answer, right_answer)):
        sit_through(study, respondent=respondent, choose=choose, run=run)
    result = comparison_build(study=study)
    assert (figure(result, "model", "acc_traj")["value"], rows_of(result)["model"]["runs"]) == (1.0, 3)


def test_groups_and_filters():
    study = study_create(
        name="groups", split=split_of([speecheq_dialogue(language=language) for language in ("en", "zh", "zh")])
    )
    sit_through(study, respondent=model_respondent(study))
    groups = comparison_build(study=study, by="language")["groups"]
    assert [(group["by"], group["items"]) for group in groups] == [({"language": "en"}, 1), ({"language": "zh"}, 2)]
    narrowed = comparison_build(study=study, filters={"language": "zh"})
    assert (narrowed["items"], figure(narrowed, "model", "acc1")["n"]) == (2, 2)


@pytest.mark.parametrize("call", [{"by": "mood"}, {"filters": {"mood": "x"}}])
def test_an_unknown_grouping_names_those_there_are(call):
    with pytest.raises(InvalidInput, match="category, composite, language, source, voice"):
        comparison_build(study=speecheq_study(items=1), **call)


def test_rules_are_not_part_of_the_norm():
    study = speecheq_study(items=4)
    for backend in ("fake", "rule-longer", "first"):
        respondent_drive(respondent=study_run(study=study, backend=backend))
    sit_through(study, respondent=model_respondent(study, name="other"), choose=wrong_answer)
    result = comparison_build(study=study)
    assert result["norm"]["population"] == ["chance", "fake", "other"]
    assert figure(result, "first", "seq")["value"] is not None


def test_a_norm_rests_on_no_controls_nor_on_systems_that_cannot_be_read(capsys):
    study = speecheq_study(items=4)
    for evaluator in ("mcq", "silence", "swapped", "text", "persona", "multiturn-gold"):
        respondent_drive(respondent=study_run(study=study, backend="fake", evaluator=evaluator))
    sit_through(study, respondent=model_respondent(study, name="other"), choose=wrong_answer)
    calls = iter(range(100))
    muddled, mute = model_respondent(study, name="muddled"), model_respondent(study, name="mute")
    sit_through(study, respondent=muddled, choose=lambda record: right_answer(record) if next(calls) else "both")
    sit_through(study, respondent=mute, choose=lambda _record: "both")
    begun = sitting_open(study=study, respondent=model_respondent(study, name="begun"))
    for _asked in range(3):
        record = trial_next(sitting=begun)
        response_record(trial=record, raw=right_answer(record), heard=heard_all(record))
    result = comparison_build(study=study)
    assert result["norm"]["population"] == ["chance", "fake", "other"]
    assert result["norm_left_out"] == {
        "control": ["fake (silence)", "fake (swapped)", "fake (text)", "fake (persona)", "fake (multiturn-gold)"],
        "unfit": ["muddled", "mute"],
        "unfinished": ["begun"],
    }
    assert figure(result, "mute", "seq")["value"] is not None
    assert comparison_build(study=study, norm="published")["norm_left_out"] == {}
    call_command("compare", study.name)
    assert "does not rest on muddled, mute (unfit)." in capsys.readouterr().out


def test_without_a_cohort_seq_says_why():
    study = speecheq_study(items=2)
    sit_through(study, respondent=model_respondent(study))
    result = comparison_build(study=study)
    assert figure(result, "model", "seq")["value"] is None
    assert "fewer than three systems" in figure(result, "model", "seq")["reason"]


def test_grades_have_no_seq():
    result = comparison_build(study=emosbench_study(items=1))
    assert (result["norm"], "seq" in rows_of(result)["chance"]["estimates"]) == (None, False)


def test_items_apart_are_those_people_get_and_the_model_does_not():
    study = speecheq_study(items=3)
    sit_through(study, user=annotator())
    respondent = model_respondent(study)
    dialogues = [item.dialogue_id for item in study.split.items.all()]
    sit_through(
        study,
        respondent=respondent,
        choose=lambda record: wrong_answer(record) if record.dialogue_id == dialogues[1] else right_answer(record),
    )
    assert [one.dialogue for one in items_apart(study=study, respondent=respondent.uid)] == [dialogues[1]]
    assert items_apart(study=study, respondent="nobody") == []


@pytest.mark.parametrize(
    ("person", "model", "begins"),
    [
        (right_answer, wrong_answer, "People are ahead of the best model, model, by 100 points"),
        (wrong_answer, right_answer, "The best model, model, is ahead of people by 100 points"),
        (right_answer, right_answer, "People and the best model, model, cannot be told apart"),
        (None, right_answer, "No person has answered yet. The best model is model with 100 %"),
        (right_answer, None, "No model has answered yet."),
        (None, None, "Nobody has answered yet."),
        ("rule", None, "Only rules that do not listen have answered yet"),
        ("curator", None, "So far only people who can read the key have answered, and no model."),
    ],
)
def test_the_sentence_says_who_is_ahead(person, model, begins):
    study = speecheq_study(items=6)
    if person == "rule":
        person = respondent_drive(respondent=study_run(study=study, backend="first", runs=1)) and None
    if person == "curator":
        person = sit_through(study, user=researcher()) and None
    for _person in range(2 if person else 0):
        sit_through(study, user=annotator(), choose=person)
    if model:
        sit_through(study, respondent=model_respondent(study), choose=model)
    metric = next(one for one in benchmark_get("speecheq").metrics if one.name == "acc_traj")
    sentence = comparison_sentence(comparison_build(study=study), metric, metric_label(metric, "en"))
    assert sentence.startswith(begins)


def test_the_sentence_of_one_person_says_what_it_takes():
    study = speecheq_study(items=6)
    sit_through(study, user=annotator())
    sit_through(study, respondent=model_respondent(study), choose=wrong_answer)
    metric = next(one for one in benchmark_get("speecheq").metrics if one.name == "acc_traj")
    sentence = comparison_sentence(comparison_build(study=study), metric, "accuracy")
    assert sentence == (
        "On accuracy, people and model differ by 100 points: it takes two people and two items to say more."
    )


def test_the_norm_of_filtered_items_names_those_items():
    study = speecheq_study(items=4)
    for name, choose in (("good", right_answer), ("bad", wrong_answer)):
        sit_through(study, respondent=model_respondent(study, name=name), choose=choose)
    whole = comparison_build(study=study)["norm"]["item_set"]
    dialogues = [item.dialogue for item in study.split.items.select_related("dialogue")]
    dialogues[0].source = "elsewhere"
    dialogues[0].save(update_fields=["source"])
    some = comparison_build(study=study, filters={"source": "elsewhere"})
    assert whole == study.split.manifest_hash
    assert (some["items"], some["norm"]["item_set"]) == (1, item_set_hash([dialogues[0].uid]))


def test_the_command_prints_one_document(capsys):
    study = speecheq_study(items=2)
    sit_through(study, respondent=model_respondent(study))
    call_command("compare", study.name, "--by", "category", "--json")
    document = json.loads(capsys.readouterr().out)
    assert document["respondents"][0]["estimates"]["acc1"] == {
        "value": 1.0,
        "lo": pytest.approx(0.342, abs=0.001),
        "hi": 1.0,
        "n": 2,
        "reason": None,
    }
    assert document["groups"][0]["by"] == {"category": "interpersonal_empathy"}


def test_the_command_tells_a_person(capsys):
    study = speecheq_study(items=2)
    sit_through(study, respondent=model_respondent(study))
    call_command("compare", study.name)
    assert "model (model): acc1 1.00" in capsys.readouterr().out


def test_an_unknown_study_names_those_there_are(capsys):
    study = speecheq_study(items=1)
    with pytest.raises(SystemExit):
        call_command("compare", "nowhere", "--json")
    error = json.loads(capsys.readouterr().out)
    assert (study.name in error["error"], error["field"]) == (True, "study")


def test_the_commands_make_a_study_and_score_it_again(capsys):
    split = split_of([speecheq_dialogue()])
    call_command("study_create", "made", "--split", split.name, "--benchmark", "speecheq", "--seed", "3", "--json")
    made = json.loads(capsys.readouterr().out)
    assert (made["study"], made["items"], made["seed"], made["manifest_hash"]) == ("made", 1, 3, split.manifest_hash)
    call_command("study_run", "made", "--model", "first", "--runs", "1", "--json")
    ran = json.loads(capsys.readouterr().out)
    assert (ran["respondent"], ran["sittings"][0]["outcomes"]) == ("first", {"answered": 2})
    call_command("responses_rescore", "made", "--json")
    assert json.loads(capsys.readouterr().out) == {"study": "made", "scored": 0, "changed": 0, "kept": 2}
    assert Sitting.objects.get().state == Sitting.State.FINISHED
    assert Respondent.objects.get().kind == Respondent.Kind.RULE
    assert heard_all(Sitting.objects.get().trials.first())
