"""What the comparison offers beyond its first screen: files of every figure, items, tags, norms, power, checklist, release."""

import csv
import io
import re

import pytest
from django.urls import reverse

from eqstudio.models import Event
from evaluation.domain.statistics import adjusted
from evaluation.figures import Figure, csv_of, latex_of
from evaluation.figures.drawing import around, cost_svg
from evaluation.models import ErrorTag, FrozenNorm, Respondent, Sitting
from evaluation.services import comparison_build, respondent_drive, sitting_open, study_run
from generation.words import category_label
from tests.eqstudio.factories import annotator, researcher
from tests.evaluation.compared import mixed, rows_of, sat
from tests.evaluation.factories import (
    echomind_study,
    emosbench_study,
    model_respondent,
    right_answer,
    sit_through,
    speecheq_study,
    wrong_answer,
)

pytestmark = pytest.mark.django_db


def test_every_human_baseline_has_a_name_of_its_own():
    study = sat(speecheq_study(items=4))
    expert = study.respondents.filter(kind="person").first().user
    expert.skills = ["expert"]
    expert.save(update_fields=["skills"])
    result = comparison_build(study=study)
    rows = {name: row["estimates"]["acc_traj"]["value"] for name, row in rows_of(result).items()}
    assert rows["people (mean)"] == pytest.approx((1 + 0.5 + 1) / 3)
    assert (rows["people (median)"], rows["people (best)"], rows["people (majority)"]) == (1.0, 1.0, 1.0)
    assert rows["experts (mean)"] == 1.0
    assert {pair["a"] for pair in result["pairs"]} == {"people (mean)", "poor"}
    assert result["ceiling"]["agreement"]["value"] is not None


def test_who_can_read_the_key_is_marked_and_kept_out():
    study = speecheq_study(items=2)
    sit_through(study, user=annotator())
    sit_through(study, user=researcher(), choose=wrong_answer)
    assert [sitting.key_access for sitting in Sitting.objects.order_by("pk")] == [False, True]
    result = comparison_build(study=study)
    assert (rows_of(result)["people (mean)"]["people"], result["key_access"]) == (1, 1)
    assert [row["name"] for row in result["respondents"] if row["key_access"]] == ["Person 2"]
    taken_in = comparison_build(study=study, with_key=True)
    assert rows_of(taken_in)["people (mean)"]["people"] == 2


def test_the_mark_stays_when_the_role_goes_and_comes_when_the_role_comes():
    study, person = speecheq_study(items=2), researcher()
    sitting = sitting_open(study=study, user=person)
    person.groups.clear()
    person.groups.add(*annotator().groups.all())
    again = sitting_open(study=study, user=type(person).objects.get(pk=person.pk))
    assert (sitting.key_access, again.key_access) == (True, True)


def test_the_page_says_who_was_kept_out(client):
    study, ours = speecheq_study(items=2), researcher()
    sit_through(study, user=ours)
    client.force_login(ours)
    page = client.get(reverse("comparison", args=[study.uid])).content.decode()
    assert "1 person who can read the key has answered and is kept out" in page
    assert (
        "is taken into the human baseline"
        in client.get(f"{reverse('comparison', args=[study.uid])}?key=1").content.decode()
    )
    sitting = sitting_open(study=speecheq_study(items=1), user=ours)
    assert "stay out of the human baseline" in client.get(reverse("sit", args=[sitting.uid])).content.decode()


def test_a_row_with_over_five_percent_unread_is_unfit_and_never_the_best(client):
    study = speecheq_study(items=4)
    for _person in range(2):
        sit_through(study, user=annotator(), choose=wrong_answer)
    calls = iter(range(100))
    muddled = model_respondent(study, name="muddled")
    sit_through(study, respondent=muddled, choose=lambda record: "both" if next(calls) == 0 else right_answer(record))
    sit_through(study, respondent=model_respondent(study, name="clear"), choose=wrong_answer)
    rows = rows_of(comparison_build(study=study))
    assert (rows["muddled"]["fit"], rows["muddled"]["unparsed"]["value"], rows["clear"]["fit"]) == (False, 1 / 8, True)
    client.force_login(researcher())
    page = client.get(reverse("comparison", args=[study.uid])).content.decode()
    assert "unfit: over 5 % unread" in page
    assert "the best model, clear" in page


