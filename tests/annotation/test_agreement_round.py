"""The agreement of a round from the database: every grouping, and the same figures from what was kept as from a fresh read."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, ImportedRating, Judgement, MachineRater, Round, Standing
from annotation.selectors import coded, live_judgements, round_agreement
from annotation.selectors.agreement import BY, agreement_groups
from annotation.selectors.coded import round_arrays, round_arrays_fresh
from annotation.selectors.dimensions import round_dimensions
from annotation.selectors.overview import over_time
from annotation.selectors.pairs import differing, pair_cells
from annotation.services import assignment_next, judgement_retract, machine_raters_set
from eqstudio.errors import Conflict, InvalidInput
from tests.annotation.factories import judged_round, round_with, submit
from tests.eqstudio.factories import annotator, researcher

pytestmark = pytest.mark.django_db
K, R = "keep", "reject"


def groups(made, by, dimension="verdict", name="percent_agreement"):
    found = round_agreement(round=made, by=by, names=[name])
    return {group["by"]: group["estimates"][name]["value"] for group in found if group["dimension"] == dimension}


def elsewhere(rows, machines=()):
    made = Round.objects.create(name="elsewhere")
    ImportedRating.objects.bulk_create(
        ImportedRating(round=made, item=item, rater=rater, value=value) for item, rater, value in rows
    )
    MachineRater.objects.bulk_create(MachineRater(round=made, name=name) for name in machines)
    return made


@pytest.mark.every_case
@pytest.mark.parametrize("by", [None, *BY])
def test_every_grouping_has_the_shape_that_is_promised(by):
    made = judged_round(items=2)

    for group in round_agreement(round=made, by=by, names=["alpha_nominal"]):
        assert set(group) == {"by", "dimension", "items", "ratings", "raters", "estimates"}
        assert set(group["estimates"]["alpha_nominal"]) == {"value", "lo", "hi", "n", "reason"}


def test_by_pair_every_two_people_stand_on_the_items_they_share():
    people = [annotator(username=name) for name in ("ann", "bob", "cid")]
    made = judged_round(items=2, people=people)

    assert groups(made, "pair") == {"ann & bob": 1.0, "ann & cid": 0.0, "bob & cid": 0.0}


def test_without_a_person_the_others_remain():
    people = [annotator(username=name) for name in ("ann", "bob", "cid")]
    made = judged_round(items=2, people=people)

    assert groups(made, "without") == {"ann": 0.0, "bob": 0.0, "cid": 1.0}


def test_an_item_belongs_to_the_day_and_week_of_its_latest_judgement(settings):
    settings.TIME_ZONE = "Asia/Shanghai"
    timezone.get_default_timezone.cache_clear()
    try:
        made = judged_round(items=2, verdicts=(K, K), grades=(3, 3))
        first, second = made.items.all()
        late = datetime(2026, 11, 29, 23, 30, tzinfo=UTC)  # Monday morning in Shanghai, Sunday in Greenwich
        _date(first, [late - timedelta(days=3), late])
        _date(second, [late - timedelta(days=3), late - timedelta(hours=20)])

        assert groups(made, "day") == {"2026-11-29": 1.0, "2026-11-30": 1.0}
        assert groups(made, "week") == {"2026-W48": 1.0, "2026-W49": 1.0}
    finally:
        timezone.get_default_timezone.cache_clear()


def _date(item, times):
    with connection.cursor() as cursor:
        for pk, at in zip(item.judgements.order_by("pk").values_list("pk", flat=True), times, strict=True):
            value = Judgement._meta.get_field("created").get_db_prep_value(at, connection)
            cursor.execute("UPDATE annotation_judgement SET created = %s WHERE id = %s", [value, pk])


def test_machines_are_kept_apart_from_people():
    rows = [(str(i), who, "1" if i % 2 else "2") for i in range(6) for who in ("ann", "bob")]
    rows += [(str(i), "gpt", "1") for i in range(6)] + [(str(i), "llm", "1") for i in range(6)]
    made = elsewhere(rows, machines=["gpt", "llm"])

    assert groups(made, None, "rating") == {"rating": 1.0}
    assert groups(made, "kind", "rating") == {
        "people": 1.0,
        "machines": 1.0,
        "gpt with people": 0.5,
        "llm with people": 0.5,
    }
    assert groups(made, "annotator", "rating") == {"ann": 1.0, "bob": 1.0, "gpt": 0.5, "llm": 0.5}
    assert set(groups(made, "without", "rating")) == {"ann", "bob"}


def test_raters_are_marked_as_machines_and_as_people_again(rita):
    made = elsewhere([("1", "ann", "1"), ("1", "gpt", "1")])

    machine_raters_set(round=made, names=["gpt"], actor=rita)
    assert groups(made, None, "rating") == {"rating": None}
    machine_raters_set(round=made, names=[], actor=rita)
    assert groups(made, None, "rating") == {"rating": 1.0}
    with pytest.raises(InvalidInput, match="Nobody called oracle"):
        machine_raters_set(round=made, names=["oracle"], actor=rita)


def test_differences_of_a_pair_come_widest_first():
    made = elsewhere([("a", "ann", "1"), ("a", "bob", "2"), ("b", "ann", "1"), ("b", "bob", "4"), ("c", "ann", "3"), ("c", "bob", "3"), ("d", "ann", "1")])  # fmt: skip
    (dimension,) = round_dimensions(round=made)
    codes = {name: code for code, name in dimension.raters.items()}

    rows = differing(dimension, codes["ann"], codes["bob"])

    assert [(dimension.items[item], first, second) for item, _group, first, second in rows] == [
        ("b", 1, 4),
        ("a", 1, 2),
    ]
    names, cells = pair_cells(dimension, "alpha_interval", most=9)
    cell = cells[codes["ann"], codes["bob"]]
    assert [label for _code, label in names] == ["ann", "bob"]
    assert (cell.shared, cell.differ) == (3, 2)


def test_the_command_knows_every_grouping(capsys):
    made = judged_round(items=1)
    for by in BY:
        call_command("agreement", made.name, "--by", by)
        assert "verdict" in capsys.readouterr().out


PICKS = ("alpha_ordinal", "percent_agreement", "ac1")


def figures(made, arrays):
    dimensions = round_dimensions(round=made, arrays=arrays)
    return agreement_groups(dimensions, names=PICKS, replicates=20)


def act(rng, made, people, now):
    """One thing that people or researchers do: judge, undo, judge late, call a judgement unusable, and take that back."""
    kind = rng.choice(["judge", "judge", "judge", "undo", "late", "standing", "expire"])
    person = rng.choice(people)
    if kind in ("judge", "late"):
        lease = assignment_next(round=made, annotator=person, now=now)
        if lease is not None:
            when = now + timedelta(minutes=25 if kind == "late" else 0)
            submit(lease, verdict=rng.choice([K, R]), grade=rng.randint(1, 4), now=when)
    elif kind == "undo":
        last = live_judgements(round=made).filter(annotator=person).order_by("-pk").first()
        if last is not None:
            judgement_retract(judgement=last, actor=person, now=last.created)
    elif kind == "standing":
        given = Judgement.objects.filter(item__round=made, retracted=False).order_by("?").first()
        if given is not None:
            Standing.objects.create(judgement=given, accepted=True, usable=rng.random() < 0.5, reason="looked at")
    else:
        Assignment.objects.filter(item__round=made, state="active").update(state="expired", ended_at=now)


@pytest.mark.every_case
@pytest.mark.parametrize("seed", range(6))
def test_kept_figures_equal_fresh_ones_through_any_history(seed):
    rng = Random(seed)
    made = round_with(items=3, people_per_item=3, agree_needed=2)
    people = [annotator() for _ in range(4)]
    for step in range(25):
        try:
            act(rng, made, people, timezone.now())
        except Conflict:
            continue
        if rng.random() < 0.6:
            kept, fresh = round_arrays(round=made), round_arrays_fresh(round=made)
            live = sorted(live_judgements(round=made).values_list("pk", flat=True))
            assert kept.pk[kept.live].tolist() == live, step
            assert figures(made, kept) == figures(made, fresh), step


def test_a_row_that_commits_behind_a_later_one_is_not_missed():
    made = judged_round(items=2)
    kept = round_arrays(round=made)
    first = Judgement.objects.filter(item__round=made).order_by("pk").first()
    rows = kept.pk > first.pk
    # as if the first row had not been there on the first look
    coded._kept[made.uid] = coded.replace(
        kept,
        **{name: getattr(kept, name)[rows] for name in ("pk", "assignment", "item", "annotator", "revision", "at", "verdict", "retracted", "named")},
        grades=kept.grades[kept.grades[:, 0] > 0] - [1, 0, 0],
        seen=kept.seen._replace(rows=kept.seen.rows - 1),
    )  # fmt: skip

    again = round_arrays(round=made)

    assert again.pk.tolist() == kept.pk.tolist()
    assert figures(made, again) == figures(made, round_arrays_fresh(round=made))


def test_an_id_that_was_rolled_back_and_given_again_is_read_again():
    made = judged_round(items=1)
    kept = round_arrays(round=made)
    kept.named[-1] = 0
    coded._kept[made.uid] = coded.replace(kept, seen=kept.seen._replace(last_uid="gone"))

    assert round_arrays(round=made).named[-1] != 0


def test_nothing_new_costs_three_queries(django_assert_num_queries):
    made = judged_round(items=1)
    round_arrays(round=made)

    with django_assert_num_queries(3):
        round_arrays(round=made)


def test_the_dashboard_follows_a_submit_and_is_silent_without(client, rita):
    made = round_with(items=2, people_per_item=2, agree_needed=2)
    client.force_login(rita)
    before = client.get(reverse("round", args=[made.uid])).context["seen"]
    address = reverse("round_live", args=[made.uid])
    assert client.get(address, {"seen": before}).status_code == 204

    for _ in range(2):
        submit(assignment_next(round=made, annotator=annotator(), now=timezone.now()))
    after = client.get(address, {"seen": before})

    assert after.status_code == 200
    assert after.context["progress"]["judgements"] == 2
    assert client.get(address, {"seen": after.context["seen"]}).status_code == 204


def test_prevalence_is_explained_where_it_bites(client, rita):
    rows = [(str(i), who, "keep") for i in range(20) for who in ("ann", "bob")]
    rows = [(i, w, "reject" if (i, w) == ("3", "ann") else v) for i, w, v in rows]
    made = elsewhere(rows)
    client.force_login(rita)

    html = client.get(reverse("round", args=[made.uid])).content.decode()

    assert "People agree in 95 % of pairs, and alpha is 0.00 all the same: 98 % of all ratings are keep" in html
    assert "AC1, which chance inflates less here, is 0.95" in html


def test_no_word_about_prevalence_where_there_is_none(client, rita):
    rows = [(str(i), who, "keep" if i % 2 else "reject") for i in range(20) for who in ("ann", "bob")]
    client.force_login(rita)

    html = client.get(reverse("round", args=[elsewhere(rows).uid])).content.decode()

    assert "all the same" not in html


def test_the_matrix_leads_to_the_items_two_people_differ_on(client, rita):
    ann, cid = annotator(username="ann"), annotator(username="cid")
    made = judged_round(items=2, verdicts=(K, R), grades=(4, 1), people=[ann, cid])
    client.force_login(rita)

    matrix = client.get(reverse("round_matrix", args=[made.uid]), {"question": "verdict"}).content.decode()
    pair = client.get(reverse("round_pair", args=[made.uid]), {"question": "verdict", "a": ann.pk, "b": cid.pk})

    assert f"a={ann.pk}&amp;b={cid.pk}" in matrix
    assert "2 shared" in matrix
    html = pair.content.decode()
    assert len(pair.context["rows"]) == 2
    for item in made.items.all():
        assert reverse("adjudicate", args=[item.uid]) in html
    assert client.get(reverse("round_pair", args=[made.uid]), {"a": "x", "b": "y"}).status_code == 400


@pytest.mark.parametrize("by", ["", "category", "language", "annotator", "without", "pair", "week", "day", "kind"])
def test_the_state_of_the_agreement_page_is_its_address(client, rita, by):
    made = judged_round(items=2)
    client.force_login(rita)

    answer = client.get(reverse("round_agreement", args=[made.uid]), {"question": "verdict", "by": by})

    assert (answer.context["chosen"], answer.context["by"]) == ("verdict", by)
    assert answer.context["groups"]


def test_round_pages_are_constant_in_queries(client, rita):
    client.force_login(rita)
    made = [judged_round(items=n, verdicts=(K, R), grades=(4, 1)) for n in (1, 3)]
    for name in ("round", "round_live", "round_agreement", "round_matrix", "round_items"):
        counts = []
        for one in made:
            client.get(reverse(name, args=[one.uid]))
            with CaptureQueriesContext(connection) as captured:
                client.get(reverse(name, args=[one.uid]))
            counts.append(len(captured))
        assert counts[0] == counts[1], name


@pytest.mark.parametrize("dimension", ["grade", "verdict"])
def test_a_pair_has_one_interval_wherever_it_stands(dimension):
    people = [annotator(username=name) for name in ("ann", "bob")]
    made = round_with(items=6, people_per_item=2)
    dice = Random(3)
    for person in people:
        while (found := assignment_next(round=made, annotator=person, now=timezone.now())) is not None:
            submit(found, grade=dice.randint(1, 4), verdict=dice.choice([K, R]))
    (chosen,) = [one for one in round_dimensions(round=made) if one.name == dimension]
    name = "alpha_ordinal" if dimension == "grade" else "alpha_nominal"

    _names, cells = pair_cells(chosen, name, most=10)
    (cell,) = {cell.estimate for cell in cells.values()}
    (pair,) = agreement_groups([chosen], by="pair")
    (whole,) = agreement_groups([chosen])
    latest = over_time(chosen, name)[-1]["estimate"]

    assert cell.as_dict() == pair["estimates"][name] == whole["estimates"][name] == latest.as_dict()
    assert cell.lo < cell.hi


def test_one_dialogue_is_told_as_without_an_interval_and_versions_are_called_so(client):
    made = judged_round(items=1, grades=(3, 2, 1))
    client.force_login(researcher())

    grades = client.get(reverse("round_agreement", args=[made.uid])).content.decode()
    verdicts = client.get(reverse("round_agreement", args=[made.uid]), {"question": "verdict"}).content.decode()

    assert "no interval: one dialogue" in grades
    assert 'class="num">Versions</th>' in grades
    assert 'class="num">Items</th>' in verdicts


def test_a_chart_without_a_point_is_told_and_not_drawn(client):
    made = judged_round(items=1, verdicts=(K, K), grades=(3, 3))
    drawn = judged_round(items=2)
    client.force_login(researcher())

    page = client.get(reverse("round", args=[made.uid])).content.decode()

    assert "undefined so far on every day" in page
    assert "over-time.svg" not in page
    shown = client.get(reverse("round", args=[drawn.uid])).content.decode()
    assert shown.count("over-time.svg") == len(("for a phone", "for a desk", "to download"))
