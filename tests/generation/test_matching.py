"""Copies that are equally loud: made beside the originals, heard by people, asked for again by nobody."""

from __future__ import annotations

import json

import numpy as np
import pytest
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import models
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from eqstudio.blobs import blob_key, blob_read
from generation.domain.level import TARGET_LUFS, TRUE_PEAK_DBTP, Loud, decibels, shared_target, true_peak
from generation.domain.loudness import loudness
from generation.intake import audio_decode, clip_ingest
from generation.media import clip_card, clip_served
from generation.models import Clip, Rendition, Variant
from generation.services import clips_match, corpus_match
from tests.audio import RATE, speechlike, wav
from tests.generation.factories import DialogueFactory, turn_make

pytestmark = pytest.mark.django_db


def pair_of(*sounds):
    """A critical line with these renditions."""
    turn = turn_make(
        DialogueFactory(), 4, "critical", "speaker2", [(f"v{n}", "Same words.") for n in range(len(sounds))]
    )
    for variant, sound in zip(turn.variants.order_by("pk"), sounds, strict=True):
        Variant.objects.filter(pk=variant.pk).update(clip=clip_ingest(data=wav(sound)))
    return turn


def heard(clip):
    served = clip_served(clip=clip)
    return audio_decode(data=blob_read(served.sha256), name="served")


def clicks(*, peak: float):
    """Speech with rare loud clicks, so that its peaks stand far above its loudness."""
    sound = speechlike(level=0.02)
    sound[4000::9000] = peak
    return sound


def test_a_pair_ends_equally_loud_and_the_originals_stay():
    turn = pair_of(speechlike(level=0.3), speechlike(level=0.05, hz=180, seed=1))

    copies = clips_match(turn=turn)

    clips = [variant.clip for variant in turn.variants.order_by("pk")]
    levels = [loudness(heard(clip).samples, RATE) for clip in clips]
    assert levels == [pytest.approx(TARGET_LUFS, abs=0.1)] * 2
    assert [copy.loudness for copy in copies] == [pytest.approx(level, abs=0.05) for level in levels]
    assert [heard(clip).samples.shape[0] for clip in clips] == [clip.frames for clip in clips]
    assert {clip_served(clip=clip, original=True).sha256 for clip in clips} == {clip.sha256 for clip in clips}


def test_peaks_hold_both_of_a_pair_back():
    turn = pair_of(clicks(peak=0.9), speechlike(level=0.1, hz=180))

    copies = clips_match(turn=turn)

    assert copies[0].parameters["limited_db"] > 3
    assert abs(copies[0].loudness - copies[1].loudness) < 0.5
    for copy in copies:
        assert decibels(true_peak(audio_decode(data=blob_read(copy.sha256)).samples, RATE)) < TRUE_PEAK_DBTP + 0.1


def test_it_is_done_once_and_another_clip_joins_the_level():
    turn = pair_of(clicks(peak=0.9), speechlike(level=0.1))
    first = clips_match(turn=turn)
    Variant.objects.filter(turn=turn, label="v1").update(clip=clip_ingest(data=wav(speechlike(level=0.2, hz=200))))

    again = clips_match(turn=turn)

    assert again[0] == first[0]
    assert again[1] != first[1]
    assert abs(again[0].loudness - again[1].loudness) < 0.5


def test_a_line_with_a_clip_missing_waits():
    turn = pair_of(speechlike(), speechlike(hz=200))
    Variant.objects.filter(turn=turn, label="v1").update(clip=None)

    assert clips_match(turn=turn) == []
    assert not Rendition.objects.exists()


@given(st.lists(st.builds(Loud, loudness=st.floats(-60, -1), true_peak=st.floats(-60, 3)), max_size=5))
def test_a_shared_target_passes_nobodys_limit(clips):
    target = shared_target(clips)

    assert target <= TARGET_LUFS
    assert all(clip.true_peak + target - clip.loudness <= TRUE_PEAK_DBTP + 1e-6 for clip in clips)


def test_the_waveform_is_drawn_at_the_level_that_is_heard(alice):
    turn = pair_of(speechlike(level=0.4), speechlike(level=0.04))
    clips_match(turn=turn)
    loud, quiet = [variant.clip for variant in turn.variants.order_by("pk")]

    tops = [max(clip_card(clip=clip, holder=alice.uid)["peaks"]) for clip in (loud, quiet)]
    made = [max(clip_card(clip=clip, holder=alice.uid, original=True)["peaks"]) for clip in (loud, quiet)]

    assert tops[0] == pytest.approx(tops[1], rel=0.1)
    assert made[0] == pytest.approx(10 * made[1], rel=0.1)


def test_an_address_leads_to_the_copy_or_to_the_original(client, alice):
    turn = pair_of(speechlike(level=0.4))
    clips_match(turn=turn)
    clip = turn.variants.get().clip
    client.force_login(alice)

    copy, original = (clip_card(clip=clip, holder=alice.uid, original=which)["url"] for which in (False, True))

    assert len(copy) == len(original)
    assert b"".join(client.get(original).streaming_content) == blob_read(clip.sha256)
    assert b"".join(client.get(copy).streaming_content) == blob_read(clip_served(clip=clip).sha256)


def test_the_command_fills_what_is_missing_and_says_what_it_cannot(capsys):
    there, gone = pair_of(speechlike()), pair_of(speechlike(hz=300, seed=5))
    models.QuerySet(Clip).update(rms=None)  # as rows were before this was measured
    default_storage.delete(blob_key(gone.variants.get().clip.sha256))

    call_command("clips_match", "--json")
    first = json.loads(capsys.readouterr().out)
    call_command("clips_match", "--corpus", there.dialogue.corpus.name, "--json")
    second = json.loads(capsys.readouterr().out)

    assert (first["copies"], first["measured"], len(first["failed"])) == (1, 1, 1)
    assert first["failed"][0] == {
        "dialogue": gone.dialogue.uid,
        "reason": "The sound of a clip is gone from the storage.",
    }
    assert (second["dialogues"], second["copies"]) == (0, 0)
    assert there.variants.get().clip.rms == pytest.approx(20 * np.log10(np.sqrt(np.mean(speechlike() ** 2))), abs=0.05)
    assert list(corpus_match(corpus=there.dialogue.corpus)) == []


def test_the_dialogue_page_offers_both(client, rita):
    turn = pair_of(speechlike(level=0.4))
    clips_match(turn=turn)
    client.force_login(rita)

    page = client.get(reverse("dialogue", args=[turn.dialogue.uid])).content.decode()

    assert "the level before it was matched" in page
