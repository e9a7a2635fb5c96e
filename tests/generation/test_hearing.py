"""Recordings from elsewhere are held against what a transcriber hears, and their words can be put right."""

from __future__ import annotations

import json

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse
from django.utils import translation

from eqstudio.errors import Conflict, IllegalMove, InvalidInput, UnknownAlias
from eqstudio.models import Event
from eqstudio.templatetags.studio import details
from eqstudio.words import STATES
from generation import tasks
from generation.domain.lifecycle import DialogueState
from generation.domain.sayings import SAYINGS
from generation.models import Batch, Brief, Dialogue, ProviderCall, QcReport, Variant
from generation.providers.transcriber.fake import FakeTranscriber
from generation.providers.voice.fake import heard_key
from generation.services import corpus_import, dialogue_move, import_check, transcript_correct, upload_create
from generation.services.provider_checks import KINDS
from generation.words import PROVIDER_LINES, STATE_LABELS, finding_words
from tests.generation.factories import CorpusFactory, DialogueFactory, wav_bytes
from tests.generation.pipeline import advance, one_briefed

pytestmark = pytest.mark.django_db
SAID = "Good morning, how are you today?"
HEARD = {"right": "good morning how are you today", "other": "goodbye", "wordless": "who is there"}


def recordings(folder):
    """Three recordings: heard as they should be, heard otherwise, and one without words."""
    for number, (name, heard) in enumerate(HEARD.items()):
        sound = wav_bytes(seconds=0.4, frequency=180 + 11 * number)
        (folder / f"{name}.wav").write_bytes(sound)
        if name != "wordless":
            (folder / f"{name}.txt").write_text(SAID)
        cache.set(heard_key(sound), heard)
    return folder


def imported(folder, **options):
    corpus_import(
        corpus=CorpusFactory(),
        path=recordings(folder),
        format="audio",
        defaults={"category": "happy", "benchmark": "echomind"},
        **options,
    )
    return {dialogue.title: dialogue for dialogue in Dialogue.objects.select_related("brief__batch")}


def flaw(dialogue):
    """What the last check says of the words, and whether it lets them pass."""
    last = QcReport.objects.filter(dialogue=dialogue, check_name="transcript").order_by("-run").first()
    return None if last is None else (last.passed, last.message)


def test_the_command_has_recordings_transcribed_and_held_against_their_words(tmp_path, capsys):
    asked = ["corpus_import", str(recordings(tmp_path)), "--format", "audio", "--name", "heard", "--json"]
    asked += ["--category", "happy", "--transcriber", "fake"]
    call_command(*asked)
    first = json.loads(capsys.readouterr().out)
    call_command(*asked)
    again = json.loads(capsys.readouterr().out)

    assert first == {"created": 3, "skipped": 0, "refused": [], "checked": {"flagged": 2, "ready": 1}, "failed": []}
    assert (again["created"], again["skipped"], again["checked"]) == (0, 3, {"flagged": 2, "ready": 1})
    by_title = {dialogue.title: dialogue for dialogue in Dialogue.objects.all()}
    assert {title: (dialogue.state, flaw(dialogue)) for title, dialogue in by_title.items()} == {
        "right": ("ready", (True, "0.0% of the words were heard otherwise (WER, at most 5.0%).")),
        "other": ("flagged", (False, "100.0% of the words were heard otherwise (WER, at most 5.0%).")),
        "wordless": ("flagged", (False, "There is no transcript. Listen to it, then decide.")),
    }
    assert ProviderCall.objects.filter(kind="transcriber", outcome="ok", dialogue__isnull=False).count() == 3
    assert (Batch.objects.count(), Brief.objects.get().count) == (1, 3)


def test_an_upload_is_transcribed_by_the_worker(django_capture_on_commit_callbacks):
    sound = wav_bytes(seconds=0.4)
    cache.set(heard_key(sound), SAID)
    files = [SimpleUploadedFile("a.wav", sound), SimpleUploadedFile("a.txt", SAID.encode())]
    defaults = {"category": "happy", "transcriber": "fake"}
    made = upload_create(corpus=CorpusFactory(), files=files, format="audio", defaults=defaults)

    with django_capture_on_commit_callbacks(execute=True):
        tasks.upload_enqueue(made.pk)

    dialogue = Dialogue.objects.get()
    assert (dialogue.state, flaw(dialogue)[0], dialogue.is_made_here) == ("ready", True, False)


def test_a_transcriber_nobody_knows_is_said_before_anything_comes_in(tmp_path):
    with pytest.raises(UnknownAlias, match="Known: fake"):
        import_check(path=recordings(tmp_path), format="audio", transcriber="nobody")
    with pytest.raises(UnknownAlias):
        upload_create(
            corpus=CorpusFactory(),
            files=[SimpleUploadedFile("a.wav", b"RIFF")],
            format="audio",
            defaults={"transcriber": "nobody"},
        )


def test_words_typed_in_are_measured_at_once_or_wait_for_the_transcriber(tmp_path, rita):
    made = imported(tmp_path)
    wordless, other = made["wordless"], made["other"]
    lines = {dialogue: Variant.objects.get(turn__dialogue=dialogue) for dialogue in (wordless, other)}

    transcript_correct(dialogue=wordless, texts={lines[wordless].uid: " Who is \n there? "}, actor=rita)
    transcript_correct(dialogue=other, texts={lines[other].uid: "Goodbye."}, transcriber="fake", actor=rita)
    between = (wordless.state, other.state)
    advance(other)

    assert between == ("ready", "voiced")
    assert (other.state, flaw(other)[0]) == ("ready", True)
    assert list(Variant.objects.filter(turn__dialogue__in=[wordless, other]).values_list("text", flat=True)) == [
        "Goodbye.",
        "Who is there?",
    ]
    told = Event.objects.filter(verb="transcript put right").order_by("pk")
    assert [(event.actor, event.detail["before"]) for event in told] == [
        (rita, {lines[wordless].uid: ""}),
        (rita, {lines[other].uid: SAID}),
    ]


