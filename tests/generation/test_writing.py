"""Writing in stages with a fake that follows: what is kept, what is drawn, what is refused, what is paid for."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from eqstudio.benchmarks import benchmark_get, benchmarks
from generation.models import Candidate, Dialogue, Draw, ProviderCall, Turn
from generation.providers.scripted import Behaviour
from generation.providers.text.fake import FakeText
from generation.services import dialogues_retry
from generation.services.casting import dialogue_cast
from tests.generation.pipeline import advance, batch_of, one_briefed

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _in_stages(monkeypatch):
    monkeypatch.setattr(FakeText, "writes_in_stages", True)


def written_of(alias, language="en", **fields):
    benchmark = benchmark_get(alias)
    category = fields.pop("category", benchmark.categories[0].key)
    return one_briefed(benchmark=alias, category=category, language=language, **fields)


def text_calls(dialogue):
    return ProviderCall.objects.filter(dialogue=dialogue, kind="text")


@pytest.mark.parametrize("alias", benchmarks)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_benchmark_is_written_in_stages(alias, language):
    benchmark = benchmark_get(alias)

    dialogue = advance(written_of(alias, language))

    assert (dialogue.state, dialogue.error) == ("scripted", "")
    judged = sum(stage.judge is not None for stage in benchmark.stages)
    assert text_calls(dialogue).count() == len(benchmark.stages) + judged
    assert set(text_calls(dialogue).values_list("outcome", flat=True)) == {"ok"}
    assert None not in set(text_calls(dialogue).values_list("seed", flat=True))
    assert dialogue.title
    assert {row.stage for row in dialogue.candidates.filter(chosen=True)} == {stage.name for stage in benchmark.stages}


def test_the_pair_is_the_judges_and_what_was_not_taken_is_kept():
    dialogue = advance(written_of("speecheq"))

    rows = {row.key: row for row in dialogue.candidates.filter(stage="deliveries")}
    assert sorted(key for key, row in rows.items() if row.chosen) == [
        "s4.dissonant_2",
        "s4.resonant",
        "s6.dissonant_2",
        "s6.resonant",
    ]
    assert rows["s4.dissonant_3"].reason == "Another candidate was chosen."
    assert {score["name"]: score["score"] for score in rows["s6.dissonant_3"].scores} == {"fits": 2, "damages": 3}
    low = dialogue.turns.get(position=4).variants.get(label="low")
    assert low.tone.startswith(rows["s4.dissonant_2"].content["instruction"])
    assert dialogue.scenario["speaker2_persona_low"] == dialogue.scenario["speaker2_persona_2"]
    assert dialogue.scenario["speaker2_persona_high"] == dialogue.scenario["speaker2_persona_1"]


def test_an_answer_that_does_not_fit_is_written_anew_within_bounds():
    dialogue = written_of("speecheq")
    FakeText.script.extend([Behaviour.RUBBISH] * 2)

    advance(dialogue)

    assert dialogue.state == "scripted"
    tries = dialogue.candidates.filter(stage="scene").values_list("attempt", "chosen")
    assert list(tries) == [(0, False), (1, False), (2, True)]
    assert text_calls(dialogue).filter(outcome="error").count() == 2


def test_a_stage_refused_four_times_gives_up_and_a_retry_begins_another_take():
    batch = batch_of()
    dialogue = Dialogue.objects.get(brief__batch=batch)
    FakeText.script.extend([Behaviour.RUBBISH] * 4)

    advance(dialogue)
    failed = (dialogue.state, dialogue.error_cause)
    tries = dialogue.candidates.count()
    first = set(Draw.objects.filter(dialogue=dialogue).values_list("take", flat=True))
    moved = dialogues_retry(batch=batch, cause="unusable")
    advance(dialogue)

    assert failed == ("failed", "unusable")
    assert (tries, first, moved) == (4, {0}, 1)
    assert (dialogue.state, dialogue.takes) == ("scripted", 1)
    assert dialogue.candidates.filter(take=0).count() == 4


def test_a_rate_limit_between_stages_pays_nothing_twice():
    dialogue = written_of("speecheq")
    FakeText.script.extend([Behaviour.OK, Behaviour.OK, Behaviour.OK, Behaviour.STALL])

    advance(dialogue)
    stopped = (dialogue.state, text_calls(dialogue).filter(outcome="ok").count())
    FakeText.calls.clear()
    advance(dialogue)

    assert stopped == ("briefed", 3)
    assert dialogue.state == "scripted"
    assert len(FakeText.calls) == 3
    assert text_calls(dialogue).filter(outcome="ok").count() == 6


def test_decided_stages_are_not_decided_again_when_candidates_are_lost_the_ledger_answers():
    """As after a kill between the answer and its candidates: the call is in the ledger, the decision is not."""
    dialogue = written_of("emosbench")
    FakeText.script.extend([Behaviour.OK, Behaviour.STALL])
    advance(dialogue)
    Candidate.objects.filter(dialogue=dialogue)._raw_delete("default")
    FakeText.calls.clear()

    advance(dialogue)

    assert dialogue.state == "scripted"
    assert len(FakeText.calls) == 2


def test_draws_do_not_clump_within_a_corpus():
    batch = batch_of(count=12)
    for dialogue in Dialogue.objects.filter(brief__batch=batch):
        assert advance(dialogue).state == "scripted"

    names = Counter(
        Turn.objects.filter(dialogue__brief__batch=batch).values_list("dialogue", "speaker_name").distinct()
    )
    assert len({name for _dialogue, name in names}) == 24
    cells = Counter(Draw.objects.filter(kind="cell").values_list("value", flat=True))
    assert set(cells.values()) == {1}
    genders = Counter(Draw.objects.filter(kind="genders").values_list("value", flat=True))
    assert set(genders.values()) == {3}
    archetypes = Counter(Draw.objects.filter(kind__startswith="archetype").values_list("value", flat=True))
    assert max(archetypes.values()) - min(archetypes.values()) <= 1


def test_a_valence_and_setting_that_are_asked_for_are_kept():
    dialogue = advance(written_of("speecheq", valence="conflict", setting="health"))

    assert dialogue.valence == "conflict"
    assert dialogue.template_key == "speecheq:self_perception_self_regard:conflict:health"
    assert Draw.objects.get(dialogue=dialogue, kind="cell").value == "conflict|health"


def test_a_scene_like_an_earlier_one_is_refused_and_the_reason_told(monkeypatch):
    first = advance(written_of("echomind"))
    again = written_of("echomind", corpus=first.corpus, seed=1)
    stage = benchmark_get("echomind").stages[0]
    told = []
    write = FakeText.write

    def copying(self, **kwargs):
        told.append(kwargs["prompt"].user)
        result = write(self, **kwargs)
        if kwargs["schema"] is stage.schema and len(told) == 1:
            result.script["title"] = first.title
        return result

    monkeypatch.setattr(FakeText, "write", copying)
    advance(again)

    refused, taken = again.candidates.filter(stage="line")
    assert (refused.chosen, taken.chosen) == (False, True)
    assert first.title in refused.reason
    assert refused.reason in told[1]
    assert again.state == "scripted"


def test_a_provider_that_does_not_write_in_stages_is_asked_once(monkeypatch):
    monkeypatch.setattr(FakeText, "writes_in_stages", False)

    dialogue = advance(written_of("speecheq"))

    assert dialogue.state == "scripted"
    assert text_calls(dialogue).count() == 1
    assert not Draw.objects.exists()


def test_the_page_of_a_dialogue_shows_what_was_drawn_and_weighed(client, rita):
    dialogue = written_of("speecheq")
    FakeText.script.append(Behaviour.RUBBISH)
    advance(dialogue)
    client.force_login(rita)

    page = client.get(f"/dialogues/{dialogue.uid}/").content.decode()

    assert "How it was written" in page
    assert "Another candidate was chosen." in page
    assert "The answer does not fit what was asked for" in page
    for name in Draw.objects.filter(dialogue=dialogue, kind__startswith="name").values_list("value", flat=True):
        assert f"<dd>{name}</dd>" in page


def test_the_page_of_a_batch_says_whether_words_give_the_key_away(client, rita):
    dialogue = advance(written_of("speecheq"), times=3)
    client.force_login(rita)

    page = client.get(f"/batches/{dialogue.brief.batch.uid}/").content.decode()

    assert "Do the words give the key away?" in page
    assert "was right in 50% of its answers (2 of 4)" in page


def test_pages_of_dialogues_written_at_once_say_nothing_of_stages(client, rita, monkeypatch):
    monkeypatch.setattr(FakeText, "writes_in_stages", False)
    dialogue = advance(written_of("speecheq"), times=3)
    client.force_login(rita)

    pages = [client.get(f"/dialogues/{dialogue.uid}/"), client.get(f"/batches/{dialogue.brief.batch.uid}/")]

    assert [page.status_code for page in pages] == [200, 200]
    assert not any(word in page.content.decode() for page in pages for word in ("How it was written", "Do the words"))


@pytest.mark.django_db(transaction=True)
def test_casts_drawn_by_many_threads_at_once_do_not_clump():
    batch = batch_of(count=24)
    dialogues = list(Dialogue.objects.filter(brief__batch=batch).select_related("brief"))
    benchmark = benchmark_get("speecheq")

    def draw(dialogue):
        try:
            return dialogue_cast(dialogue=dialogue, brief=dialogue.brief, benchmark=benchmark)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        casts = list(pool.map(draw, dialogues))

    assert len({person.name for cast in casts for person in cast.people}) == 48
    assert set(Counter((cast.valence, cast.setting) for cast in casts).values()) == {1, 2}
    assert set(Counter(tuple(one.gender for one in cast.people) for cast in casts).values()) == {6}
