"""Rating rationales: who meets what, what is hidden, what is stored and what comes of it."""

import csv
import io
import json
from collections import Counter
from datetime import timedelta
from itertools import combinations

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from eqstudio.benchmarks.base import Trial
from eqstudio.errors import Conflict, InvalidInput
from evaluation.domain.rationales import rationale_of
from evaluation.models import Arena, Panel, PanelSystem, RatingSheet, RationaleRating, Sitting
from evaluation.services import response_record, sitting_open, trial_next
from evaluation.services.arena_results import arena_results
from evaluation.services.arenas import arena_create, arena_set_open, clips_to_hear, panel_next, panel_rate
from tests.eqstudio.factories import annotator, researcher
from tests.evaluation.factories import heard_all, model_respondent, right_answer, speecheq_study, wrong_answer

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def answered(study, name, choose=right_answer, reason="{name} says: option A sounds warm."):
    """A system that gives its reason with every answer."""
    respondent = model_respondent(study, name=name)
    sitting = sitting_open(study=study, respondent=respondent)
    while (record := trial_next(sitting=sitting)) is not None:
        raw = {"reason": reason.format(name=f"secret-{name}"), "answer": choose(record)}
        response_record(trial=record, raw=json.dumps(raw), heard=heard_all(record))
    return respondent


@pytest.fixture
def study():
    return speecheq_study(items=4)


@pytest.fixture
def systems(study):
    return [
        answered(study, name, choose) for name, choose in zip("abcd", [right_answer, wrong_answer] * 2, strict=True)
    ]


@pytest.fixture
def arena(study, systems):
    return arena_create(study=study, name="reasons", respondents=systems, per_panel=2, wanted=3)


def heard(panel):
    return {uid: [[0.0, 1000.0]] for uid, _name in clips_to_hear(panel)}


def rate(panel, values=(7, 4), **fields):
    given = {str(place): value for place, value in enumerate(values)}
    return panel_rate(panel=panel, values=given, client_key="k", heard=fields.pop("heard", heard(panel)), **fields)


def test_an_arena_asks_what_all_its_systems_answered_with_a_reason(study, systems):
    silent = model_respondent(study, name="silent")
    sitting = sitting_open(study=study, respondent=silent)
    while (record := trial_next(sitting=sitting)) is not None:
        said = {"answer": right_answer(record)} | ({"reason": "so"} if record.key == "s4" else {})
        response_record(trial=record, raw=json.dumps(said), heard=heard_all(record))
    arena = arena_create(study=study, name="some", respondents=[systems[0], silent], per_panel=2, wanted=1)
    assert set(arena.questions.values_list("key", flat=True)) == {"s4"}
    assert arena.questions.count() == 4


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"per_panel": 1}, "per_panel"), ({"per_panel": 5}, "per_panel"), ({"wanted": 0}, "wanted")],
)
def test_a_wrong_arena_names_its_field(study, systems, fields, field):
    with pytest.raises(InvalidInput) as caught:
        arena_create(**{"study": study, "name": "x", "respondents": systems, "per_panel": 2, "wanted": 1, **fields})
    assert caught.value.field == field


def test_one_system_people_and_a_taken_name_are_refused(study, systems, arena):
    with pytest.raises(InvalidInput):
        arena_create(study=study, name="x", respondents=systems[:1], per_panel=2, wanted=1)
    with pytest.raises(InvalidInput):
        arena_create(study=speecheq_study(), name="x", respondents=systems, per_panel=2, wanted=1)
    with pytest.raises(Conflict):
        arena_create(study=study, name=arena.name, respondents=systems, per_panel=2, wanted=1)


def rate_all(arena, people=6):
    """Everybody rates until nothing is left for them."""
    for number in range(people):
        user = annotator(username=f"rater{number}")
        while (panel := panel_next(arena=arena, user=user, now=NOW)) is not None:
            rate(panel, values=(9, 3) if number % 2 else (8, 8))


