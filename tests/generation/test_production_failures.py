import socket
from datetime import timedelta

import pytest
import time_machine
from django.core.files.storage import default_storage
from django.utils import timezone

from eqstudio.errors import UnknownAlias
from generation.models import Clip, Dialogue, ProviderCall
from generation.providers.scripted import Behaviour
from generation.providers.text.fake import FakeText
from generation.providers.voice.fake import FakeVoice
from generation.services import (
    dialogue_advance,
    leases_reclaim,
    provider_check,
    providers_check,
)
from generation.services.leases import LEASE, lease_claim
from tests.bucket import FullBucket, SilentBucket
from tests.generation.pipeline import advance, one_briefed

pytestmark = pytest.mark.django_db


def test_a_put_off_step_waits_as_long_as_the_provider_asks():
    dialogue, now = one_briefed(), timezone.now()
    FakeText.script.append(Behaviour.RATE_LIMIT)

    with time_machine.travel(now, tick=False) as clock:
        advance(dialogue, now=now)
        put_off = (dialogue.state, dialogue.error_cause, dialogue.lease_until)
        clock.shift(timedelta(seconds=6))
        advance(dialogue, now=timezone.now())
        still = dialogue.state
        clock.shift(timedelta(seconds=1))
        advance(dialogue, now=timezone.now())

    assert put_off == ("briefed", "rate limited", now + timedelta(seconds=7))
    assert still == "briefed"
    assert (dialogue.state, dialogue.error, dialogue.error_cause) == ("scripted", "", "")


def test_three_attempts_without_progress_fail_with_the_cause():
    dialogue = one_briefed()
    FakeText.script.extend([Behaviour.STALL] * 3)

    advance(dialogue, times=3)

    assert (dialogue.state, dialogue.error_cause, dialogue.error) == (
        "failed",
        "timeout",
        "The fake provider gave no answer in time.",
    )
    assert ProviderCall.objects.filter(outcome="error").count() == 3


def test_progress_starts_the_attempts_over():
    dialogue = advance(one_briefed())
    FakeVoice.script.extend([Behaviour.OK, Behaviour.STALL] * 4)

    advance(dialogue, times=5)

    assert dialogue.state == "voiced"


def test_a_refusal_is_an_outcome_of_its_own():
    dialogue = one_briefed()
    FakeText.script.append(Behaviour.REFUSE)

    advance(dialogue)

    assert (dialogue.state, dialogue.error_cause) == ("failed", "refused")
    assert ProviderCall.objects.get().outcome == "refused"


def test_a_script_that_does_not_fit_is_asked_for_again_with_another_seed():
    dialogue = one_briefed()
    FakeText.script.append(Behaviour.RUBBISH)

    advance(dialogue)
    first = (dialogue.state, dialogue.error_cause)
    advance(dialogue)

    assert first == ("briefed", "script does not fit")
    assert dialogue.state == "scripted"
    assert len(set(ProviderCall.objects.values_list("seed", flat=True))) == 2


def test_speech_that_cannot_be_decoded_is_asked_for_again():
    dialogue, now = advance(one_briefed()), timezone.now()
    FakeVoice.script.append(Behaviour.RUBBISH)

    advance(dialogue, now=now)
    first = (dialogue.state, dialogue.error_cause)
    advance(dialogue, now=now + timedelta(seconds=5))

    assert first == ("scripted", "unusable audio")
    assert dialogue.state == "voiced"


@pytest.mark.parametrize(
    ("counted", "said"), [({"attempts": 3}, "stopped 3 times in this step"), ({"stops": 6}, "stopped 6 times")]
)
def test_a_worker_that_stops_over_and_over_without_progress_fails_the_dialogue(counted, said):
    dialogue = one_briefed()
    Dialogue.objects.filter(pk=dialogue.pk).update(**counted)

    advance(dialogue)

    assert (dialogue.state, dialogue.error_cause, dialogue.stops) == ("failed", "worker stopped", 0)
    assert said in dialogue.error


