import json
import re

import pytest
from django.core.management import CommandError, call_command

from generation.management.commands.dialogues_generate import Command
from generation.models import Batch, Corpus, Dialogue, ProviderCall
from generation.providers.scripted import Behaviour
from generation.providers.text.fake import FakeText
from generation.providers.voice.fake import FakeVoice

pytestmark = pytest.mark.django_db

FAKES = {"text": "fake", "voice": "fake", "transcriber": "fake"}
ASKED = {"benchmark": "speecheq", "per_category": 1, "category": ["interpersonal_empathy"], **FAKES}


def document(capsys, command, /, *args, **options):
    call_command(command, *args, json=True, **options)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    return json.loads(lines[0])


def refused(capsys, **options):
    with pytest.raises(SystemExit) as caught:
        call_command("dialogues_generate", json=True, **options)
    assert caught.value.code == 1
    return json.loads(capsys.readouterr().out)


def test_generate_gives_one_json_document_and_adds_nothing_when_all_is_there(capsys):
    first = document(capsys, "dialogues_generate", name="mine", **ASKED)
    calls = ProviderCall.objects.count()
    second = document(capsys, "dialogues_generate", name="mine", **ASKED)

    quiet = {"failed": [], "calls": calls, "cost": None, "stopped": []}
    uid = first.pop("batch")
    assert len(uid) == 16
    assert first == {"corpus": "mine", "added": 1, "dialogues": 1, "states": {"ready": 1}, **quiet}
    assert second == {"corpus": "mine", "batch": None, "added": 0, "dialogues": 1, "states": {"ready": 1}, **quiet}
    assert ProviderCall.objects.count() == calls


def test_generate_makes_every_category_when_none_is_named(capsys):
    made = document(capsys, "dialogues_generate", **{**ASKED, "category": [], "voice": "fake", "text": "fake"})

    assert (made["corpus"], made["added"]) == ("speecheq", 15)
    assert len(set(Dialogue.objects.values_list("category", flat=True))) == 15


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"category": []}, "There are demo scripts for some categories only: 0 of"),
        (
            {"category": ["interpersonal_empathy"], "per_category": 99},
            "of interpersonal_empathy in this language, and 99 are",
        ),
    ],
)
def test_generate_says_before_it_starts_which_demo_scripts_there_are(capsys, asked, said):
    answer = refused(capsys, **{**ASKED, "text": "demo", **asked})

    assert said in answer["error"]
    assert re.search(r"There are: \w+ \(\d+\)", answer["error"])
    assert (answer["field"], Dialogue.objects.count()) == ("category", 0)


def test_generate_gives_the_batch_its_thresholds_and_refuses_what_is_none(capsys):
    made = document(capsys, "dialogues_generate", **ASKED, threshold=["word_error=0.2"])
    wrong = refused(capsys, **{**ASKED, "name": "other", "threshold": ["words=0.2"]})

    assert Batch.objects.get(uid=made["batch"]).thresholds == {"word_error": 0.2}
    assert wrong["error"].startswith("There is no threshold 'words'. Known: ")


def test_generate_goes_on_where_it_stopped(capsys):
    FakeVoice.script.extend([Behaviour.OK, Behaviour.OK])

    class Interrupted(list):
        def append(self, call):
            super().append(call)
            if len(self) == 3:
                raise KeyboardInterrupt

    FakeVoice.calls = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        call_command("dialogues_generate", json=True, **ASKED)
    FakeVoice.calls = []
    done = document(capsys, "dialogues_generate", **ASKED)

    assert (done["added"], done["states"]) == (0, {"ready": 1})
    assert len(FakeVoice.calls) == 6
    assert len(FakeText.calls) == 1


def test_generate_tells_what_failed_and_keeps_the_rest(capsys):
    FakeText.script.extend([Behaviour.OK, Behaviour.FAIL])

    made = document(capsys, "dialogues_generate", **{**ASKED, "per_category": 2})

    assert made["states"] == {"ready": 1, "failed": 1}
    assert [failure["error_cause"] for failure in made["failed"]] == ["HTTP 500"]


def test_generate_speaks_to_people(capsys):
    call_command("dialogues_generate", **ASKED)

    assert capsys.readouterr().out == "Corpus speecheq: 1 dialogues (1 ready), 1 of them new.\n"


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"benchmark": "speech"}, "benchmark", "Known: echomind, emosbench, speecheq."),
        (
            {"text": "fak"},
            "text_provider",
            "Unknown text provider 'fak'. Did you mean 'fake'? Known: anthropic, azure, deepseek, demo, fake, ",
        ),
        ({"voice": "x"}, "voice_provider", "Unknown voice provider 'x'. Known: fake, local, openai, "),
        ({"transcriber": "x"}, "transcriber", "Unknown transcriber 'x'. Known: fake, local, openai, "),
        (
            {"category": ["courage"]},
            "category",
            "SpeechEQ has no category 'courage'. Known: self_perception_self_regard",
        ),
        ({"language": "fr"}, "language", "SpeechEQ knows no language 'fr'. Known: en, zh."),
        ({"per_category": 0}, "per_category", "--per-category must be at least 1 and at most 10000."),
        ({"name": "two words"}, "name", "'two words' cannot name a corpus"),
    ],
)
def test_generate_names_what_is_wrong_and_writes_nothing(capsys, change, field, said):
    answer = refused(capsys, **{**ASKED, **change})

    assert answer["field"] == field
    assert said in answer["error"]
    assert not Corpus.objects.exists()


def test_generate_says_what_is_wrong_to_people_too():
    with pytest.raises(CommandError, match="Unknown voice provider 'x'"):
        call_command("dialogues_generate", **{**ASKED, "voice": "x"})


def test_providers_check_gives_the_state_of_each(capsys):
    assert document(capsys, "providers_check", "fake") == {
        "providers": [
            {
                "kind": "text",
                "alias": "fake",
                "model": "fake-text-1",
                "ok": True,
                "message": "A fake: it writes example scripts.",
            },
            {
                "kind": "voice",
                "alias": "fake",
                "model": "fake-voice-1",
                "ok": True,
                "message": "A fake: it hums instead of speaking.",
            },
            {
                "kind": "transcriber",
                "alias": "fake",
                "model": "fake-transcriber-1",
                "ok": True,
                "message": "A fake: it recalls what the fake voice said.",
            },
        ]
    }


def test_providers_check_speaks_to_people_and_knows_its_aliases(capsys):
    call_command("providers_check", "fake")

    assert "works: A fake: it hums instead of speaking." in capsys.readouterr().out
    with pytest.raises(CommandError, match="Unknown provider 'nobody'"):
        call_command("providers_check", "nobody")


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        (["--benchmark", "speecheq", "--per-category", "some"], "invalid int value"),
        (["--benchmark", "speecheq"], "--per-category"),
        (["--benchmark", "speecheq", "--per-category", "1", "--nonsense"], "--nonsense"),
        (["--benchmark", "speecheq", "--per-category", "10001"], "at most 10000"),
        (["--benchmark", "speecheq", "--per-category", "1", "--seed", "9" * 30, "--text", "fake"], "too large"),
    ],
)
def test_arguments_that_cannot_be_used_are_one_json_document(capsys, arguments, about):
    with pytest.raises(SystemExit) as caught:
        Command().run_from_argv(["manage.py", "dialogues_generate", *arguments, "--json"])

    assert caught.value.code == 1
    assert about in json.loads(capsys.readouterr().out)["error"]
