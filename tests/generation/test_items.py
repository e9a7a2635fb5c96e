import pytest

from eqstudio.blobs import blob_read
from eqstudio.errors import Conflict, IllegalMove, InvalidInput
from eqstudio.models import Event
from generation.domain.lifecycle import DialogueState
from generation.selectors import item_view, item_views, variants_by_uid
from generation.services import corpus_create, corpus_ensure, dialogue_move
from tests.generation.factories import DialogueFactory, echomind_dialogue, emosbench_dialogue, speecheq_dialogue

pytestmark = pytest.mark.django_db


def test_item_view_tells_turns_variants_and_audio():
    dialogue = speecheq_dialogue()

    view = item_view(dialogue=dialogue)

    assert view.uid == dialogue.uid
    assert [(turn.position, turn.role, len(turn.variants)) for turn in view.turns] == [
        (1, "context", 1),
        (2, "context", 1),
        (3, "context", 1),
        (4, "critical", 2),
        (5, "context", 1),
        (6, "critical", 2),
    ]
    assert [variant.label for variant in view.turn(4).variants] == ["high", "low"]
    assert all(variant.has_audio for turn in view.turns for variant in turn.variants)


@pytest.mark.parametrize("count", [1, 3])
def test_item_views_take_two_queries(count, django_assert_num_queries):
    dialogues = [speecheq_dialogue() for _ in range(count)]

    with django_assert_num_queries(2):
        views = item_views(dialogues=dialogues)

    assert [view.uid for view in views] == [dialogue.uid for dialogue in dialogues]


def test_item_view_without_audio_says_so():
    view = item_view(dialogue=emosbench_dialogue(voiced=False))

    assert {variant.has_audio for turn in view.turns for variant in turn.variants} == {False}
    assert [variant.grade for variant in view.turn(2).variants] == [1, 2, 3, 4]


def test_variants_by_uid_bring_their_clips_and_copies_in_two_queries(django_assert_num_queries):
    view = item_view(dialogue=echomind_dialogue())
    uids = [variant.uid for variant in view.turns[0].variants]

    with django_assert_num_queries(2):
        found = variants_by_uid(uids=[*uids, "unknown"])
        heads = {uid: blob_read(variant.clip.sha256)[:4] for uid, variant in found.items()}

    assert heads == dict.fromkeys(uids, b"RIFF")


def test_dialogue_move_writes_state_and_event():
    dialogue = DialogueFactory(state=DialogueState.READY.value, attempts=2)

    dialogue_move(dialogue=dialogue, to=DialogueState.IN_REVIEW, reason="round")

    dialogue.refresh_from_db()
    assert (dialogue.state, dialogue.attempts) == ("in_review", 0)
    event = Event.objects.get(entity="dialogue", entity_uid=dialogue.uid)
    assert event.detail == {"before": "ready", "after": "in_review", "reason": "round"}


def test_dialogue_move_refuses_what_the_table_does_not_allow():
    dialogue = DialogueFactory(state=DialogueState.READY.value)

    with pytest.raises(IllegalMove) as caught:
        dialogue_move(dialogue=dialogue, to=DialogueState.KEPT)

    assert caught.value.message == (
        "A dialogue that is ready cannot become kept; it can become: flagged, frozen, in_review, rejected, voiced."
    )
    assert not Event.objects.exists()


def test_dialogue_move_loses_to_who_was_first():
    dialogue = DialogueFactory(state=DialogueState.READY.value)
    stale = type(dialogue).objects.get(pk=dialogue.pk)
    dialogue_move(dialogue=dialogue, to=DialogueState.IN_REVIEW)

    with pytest.raises(Conflict):
        dialogue_move(dialogue=stale, to=DialogueState.REJECTED)

    dialogue.refresh_from_db()
    assert dialogue.state == "in_review"
    assert Event.objects.count() == 1


def test_leaving_failed_clears_the_error_and_entering_keeps_it():
    dialogue = DialogueFactory(state=DialogueState.SCRIPTED.value, error="No answer in time.", error_cause="timeout")

    dialogue_move(dialogue=dialogue, to=DialogueState.FAILED)
    kept = (dialogue.error, dialogue.error_cause)
    dialogue_move(dialogue=dialogue, to=DialogueState.SCRIPTED)
    dialogue.refresh_from_db()

    assert kept == ("No answer in time.", "timeout")
    assert (dialogue.error, dialogue.error_cause) == ("", "")


def test_corpus_create_refuses_a_taken_and_a_bad_name():
    corpus = corpus_create(name="arena")

    with pytest.raises(Conflict, match="arena"):
        corpus_create(name="arena")
    with pytest.raises(InvalidInput, match="letters, digits"):
        corpus_create(name="two words")
    with pytest.raises(InvalidInput, match="at most 80"):
        corpus_create(name="a" * 81)
    assert corpus_ensure(name="arena") == corpus
    assert Event.objects.filter(entity="corpus").count() == 1
