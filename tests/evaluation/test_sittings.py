"""The exam loop: the same for a person and a model."""

import json
from collections import Counter

import pytest

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Trial
from eqstudio.errors import Conflict, Forbidden, InvalidInput, NotFound
from evaluation.domain.order import order_seed, trial_rng
from evaluation.models import Respondent, Response, ScoreRecord, Sitting
from evaluation.selectors import order_of, sitting_for, sitting_progress, studies_open_for, study_for, trial_for
from evaluation.services import (
    response_record,
    responses_rescore,
    sitting_cancel,
    sitting_open,
    study_close,
    study_create,
    trial_next,
)
from evaluation.services.sittings import trial_build
from generation.models import Dialogue
from generation.selectors import item_view
from tests.eqstudio.factories import UserFactory, annotator, researcher
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
from tests.generation.factories import emosbench_dialogue, speecheq_dialogue

pytestmark = pytest.mark.django_db


def test_a_study_freezes_benchmark_and_instructions():
    study = speecheq_study(items=1)
    assert (study.benchmark, bool(study.instructions["en"]), len(study.instructions_hash)) == ("speecheq", True, 64)


def test_a_study_asks_one_benchmark_only():
    split = split_of([speecheq_dialogue(), emosbench_dialogue()])
    with pytest.raises(InvalidInput) as caught:
        study_create(name="mixed", split=split)
    assert caught.value.field == "benchmark"


def test_a_study_name_is_taken_once():
    study = speecheq_study(items=1)
    with pytest.raises(Conflict):
        study_create(name=study.name, split=study.split)


def test_opening_twice_resumes():
    study, person = speecheq_study(items=1), annotator()
    assert sitting_open(study=study, user=person) == sitting_open(study=study, user=person)


def test_a_closed_study_takes_nobody():
    study = study_close(study=speecheq_study(items=1))
    with pytest.raises(Conflict):
        sitting_open(study=study, user=annotator())


def test_trial_next_returns_the_waiting_question_until_it_is_answered():
    sitting = sitting_open(study=speecheq_study(items=2), user=annotator())
    first = trial_next(sitting=sitting)
    assert trial_next(sitting=sitting) == first
    response_record(trial=first, raw='{"answer": "A"}', heard=heard_all(first))
    second = trial_next(sitting=sitting)
    assert (first.key, second.key, second.dialogue_id == first.dialogue_id) == ("s4", "s6", True)


def test_the_second_question_plays_the_chosen_rendition():
    sitting = sitting_open(study=speecheq_study(items=1), user=annotator())
    first = trial_next(sitting=sitting)
    response_record(trial=first, raw='{"answer": "B"}', heard=heard_all(first))
    chosen = next(o.variant for o in Trial.from_dict(first.shown).options if o.letter == "B")
    heard = [segment.variant for segment in Trial.from_dict(trial_next(sitting=sitting).shown).context]
    assert chosen in heard


def test_an_oracle_is_always_right_and_the_sitting_ends():
    study = speecheq_study(items=3)
    sitting = sit_through(study, user=annotator())
    assert sitting.state == Sitting.State.FINISHED
    assert set(ScoreRecord.objects.values_list("outcome", "correct")) == {("answered", True)}
    assert Response.objects.count() == 6
    progress = sitting_progress(sitting=sitting)
    assert (progress.done, progress.total, progress.answers) == (3, 3, 6)


def test_an_always_wrong_answer_is_never_right():
    sit_through(speecheq_study(items=2), user=annotator(), choose=wrong_answer)
    assert set(ScoreRecord.objects.values_list("correct", flat=True)) == {False}


def test_grades_go_through_the_same_loop():
    sit_through(emosbench_study(items=1), user=annotator())
    scores = ScoreRecord.objects.values_list("correct", "number", "gold")
    assert len(scores) == 4
    assert all(correct and number == gold for correct, number, gold in scores)


def test_every_person_gets_an_order_of_their_own():
    study = speecheq_study(items=8)
    first, second = (sitting_open(study=study, user=annotator()) for _ in range(2))
    assert first.order_seed != second.order_seed
    assert order_of(sitting=first) != order_of(sitting=second)


