import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from eqstudio.blobs import blob_read
from eqstudio.errors import InvalidInput
from eqstudio.models import Event
from generation.models import Clip, Dialogue, ProviderCall, QcReport, Turn, Variant
from generation.providers.scripted import Behaviour
from generation.providers.text.fake import FakeText
from generation.providers.voice.fake import FakeVoice
from generation.services import (
    batch_cancel,
    batch_create,
    batch_top_up,
    briefs_wanted,
    clips_synthesize,
    dialogues_of,
    dialogues_retry,
    qc_run,
    script_generate,
)
from tests.generation.factories import CorpusFactory
from tests.generation.pipeline import advance, batch_of, brief, one_briefed

pytestmark = pytest.mark.django_db


# --- batches


def test_batch_create_makes_one_briefed_dialogue_per_count():
    batch = batch_of(count=3)

    assert [d.ordinal for d in Dialogue.objects.filter(brief__batch=batch)] == [0, 1, 2]
    assert set(Dialogue.objects.values_list("state", "benchmark", "category", "language")) == {
        ("briefed", "speecheq", "interpersonal_empathy", "en")
    }
    assert Event.objects.get(entity="batch").detail["dialogues"] == 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"benchmark": "speech"}, "Unknown benchmark 'speech'"),
        ({"category": "courage"}, "no category 'courage'"),
        ({"language": "fr"}, "knows no language 'fr'. Known: en, zh"),
        ({"valence": "grim"}, "knows no valence 'grim'"),
        ({"setting": "moon"}, "knows no setting 'moon'"),
        ({"count": 0}, "at least one dialogue"),
        (
            {"text_provider": "fak"},
            "Unknown text provider 'fak'. Did you mean 'fake'? Known: anthropic, ",
        ),
        ({"voice_provider": "none"}, "Unknown voice provider 'none'"),
        ({"transcriber": "none"}, "Unknown transcriber 'none'"),
    ],
)
def test_batch_create_names_what_is_wrong_and_writes_nothing(wrong, said):
    corpus = CorpusFactory()

    with pytest.raises(InvalidInput) as caught:
        batch_create(corpus=corpus, briefs=[brief(), brief(**wrong)])

    assert said in caught.value.message
    assert not Dialogue.objects.exists()


def test_fakes_are_refused_in_production(settings):
    settings.PRODUCTION = True

    with pytest.raises(InvalidInput, match="refused in production"):
        batch_of()


def test_batch_top_up_adds_only_what_is_missing():
    corpus = CorpusFactory()
    two = briefs_wanted(like=brief(count=2), categories=["interpersonal_empathy"])
    three = briefs_wanted(like=brief(count=3), categories=["interpersonal_empathy"])

    first = batch_top_up(corpus=corpus, wanted=two)
    again = batch_top_up(corpus=corpus, wanted=two)
    more = batch_top_up(corpus=corpus, wanted=three)

    assert first is not None
    assert again is None
    assert more.briefs.get().count == 1
    assert list(Dialogue.objects.order_by("pk").values_list("ordinal", flat=True)) == [0, 1, 2]
    assert len(dialogues_of(corpus=corpus, wanted=three)) == 3


def test_batch_top_up_asks_again_for_what_was_called_off():
    corpus = CorpusFactory()
    wanted = briefs_wanted(like=brief(count=2), categories=["interpersonal_empathy"])
    batch = batch_top_up(corpus=corpus, wanted=wanted)
    Dialogue.objects.filter(ordinal=0).update(state="ready")
    batch_cancel(batch=batch, now=timezone.now())

    more = batch_top_up(corpus=corpus, wanted=wanted)

    assert list(more.briefs.get().dialogues.values_list("ordinal", flat=True)) == [2]


def test_all_categories_are_wanted_when_none_is_named():
    assert len(briefs_wanted(like=brief())) == 15


# --- the three steps


@pytest.mark.parametrize(
    ("benchmark", "category", "language", "seed", "clips"),
    [
        ("speecheq", "interpersonal_empathy", "en", 0, 8),
        ("speecheq", "stress_management_optimism", "zh", 0, 8),
        ("emosbench", "bap", "zh", 0, 7),  # what the user says comes after one exchange here,
        ("emosbench", "bap", "zh", 2, 5),  # and at once here
    ],
)
def test_a_brief_becomes_a_dialogue_that_can_be_heard(benchmark, category, language, seed, clips):
    dialogue = one_briefed(benchmark=benchmark, category=category, language=language, seed=seed)

    advance(dialogue, times=3)

    assert (dialogue.state, dialogue.error, dialogue.lease_owner, dialogue.attempts) == ("ready", "", "", 0)
    variants = Variant.objects.filter(turn__dialogue=dialogue).select_related("clip")
    assert variants.count() == clips
    assert {blob_read(variant.clip.sha256)[:4] for variant in variants} == {b"RIFF"}
    assert list(
        Event.objects.filter(entity="dialogue", verb="moved").order_by("pk").values_list("detail__after", flat=True)
    ) == [
        "scripted",
        "voiced",
        "ready",
    ]
    assert ProviderCall.objects.filter(outcome="ok", kind="text").count() == 1
    assert ProviderCall.objects.filter(outcome="ok", kind="voice").count() == variants.count()