def test_the_check_runs_again_with_the_same_transcriber_and_pays_nothing_twice(tmp_path):
    wordless = imported(tmp_path, transcriber="fake")["wordless"]
    advance(wordless)
    line = Variant.objects.get(turn__dialogue=wordless)

    transcript_correct(dialogue=wordless, texts={line.uid: "Who is there?"}, transcriber="fake")
    advance(wordless)

    assert (wordless.state, wordless.brief.count) == ("ready", 3)
    assert len(FakeTranscriber.calls) == 1
    assert sorted(set(wordless.findings.values_list("run", flat=True))) == [1, 2]


def _judged(dialogue):
    for state in (DialogueState.READY, DialogueState.IN_REVIEW, DialogueState.READY):
        dialogue_move(dialogue=dialogue, to=state)


def _waiting(dialogue):
    dialogue_move(dialogue=dialogue, to=DialogueState.VOICED)


@pytest.mark.parametrize(
    ("before", "words", "error", "said"),
    [
        (lambda dialogue: None, "  ", InvalidInput, "Write down what is said in every recording"),
        (lambda dialogue: None, "x" * 10_001, InvalidInput, "at most 10000 characters"),
        (_judged, "Who?", Conflict, "People have judged this dialogue as it is"),
        (_waiting, "Who?", IllegalMove, "while it is ready or flagged"),
    ],
)
def test_words_stay_where_they_must(tmp_path, before, words, error, said):
    dialogue = imported(tmp_path)["wordless"]
    before(dialogue)
    line = Variant.objects.get(turn__dialogue=dialogue)
    state, events = dialogue.state, Event.objects.count()

    with pytest.raises(error, match=said):
        transcript_correct(dialogue=dialogue, texts={line.uid: words})

    dialogue.refresh_from_db()
    assert (dialogue.state, Variant.objects.get(pk=line.pk).text, Event.objects.count()) == (state, "", events)


def test_the_words_of_what_is_made_here_are_not_put_right():
    dialogue = advance(one_briefed(), times=3)

    with pytest.raises(InvalidInput, match="written here"):
        transcript_correct(dialogue=dialogue, texts={})


def test_the_page_takes_the_words_and_says_what_is_wrong(client, rita, tmp_path):
    client.force_login(rita)
    dialogue = imported(tmp_path)["wordless"]
    line = Variant.objects.get(turn__dialogue=dialogue)
    page = reverse("dialogue_words", args=[dialogue.uid])

    offered = client.get(reverse("dialogue", args=[dialogue.uid])).content.decode()
    empty = client.post(page, {f"text-{line.uid}": " ", "transcriber": ""}).content.decode()
    saved = client.post(page, {f"text-{line.uid}": "Who is there?", "transcriber": "fake"})
    dialogue.refresh_from_db()

    assert page in offered
    assert "Write down what is said in every recording" in empty
    assert saved.url == reverse("dialogue", args=[dialogue.uid])
    assert dialogue.state == "voiced"


def test_the_page_of_words_is_closed_for_what_is_made_here(client, rita):
    client.force_login(rita)
    dialogue = advance(one_briefed(), times=3)
    where = reverse("dialogue", args=[dialogue.uid])

    assert client.get(reverse("dialogue_words", args=[dialogue.uid])).url == where
    assert reverse("dialogue_words", args=[dialogue.uid]) not in client.get(where).content.decode()


# --- findings in the reader's language


def test_a_finding_is_worded_again_from_its_name_and_figures():
    dialogue = advance(one_briefed(), times=3)
    rows = list(QcReport.objects.filter(dialogue=dialogue))

    assert {finding_words(row.message, row.detail) == row.message for row in rows} == {True}
    assert {row.detail["said"] in SAYINGS for row in rows} == {True}
    with_lines = [row for row in rows if row.detail["where"]]
    assert {row.message.startswith(f"Line {row.detail['where']['line']}") for row in with_lines} == {True}
    with translation.override("zh-hans"):
        language = next(row for row in rows if row.check_name == "language")
        assert language.detail["figures"] == {"expected": "English"}
        assert "%" not in finding_words(language.message, language.detail)


def test_every_provider_is_told_in_a_line_and_every_state_has_the_same_words_in_the_trail():
    known = {(kind, alias) for kind, registry in KINDS.items() for alias in registry}

    assert set(PROVIDER_LINES) == known
    assert {state: str(label) for state, label in STATES.items()} == {
        state.value: str(label) for state, label in STATE_LABELS.items()
    }


def test_the_trail_words_states_and_keeps_what_it_does_not_know(client, ada):
    client.force_login(ada)
    dialogue_move(dialogue=DialogueFactory(state="ready"), to=DialogueState.FLAGGED, reason="transcript")

    page = client.get(reverse("events")).content.decode()

    assert details({"before": "in_review", "after": "gone", "odd": 3}) == [
        ("before", "in review"),
        ("after", "gone"),
        ("odd", 3),
    ]
    assert '<span class="muted">because</span> transcript' in page


def test_a_finding_from_before_keeps_its_words():
    assert finding_words("The clip lasts 2.00 s.", {"line": 1}) == "The clip lasts 2.00 s."
    assert finding_words("Said by a later version.", {"said": "not known here"}) == "Said by a later version."