def slots_of(sitting):
    """Which version stood in the first slot of each question."""
    return {
        (record.dialogue_id, record.key): Trial.from_dict(record.shown).options[0].variant
        for record in sitting.trials.all()
    }


def test_consecutive_people_see_every_item_in_mirrored_orders():
    study = speecheq_study(items=8)
    seen = [slots_of(sit_through(study, user=annotator())) for _ in range(4)]
    assert seen[0].keys() == seen[1].keys()
    assert all(seen[0][question] != seen[1][question] for question in seen[0])
    assert (seen[2], seen[3]) == (seen[0], seen[1])
    assert len(set(seen[0].values())) > 1


def test_who_cancels_leaves_their_order_to_the_next():
    study = speecheq_study(items=2)
    first = sitting_open(study=study, user=annotator())
    sitting_cancel(sitting=first)
    second, third = (slots_of(sit_through(study, user=annotator())) for _ in range(2))
    assert all(second[question] != third[question] for question in second)


def test_a_sitting_begun_before_people_were_crossed_keeps_its_order():
    study = speecheq_study(items=4)
    sitting = sitting_open(study=study, user=annotator())
    old = order_seed(study_seed=study.seed, respondent=sitting.respondent.uid, run=0)
    Sitting.objects.filter(pk=sitting.pk).update(order_seed=old)
    sitting.refresh_from_db()
    for pk, _part in order_of(sitting=sitting):
        dialogue = Dialogue.objects.get(pk=pk)
        rng = trial_rng(seed=old, dialogue=dialogue.uid)
        asked = benchmark_get("speecheq").next_trial(item_view(dialogue=dialogue), [], rng)
        shown = trial_build(sitting=sitting, dialogue=dialogue, answered=[])
        assert [one.variant for one in shown.options] == [one.variant for one in asked.options]


def test_two_runs_of_a_model_show_every_rendition_in_every_slot_equally_often():
    study = speecheq_study(items=4)
    respondent = model_respondent(study)
    for run in range(2):
        sit_through(study, respondent=respondent, choose=right_answer, run=run)
    slots = Counter()
    for record in respondent.sittings.get(run=0).trials.all() | respondent.sittings.get(run=1).trials.all():
        for option in Trial.from_dict(record.shown).options:
            slots[option.variant, option.letter] += 1
    assert set(slots.values()) == {1}
    assert len(slots) == 4 * 2 * 2 * 2


def test_an_answer_is_stored_once():
    sitting = sitting_open(study=speecheq_study(items=1), user=annotator())
    trial = trial_next(sitting=sitting)
    first = response_record(trial=trial, raw='{"answer": "A"}', heard=heard_all(trial))
    again = response_record(trial=trial, raw='{"answer": "B"}', heard=heard_all(trial))
    assert (again, again.raw) == (first, '{"answer": "A"}')


def test_a_person_must_have_heard_every_clip():
    sitting = sitting_open(study=speecheq_study(items=1), user=annotator())
    trial = trial_next(sitting=sitting)
    heard = heard_all(trial)
    missing = Trial.from_dict(trial.shown).options[1]
    heard[missing.variant] = [[0, 0.01]]
    with pytest.raises(InvalidInput) as caught:
        response_record(trial=trial, raw='{"answer": "A"}', heard=heard)
    assert (caught.value.field, missing.letter in caught.value.message) == ("heard", True)
    assert not Response.objects.exists()


@pytest.mark.parametrize("rubbish", [{"x": 3}, "no", {"x": [[1, "a"]]}, []])
def test_rubbish_instead_of_intervals_is_refused(rubbish):
    trial = trial_next(sitting=sitting_open(study=speecheq_study(items=1), user=annotator()))
    shown = Trial.from_dict(trial.shown)
    heard = {shown.options[0].variant: rubbish} if isinstance(rubbish, dict) else rubbish
    with pytest.raises(InvalidInput):
        response_record(trial=trial, raw="A", heard=heard)


def test_a_model_needs_no_gate():
    study = speecheq_study(items=1)
    trial = trial_next(sitting=sitting_open(study=study, respondent=model_respondent(study)))
    assert response_record(trial=trial, raw="ANSWER: B").scores.get().value == "B"