def test_killed_workers_use_up_no_attempt_of_the_dialogue():
    dialogue, now = advance(one_briefed()), timezone.now()
    for _kill in range(2):
        lease_claim(dialogue_id=dialogue.pk, now=now)
        Dialogue.objects.filter(pk=dialogue.pk).update(lease_owner=f"{socket.gethostname()[:60]}:999999999:1:word")
        leases_reclaim(now=now)
    for _other_machine_gone in range(2):
        now += LEASE * 2
        with time_machine.travel(now, tick=False):
            lease_claim(dialogue_id=dialogue.pk, now=now)
    dialogue.refresh_from_db()
    counted = (dialogue.attempts, dialogue.stops)

    now += LEASE * 2
    FakeVoice.script.append(Behaviour.STALL)
    with time_machine.travel(now, tick=False):
        advance(dialogue, now=now)
        stalled = (dialogue.state, dialogue.error_cause, dialogue.stops)
        advance(dialogue, now=now)

    assert counted == (1, 3)
    assert stalled == ("scripted", "timeout", 4)
    assert (dialogue.state, dialogue.stops) == ("voiced", 0)


def test_a_storage_that_takes_nothing_puts_the_step_off_and_keeps_what_is_there(settings, tmp_path):
    dialogue, now = advance(one_briefed()), timezone.now()
    settings.MEDIA_ROOT = tmp_path / "a-file"
    settings.MEDIA_ROOT.touch()

    advance(dialogue, now=now)

    assert (dialogue.state, dialogue.error_cause) == ("scripted", "storage full")
    assert dialogue.lease_until == now + timedelta(seconds=60)
    assert dialogue.error.startswith("Could not store")
    assert not Clip.objects.exists()


def test_a_bucket_that_gives_nothing_puts_the_step_off_too(monkeypatch):
    dialogue, now = advance(advance(one_briefed())), timezone.now()
    monkeypatch.setattr(default_storage, "_wrapped", SilentBucket())

    advance(dialogue, now=now)

    assert (dialogue.state, dialogue.error_cause) == ("voiced", "storage full")
    assert dialogue.lease_until == now + timedelta(seconds=60)
    assert "files.example.org" in dialogue.error


def test_a_bucket_that_takes_nothing_puts_the_step_off_as_a_full_disk_does(monkeypatch):
    dialogue, now = advance(one_briefed()), timezone.now()
    monkeypatch.setattr(default_storage, "_wrapped", FullBucket())

    advance(dialogue, now=now)

    assert (dialogue.state, dialogue.error_cause) == ("scripted", "storage full")
    assert dialogue.lease_until == now + timedelta(seconds=60)


def test_a_clip_gone_from_the_storage_is_named(settings, tmp_path):
    dialogue = advance(one_briefed(), times=2)
    settings.MEDIA_ROOT = tmp_path

    advance(dialogue)

    assert (dialogue.state, dialogue.error_cause) == ("failed", "clip missing")


def test_a_programming_error_is_not_swallowed_and_lets_go_of_the_dialogue(monkeypatch):
    dialogue = one_briefed()

    def broken(self, **_kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr(FakeText, "write", broken)
    with pytest.raises(ZeroDivisionError):
        dialogue_advance(dialogue_id=dialogue.pk, now=timezone.now())
    dialogue.refresh_from_db()

    assert (dialogue.state, dialogue.lease_until, dialogue.attempts) == ("briefed", None, 1)


def test_a_provider_that_cannot_be_asked_is_one_that_does_not_work(monkeypatch):
    def missing(self):
        raise ModuleNotFoundError("No module named 'kokoro'", name="kokoro")

    monkeypatch.setattr(FakeVoice, "check", missing)

    state = provider_check(kind="voice", alias="fake")

    assert (state.ok, state.message) == (False, "A package it needs is not installed: kokoro.")


def test_providers_are_checked_by_alias():
    assert [(state.kind, state.ok) for state in providers_check(alias="fake")] == [
        ("text", True),
        ("voice", True),
        ("transcriber", True),
    ]
    with pytest.raises(UnknownAlias, match="Known: anthropic, azure, deepseek, demo, fake, llamacpp, local, openai"):
        providers_check(alias="nobody")