def test_speakers_keep_one_voice_and_have_different_ones():
    dialogue = advance(one_briefed())

    voices = set(Turn.objects.filter(dialogue=dialogue).values_list("speaker", "voice"))

    assert len(voices) == 2
    assert len({voice for _speaker, voice in voices}) == 2


def test_the_ledger_tells_how_a_script_was_made():
    dialogue = advance(one_briefed(seed=7))

    call = ProviderCall.objects.get(kind="text")

    assert (call.provider, call.model, call.outcome, call.dialogue) == ("fake", "fake-text-1", "ok", dialogue)
    assert call.prompt_version
    assert len(call.prompt_hash) == len(call.request_hash) == 64
    assert call.seed is not None
    assert None not in (call.tokens_in, call.tokens_out, call.latency_ms)


def test_the_same_brief_and_seed_say_the_same_and_another_seed_something_else():
    def texts(seed):
        dialogue = advance(one_briefed(seed=seed))
        return list(Variant.objects.filter(turn__dialogue=dialogue).values_list("text", flat=True)), dialogue.title

    assert texts(1) == texts(1)
    assert len(FakeText.calls) == 1, "the second one came from the ledger"
    assert texts(1) != texts(2)


def test_steps_run_twice_change_nothing():
    dialogue = one_briefed()

    for step in (script_generate, clips_synthesize, qc_run):
        step(dialogue=dialogue)
        step(dialogue=dialogue)
    before = (ProviderCall.objects.count(), Clip.objects.count(), QcReport.objects.count(), Event.objects.count())
    for step in (script_generate, clips_synthesize, qc_run):
        step(dialogue=dialogue)

    assert before == (
        ProviderCall.objects.count(),
        Clip.objects.count(),
        QcReport.objects.count(),
        Event.objects.count(),
    )
    assert len(FakeVoice.calls) == 8


def test_a_clip_that_exists_is_kept_when_a_later_one_fails_and_is_not_paid_for_again():
    dialogue = advance(one_briefed())
    FakeVoice.script.extend([Behaviour.OK, Behaviour.OK, Behaviour.OK, Behaviour.FAIL])

    advance(dialogue)
    kept = Variant.objects.filter(clip__isnull=False).count()
    failed = (dialogue.state, dialogue.error_cause)
    dialogues_retry(batch=dialogue.brief.batch, cause="HTTP 500")
    advance(dialogue)

    assert kept == 3
    assert failed == ("failed", "HTTP 500")
    assert dialogue.state == "voiced"
    assert len(FakeVoice.calls) == 4 + 5
    assert ProviderCall.objects.filter(kind="voice", outcome="error").get().error == "The fake provider failed as told."


def test_a_paid_call_whose_variant_was_not_written_is_used_after_all():
    dialogue = advance(one_briefed(), times=2)
    Variant.objects.filter(turn__dialogue=dialogue).update(clip=None)
    Dialogue.objects.filter(pk=dialogue.pk).update(state="scripted")
    FakeVoice.calls.clear()

    advance(dialogue)

    assert dialogue.state == "voiced"
    assert FakeVoice.calls == []


def test_a_script_that_was_paid_for_is_used_though_its_rows_were_not_written():
    dialogue = advance(one_briefed())
    said = list(Variant.objects.values_list("text", flat=True))
    dialogue.turns.all().delete()
    Dialogue.objects.filter(pk=dialogue.pk).update(state="briefed", title="")

    advance(dialogue)

    assert dialogue.state == "scripted"
    assert list(Variant.objects.values_list("text", flat=True)) == said
    assert len(FakeText.calls) == 1


def test_the_database_refuses_to_pay_twice():
    advance(one_briefed())
    call = ProviderCall.objects.get(kind="text")

    with pytest.raises(IntegrityError), transaction.atomic():
        ProviderCall.objects.create(kind="text", provider="fake", request_hash=call.request_hash, outcome="ok")