def test_a_system_that_was_not_asked_in_both_orders_equally_often_is_marked(client):
    study = speecheq_study(items=2)
    respondent_drive(respondent=study_run(study=study, backend="first", runs=2))
    half = study_run(study=study, backend="random", runs=1)
    respondent_drive(respondent=half)
    sit_through(study, user=annotator())
    found = {name: row.get("orders_equal") for name, row in rows_of(comparison_build(study=study)).items()}
    assert (found["first"], found["random"], found["Person 1"], found["chance"]) == (True, False, None, None)
    client.force_login(researcher())
    assert client.get(reverse("comparison", args=[study.uid])).content.decode().count("orders unequal") == 1
    report = reverse("study_report", args=[study.uid])
    assert "not every model was asked in both equally often" in client.get(report).content.decode()
    respondent_drive(respondent=study_run(study=study, backend="random", runs=2))
    assert "orders unequal" not in client.get(reverse("comparison", args=[study.uid])).content.decode()
    assert "a model is asked in both." in client.get(report).content.decode()


def test_an_odd_number_of_runs_is_refused_where_options_have_an_order(client):
    study = speecheq_study(items=1)
    client.force_login(researcher())
    given = {"backend": "random", "evaluator": "mcq", "runs": 3}
    page = client.post(reverse("run_new", args=[study.uid]), given).content.decode()
    assert ("give an even number" in page, study.respondents.exists()) == (True, False)
    assert study_run(study=emosbench_study(items=1), backend="random", runs=3).sittings.count() == 3


def test_grades_have_kappa_recall_and_a_constant_to_be_held_against():
    study = emosbench_study(items=3)
    sit_through(study, respondent=model_respondent(study, name="oracle"))
    rows = rows_of(comparison_build(study=study))
    oracle = {name: figure["value"] for name, figure in rows["oracle"]["estimates"].items()}
    assert (oracle["qwk"], oracle["spearman"], oracle["recall_1"], oracle["recall_4"]) == (1.0, 1.0, 1.0, 1.0)
    constant = rows["always grade 1"]
    assert (constant["kind"], constant["estimates"]["exact"]["value"]) == ("chance", 0.25)


def test_types_of_question_stand_against_their_own_chance():
    study = echomind_study(items=3)
    sit_through(
        study,
        respondent=model_respondent(study, name="oracle"),
        choose=lambda record: right_answer(record) if record.key.startswith("mcq") else "some words",
    )
    parts = {part["part"]: part for part in comparison_build(study=study)["parts"]}
    assert {"coarse_grained", "empathic_response"} <= set(parts)
    assert all(0.2 <= part["chance"] <= 0.5 for part in parts.values())
    assert all(part["respondents"][0]["accuracy"]["value"] == 1.0 for part in parts.values())


def test_turns_are_parts_of_speecheq():
    study = speecheq_study(items=3)
    sit_through(
        study,
        respondent=model_respondent(study),
        choose=lambda r: right_answer(r) if r.key == "s4" else wrong_answer(r),
    )
    parts = {
        part["part"]: part["respondents"][0]["accuracy"]["value"] for part in comparison_build(study=study)["parts"]
    }
    assert parts == {"s4": 1.0, "s6": 0.0}


def test_a_rule_of_slots_is_seen_through():
    study = speecheq_study(items=6)
    respondent_drive(respondent=study_run(study=study, backend="first", runs=2))
    figures = rows_of(comparison_build(study=study))["first"]["estimates"]
    assert (figures["first_slot"]["value"], figures["order_consistent"]["value"], figures["one_slot"]["value"]) == (
        1,
        0,
        1,
    )
    assert figures["acc1"]["value"] == 0.5


def test_claims_are_holm_and_exploration_is_benjamini_hochberg():
    result = comparison_build(study=sat(speecheq_study(items=6)), by="category", pair_metrics=["acc_traj"])
    claims = [pair for pair in result["pairs"] if pair["family"] == "people"]
    assert [pair["p_holm"] for pair in claims] == pytest.approx(adjusted([pair["p"] for pair in claims]))
    explored = result["explored"]
    assert [pair["p_bh"] for pair in explored] == pytest.approx(adjusted([p["p"] for p in explored], method="fdr_bh"))
    assert {pair["family"] for pair in explored} == {"explored"}
    assert all(pair["mde"] is not None for pair in result["pairs"])


def test_items_of_one_script_are_one_cluster():
    study = speecheq_study(items=4)
    for item in study.split.items.select_related("dialogue"):
        item.dialogue.topic_key = "wedding"
        item.dialogue.save(update_fields=["topic_key"])
    sit_through(study, respondent=model_respondent(study, name="one"), choose=mixed)
    sit_through(study, respondent=model_respondent(study, name="two"), choose=wrong_answer)
    result = comparison_build(study=study)
    assert result["clusters"] == 1
    assert rows_of(result)["one"]["estimates"]["acc1"]["lo"] is None
    assert {pair["test"] for pair in result["pairs"]} == {"one cluster"}


