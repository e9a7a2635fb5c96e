"""The pages about people, flags, gold and one's own work."""

import csv
import io

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.forms.quality import QualityForm
from annotation.models import Flag, GoldAnswer, Participation, Standing
from annotation.quality_words import FLAGS, evidence_words, place_words
from annotation.services import item_adjudicate
from annotation.services.participations import participation_pause
from annotation.views.csv_files import cell
from annotation.views.drift_chart import drift_chart
from eqstudio.models import Event
from tests.annotation.factories import judged_round, round_with
from tests.annotation.quality import answer_special, known_item, place, quality_round, variant_uids, work
from tests.eqstudio.factories import annotator
from tests.generation.factories import CorpusFactory, speecheq_dialogue

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead(client, rita):
    client.force_login(rita)
    return client


def text(response):
    return response.content.decode()


@pytest.fixture
def flagged(alice):
    """A round in which Alice answered twice and was too fast once."""
    made = quality_round(items=2, quality={"fastest_share": 0.4})
    place(made, alice)
    work(made, alice, 1, active_ms=600_000)
    work(made, alice, 1, active_ms=0)
    return made


def test_people_are_listed_with_their_figures(lead, alice, flagged):
    page = lead.get(reverse("round_people", args=[flagged.uid]))

    assert page.status_code == 200
    (row, chip), *_ = page.context["rows"]
    assert (row.annotator, row.judgements, row.flags, chip) == (alice, 2, 1, "good")
    assert reverse("round_person", args=[flagged.uid, alice.uid]) in text(page)
    assert "undefined: nobody else graded the same" in text(page)


def test_a_round_without_people_says_how_they_come(lead):
    page = lead.get(reverse("round_people", args=[round_with().uid]))

    assert "Nobody yet" in text(page)


def test_inviting_from_the_page(lead, flagged):
    guest = annotator()
    address = reverse("round_invite", args=[flagged.uid])

    assert lead.post(address, {"person": guest.uid}).url == reverse("round_people", args=[flagged.uid])
    assert flagged.participations.get(annotator=guest).state == "invited"
    assert lead.post(address, {"person": "nobody"}).status_code == 400


def test_one_person_whole(lead, alice, flagged):
    page = lead.get(reverse("round_person", args=[flagged.uid, alice.uid]))

    assert page.status_code == 200
    assert str(FLAGS["speed"]) in text(page)
    assert "by the clock" in text(page)
    assert len(page.context["judgements"]) == 2
    assert lead.get(reverse("round_person", args=[flagged.uid, annotator().uid])).status_code == 404


def test_drift_is_drawn_from_what_others_said(lead):
    people = [annotator(), annotator()]
    made = judged_round(items=3, verdicts=("keep", "keep"), grades=(4, 3), people=people)

    page = lead.get(reverse("round_person", args=[made.uid, people[0].uid]))

    (point,) = page.context["chart"]["points"]
    assert point["text"] == "1\N{EN DASH}3"
    assert [line["text"] for line in page.context["chart"]["lines"]] == ["+1.0", "0", "-1.0"]
    assert point["y"] == page.context["chart"]["lines"][0]["y"]  # a whole grade milder
    assert '<svg class="drift"' in text(page)
    assert drift_chart(page.context["drift"].__class__([], page.context["drift"].trend)) is None


def test_pausing_and_letting_go_on(lead, alice, flagged):
    address = reverse("round_person_state", args=[flagged.uid, alice.uid])

    assert lead.post(address, {"action": "pause", "note": ""}).status_code == 400
    lead.post(address, {"action": "pause", "note": "Please write to me."})
    assert place(flagged, alice).state == "paused"
    lead.post(address, {"action": "resume", "note": "Thank you."})
    assert (place(flagged, alice).state, place(flagged, alice).note) == ("active", "Thank you.")
    lead.post(address, {"action": "remove", "note": ""})
    assert place(flagged, alice).reason == "removed"
    assert lead.post(address, {"action": "delete"}).status_code == 400


def test_pausing_somebody_invited_does_not_begin_their_training(lead):
    made, guest = quality_round(quality={"training": True}), annotator()
    lead.post(reverse("round_invite", args=[made.uid]), {"person": guest.uid})

    lead.post(reverse("round_person_state", args=[made.uid, guest.uid]), {"action": "pause", "note": "wait"})
    lead.post(reverse("round_person_state", args=[made.uid, guest.uid]), {"action": "resume", "note": ""})

    assert Participation.objects.get(annotator=guest).state == "invited"


