"""Ways to put a question: what is heard, what is read and what is asked by each evaluator; and the controls."""

import pytest

from eqstudio.benchmarks.base import Design, Trial
from eqstudio.errors import InvalidInput, ProviderError
from evaluation.backends import evaluators, recognisers
from evaluation.backends.base import Exam
from evaluation.backends.messages import contract, message_of
from evaluation.models import Respondent, Response, Sitting, TrialRecord
from evaluation.selectors.elsewhere import foils_of, swaps_of
from evaluation.services import protocol_save, respondent_drive, study_run
from evaluation.services.asked import design_of, instructions_for
from generation.models import Variant
from tests.evaluation.factories import echomind_study, emosbench_study, speecheq_study
from tests.evaluation.questions import CHOICE, GRADE, REPLY, clips

EXAM = Exam({"en": "Listen and choose.", "zh": "请听并选择。"})


def message(alias, trial=CHOICE):
    return message_of(EXAM, evaluators.get(alias)(), trial, clips)


def heard(told):
    return [part.audio for part in told.parts if part.audio]


@pytest.fixture
def fake_recogniser(settings):
    settings.EXAM_RECOGNISER = "fake"
    settings.EXAM_RECOGNISER_MODEL = "none"


@pytest.mark.parametrize("alias", list(evaluators))
def test_every_evaluator_says_its_name_and_leaves_the_question_itself_alone(fake_recogniser, alias):
    one = evaluators.get(alias)()
    assert (one.alias, one.queue, one.is_fake) == (alias, "io", alias.startswith("ser"))
    assert CHOICE.question in [part.text for part in message(alias).parts]


@pytest.mark.parametrize("alias", ["mcq", "multiturn-gold", "multiturn-direct", "tone", "persona", "swapped"])
def test_evaluators_with_sound_play_every_clip_in_order(alias):
    assert [clip.variant for clip in heard(message(alias))] == ["c1", "v1", "v2"]


def test_shuffled_plays_the_sound_of_another_item():
    assert [clip.variant for clip in heard(message("shuffled"))] == ["other"] * 3


def test_shuffled_says_where_there_is_no_other_item():
    alone = evaluators.get("shuffled")()
    with pytest.raises(ProviderError, match="one item of this language"):
        alone.audio(clips("other"))


def test_which_evaluators_are_controls_that_no_norm_rests_on():
    assert {alias for alias in evaluators if evaluators.get(alias).control} == {
        "persona",
        "shuffled",
        "silence",
        "swapped",
        "text",
    }


def test_swapped_asks_and_stores_the_options_in_the_opposite_order():
    swapped = evaluators.get("swapped")().trial(CHOICE)
    assert [(option.letter, option.variant) for option in swapped.options] == [("A", "v2"), ("B", "v1")]


def test_a_persona_is_of_the_items_own_part_and_leaves_the_instructions_whole():
    mine, other = message("persona").system, message("persona", GRADE).system
    assert "Other people's feelings do not interest you." in mine
    assert "你只在意说了什么" in other
    assert "Listen and choose." in mine
    assert mine.endswith(contract(CHOICE))
    assert message("mcq").system == "Listen and choose.\n\n" + contract(CHOICE)


def test_a_persona_is_part_of_the_run():
    assert set(evaluators.get("persona")().parameters()) == {"persona"}


@pytest.mark.parametrize(
    ("order", "before"), [("rationale_first", ("reason", "answer")), ("answer_first", ("answer", "reason"))]
)
@pytest.mark.parametrize("trial", [CHOICE, GRADE])
def test_the_reason_stands_where_the_question_says(trial, order, before):
    told = contract(Trial.from_dict({**trial.as_dict(), "order": order}))
    assert told.index(f'"{before[0]}"') < told.index(f'"{before[1]}"')


def test_a_reply_has_no_reason():
    assert '"reason"' not in contract(REPLY)


def test_the_cascade_reads_what_a_recogniser_heard_and_plays_nothing(fake_recogniser):
    words, numbers = message("ser_llm"), message("ser_raw_llm")
    assert heard(words) == heard(numbers) == []
    lines = [part.text for part in numbers.parts if part.text.startswith("Option A")]
    assert lines[0].startswith("Option A: words of v1 (voice: valence 0.")
    assert any(text in "".join(part.text for part in words.parts) for text in ("pleasant", "calm", "stirred"))
    assert message("ser_llm", GRADE).parts[-1].text.count("声音：") == 1


def test_a_made_up_recogniser_is_a_fake_and_part_of_the_run(fake_recogniser):
    one = evaluators.get("ser_llm")()
    assert (one.is_fake, one.queue) == (True, "io")
    assert one.parameters() == {"recogniser": "fake", "recogniser_model": "none"}


def test_dimensions_and_labels_have_words_in_both_languages():
    one = recognisers.get("fake")("none")
    assert one.words({"valence": 0.1, "arousal": 0.5, "dominance": 1.0}, "en") == (
        "unpleasant, moderately stirred, in control"
    )
    assert one.words({"happy": 0.7, "sad": 0.3}, "zh") == "听起来像 happy（70%）"


def test_a_recogniser_without_its_packages_says_what_is_missing(settings):
    settings.EXAM_RECOGNISER = "dimensions"
    with pytest.raises(ProviderError, match="could not be loaded"):
        message("ser_llm")


@pytest.mark.django_db
def test_a_run_of_a_made_up_recogniser_is_refused_in_production(fake_recogniser, settings):
    settings.PRODUCTION = True
    with pytest.raises(InvalidInput, match="ser_llm is a fake"):
        study_run(study=speecheq_study(items=1), backend="random", evaluator="ser_llm")


