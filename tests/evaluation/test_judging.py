"""Open replies: judged by people on a page and by judge models, whose agreement with people stands beside every figure."""

import json
from datetime import timedelta

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Trial, TrialKind
from eqstudio.errors import Conflict, GiveUp, InvalidInput, ProviderError, Refused, Retry
from evaluation.backends import Answer, Backend, backends
from evaluation.domain.judging import FEW, SAME, SCALES, Judged, judge_agreement, judge_trial
from evaluation.models import JudgeWork, ReplyGrade, ReplyJudge, ReplyJudgement, Response
from evaluation.selectors.replies import judges_at_work, replies_of
from evaluation.services import comparison_build, response_record, sitting_open, trial_next
from evaluation.services.judge_work import judge_start, judge_step, judges_due
from evaluation.services.judging import judge_advance, judge_create, reply_judge, reply_next, scales_of
from evaluation.services.reply_results import replies_build
from generation.selectors import item_view
from tests.eqstudio.factories import annotator, researcher
from tests.evaluation.factories import echomind_study, heard_all, model_respondent, speecheq_study
from tests.generation.factories import clip_make
from tests.openai_server import OpenAIServer, Reply

pytestmark = pytest.mark.django_db
TEXT = [scale.name for scale in SCALES if not scale.vocal]


def replied(study, name, words="That sounds rough. Do you need anything?", *, choose=lambda _record: "A", **fields):
    """A respondent that gives the same reply everywhere, and chooses by ``choose(record)``."""
    respondent = fields.pop("user", None) or model_respondent(study, name=name)
    who = {"respondent": respondent} if hasattr(respondent, "study") else {"user": respondent}
    sitting = sitting_open(study=study, **who)
    while (record := trial_next(sitting=sitting)) is not None:
        kind = TrialKind(record.shown["kind"])
        answer = words if kind is TrialKind.REPLY else choose(record) if record.shown["options"] else "some words"
        paradata = fields if kind is TrialKind.REPLY else {}
        response_record(trial=record, raw=json.dumps({"answer": answer}), heard=heard_all(record), paradata=paradata)
    return respondent


@pytest.fixture
def study():
    study = echomind_study(items=3)
    replied(study, "warm")
    replied(study, "cold", "Noted.")
    return study


def judged_by(user, response, value=4, **values):
    given = {scale.name: values.get(scale.name, value) for scale in scales_of(response)}
    return reply_judge(response=response, user=user, values=given, client_key="k", heard=heard_all(response.trial))


def judge_all(study, user, value=lambda _response: 4):
    while (response := reply_next(study=study, user=user)) is not None:
        judged_by(user, response, value(response))


def worth(response):
    """What people think of it here: the short one is poor."""
    return 2 if "Noted" in response.raw else 4 + response.pk % 2


def test_people_judge_each_reply_once_on_four_scales_and_never_their_own(study):
    person = annotator(username="sitter")
    replied(study, "", user=person)
    judge_all(study, person)
    assert ReplyJudgement.objects.filter(user=person).count() == 6
    assert not ReplyJudgement.objects.filter(response__trial__sitting__respondent__user=person).exists()
    assert set(ReplyGrade.objects.values_list("scale", flat=True)) == set(TEXT)
    own = Response.objects.filter(trial__key="reply", trial__sitting__respondent__user=person).first()
    with pytest.raises(Conflict):
        judged_by(person, own)


def test_the_reply_that_fewest_have_judged_comes_first_and_three_are_enough(study):
    for number in range(3):
        judge_all(study, annotator(username=f"judge{number}"))
    assert ReplyJudgement.objects.count() == 18
    assert reply_next(study=study, user=annotator(username="late")) is None


def test_a_judgement_is_kept_raw_and_stored_once(study):
    person = annotator()
    response = reply_next(study=study, user=person)
    first = judged_by(person, response, 3)
    assert judged_by(person, response, 5) == first
    assert json.loads(first.raw) == dict.fromkeys(TEXT, 3)


@pytest.mark.parametrize("values", [{}, {"context_fit": 6}, {"context_fit": 0}, {"context_fit": "5"}])
def test_a_missing_or_wrong_grade_names_its_scale(study, values):
    person = annotator()
    response = reply_next(study=study, user=person)
    given = {**dict.fromkeys(TEXT, 3), "context_fit": None, **values}
    with pytest.raises(InvalidInput) as caught:
        reply_judge(response=response, user=person, values=given, client_key="k", heard=heard_all(response.trial))
    assert caught.value.field == "values.context_fit"
    with pytest.raises(InvalidInput, match="Still to hear"):
        reply_judge(response=response, user=person, values=dict.fromkeys(TEXT, 3), client_key="k")