def test_places_systems_and_pairs_are_shared_out_equally(arena):
    rate_all(arena)
    rated = Panel.objects.filter(state="rated")
    assert rated.count() == arena.questions.count() * 3 == 24
    assert Counter(rated.values_list("question", flat=True)) == dict.fromkeys(
        arena.questions.values_list("pk", flat=True), 3
    )
    pairs = Counter(
        tuple(sorted(panel.systems.values_list("respondent", flat=True))) for panel in rated.prefetch_related("systems")
    )
    assert set(pairs.values()) == {4}
    assert len(pairs) == len(list(combinations(range(4), 2)))
    shown = Counter(PanelSystem.objects.values_list("respondent", flat=True))
    assert set(shown.values()) == {12}


def test_nobody_meets_an_item_twice(arena):
    rate_all(arena, people=8)
    met = Counter(Panel.objects.values_list("rater", "dialogue"))
    assert set(met.values()) == {1}


def test_a_place_is_reserved_while_somebody_is_on_it_and_comes_back_when_they_leave(study, systems):
    arena = arena_create(study=study, name="one", respondents=systems, per_panel=2, wanted=1)
    people = [annotator(username=f"p{n}") for n in range(9)]
    held = [panel_next(arena=arena, user=user, now=NOW) for user in people]
    assert [panel is None for panel in held] == [False] * 8 + [True]
    assert len({panel.question_id for panel in held[:8]}) == 8
    later = NOW + timedelta(minutes=31)
    assert panel_next(arena=arena, user=people[8], now=later) is not None
    assert Panel.objects.filter(state="expired").count() == 8


def test_who_comes_back_goes_on_with_the_same_panel(arena):
    user = annotator()
    first = panel_next(arena=arena, user=user, now=NOW)
    assert panel_next(arena=arena, user=user, now=NOW + timedelta(minutes=5)) == first
    assert panel_next(arena=arena, user=user, now=NOW + timedelta(hours=5)) == first


def test_what_comes_after_the_lease_ran_out_is_kept(study, systems):
    arena = arena_create(study=study, name="one", respondents=systems, per_panel=2, wanted=1)
    late, other = annotator(username="late"), annotator(username="other")
    panel = panel_next(arena=arena, user=late, now=NOW)
    for number in range(7):
        panel_next(arena=arena, user=annotator(username=f"p{number}"), now=NOW + timedelta(minutes=1))
    taken = panel_next(arena=arena, user=other, now=NOW + timedelta(minutes=30, seconds=30))
    assert taken.question_id == panel.question_id
    rate(Panel.objects.get(pk=panel.pk))
    rate(taken)
    assert RatingSheet.objects.count() == 2
    assert sorted(Panel.objects.filter(question=panel.question, state="rated").values_list("slot", flat=True)) == [0, 1]