@pytest.mark.parametrize("norm", ["cohort", "people", "published"])
def test_seq_names_the_norm_it_is_relative_to(norm):
    study = speecheq_study(items=4)
    for person, choose in (("a", right_answer), ("b", mixed), ("c", wrong_answer)):
        sit_through(study, user=annotator(username=person), choose=choose)
    sit_through(study, respondent=model_respondent(study, name="poor"), choose=wrong_answer)
    sit_through(study, respondent=model_respondent(study, name="fair"), choose=mixed)
    result = comparison_build(study=study, norm=norm)
    found = result["norm"]
    assert (result["norm_asked"], len(found["hash"]), found["metric"]) == (norm, 64, "acc_traj")
    seq = rows_of(result)["fair"]["estimates"]["seq"]["value"]
    assert seq == pytest.approx(100 + 15 * max(-4, min(4, (0.5 - found["centre"]) / found["spread"])))


def test_a_norm_is_frozen_and_used_again(client):
    study, ours = sat(speecheq_study(items=4)), researcher()
    client.force_login(ours)
    client.post(reverse("norm_freeze", args=[study.uid]), {"name": "base"})
    frozen = FrozenNorm.objects.get()
    assert (frozen.name, frozen.benchmark, Event.objects.filter(verb="norm_freeze").count()) == ("base", "speecheq", 1)
    before = rows_of(comparison_build(study=study, norm="base"))["fair"]["estimates"]["seq"]
    sit_through(study, respondent=model_respondent(study, name="late"), choose=right_answer)
    assert rows_of(comparison_build(study=study, norm="base"))["fair"]["estimates"]["seq"] == before
    client.post(reverse("norm_freeze", args=[study.uid]), {"name": "base"})
    assert FrozenNorm.objects.count() == 1
    page = client.get(reverse("comparison", args=[study.uid]), {"norm": "base"}).content.decode()
    assert "relative to the frozen norm base" in page


def test_figures_leave_as_svg_csv_and_latex(client):
    study = sat(speecheq_study(items=4))
    client.force_login(researcher())
    for chart in ("leaderboard", "forest", "items", "slots", "cost", "parts"):
        for extra in ({}, {"narrow": "1"}):
            assert client.get(reverse("comparison_chart", args=[study.uid, chart]), extra).content.startswith(b"<svg")
        table = client.get(reverse("comparison_table", args=[study.uid, chart, "csv"])).content.decode()
        lines = list(csv.DictReader(io.StringIO(table)))
        assert lines, chart
        latex = client.get(reverse("comparison_table", args=[study.uid, chart, "tex"])).content.decode()
        assert latex.count(r"\\") == len(lines) + 1
    assert client.get(reverse("comparison_table", args=[study.uid, "forest", "pdf"])).status_code == 404


def test_confusion_is_drawn_for_grades(client):
    study = emosbench_study(items=2)
    sit_through(study, respondent=model_respondent(study))
    client.force_login(researcher())
    assert client.get(reverse("comparison_chart", args=[study.uid, "confusion"])).content.startswith(b"<svg")
    table = client.get(reverse("comparison_table", args=[study.uid, "confusion", "csv"])).content.decode()
    assert "2,2,2,1.0" in table.splitlines()
    assert "Quadratic kappa" in client.get(reverse("comparison", args=[study.uid])).content.decode()


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.857, 0.857], [0.807, 0.907]), ([1.0], [0.95, 1.0]), ([0.2, 0.7], [0.15, 0.75]), ([-1.0, 3.0], [-1.4, 3.4])],
)
def test_the_axis_of_what_an_answer_takes_tells_equal_values_from_the_whole(values, expected):
    rows = [{"name": f"p{n}", "kind": "person", "value": value, "effort": 9.0} for n, value in enumerate(values)]
    svg = cost_svg(rows, cost="Seconds", axis="Right", narrow=False)
    ticks = [float(tick.replace("\N{MINUS SIGN}", "-")) for tick in re.findall(r">([\d.\u2212]+)</text>", svg)]

    assert around(values) == pytest.approx(expected)
    assert ">p0</text>" not in svg
    assert ">m</text>" in cost_svg([{**rows[0], "name": "m", "kind": "model"}], cost="", axis="", narrow=False)
    assert len([tick for tick in ticks if expected[0] <= tick <= expected[1]]) >= 2