def test_a_spoken_reply_is_judged_on_the_vocal_scale_too(study):
    replied(study, "speaker", reply_clip=clip_make(seconds=0.2).sha256)
    spoken = replies_of(study=study).filter(trial__sitting__respondent__name="speaker").first()
    assert [scale.name for scale in scales_of(spoken)] == [*TEXT, "vocal_empathy"]
    judge = judge_create(study=study, backend="random", evaluator="mcq")[-1]
    assert judge.content["scale"] == "vocal_empathy"
    assert judge_advance(judge=judge).judged == 3
    with pytest.raises(InvalidInput):
        judge_create(study=study, backend="random", evaluator="text", scales=["vocal_empathy"])


class Scripted(Backend):
    """A judge that gives what a test told it to, in turn."""

    alias = "scripted"
    script: list = []
    asked: list = []

    def answer(self, trial, clips):
        Scripted.asked.append((trial, clips))
        said = Scripted.script.pop(0)
        if isinstance(said, Exception):
            raise said
        return Answer(raw=said)


@pytest.fixture
def scripted(monkeypatch):
    monkeypatch.setitem(backends._entries, "scripted", Scripted)
    Scripted.script, Scripted.asked = [], []
    return Scripted


def advance(judge, **fields):
    return judge_advance(judge=judge, sleep=lambda _seconds: None, **fields)


def test_a_judge_is_asked_one_scale_at_a_time_and_reads_what_is_heard(study, scripted):
    judge = judge_create(study=study, backend="scripted", scales=["speech_relevance"])[0]
    scripted.script = ['{"reason": "x", "answer": 5}'] * 6
    assert advance(judge).judged == 6
    trial = scripted.asked[0][0]
    assert trial.scale == (1, 5)
    response = replies_of(study=study).order_by("pk").first()
    shown = Trial.from_dict(response.trial.shown)
    item = item_view(dialogue=response.trial.dialogue)
    assert benchmark_get("echomind").cue(item, shown) in trial.scenario
    assert "That sounds rough." in trial.question
    assert set(ReplyGrade.objects.values_list("value", "outcome")) == {(5, "answered")}


def test_a_judge_that_hears_is_not_told_what_is_heard(study, scripted):
    judge = judge_create(study=study, backend="scripted", evaluator="mcq", scales=["speech_relevance"])[0]
    scripted.script = ["4"] * 6
    advance(judge)
    trial, clips = scripted.asked[0]
    assert trial.scenario == ""
    assert clips(trial.context[0].variant).read()


def test_what_cannot_be_read_and_what_is_refused_is_counted_and_kept_raw(study, scripted):
    judge = judge_create(study=study, backend="scripted", scales=["naturalness"])[0]
    scripted.script = ["Score: 4", "somewhere between 3 and 4", "6", Refused("no"), "4.5", '{"answer": 2}']
    advance(judge)
    assert ReplyJudgement.objects.filter(raw="somewhere between 3 and 4").count() == 1
    found = replies_build(study)["judges"][0]
    assert found["outcomes"] == {"answered": 2, "unparsed": 3, "refused": 1}
    assert (found["read"], found["grades"]) == (2, 6)


def test_failures_are_asked_again_and_end_as_errors_that_a_later_round_repeats(study, scripted):
    judge = judge_create(study=study, backend="scripted", scales=["naturalness"])[0]
    busy = ProviderError("busy", cause="rate limited", decision=Retry(1))
    gone = ProviderError("gone", cause="HTTP 404", decision=GiveUp())
    scripted.script = [busy, busy, "3", gone, *[busy] * 5, "3", "3", "3"]
    advance(judge)
    assert sorted(ReplyGrade.objects.values_list("outcome", flat=True)) == ["answered"] * 4 + ["error"] * 2
    scripted.script = ["5", "5"]
    assert advance(judge).judged == 0
    assert advance(judge, errors_before=timezone.now()).judged == 2
    assert replies_build(study)["judges"][0]["outcomes"] == {"answered": 6}


def test_a_judge_goes_on_where_it_stopped(study, scripted):
    judge = judge_create(study=study, backend="scripted", scales=["naturalness"])[0]
    scripted.script = ["3"] * 6
    assert advance(judge, at_most=4) == (4, True)
    assert advance(judge, at_most=4) == (2, False)
    assert advance(judge).judged == 0
    assert judge_create(study=study, backend="scripted", scales=["naturalness"]) == [judge]


