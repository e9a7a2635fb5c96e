"""All three benchmarks through a scripted OpenAI-compatible server, which also misbehaves."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from eqstudio.benchmarks import benchmark_get
from generation.models import ProviderCall, QcReport
from generation.providers.text.openai import ChatText
from generation.selectors.writing import batch_text_leak
from generation.services import dialogue_advance
from tests.generation.pipeline import advance, one_briefed
from tests.openai_server import OpenAIServer, Reply
from tests.stage_writer import StageWriter

pytestmark = pytest.mark.django_db

FIRST = {"speecheq": "interpersonal_empathy", "emosbench": "est", "echomind": "cough"}
SCENES = {"speecheq": "SpeechEQScene", "emosbench": "EmoSBenchInput", "echomind": "EchoMindLine"}
ASKED = {
    "speecheq": {
        "SpeechEQScene": 1,
        "SpeechEQLines": 1,
        "SpeechEQLinesScores": 1,
        "SpeechEQDirections": 1,
        "SpeechEQDeliveries": 1,
        "SpeechEQPairScores": 1,
        "TextGuesses": 2,
    },
    "emosbench": {"EmoSBenchInput": 1, "EmoSBenchResponses": 1, "EmoSBenchGrades": 1},
    "echomind": {"EchoMindLine": 1, "EchoMindNeutrality": 1, "EchoMindDeliveries": 1, "EchoMindQuestions": 1},
}


@pytest.fixture
def writer(settings, monkeypatch):
    """A good model behind HTTP, and the studio set up to ask it."""
    model = StageWriter()
    model.listen(monkeypatch)
    with OpenAIServer() as server:
        server.writer = model.answer
        settings.TEXT_BASE_URL, settings.TEXT_KEY_ENV, settings.TEXT_MODEL = server.url, "", "test-model"
        yield model


def briefed(alias="speecheq", **fields):
    return one_briefed(benchmark=alias, category=FIRST[alias], text_provider="openai", **fields)


def finish(dialogue, *, steps=12):
    """Advance until it is at rest, with the clock moved on so that nothing waits."""
    now = timezone.now()
    for number in range(steps):
        dialogue_advance(dialogue_id=dialogue.pk, now=now + timedelta(hours=number))
    dialogue.refresh_from_db()
    return dialogue


def paid(dialogue):
    return ProviderCall.objects.filter(dialogue=dialogue, kind="text", outcome="ok")


@pytest.mark.parametrize("alias", FIRST)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_benchmark_is_made_end_to_end(writer, alias, language):
    dialogue = finish(briefed(alias, language=language))

    assert dialogue.state in {"ready", "flagged"}, dialogue.error
    assert dict(writer.asked) == ASKED[alias]
    assert paid(dialogue).count() == sum(ASKED[alias].values())
    assert all(call.seed is not None and call.prompt_hash and call.tokens_in == 100 for call in paid(dialogue))


def test_emosbench_gets_as_many_turns_as_its_branch_needs(writer):
    single = advance(one_briefed(benchmark="emosbench", category="bap", text_provider="openai"))
    multi = advance(one_briefed(benchmark="emosbench", category="est", text_provider="openai"))

    assert (single.turns.count(), multi.turns.count() > 2) == (2, True)
    grades = multi.turns.get(role="response").variants.order_by("intended_grade")
    assert [variant.intended_grade for variant in grades] == [1, 2, 3, 4]
    assert all(variant.rationale for variant in grades)
    assert {row.scores[-1]["name"] for row in multi.candidates.filter(stage="responses")} == {"grade"}


@pytest.mark.parametrize("alias", FIRST)
@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (Reply.truncated({"title": "cut in the middle", "rest": "and so on"}), "truncated"),
        (Reply.truncated({"title": "cut in the middle", "rest": "and so on"}, told=False), "not JSON"),
        (Reply.data({"another": "shape"}), "wrong schema"),
        (Reply.text("Sure! Here is your scene."), "not JSON"),
        (Reply.text(""), "empty"),
    ],
)
def test_an_answer_that_is_no_good_is_asked_for_again_with_the_reason(writer, alias, fault, cause):
    scene = SCENES[alias]
    writer.plan(scene, fault)

    dialogue = advance(briefed(alias))

    assert dialogue.state == "scripted"
    assert writer.asked[scene] == 2
    refused = dialogue.candidates.first()
    assert (refused.chosen, refused.attempt) == (False, 0)
    assert refused.reason in writer.prompts[scene][1]
    failed = ProviderCall.objects.get(dialogue=dialogue, outcome="error")
    assert failed.result["cause"] in {cause, "truncated"}


@pytest.mark.parametrize(
    ("fault", "cause", "candidates"),
    [
        (Reply.data({"another": "shape"}), "wrong schema", 4),
        (Reply.truncated({"title": "cut in the middle"}), "truncated", 4),
        (Reply.error(500), "HTTP 500", 0),
        (Reply.rate_limited(after=0), "rate limited", 0),
    ],
)
def test_what_never_gets_better_fails_with_its_cause_after_a_bounded_number_of_calls(writer, fault, cause, candidates):
    writer.plan("SpeechEQScene", *[fault] * 40)

    dialogue = finish(briefed(), steps=5)

    if cause == "rate limited":  # putting off uses up no attempt: it is waited for
        assert dialogue.state == "briefed"
    else:
        assert (dialogue.state, dialogue.error_cause) == ("failed", cause)
    assert dialogue.candidates.count() == candidates
    assert writer.asked["SpeechEQScene"] <= 40


def test_a_refusal_fails_at_once_and_says_so(writer):
    writer.plan("SpeechEQLines", Reply.refused("I would rather not."))

    dialogue = finish(briefed())

    assert (dialogue.state, dialogue.error_cause) == ("failed", "refused")
    assert "I would rather not." in dialogue.error
    assert writer.asked["SpeechEQLines"] == 1


@pytest.mark.parametrize("fault", [Reply.rate_limited(after=0), Reply.error(500), Reply.hang_up(), Reply.slow(0.3)])
def test_a_provider_that_stumbles_once_delays_and_nothing_else(writer, fault):
    if fault.content:  # a late answer is a good one, only late

        def late(good):
            time.sleep(fault.delay_s)
            return good

        writer.plan("SpeechEQDirections", late)
    else:
        writer.plan("SpeechEQDirections", fault)

    dialogue = finish(briefed())

    assert dialogue.state in {"ready", "flagged"}, dialogue.error
    assert paid(dialogue).count() == sum(ASKED["speecheq"].values())


def test_checks_and_judge_send_a_stage_back_and_the_reason_is_told(writer):
    writer.plan("SpeechEQLines", lambda good: good | {"s4": "I am so happy for you!"})
    writer.plan("SpeechEQLinesScores", lambda good: good | {"s6_neutral": 2, "why": "It comforts."})

    dialogue = advance(briefed())

    assert dialogue.state == "scripted"
    tries = list(dialogue.candidates.filter(stage="lines"))
    assert [row.chosen for row in tries] == [False, False, True]
    assert "'I am so happy for you!'" in tries[0].reason
    assert tries[1].reason == "The words of s6 give the mood away (2 of 5, 4 needed): It comforts."
    assert all(row.reason in writer.prompts["SpeechEQLines"][2] for row in tries[:2])
    assert [one["name"] for one in tries[1].scores if not one["passed"]] == ["s6 neutral"]


def test_a_judge_that_does_not_see_the_order_sends_the_responses_back_and_in_the_end_gives_up(writer):
    writer.plan("EmoSBenchGrades", *[lambda good: dict.fromkeys("ABCD", 2) | {"why": "All the same to me."}] * 4)

    dialogue = finish(briefed("emosbench"))

    assert (dialogue.state, dialogue.error_cause) == ("failed", "refused by the checks of writing")
    assert writer.asked["EmoSBenchResponses"] == 4
    assert dialogue.candidates.filter(stage="responses", chosen=False).count() == 16
    assert "could not recover the order" in dialogue.error


def test_flat_and_vague_deliveries_are_left_out_of_the_choice(writer):
    def flat(good):
        for line in ("s4", "s6"):
            good[line]["dissonant_2"] = {**good[line]["dissonant_2"], "instruction": "Say it in a rude way."}
        return good

    writer.plan("SpeechEQDeliveries", flat)

    dialogue = advance(briefed())

    rows = {row.key: row for row in dialogue.candidates.filter(stage="deliveries")}
    assert rows["s4.dissonant_2"].reason == "Vague words: rude."
    assert rows["s4.dissonant_3"].chosen
    assert dialogue.scenario["speaker2_persona_low"] == dialogue.scenario["speaker2_persona_3"]


class Killed(BaseException):
    """As SIGKILL: past every handler."""


@pytest.mark.parametrize("alias", FIRST)
def test_killed_before_every_single_call_nothing_is_paid_twice(writer, monkeypatch, alias):
    dialogue, write, due = briefed(alias), ChatText.write, []

    def killed_once(provider, **asked):
        if asked["seed"] not in due:
            due.append(asked["seed"])
            raise Killed
        return write(provider, **asked)

    monkeypatch.setattr(ChatText, "write", killed_once)
    total = sum(ASKED[alias].values())
    for _kill in range(total):
        with pytest.raises(Killed):
            finish(dialogue)
    finish(dialogue)

    assert dialogue.state in {"ready", "flagged"}, dialogue.error
    assert dict(writer.asked) == ASKED[alias]
    hashes = list(paid(dialogue).values_list("request_hash", flat=True))
    assert (len(hashes), len(set(hashes))) == (total, total)


@pytest.mark.parametrize(("guess", "share", "passed"), [("right", 1.0, False), ("first", 0.5, True)])
def test_words_that_give_the_key_away_are_found_in_both_orders(writer, guess, share, passed):
    def read(good):
        if guess == "first":
            return good
        told = writer.prompts["TextGuesses"][-1]
        return {"options": [1 if "option 1: slow" in part else 2 for part in told.split("Line ")[1:]]}

    writer.plan("TextGuesses", read, read)

    dialogue = finish(briefed(valence="negative"))

    finding = QcReport.objects.get(dialogue=dialogue, check_name="text gives away")
    assert (finding.value, finding.threshold, finding.passed) == (share, 0.75, passed)
    leak = batch_text_leak(batch=dialogue.brief.batch)
    assert (leak.share, leak.asked, leak.open) == (share, 4, passed)
    first, second = writer.prompts["TextGuesses"]
    assert first != second
    for prompt in (first, second):
        assert dialogue.title not in prompt


def test_a_judge_of_words_that_will_not_answer_flags_and_does_not_fail(writer):
    writer.plan("TextGuesses", Reply.refused())

    dialogue = finish(briefed())

    finding = QcReport.objects.get(dialogue=dialogue, check_name="text gives away")
    assert (dialogue.state, finding.value, finding.passed) == ("flagged", None, False)
    assert batch_text_leak(batch=dialogue.brief.batch).unjudged == 1


def test_stages_are_those_the_server_was_asked_for():
    for alias, asked in ASKED.items():
        stages = benchmark_get(alias).stages
        named = {stage.schema.__name__ for stage in stages} | {
            stage.judge.schema.__name__ for stage in stages if stage.judge
        }
        assert named == set(asked) - {"TextGuesses"}
