import pytest
from django.urls import reverse

from eqstudio.errors import Conflict, IllegalMove, InvalidInput
from eqstudio.models import Event
from generation.domain.lifecycle import DialogueState
from generation.models import Dialogue, ProviderCall, QcReport, Take, Variant
from generation.providers.scripted import Behaviour
from generation.providers.text.fake import FakeText
from generation.providers.transcriber.fake import FakeTranscriber
from generation.providers.voice.fake import FakeVoice
from generation.selectors import dialogue_detail
from generation.services import dialogue_move, dialogue_settle, dialogues_retry
from tests.generation.factories import CorpusFactory, speecheq_dialogue
from tests.generation.pipeline import advance, one_briefed

pytestmark = pytest.mark.django_db


def flagged() -> Dialogue:
    FakeTranscriber.script.append(Behaviour.RUBBISH)
    dialogue = advance(one_briefed(), times=3)
    assert dialogue.state == "flagged"
    return dialogue


def test_words_heard_otherwise_flag_the_dialogue_and_say_which_line():
    dialogue = flagged()

    finding = QcReport.objects.get(dialogue=dialogue, passed=False)

    assert (finding.check_name, finding.variant.turn.position, finding.threshold) == ("transcript", 1, 0.05)
    assert finding.value > 0.05
    assert finding.detail["heard"].startswith("thank you for watching")
    assert Event.objects.filter(entity="dialogue", verb="moved").order_by("pk").last().detail["reason"] == "transcript"


def test_every_clip_and_pair_has_its_findings():
    dialogue = advance(one_briefed(), times=3)

    findings = QcReport.objects.filter(dialogue=dialogue)
    checks = {(finding.check_name, finding.variant is None) for finding in findings}

    assert checks == {
        ("decodable", False),
        ("duration", False),
        ("silence", False),
        ("clipping", False),
        ("tail", False),
        ("language", False),
        ("voice", False),
        ("transcript", False),
        ("distinctiveness", True),
        ("loudness match", True),
        ("matched loudness", True),
    }
    assert QcReport.objects.filter(dialogue=dialogue, check_name="distinctiveness").count() == 2


@pytest.mark.parametrize("to", [DialogueState.READY, DialogueState.REJECTED])
def test_a_flagged_dialogue_is_kept_or_rejected_as_it_is(to, rita):
    dialogue = flagged()

    dialogue_settle(dialogue=dialogue, to=to, reason="I listened.", actor=rita)

    dialogue.refresh_from_db()
    assert dialogue.state == to
    event = Event.objects.filter(entity="dialogue").order_by("pk").last()
    assert (event.actor, event.detail["reason"]) == (rita, "I listened.")
    assert not Variant.objects.filter(clip=None).exists()


def test_spoken_again_it_keeps_its_words_and_gets_other_sounds():
    dialogue = flagged()
    words, sounds = (set(Variant.objects.values_list(name, flat=True)) for name in ("text", "clip"))

    dialogue_settle(dialogue=dialogue, to=DialogueState.SCRIPTED, reason="Line 1 is mumbled.")
    advance(dialogue, times=2)

    assert dialogue.state == "ready"
    assert set(Variant.objects.values_list("text", flat=True)) == words
    assert not sounds & set(Variant.objects.values_list("clip", flat=True))
    assert QcReport.objects.filter(dialogue=dialogue, run=2, passed=False).count() == 0


def test_spoken_again_the_earlier_takes_stay_with_their_findings(client, rita):
    dialogue = flagged()
    before = dict(Variant.objects.values_list("pk", "clip"))

    dialogue_settle(dialogue=dialogue, to=DialogueState.SCRIPTED, reason="Line 1 is mumbled.")
    advance(dialogue, times=2)
    detail = dialogue_detail(dialogue=dialogue)
    client.force_login(rita)
    page = client.get(reverse("dialogue", args=[dialogue.uid])).content.decode()

    assert {take.variant_id: take.clip_id for take in detail.takes} == before
    assert next((take.position, [each.check_name for each in take.failed]) for take in detail.takes) == (
        1,
        ["transcript"],
    )
    assert "Earlier takes" in page