@pytest.mark.django_db
def test_every_clip_has_one_other_of_its_own_language():
    study = speecheq_study(items=4)
    dialogue = study.split.items.first().dialogue
    swaps = swaps_of(study=study, dialogue=dialogue)
    own = set(Variant.objects.filter(turn__dialogue=dialogue, clip__isnull=False).values_list("uid", flat=True))
    assert set(swaps) == own
    assert all(other.turn.dialogue_id != dialogue.pk for other in swaps.values())
    assert {uid: other.uid for uid, other in swaps.items()} == {
        uid: other.uid for uid, other in swaps_of(study=study, dialogue=dialogue).items()
    }
    assert swaps_of(study=speecheq_study(items=1), dialogue=dialogue) != swaps


@pytest.mark.django_db
def test_a_shuffled_run_plays_other_items_and_ends(monkeypatch):
    study = speecheq_study(items=2)
    respondent = study_run(study=study, backend="fake", evaluator="shuffled", runs=1)
    assert [one.state for one in respondent_drive(respondent=respondent)] == ["finished"]
    assert respondent.name == "fake (shuffled)"


def options_of(respondent, run=0):
    records = TrialRecord.objects.filter(sitting__respondent=respondent, sitting__run=run)
    return {(r.dialogue_id, r.key): [option["variant"] for option in r.shown["options"]] for r in records}


@pytest.mark.django_db
def test_the_runs_of_one_model_are_asked_in_one_order_and_the_swapped_one_in_the_opposite():
    study = speecheq_study(items=4)
    made = {
        evaluator: study_run(study=study, backend="random", evaluator=evaluator, runs=2)
        for evaluator in ("mcq", "text", "swapped")
    }
    for respondent in made.values():
        respondent_drive(respondent=respondent)
    plain = options_of(made["mcq"])
    assert options_of(made["text"]) == plain
    assert options_of(made["swapped"]) == {key: order[::-1] for key, order in plain.items()}
    assert options_of(made["mcq"], run=1) == options_of(made["swapped"])


@pytest.mark.django_db
@pytest.mark.parametrize("evaluator", ["mcq", "multiturn-gold", "multiturn-direct", "swapped", "persona"])
def test_each_rendition_stands_in_each_slot_equally_often(evaluator):
    study = speecheq_study(items=6)
    respondent = study_run(study=study, backend="random", evaluator=evaluator, runs=4)
    respondent_drive(respondent=respondent)
    for key, order in options_of(respondent).items():
        shown = [options_of(respondent, run)[key] for run in range(4)]
        assert shown.count(order) == shown.count(order[::-1]) == 2


@pytest.mark.django_db
def test_the_protocols_design_is_what_everybody_is_asked(ada):
    study = speecheq_study(items=2)
    content = {"design": {"history": "none", "order": "answer_first"}}
    protocol_save(study=study, content=content, actor=ada)
    respondent = study_run(study=type(study).objects.get(pk=study.pk), backend="random", runs=1)
    respondent_drive(respondent=respondent)
    shown = [(record.shown["order"], record.shown["context"]) for record in TrialRecord.objects.all()]
    assert shown == [("answer_first", [])] * 4


@pytest.mark.django_db
def test_teacher_forcing_hears_the_right_rendition_after_a_wrong_answer():
    study = speecheq_study(items=3)
    respondent = study_run(study=study, backend="first", evaluator="multiturn-gold", runs=1)
    respondent_drive(respondent=respondent)
    for record in TrialRecord.objects.filter(key="s6"):
        turn4 = record.dialogue.turns.get(position=4)
        heard_there = [s["variant"] for s in record.shown["context"] if s["variant"]]
        assert [v.label for v in turn4.variants.all() if v.uid in heard_there] == ["high"]
    told = respondent.study.instructions["en"]
    assert "becomes part of the conversation" in told
    assert "is not always what you chose" in instructions_for(study, evaluators.get("multiturn-gold")())["en"]


@pytest.mark.django_db
def test_tones_are_matched_with_foils_from_other_items():
    study = speecheq_study(items=3)
    for place, variant in enumerate(Variant.objects.filter(turn__role="critical")):
        variant.tone = f"tone number {place}"
        variant.save(update_fields=["tone"])
    dialogue = study.split.items.first().dialogue
    assert len(foils_of(study=study, dialogue=dialogue)) == 8
    respondent = study_run(study=study, backend="random", evaluator="tone", runs=2)
    assert [one.state for one in respondent_drive(respondent=respondent)] == ["finished"] * 2
    texts = TrialRecord.objects.filter(key="tone-text-s4", sitting__run=0)
    assert {len(record.shown["options"]) for record in texts} == {4}
    assert Response.objects.filter(scores__gold=0.25).count() == 2 * 3 * 2
    assert Response.objects.filter(scores__correct=None).count() == 0


@pytest.mark.django_db
@pytest.mark.parametrize("make", [emosbench_study, echomind_study])
def test_tones_of_a_benchmark_without_them_are_refused_in_words(make):
    with pytest.raises(InvalidInput, match="has no task 'tone'; known: "):
        study_run(study=make(items=1), backend="random", evaluator="tone")
    assert not Respondent.objects.exists()


@pytest.mark.django_db
def test_without_a_protocol_a_study_asks_as_it_always_did():
    study = speecheq_study(items=1)
    assert design_of(study) == Design()
    assert instructions_for(study, evaluators.get("mcq")()) == study.instructions
    assert Sitting.objects.count() == 0