def test_an_old_address_is_told_and_keys_are_read_as_words(client):
    study = sat(speecheq_study(items=4))
    client.force_login(researcher())
    address = reverse("comparison", args=[study.uid])

    page = client.get(address).content.decode()
    stale = client.get(address, {"category": "zzz"}).content.decode()

    assert "No item of this study is of" not in page
    assert "No item of this study is of: zzz." in stale
    category = study.split.items.first().dialogue.category
    assert f"<td>{category}</td>" not in page
    assert f"<td>{category_label('speecheq', category)}</td>" in page


def test_names_break_neither_a_spreadsheet_nor_latex():
    figure = Figure("x", ("name", "value"), ({"name": "=1+1 & 50%_", "value": 0.5}, {"name": "b", "value": None}), str)
    assert csv_of(figure).splitlines()[1] == "'=1+1 & 50%_,0.5"
    assert r"=1+1 \& 50\%\_ & 0.500 \\" in latex_of(figure)
    assert r"b & -- \\" in latex_of(figure)


@pytest.mark.parametrize(("back", "found"), [("", "poor"), ("1", "")])
def test_items_apart_both_ways(client, back, found):
    study = speecheq_study(items=2)
    sit_through(study, user=annotator())
    poor = model_respondent(study, name="poor")
    sit_through(study, respondent=poor, choose=wrong_answer)
    client.force_login(researcher())
    page = client.get(reverse("comparison_items", args=[study.uid]), {"model": poor.uid, "back": back}).content.decode()
    uids = [item.dialogue.uid for item in study.split.items.select_related("dialogue")]
    assert all((reverse("comparison_item", args=[study.uid, uid]) in page) is bool(found) for uid in uids)


def test_an_item_is_heard_read_and_tagged(client):
    study = sat(speecheq_study(items=2))
    poor = study.respondents.get(name="poor")
    item = study.split.items.first().dialogue
    client.force_login(researcher())
    address = reverse("comparison_item", args=[study.uid, item.uid])
    page = client.get(address, {"model": poor.uid}).content.decode()
    assert page.count('class="clip"') == 8
    assert page.index("poor") < page.index("Person 1")
    tag = reverse("comparison_tag", args=[study.uid, item.uid])
    for on in ("1", "1", "0", "1"):
        client.post(tag, {"respondent": poor.uid, "tag": "words_only", "on": on})
    assert [row.removed for row in ErrorTag.objects.all()] == [False, True, False]
    assert (
        "went by the words: 1"
        in client.get(reverse("comparison_items", args=[study.uid]), {"model": poor.uid}).content.decode()
    )
    assert client.post(tag, {"respondent": poor.uid, "tag": "made_up", "on": "1"}).status_code == 400
    assert client.post(tag, {"respondent": "nobody", "tag": "slot", "on": "1"}).status_code == 400


def test_an_item_of_another_split_is_not_found(client):
    study, other = speecheq_study(items=1), speecheq_study(items=1)
    client.force_login(researcher())
    uid = other.split.items.first().dialogue.uid
    assert client.get(reverse("comparison_item", args=[study.uid, uid])).status_code == 404


def test_the_checklist_is_filled_in_and_the_unknown_stays_open(client):
    study = sat(speecheq_study(items=3))
    client.force_login(researcher())
    page = client.get(reverse("study_report", args=[study.uid])).content.decode()
    document = client.get(reverse("study_report", args=[study.uid]), {"download": "1"}).content.decode()
    lines = {
        line.split("**")[1]: after.strip()
        for line, after in zip(document.splitlines(), document.splitlines()[1:], strict=False)
        if line.startswith("- **")
    }
    assert len(lines) == 71
    assert (lines["1.1"], lines["0.8"], lines["1.2"], lines["4.1"]) == ("3", "3", "3", "Yes")
    assert {lines[number] for number in ("0.1", "1.9", "2.2", "2.7", "5.1.1", "5.4")} == {"not reported"}
    assert lines["1.10"].startswith("No")
    assert "not reported" in page


def test_rules_are_started_once(client, django_capture_on_commit_callbacks):
    study = speecheq_study(items=2)
    client.force_login(researcher())
    for _ in range(2):
        client.post(reverse("study_rules", args=[study.uid]))
    names = study.respondents.values_list("name", flat=True)
    assert sorted(names) == ["first", "random", "rule-longer", "rule-lower", "rule-quieter"]
    assert set(study.respondents.values_list("kind", flat=True)) == {Respondent.Kind.RULE}