def test_a_judge_at_work_is_leased_and_taken_up_again_after_a_kill(study, scripted):
    judge = judge_create(study=study, backend="scripted", scales=["naturalness"])[0]
    scripted.script = ["3"] * 6
    judge_start(judge=judge)
    now = timezone.now()
    JudgeWork.objects.update(lease_until=now + timedelta(minutes=5))  # somebody was at it and is gone

    assert (judge_step(judge_id=judge.pk, now=now), list(judges_due(now=now)), scripted.asked) == (False, [], [])
    later = now + timedelta(minutes=6)
    assert list(judges_due(now=later)) == [judge.pk]
    assert judge_step(judge_id=judge.pk, now=later) is False
    assert ReplyJudgement.objects.filter(judge=judge).count() == 6
    assert (list(judges_due(now=later)), list(judges_at_work(study=study))) == ([], [])


def test_a_judge_that_cannot_go_on_says_why(study, scripted, monkeypatch):
    judge = judge_create(study=study, backend="scripted", scales=["naturalness"])[0]
    judge_start(judge=judge)
    monkeypatch.setattr(Scripted, "parameters", lambda _self: {"temperature": 1})

    assert judge_step(judge_id=judge.pk) is False
    assert "settings now say" in judges_at_work(study=study).get().stopped
    assert list(judges_due(now=timezone.now())) == []


def test_a_judge_that_was_another_model_is_not_asked(study, scripted, monkeypatch):
    judge = judge_create(study=study, backend="scripted", scales=["naturalness"])[0]
    monkeypatch.setattr(Scripted, "parameters", lambda _self: {"temperature": 1})
    with pytest.raises(Conflict):
        advance(judge)


def test_a_judge_behind_an_endpoint_hears_and_grades(study, settings):
    with OpenAIServer() as server:
        settings.EXAM_BASE_URL, settings.EXAM_KEY_ENV = server.url, ""
        server.script(*[Reply.text('{"reason": "kind", "answer": 5}')] * 6)
        judge = judge_create(study=study, backend="openai", evaluator="mcq", scales=["context_fit"])[0]
        assert advance(judge).judged == 6
        assert server.requests[-1].audio
        assert any("whole number from 1 to 5" in text for text in server.requests[-1].texts)
    assert set(ReplyGrade.objects.values_list("value", flat=True)) == {5}
    assert judge.content["prompt_hash"]


def agreement_of(pairs, items=None):
    judged = [Judged(str(place if items is None else items[place]), a, b) for place, (a, b) in enumerate(pairs)]
    return judge_agreement(judged, rng=np.random.default_rng(3))


def test_agreement_by_hand():
    pairs = [(1, (1,)), (2, (2,)), (3, (4,)), (4, (3,)), (5, (5,))]
    found = agreement_of(pairs)
    assert found["qwk"].value == pytest.approx(1 - (2 / 5) / (4.0))
    assert found["pearson"].value == pytest.approx(0.9)
    assert found["spearman"].value == pytest.approx(0.9)
    assert (found["bias"].value, found["qwk"].n) == (0, 5)


def test_perfect_agreement_and_none():
    assert agreement_of([(n, (n, n)) for n in (1, 2, 3, 4, 5)])["qwk"].value == pytest.approx(1)
    assert agreement_of([(n, (6 - n,)) for n in (1, 2, 3, 4, 5)])["qwk"].value == pytest.approx(-1)
    assert agreement_of([(3, (1,)), (3, (5,)), (3, (2,))])["pearson"].reason == SAME
    assert agreement_of([(3, (1,)), (3, (5,))])["qwk"].reason == FEW