def test_the_database_holds_the_promises(arena):
    user = annotator()
    panel = panel_next(arena=arena, user=user, now=NOW)
    same = {
        "arena": arena,
        "question": panel.question,
        "dialogue": panel.dialogue,
        "lease_until": NOW,
    }
    for wrong in ({**same, "rater": user, "slot": 5}, {**same, "rater": annotator(username="b"), "slot": panel.slot}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Panel.objects.create(**wrong)
    sheet = rate(panel)
    with pytest.raises(IntegrityError), transaction.atomic():
        RationaleRating.objects.create(sheet=sheet, respondent=model_respondent(arena.study, name="new"), value=11)
    with pytest.raises(TypeError):
        RationaleRating.objects.all().delete()


@pytest.mark.parametrize(
    "values", [{"0": 5}, {"0": 5, "1": 11}, {"0": 5, "1": 0}, {"0": 5, "1": 5, "2": 5}, {"0": True, "1": 5}]
)
def test_every_rationale_needs_a_rating_on_the_scale(arena, values):
    panel = panel_next(arena=arena, user=annotator(), now=NOW)
    with pytest.raises(InvalidInput) as caught:
        panel_rate(panel=panel, values=values, client_key="k", heard=heard(panel))
    assert caught.value.field.startswith("values")
    assert not RatingSheet.objects.exists()


def test_what_was_not_heard_is_named(arena):
    panel = panel_next(arena=arena, user=annotator(), now=NOW)
    with pytest.raises(InvalidInput, match="Still to hear"):
        rate(panel, heard={})


def test_ratings_sent_twice_are_stored_once(arena):
    panel = panel_next(arena=arena, user=annotator(), now=NOW)
    assert rate(panel, (7, 4)) == rate(panel, (1, 1))
    assert sorted(RationaleRating.objects.values_list("value", flat=True)) == [4, 7]


def test_a_closed_arena_takes_nothing_more(arena):
    user = annotator()
    panel = panel_next(arena=arena, user=user, now=NOW)
    assert arena_set_open(arena=arena, is_open=False, actor=researcher())
    with pytest.raises(Conflict):
        rate(panel)
    with pytest.raises(Conflict):
        panel_next(arena=arena, user=user, now=NOW)


def test_options_are_called_differently_for_different_people(arena):
    labels = {
        tuple(sorted(panel_next(arena=arena, user=annotator(username=f"p{n}"), now=NOW).labels.values()))
        for n in range(9)
    }
    assert labels == {("P", "Q")}
    right_first = Counter(
        panel.labels[panel.dialogue.turns.get(position=4).variants.get(label="high").uid]
        for panel in Panel.objects.filter(question__key="s4")
    )
    assert len(right_first) == 2


def test_ranks_and_agreement_come_out(arena):
    rate_all(arena)
    result = arena_results(arena=arena)
    assert (result["raters"], result["panels"], result["ratings"], result["wanted"]) == (6, 24, 48, 24)
    assert (result["comparisons"], result["ties"]) == (24, sum(1 for panel in Panel.objects.all() if _tied(panel)))
    values = {}
    for respondent, value in RationaleRating.objects.values_list("respondent__name", "value"):
        values.setdefault(respondent, []).append(value)
    assert {one["name"]: one["mean"]["value"] for one in result["systems"]} == pytest.approx(
        {name: sum(found) / len(found) for name, found in values.items()}
    )
    assert result["agreement"]["alpha_ordinal"]["value"] is not None
    assert arena_results(arena=arena) == result


def _tied(panel):
    found = set(panel.sheet.ratings.values_list("value", flat=True))
    return len(found) == 1


def test_who_can_read_the_key_is_kept_out_unless_asked_for(arena):
    rate(panel_next(arena=arena, user=researcher(), now=NOW))
    rate(panel_next(arena=arena, user=annotator(), now=NOW))
    assert (arena_results(arena=arena)["raters"], arena_results(arena=arena)["key_access"]) == (1, 1)
    assert arena_results(arena=arena, with_key=True)["raters"] == 2


@pytest.mark.parametrize(
    ("raw", "paradata", "expected"),
    [
        ('{"reason": "warm voice", "answer": "A"}', {}, "warm voice"),
        ('{"reasoning": "warm \\"voice\\"", "selected": "option1"', {}, 'warm "voice"'),
        ('{"selected": "option1"}', {"reasoning": "kept apart"}, "kept apart"),
        ("It sounds warm.\nANSWER: B", {}, "It sounds warm."),
        ("<think>hm</think>B", {}, ""),
        ('{"answer": "A"}', {}, ""),
    ],
)
def test_the_reason_is_found_and_not_rewritten(raw, paradata, expected):
    assert rationale_of(raw, paradata) == expected


def page_of(client, arena, user):
    client.force_login(user)
    return client.get(reverse("arena_rate", args=[arena.uid])).content.decode()


def test_the_page_tells_neither_whose_a_reason_is_nor_who_is_right(client, study):
    systems = [
        answered(study, name, choose, "The voice is warm.")
        for name, choose in (("alpha-model", right_answer), ("beta-model", wrong_answer))
    ]
    arena = arena_create(study=study, name="blind", respondents=systems, per_panel=2, wanted=3)
    page = page_of(client, arena, annotator())
    for told in ("alpha-model", "beta-model", *(one.uid for one in systems), "high", "low", "correct", "right answer"):
        assert told not in page.split('id="scales-question"')[1].split("</form>")[0]
    assert page.count("The voice is warm.") == 2
    assert page.count("chose") == 2


def test_names_of_options_in_a_text_are_told_and_not_rewritten(client, arena):
    user = annotator()
    page = page_of(client, arena, user)
    panel = Panel.objects.get(rater=user)
    assert "option A sounds warm." in page
    first = panel.systems.first()
    record = first.respondent.sittings.get().trials.get(dialogue=panel.dialogue, key=panel.question.key)
    for place, option in enumerate(Trial.from_dict(record.shown).options, 1):
        assert f"{option.letter} or {place} is {panel.labels[option.variant]}" in page


def body(panel, **changes):
    paradata = {"shown_at": "x", "submitted_at": "y"}
    sent = {
        "about": panel.uid,
        "client_key": "c1",
        "values": {"0": 8, "1": 3},
        "heard": heard(panel),
        "paradata": paradata,
    }
    return json.dumps({**sent, **changes})


def test_ratings_sent_by_the_page_are_stored_and_the_next_question_comes(client, arena):
    user = annotator()
    page_of(client, arena, user)
    panel = Panel.objects.get(rater=user)
    address = reverse("arena_submit", args=[arena.uid])
    answer = client.post(address, body(panel, comment="hm"), content_type="application/json").json()
    assert answer["page"] == arena.uid
    assert Panel.objects.filter(rater=user).count() == 2
    assert RatingSheet.objects.get().comment == "hm"
    refused = client.post(
        address, body(Panel.objects.get(rater=user, state="leased"), values={"0": 3}), content_type="application/json"
    )
    assert refused.status_code in {400, 422}
    client.force_login(annotator(username="somebody-else"))
    assert client.post(address, body(panel), content_type="application/json").status_code == 404


def test_the_page_says_when_nothing_is_left(client, arena):
    user = annotator()
    for _question in range(4):
        rate(panel_next(arena=arena, user=user, now=NOW))
    assert "Nothing is left to rate" in page_of(client, arena, user)


def test_only_systems_with_answers_are_offered(client, study, systems):
    cancelled = answered(study, "cancelled", right_answer)
    cancelled.sittings.update(state="cancelled")
    silent = model_respondent(study, name="silent")
    sitting_open(study=study, respondent=silent)
    failed = model_respondent(study, name="failed")
    record = trial_next(sitting=sitting_open(study=study, respondent=failed))
    response_record(trial=record, raw="", failure="error", error="no credit", heard={})
    client.force_login(researcher())

    form = client.get(reverse("arenas", args=[study.uid])).context["form"]

    assert list(form.fields["respondents"].queryset) == systems


def test_a_researcher_opens_an_arena_reads_the_standings_and_closes_it(client, study, systems):
    client.force_login(researcher())
    form = {"name": "mine", "respondents": [one.uid for one in systems], "per_panel": 2, "wanted": 2}
    address = reverse("arenas", args=[study.uid])
    assert client.post(address, {**form, "per_panel": 9}).status_code == 422
    page = client.post(address, form, follow=True).content.decode()
    assert "undefined: nothing was rated" in page
    arena = Arena.objects.get()
    rate_all(arena, people=4)
    page = client.get(reverse("arena", args=[arena.uid])).content.decode()
    assert "16 of 16 places rated" in " ".join(page.split())
    assert client.get(reverse("arena_chart", args=[arena.uid, "strength"])).content.startswith(b"<svg")
    assert client.get(reverse("arena_figure", args=[arena.uid, "mean", "png"])).content.startswith(b"\x89PNG")
    assert client.get(reverse("arena_figure", args=[arena.uid, "mean", "csv"])).content.startswith(
        b"name,value,lo,hi,n"
    )
    assert client.get(reverse("arena_figure", args=[arena.uid, "mean", "pdf"])).status_code == 404
    rows = csv_of(client.get(reverse("arena_csv", args=[arena.uid, "ratings"])))
    assert len(rows) == 32
    assert {row["system"] for row in rows} == {"a", "b", "c", "d"}
    assert not {"rater0", "rater1"} & {row["rater"] for row in rows}
    assert client.get(reverse("arena_csv", args=[arena.uid, "nothing"])).status_code == 404
    client.post(reverse("arena_state", args=[arena.uid]), {"open": "0"})
    assert not Arena.objects.get().is_open
    client.force_login(annotator(username="late"))
    assert client.get(reverse("arena_rate", args=[arena.uid])).status_code == 403


def csv_of(response):
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


def test_an_annotator_finds_open_arenas_at_home(client, arena):
    client.force_login(annotator())
    assert reverse("arena_rate", args=[arena.uid]) in client.get(reverse("home")).content.decode()


def test_a_cancelled_run_is_no_contender(study, systems):
    Sitting.objects.filter(respondent=systems[0]).update(state="cancelled")
    with pytest.raises(InvalidInput):
        arena_create(study=study, name="x", respondents=systems[:2], per_panel=2, wanted=1)
