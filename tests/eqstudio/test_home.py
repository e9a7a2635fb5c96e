"""The home page says per role what waits and what comes next; search finds dialogues."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Export, Judgement, Participation, Round, RoundItem, Split
from annotation.services import items_recount
from annotation.services.assignments import participation_counted
from eqstudio.home import home_panels, panels_for, running_jobs
from evaluation.models import Respondent, RunItem, Sitting, Study
from generation import home as generation_home
from generation.models import Batch, Brief, Corpus, Dialogue, Turn, Variant

pytestmark = pytest.mark.django_db


@pytest.fixture
def corpus():
    return Corpus.objects.create(name="arena")


def dialogue(corpus, state="ready", **fields):
    given = {"benchmark": "speecheq", "category": "empathy", "language": "en", "title": "The missed train", **fields}
    return Dialogue.objects.create(corpus=corpus, state=state, **given)


def make_round(corpus, count=2, **fields):
    made = Round.objects.create(corpus=corpus, **{"name": f"round-{Round.objects.count()}", **fields})
    for _ in range(count):
        RoundItem.objects.create(round=made, dialogue=dialogue(corpus, "in_review"), wanted=made.people_per_item)
    items_recount(round=made)
    return made


def judged(item, person, now, active_ms=60_000):
    lease = Assignment.objects.create(
        item=item, annotator=person, slot=0, state="submitted", lease_until=now, ended_at=now
    )
    Judgement.objects.create(
        item=item, annotator=person, assignment=lease, client_key=lease.uid, verdict="keep", active_ms=active_ms
    )
    Participation.objects.get_or_create(round=item.round, annotator=person)
    participation_counted(round=item.round, annotator=person, now=now)
    items_recount(round=item.round)


def make_split(corpus, **fields):
    given = {"benchmark": "speecheq", "item_count": 4, "manifest_hash": "0" * 64, "frozen_at": timezone.now(), **fields}
    return Split.objects.create(name="test", corpus=corpus, **given)


def make_study(split, **fields):
    given = {"name": "exam", "benchmark": "speecheq", "benchmark_version": "1", "instructions_hash": "0", **fields}
    return Study.objects.create(split=split, **given)


def make_batch(corpus, *states):
    batch = Batch.objects.create(corpus=corpus)
    kinds = {"text_provider": "fake", "voice_provider": "fake", "transcriber": "fake"}
    brief = Brief.objects.create(batch=batch, benchmark="speecheq", category="empathy", count=len(states), **kinds)
    for ordinal, state in enumerate(states):
        dialogue(corpus, state, brief=brief, ordinal=ordinal, error_cause="timeout" if state == "failed" else "")
    return batch


def page(client, user):
    client.force_login(user)
    response = client.get(reverse("home"))
    assert response.status_code == 200
    return response.content.decode()


def action(user):
    (panel,) = [one for one in panels_for(user, timezone.now()) if one.template == "evaluation/home_pipeline.html"]
    return panel.context["action"]


def test_somebody_without_a_role_is_told_whom_to_ask(client, otto):
    text = page(client, otto)

    assert "Your account has no role yet" in text
    assert "Ask an admin" in text


def test_an_annotator_with_nothing_to_do_learns_what_will_come(client, alice):
    text = page(client, alice)

    assert "Nothing waits for you" in text
    assert "From brief to comparison" not in text


def test_an_annotator_sees_what_waits_and_how_long_it_takes(client, alice, corpus):
    review = make_round(corpus, count=4)
    judged(review.items.first(), alice, timezone.now(), active_ms=90_000)

    text = page(client, alice)

    assert "3 items wait" in text
    assert "about 4 minutes, at your own pace" in text
    assert "1 of 4 judged by you" in text
    assert reverse("judge", args=[review.uid]) in text
    assert "Go on judging" in text


def test_an_annotator_learns_what_is_paused_and_what_others_hold(client, alice, corpus):
    paused = make_round(corpus, count=1, name="paused-round")
    judged(paused.items.first(), alice, timezone.now())
    paused.state = Round.State.PAUSED
    paused.save(update_fields=["state"])
    held = make_round(corpus, count=1, people_per_item=1, agree_needed=1)
    from tests.eqstudio.factories import annotator

    until = timezone.now() + timedelta(minutes=20)
    Assignment.objects.create(item=held.items.first(), annotator=annotator(), slot=0, lease_until=until)
    items_recount(round=held)

    text = page(client, alice)

    assert "<strong>paused-round</strong> is paused by a researcher." in text
    assert "others have it" in text
    assert reverse("judge", args=[held.uid]) not in text


def test_an_annotator_starts_continues_and_sees_finished_exams(client, alice, corpus):
    split = make_split(corpus)
    studies = [make_study(split, name=name) for name in ("fresh", "begun", "over")]
    for study, state in zip(studies[1:], ("open", "finished"), strict=True):
        me = Respondent.objects.create(study=study, name="Alice", kind="person", user=alice)
        Sitting.objects.create(respondent=me, order_seed=1, state=state)
    make_study(split, name="closed", is_open=False)

    text = page(client, alice)

    assert reverse("sit_start", args=[studies[0].uid]) in text
    assert reverse("sit", args=[Sitting.objects.get(state="open").uid]) in text
    assert "0 of 4 dialogues answered" in text
    assert "Thank you. Your answers count." in text
    assert "closed" not in text


def test_a_researcher_s_next_step_follows_the_pipeline(rita, corpus):
    assert action(rita).href == reverse("batch_new")
    ready = dialogue(corpus)
    assert action(rita).href == reverse("round_new")
    review = make_round(corpus, count=1)
    item = review.items.get()
    assert action(rita) is None
    item.closed_at, item.outcome = timezone.now(), "disputed"
    item.save()
    assert action(rita).href == reverse("adjudicate", args=[item.uid])
    item.outcome = "kept"
    item.save()
    Dialogue.objects.filter(pk=ready.pk).update(state="kept")
    assert action(rita).href == reverse("split_new")
    Dialogue.objects.update(state="frozen")
    split = make_split(corpus)
    assert action(rita).href == reverse("study_new")
    study = make_study(split)
    assert action(rita).href == reverse("run_new", args=[study.uid])
    rule = Respondent.objects.create(study=study, name="random", kind="rule")
    Sitting.objects.create(respondent=rule, order_seed=1, state="finished")
    assert action(rita).href == reverse("comparison", args=[study.uid])


def test_a_researcher_sees_what_failed_what_is_disputed_and_how_far_rounds_are(client, rita, corpus):
    batch = make_batch(corpus, "failed", "failed", "flagged", "ready")
    review = make_round(corpus, count=2, name="english")
    review.items.filter(pk=review.items.first().pk).update(closed_at=timezone.now(), outcome="disputed")

    text = page(client, rita)

    assert "2 dialogues could not be made:" in text
    assert "timeout" in text
    assert "1 dialogue was flagged" in text
    assert reverse("batch", args=[batch.uid]) in text
    assert "1 item waits for a decision." in text
    assert "1 of 2 closed" in text
    assert "Invite somebody" not in text


def test_an_admin_sees_people_and_health_too(client, ada, otto, alice):
    text = page(client, ada)

    assert "Invite somebody" in text
    assert "1 person has no role yet." in text
    assert f'hx-get="{reverse("health")}"' in text


@pytest.mark.parametrize(("who", "queries"), [("alice", 30), ("rita", 20), ("ada", 22)])
def test_the_home_page_needs_no_more_queries_for_more_items(  # noqa: PLR0917 -- a table's columns
    client, request, corpus, who, queries, django_assert_max_num_queries
):
    user = request.getfixturevalue(who)
    make_round(corpus, count=2)
    make_study(make_split(corpus))
    make_batch(corpus, *["failed"] * 3)
    client.force_login(user)
    client.get("/")

    with django_assert_max_num_queries(queries) as few:
        client.get("/")
    for item in RoundItem.objects.all():
        Dialogue.objects.create(corpus=corpus, benchmark="speecheq", category="empathy", language="en", state="flagged")
        RoundItem.objects.create(round=item.round, dialogue=dialogue(corpus, "in_review"))
    make_batch(corpus, *["failed"] * 5)
    with django_assert_max_num_queries(len(few)):
        client.get("/")


def test_the_strip_names_batches_exports_and_runs_under_way(corpus):
    now = timezone.now()
    make_batch(corpus, "ready", "briefed", "scripted")
    split = make_split(corpus)
    Export.objects.create(split=split, format="huggingface", state="running", done=1)
    Export.objects.create(split=split, format="csv", state="done", done=4)
    rule = Respondent.objects.create(study=make_study(split), name="random", kind="rule")
    RunItem.objects.create(
        sitting=Sitting.objects.create(respondent=rule, order_seed=1),
        dialogue=dialogue(corpus, "frozen"),
        position=0,
        lease_until=now + timedelta(minutes=5),
        lease_holder="here",
    )

    jobs = [job for source in running_jobs for job in source(now)]

    assert [(job.label, job.done, job.total) for job in jobs] == [
        ("Making arena", 1, 3),
        ("Exporting test-v1 as huggingface", 1, 4),
        ("random sits exam", 0, 4),
    ]


def test_every_app_has_its_panels():
    assert home_panels._names == [
        "eqstudio.house:panels",
        "generation.home:panels",
        "annotation.home:panels",
        "evaluation.home:panels",
    ]


@pytest.mark.parametrize(("who", "status"), [(None, 302), ("alice", 403), ("otto", 403), ("rita", 200), ("ada", 200)])
def test_search_is_for_those_who_curate(client, request, who, status):
    if who:
        client.force_login(request.getfixturevalue(who))

    assert client.get(reverse("search"), {"q": "train"}).status_code == status


def test_search_finds_by_code_title_and_spoken_words(client, rita, corpus):
    found = dialogue(corpus, external_id="emp-7")
    other = dialogue(corpus, title="Moving out")
    turn = Turn.objects.create(dialogue=other, position=1, role="context", speaker="speaker1")
    Variant.objects.create(turn=turn, label="only", text="I packed the lamp.")
    client.force_login(rita)

    def hits(query):
        return [(hit.code, hit.detail) for hit in client.get(reverse("search"), {"q": query}).context["hits"]]

    assert hits("missed TRAIN") == [(found.uid, "")]
    assert hits("emp-7") == [(found.uid, "")]
    assert hits(found.uid[:8]) == [(found.uid, "")]
    assert hits("the lamp") == [(other.uid, "I packed the lamp.")]
    assert hits("zebra") == []
    assert hits("") == []


@pytest.mark.parametrize("count", [1, 3])
def test_search_is_constant_in_queries(corpus, count, django_assert_num_queries):
    for _ in range(count):
        dialogue(corpus)

    with django_assert_num_queries(2):
        assert len(list(generation_home.search("train", 50))) == count


def test_the_age_of_due_work_is_that_of_the_oldest_free_step(corpus):
    now = timezone.now()
    assert generation_home.work_age(now).oldest_due is None
    make_batch(corpus, "briefed", "ready")
    Dialogue.objects.filter(state="briefed").update(updated=now - timedelta(hours=1))

    age = generation_home.work_age(now)

    assert age.oldest_due == now - timedelta(hours=1)
    assert age.last_progress == Dialogue.objects.get(state="ready").updated