def test_replies_to_one_item_are_drawn_together():
    pairs = [(1 + n % 5, (1 + (n + n // 20) % 5,)) for n in range(40)]
    alone = agreement_of(pairs)["pearson"]
    together = agreement_of(pairs, items=[n // 20 for n in range(40)])["pearson"]
    assert alone.value == together.value
    assert together.hi - together.lo != alone.hi - alone.lo


def test_figures_of_people_and_of_a_judge_stand_side_by_side_in_the_comparison(study, scripted):
    for number in range(2):
        judge_all(study, annotator(username=f"judge{number}"), worth)
    judges = judge_create(study=study, backend="scripted")
    for judge in judges:
        order = replies_of(study=study).order_by("pk")
        scripted.script = [json.dumps({"answer": min(5, worth(response))}) for response in order]
        advance(judge)
    found = comparison_build(study=study)["replies"]
    rows = {row["name"]: row for row in found["rows"]}
    expected = {
        "cold": 2.0,
        "warm": float(np.mean([worth(r) for r in replies_of(study=study) if "Noted" not in r.raw])),
    }
    for name, value in expected.items():
        assert rows[name]["people"]["context_fit"]["value"] == pytest.approx(value)
        assert rows[name]["judges"][judges[0].name]["context_fit"]["value"] == pytest.approx(value)
        assert rows[name]["people"]["context_fit"]["n"] == 3
    assert found["judges"][0]["agreement"]["context_fit"]["qwk"]["value"] == pytest.approx(1)
    assert found["people"]["raters"] == 2
    assert rows["warm"]["rouge_l"]["value"] is not None
    assert replies_build(study) == replies_build(study)


def test_who_can_read_the_key_does_not_judge_for_the_people(study):
    judge_all(study, researcher())
    assert replies_build(study)["people"]["raters"] == 0
    assert replies_build(study, with_key=True)["people"]["raters"] == 1


def test_a_study_without_replies_has_no_such_figures():
    assert comparison_build(study=speecheq_study(items=2))["replies"] is None


def body(response, **changes):
    values = dict.fromkeys(TEXT, 4)
    paradata = {"shown_at": "x", "submitted_at": "y"}
    sent = {
        "about": response.uid,
        "client_key": "c",
        "values": values,
        "heard": heard_all(response.trial),
        "paradata": paradata,
    }
    return json.dumps({**sent, **changes})


def test_the_page_shows_a_reply_without_its_author_and_takes_a_judgement(client, study):
    user = annotator()
    client.force_login(user)
    page = client.get(reverse("reply_rate", args=[study.uid])).content.decode()
    panel = page.split('id="scales-question"')[1].split("</form>")[0]
    assert not [name for name in ("warm", "cold", "model", "target", "neutral") if name in panel]
    response = reply_next(study=study, user=user)
    assert response.uid in panel
    address = reverse("reply_submit", args=[study.uid])
    answer = client.post(address, body(response), content_type="application/json").json()
    assert answer["page"] == study.uid
    assert response.uid not in answer["html"]
    assert ReplyJudgement.objects.get().user == user
    assert client.post(address, body(response, about="nothing"), content_type="application/json").status_code == 404
    other = reply_next(study=study, user=user)
    assert client.post(address, body(other, values={}), content_type="application/json").status_code == 400


def test_the_page_says_when_no_reply_is_left(client, study):
    user = annotator()
    judge_all(study, user)
    client.force_login(user)
    assert "No reply is left to judge" in client.get(reverse("reply_rate", args=[study.uid])).content.decode()


def test_a_researcher_lets_a_model_judge_and_reads_its_agreement_first(client, study, settings):
    settings.CELERY_TASK_ALWAYS_EAGER = True
    for number in range(2):
        judge_all(study, annotator(username=f"judge{number}"), worth)
    client.force_login(researcher())
    address = reverse("replies", args=[study.uid])
    assert client.post(address, {"backend": "nobody", "evaluator": "text"}).status_code == 422
    client.post(address, {"backend": "random", "evaluator": "text"})
    for judge in ReplyJudge.objects.all():
        judge_advance(judge=judge)
    page = client.get(address).content.decode()
    assert page.index("agree with people?") < page.index('id="replies"')
    assert page.count("kappa with people") == 2 * len(TEXT)
    comparison = client.get(reverse("comparison", args=[study.uid])).content.decode()
    assert comparison.index("agree with people?") < comparison.index('id="replies"')


def test_the_command_judges_and_tells_the_agreement(study, capsys):
    judge_all(study, annotator(), worth)
    call_command("replies_judge", study.name, "--model", "random", "--scale", "context_fit", "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["judged"] == 6
    assert told["judges"][0]["agreement"]["context_fit"]["qwk"]["n"] == 6


def test_a_judge_question_holds_the_scale_and_the_reply():
    trial = judge_trial(scale=SCALES[0], language="zh", heard="v", reply="好的。", cue="咳嗽", reply_variant="reply")
    assert (trial.kind, trial.scale, trial.key) == (TrialKind.GRADE, (1, 5), "judge-context_fit")
    assert "好的。" in trial.question
    assert "咳嗽" in trial.scenario