@pytest.mark.parametrize(
    ("raw", "failure", "outcome"),
    [("both", "", "unparsed"), ("", "refused", "refused"), ("", "error", "error"), ("", "not_heard", "not_heard")],
)
def test_what_is_no_answer_is_an_outcome_of_its_own(raw, failure, outcome):
    study = speecheq_study(items=1)
    trial = trial_next(sitting=sitting_open(study=study, respondent=model_respondent(study)))
    score = response_record(trial=trial, raw=raw, failure=failure).scores.get()
    assert (score.outcome, score.correct) == (outcome, None)
    assert trial_next(sitting=trial.sitting).key == "s6"


def test_a_cancelled_sitting_takes_no_answer():
    study = speecheq_study(items=1)
    sitting = sitting_open(study=study, respondent=model_respondent(study))
    trial = trial_next(sitting=sitting)
    sitting_cancel(sitting=sitting)
    trial.sitting.refresh_from_db()
    with pytest.raises(Conflict):
        response_record(trial=trial, raw="A")
    assert trial_next(sitting=sitting) is None


def test_an_answer_left_unscored_by_a_kill_is_scored_later():
    study = speecheq_study(items=1)
    trial = trial_next(sitting=sitting_open(study=study, respondent=model_respondent(study)))
    response = Response.objects.create(trial=trial, raw="ANSWER: A")
    assert trial_next(sitting=trial.sitting).key == "s6"
    assert response.scores.get().value == "A"


def test_rescoring_asks_nobody_and_keeps_the_old_reading(monkeypatch):
    study = speecheq_study(items=1)
    sit_through(study, respondent=model_respondent(study))
    assert responses_rescore(study=study) == {"scored": 0, "changed": 0, "kept": 2}
    monkeypatch.setattr("evaluation.services.scoring.PARSER_VERSION", "later")
    assert responses_rescore(study=study) == {"scored": 2, "changed": 0, "kept": 0}
    assert ScoreRecord.objects.count() == 4


def test_limit_asks_only_the_first_items():
    study = speecheq_study(items=3)
    sitting = sitting_open(study=study, respondent=model_respondent(study), limit=1)
    while (trial := trial_next(sitting=sitting)) is not None:
        response_record(trial=trial, raw=json.dumps({"answer": "A"}))
    assert (sitting.trials.count(), sitting.state) == (2, Sitting.State.FINISHED)


def test_a_question_shows_nothing_of_the_key():
    sitting = sitting_open(study=speecheq_study(items=1), user=annotator())
    shown = json.dumps(trial_next(sitting=sitting).shown)
    assert not any(word in shown for word in ("high", "low", "tone"))


def test_people_are_known_by_a_pseudonym():
    study = speecheq_study(items=1)
    sitting_open(study=study, user=annotator(username="zoe"))
    sitting_open(study=study, user=annotator(username="yan"))
    assert list(Respondent.objects.values_list("name", flat=True)) == ["Person 1", "Person 2"]


def test_access_own_sitting_only():
    study = speecheq_study(items=1)
    alice, bob = annotator(), annotator()
    sitting = sitting_open(study=study, user=alice)
    trial = trial_next(sitting=sitting)
    assert sitting_for(alice, sitting.uid) == sitting
    assert trial_for(alice, trial.uid) == trial
    for stranger in (bob, researcher(), UserFactory()):
        with pytest.raises(NotFound):
            sitting_for(stranger, sitting.uid)
        with pytest.raises(NotFound):
            trial_for(stranger, trial.uid)


def test_access_studies():
    study, closed = speecheq_study(items=1), study_close(study=speecheq_study(items=1))
    assert study_for(annotator(), study.uid) == study
    assert study_for(researcher(), closed.uid) == closed
    with pytest.raises(Forbidden):
        study_for(annotator(), closed.uid)
    with pytest.raises(NotFound):
        study_for(UserFactory(), study.uid)
    assert list(studies_open_for(annotator())) == [study]
    assert list(studies_open_for(UserFactory())) == []