def test_a_voice_that_always_says_the_same_is_moved_for_another_take(monkeypatch):
    monkeypatch.setattr(FakeVoice, "deterministic", True)
    dialogue = flagged()

    dialogue_settle(dialogue=dialogue, to=DialogueState.SCRIPTED, reason="Line 1 is mumbled.")
    advance(dialogue, times=2)

    calls = list(ProviderCall.objects.filter(kind="voice", outcome="ok").order_by("pk"))
    first, second = calls[: len(calls) // 2], calls[len(calls) // 2 :]
    moved = {
        round(again.parameters["delivery"]["pitch"] - once.parameters["delivery"]["pitch"], 2)
        for once, again in zip(first, second, strict=True)
    }
    assert len(moved) == 1
    assert 0.3 <= abs(moved.pop()) <= 0.8


def test_written_again_the_findings_of_the_first_script_stay():
    dialogue = flagged()

    dialogue_settle(dialogue=dialogue, to=DialogueState.BRIEFED, reason="Dull.")
    advance(dialogue, times=3)

    kept = QcReport.objects.get(dialogue=dialogue, run=1, passed=False)
    assert (kept.variant, kept.detail["line"], kept.detail["rendition"]) == (None, 1, "only")
    assert Take.objects.filter(dialogue=dialogue, number=0, variant=None).count() == 8


def test_written_again_it_is_another_take_and_the_ledger_keeps_both():
    dialogue = flagged()

    dialogue_settle(dialogue=dialogue, to=DialogueState.BRIEFED, reason="Dull.")
    advance(dialogue, times=3)

    assert (dialogue.state, dialogue.takes) == ("ready", 1)
    assert len(set(ProviderCall.objects.filter(kind="text", outcome="ok").values_list("seed", flat=True))) == 2


def test_what_was_judged_imported_or_not_flagged_is_not_made_again():
    judged, imported = speecheq_dialogue(), speecheq_dialogue(state="flagged")
    made = advance(one_briefed(), times=3)
    dialogue_move(dialogue=made, to=DialogueState.IN_REVIEW)
    dialogue_move(dialogue=made, to=DialogueState.READY)
    dialogue_move(dialogue=made, to=DialogueState.FLAGGED)

    with pytest.raises(IllegalMove):
        dialogue_settle(dialogue=judged, to=DialogueState.READY, reason="x")
    with pytest.raises(InvalidInput):
        dialogue_settle(dialogue=imported, to=DialogueState.SCRIPTED, reason="x")
    with pytest.raises(Conflict):
        dialogue_settle(dialogue=made, to=DialogueState.SCRIPTED, reason="x")
    assert not Variant.objects.filter(clip=None).exists()


def test_the_page_decides_and_needs_a_reason(client, rita, alice, otto):
    dialogue = speecheq_dialogue(state="flagged")
    address = reverse("dialogue_decide", args=[dialogue.uid])
    client.force_login(rita)

    page = client.get(reverse("dialogue", args=[dialogue.uid])).content.decode()
    client.post(address, {"to": "ready", "reason": ""})
    without = Dialogue.objects.get().state
    client.post(address, {"to": "ready", "reason": "I listened."})

    assert address in page
    assert without == "flagged"
    assert Dialogue.objects.get().state == "ready"
    for user, status in ((alice, 403), (otto, 404)):
        client.force_login(user)
        assert client.post(address, {"to": "ready", "reason": "x"}).status_code == status


def choices(page) -> list[str]:
    return [value for value in ("ready", "scripted", "briefed", "rejected") if f'<option value="{value}"' in page]


def test_a_recording_is_not_offered_to_be_made_again_and_a_refusal_keeps_the_reason(client, rita):
    recording, made = speecheq_dialogue(state="flagged"), flagged()
    client.force_login(rita)

    pages = [client.get(reverse("dialogue", args=[each.uid])).content.decode() for each in (recording, made)]
    address = reverse("dialogue_decide", args=[recording.uid])
    refused = client.post(address, {"to": "scripted", "reason": "Line 1 is mumbled."})
    unsaid = client.post(address, {"to": "ready", "reason": ""})

    assert [choices(page) for page in pages] == [
        ["ready", "rejected"],
        ["ready", "scripted", "briefed", "rejected"],
    ]
    assert (refused.status_code, unsaid.status_code) == (200, 200)
    assert 'value="Line 1 is mumbled."' in refused.content.decode()
    assert "errorlist" in refused.content.decode()
    recording.refresh_from_db()
    assert recording.state == "flagged"
    dialogue_move(dialogue=recording, to=DialogueState.REJECTED)
    late = client.post(address, {"to": "ready", "reason": "x"}, follow=True).content.decode()
    assert "the dialogue is no longer flagged" in late
    assert client.get(address)["Location"] == reverse("dialogue", args=[recording.uid])


def test_several_flagged_dialogues_are_decided_at_once_with_one_reason(client, rita):
    corpus = CorpusFactory()
    mine = [speecheq_dialogue(corpus=corpus, state="flagged") for _ in range(3)]
    ready, elsewhere = speecheq_dialogue(corpus=corpus), speecheq_dialogue(state="flagged")
    client.force_login(rita)
    address = reverse("corpus_decide", args=[corpus.uid])
    page = client.get(reverse("corpus", args=[corpus.uid])).content.decode()

    chosen = [each.uid for each in (mine[0], mine[1], ready, elsewhere)]
    unsaid = client.post(address, {"to": "ready", "reason": "", "dialogue": chosen}).content.decode()
    nobody = client.post(address, {"to": "ready", "reason": "I listened."}).content.decode()
    again = client.post(address, {"to": "scripted", "reason": "I listened.", "dialogue": chosen}).content.decode()
    before = Event.objects.filter(verb="moved").count()
    answer = client.post(f"{address}?state=flagged", {"to": "ready", "reason": "I listened.", "dialogue": chosen})
    told = client.get(answer["Location"]).content.decode()

    assert page.count('name="dialogue"') == 3
    assert unsaid.count(" checked ") == 2
    assert "No dialogue is chosen." in nobody
    assert 'value="I listened."' in nobody
    assert "errorlist" in again
    assert answer["Location"] == f"{reverse('corpus', args=[corpus.uid])}?state=flagged"
    assert "2 dialogues are now: ready." in told
    assert "2 were no longer flagged and were left as they are." in told
    assert [Dialogue.objects.get(pk=each.pk).state for each in (*mine, elsewhere)] == [
        "ready",
        "ready",
        "flagged",
        "flagged",
    ]
    moved = Event.objects.filter(verb="moved").order_by("pk")[before:]
    assert {(event.actor, event.detail["reason"]) for event in moved} == {(rita, "I listened.")}
    assert len(moved) == 2


def test_a_writing_that_fails_after_a_script_was_sent_back_is_what_is_tried_again():
    dialogue = flagged()
    before = list(Variant.objects.filter(turn__dialogue=dialogue).values_list("pk", flat=True))
    dialogue_settle(dialogue=dialogue, to=DialogueState.BRIEFED, reason="write it again")
    FakeText.script.append(Behaviour.REFUSE)
    assert advance(dialogue).state == "failed"

    dialogues_retry(batch=dialogue.brief.batch, cause="refused")
    dialogue.refresh_from_db()
    resumed = dialogue.state
    advance(dialogue, times=3)

    assert (resumed, dialogue.state) == ("briefed", "ready")
    assert not Variant.objects.filter(pk__in=before).exists()
    assert Take.objects.filter(dialogue=dialogue).exists()


def test_a_voice_that_fails_after_a_rewrite_keeps_the_new_script():
    dialogue = flagged()
    dialogue_settle(dialogue=dialogue, to=DialogueState.BRIEFED, reason="write it again")
    FakeText.script.append(Behaviour.REFUSE)
    advance(dialogue)
    dialogues_retry(batch=dialogue.brief.batch, cause="refused")
    advance(dialogue)
    FakeVoice.script.append(Behaviour.REFUSE)
    assert advance(dialogue).state == "failed"

    dialogues_retry(batch=dialogue.brief.batch, cause="refused")
    dialogue.refresh_from_db()

    assert dialogue.state == "scripted"