def test_deciding_a_flag_keeps_its_judgement_and_takes_it_out_of_the_figures(lead, alice, flagged):
    flag = Flag.objects.get()
    address = reverse("flag_decide", args=[flag.uid])

    assert lead.post(address, {"decision": "uphold"}).status_code == 400
    answer = lead.post(address, {"decision": "uphold", "reason": "skipped through", "unusable": "on"})
    assert answer.url == reverse("round_person", args=[flagged.uid, alice.uid])
    flag.refresh_from_db()
    assert (flag.state, Standing.objects.get().usable, Standing.objects.get().accepted) == ("upheld", False, True)
    assert "skipped through" in text(lead.get(answer.url))
    assert lead.post(address, {"decision": "dismiss", "reason": "no"}).status_code == 409


def test_setting_what_a_judgement_counts_for(lead, alice, flagged):
    judgement = alice.judgements.first()
    address = reverse("judgement_standing", args=[judgement.uid])

    assert lead.post(address, {"usable": "on"}).status_code == 400
    lead.post(address, {"usable": "on", "reason": "not finished"})

    standing = Standing.objects.get()
    assert (standing.accepted, standing.usable, standing.reason) == (False, True, "not finished")


def test_checking_again_from_the_page(lead, alice, flagged):
    Flag.objects.all().delete()

    lead.post(reverse("round_person_recheck", args=[flagged.uid, alice.uid]))

    assert Flag.objects.get().code == "speed"


def table(response):
    return list(csv.DictReader(io.StringIO(text(response).removeprefix("\ufeff"))))


def test_the_table_of_people_comes_as_csv(lead, alice, flagged):
    alice.display_name = "=HYPERLINK(1)"
    alice.save(update_fields=["display_name"])

    (row,) = table(lead.get(reverse("round_people_csv", args=[flagged.uid])))

    assert row["person"] == "'=HYPERLINK(1)"
    assert (row["judgements"], row["active_minutes"], row["open_flags"]) == ("2", "10.0", "1")
    assert row["severity"] == ""
    assert row["last_utc"].endswith("+00:00")
    assert text(lead.get(reverse("round_people_csv", args=[flagged.uid]) + "?bom=1")).startswith("\ufeff")


def test_minutes_to_pay_come_as_csv_for_a_period(lead, flagged):
    address = reverse("round_pay_csv", args=[flagged.uid])
    today = timezone.localdate().isoformat()

    (row,) = table(lead.get(address, {"start": today, "end": today}))
    assert (row["minutes"], row["minutes_work"], row["accepted"]) == ("10.0", "10.0", "2")
    assert row["from_utc"].endswith("+00:00")
    assert table(lead.get(address, {"end": "2020-01-01"})) == []
    assert lead.get(address, {"start": "yesterday"}).status_code == 400


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+49", "'+49"),
        ("-x", "'-x"),
        ("@me", "'@me"),
        ("\tx", "'\tx"),
        ("Mei", "Mei"),
        (-0.51239, -0.5124),
        (-3, -3),
        (None, ""),
    ],
)
def test_cells_run_nothing(value, written):
    assert cell(value) == written


# Gold


def test_the_gold_page_tells_what_is_missing_and_what_can_be_taken_over(lead, rita):
    made = judged_round(items=1, verdicts=("keep", "keep", "reject"), agree_needed=3)
    made.quality = {"training": True, "qualification_pass": 0.5, "gold_first": 1}
    made.save(update_fields=["quality"])
    item = made.items.get()
    item_adjudicate(item=item, verdict="keep", reason="clear", actor=rita)
    address = reverse("round_gold", args=[made.uid])

    before = lead.get(address)
    assert len(before.context["missing"]) == 3
    assert list(before.context["decided"]) == [item]

    lead.post(reverse("gold_from_decision", args=[item.uid]))

    after = lead.get(address)
    assert [row.item for row, _category in after.context["rows"]] == [item]
    assert len(after.context["missing"]) == 2
    assert after.context["decided"] == []


def test_a_dialogue_is_added_by_its_code(lead):
    made = quality_round()
    dialogue = speecheq_dialogue(corpus=CorpusFactory())
    address = reverse("gold_new", args=[made.uid]) + f"?dialogue={dialogue.uid}"
    first, *_others = variant_uids(dialogue)

    page = lead.get(address)
    assert page.status_code == 200
    assert len(page.context["form"].grade_fields()) == 4
    wrong = lead.post(address, {"kind": "gold", "verdict": "", "tolerance": "1"})
    assert (wrong.status_code, made.items.count()) == (422, 0)
    lead.post(address, {"kind": "training", "verdict": "keep", "tolerance": "0", f"grade-{first}": "4"})

    answer = GoldAnswer.objects.get()
    assert (answer.verdict, answer.grades, answer.tolerance, answer.item.kind) == ("keep", {first: 4}, 0, "training")
    assert lead.get(address).url == reverse("gold_edit", args=[answer.item.uid])
    assert lead.get(reverse("gold_new", args=[made.uid]) + "?dialogue=none").status_code == 404


def test_a_known_answer_is_edited_and_taken_away(lead):
    made = quality_round()
    item = known_item(made)
    address = reverse("gold_edit", args=[item.uid])

    assert lead.get(address).context["form"]["verdict"].value() == "keep"
    lead.post(address, {"kind": "qualification", "verdict": "reject", "tolerance": "2", "explanation": "hiss"})
    item.refresh_from_db()
    assert item.kind == "qualification"
    assert GoldAnswer.objects.first().explanation == "hiss"

    remove = reverse("gold_remove", args=[item.uid])
    assert lead.post(remove, {"reason": ""}).status_code == 400
    lead.post(remove, {"reason": "unclear"})
    assert "taken away" in text(lead.get(reverse("round_gold", args=[made.uid])))


def test_an_item_at_work_stays_work_in_the_editor(lead, alice):
    made = round_with(items=1)
    item = made.items.get()
    work(made, alice, 1)

    answer = lead.post(reverse("gold_edit", args=[item.uid]), {"kind": "gold", "verdict": "keep", "tolerance": "1"})

    assert answer.status_code == 422
    assert "at work on this item" in text(answer)


# The form of the rules


def test_the_rules_form_starts_recommended_and_gives_what_a_round_stores():
    fresh = QualityForm()
    sent = {name: field.initial for name, field in fresh.fields.items()} | fresh.initial
    sent = {name: value for name, value in sent.items() if value is not False}
    form = QualityForm({**sent, "gold_pass": 80, "training": "on"})

    assert form.is_valid(), form.errors
    assert (form.quality()["gold_pass"], form.quality()["training"], form.quality()["headphones"]) == (0.8, True, False)
    assert sum(len(fields) for _title, fields in form.groups()) == len(form.fields)
    assert form.title == "Judges"
    assert QualityForm(rules=form.quality()).initial["gold_pass"] == 80


def test_the_rules_form_says_which_rule_is_wrong():
    fresh = QualityForm()
    form = QualityForm({**fresh.initial, "gold_every": 1, "headphones": "on"})

    assert list(form.errors) == ["gold_every"]


def test_the_rules_of_a_round_are_set_on_their_page(lead):
    made = round_with()
    address = reverse("round_rules", args=[made.uid])
    page = lead.get(address)
    sent = {name: value for name, value in page.context["form"].initial.items() if value is not False}

    assert "Nothing is asked of judges yet" in text(page)
    assert lead.post(address, {**sent, "gold_every": 1}).status_code == 422
    assert lead.post(address, {**sent, "gold_first": 5}).url == reverse("round_gold", args=[made.uid])
    made.refresh_from_db()
    assert (made.quality["gold_first"], made.quality["gold_every"]) == (5, 15)

    told = Event.objects.filter(verb="set the rules for judges")
    assert told.get().detail["gold_first"] == 5
    lead.post(address, {**sent, "gold_first": 5})
    assert told.count() == 1


# One's own work, and the words of a pause


def test_my_work_tells_a_pause_in_plain_words(client, alice, rita):
    made = quality_round(gold=3, quality={"gold_first": 3, "gold_pass": 0.7, "auto_pause": True})
    for grade in (1, 3, 1):
        answer_special(made, alice, grade=grade)
    client.force_login(alice)

    for name in ("my_work", "home"):
        page = text(client.get(reverse(name)))
        assert "You met it in 1 of 3; this round asks for 70 %." in page
        assert "Everything you submitted is kept" in page


def test_my_work_without_any(client, alice):
    client.force_login(alice)

    assert "Nothing yet" in text(client.get(reverse("my_work")))


def test_an_invitation_stands_on_the_home_page(client, lead, alice, flagged):
    made = quality_round()
    lead.post(reverse("round_invite", args=[made.uid]), {"person": alice.uid})
    client.force_login(alice)

    assert f"You are invited to {made.name}" in text(client.get(reverse("home")))


@pytest.mark.parametrize(
    "reason", ["", "researcher", "removed", "gold_low", "flags", "training", "qualification", "invitation", "unknown"]
)
@pytest.mark.parametrize("state", ["paused", "unqualified"])
def test_every_reason_has_words(reason, state):
    words = place_words(Participation(state=state, reason=reason, evidence={}))

    assert all(words)
    assert place_words(Participation(state="active")) is None


@pytest.mark.parametrize("code", [*FLAGS, "another"])
def test_every_flag_has_words_for_its_evidence(code):
    assert "%" not in evidence_words(code, {"right": 1}).replace("0 %", "")


def test_the_note_of_a_researcher_is_read_by_the_person(client, alice, rita):
    made = quality_round()
    participation_pause(participation=place(made, alice), actor=rita, note="Could you listen to the end?")
    client.force_login(alice)

    assert "Could you listen to the end?" in text(client.get(reverse("my_work")))
