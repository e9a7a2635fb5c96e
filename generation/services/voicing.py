"""From a script to speech: every variant once."""

from __future__ import annotations

from dataclasses import asdict, replace
from random import Random
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from eqstudio.benchmarks.base import Delivery
from eqstudio.errors import InvalidInput, ProviderError, Retry
from eqstudio.prepared import Prepared, PreparedUpdate
from generation.domain.lifecycle import DialogueState
from generation.intake import Incoming, clip_keep, clip_prepare
from generation.models import Clip, Dialogue, ProviderCall, Variant
from generation.providers import VoiceProvider, VoiceResult, voice_providers
from generation.services.leases import LEASE, lease_extend, lease_lost, lease_renew
from generation.services.ledger import Request, call_make, call_settle, call_spoil, calls_find, content_hash
from generation.services.lifecycle import dialogue_move
from generation.services.scripting import brief_of
from generation.services.seeds import dialogue_seed

TAKE_PITCH_ST = (0.3, 0.8)
TAKE_RATE = (0.94, 1.06)
"""How far another take of a deterministic voice moves: to be heard, yet not another mood."""


_GIVE = PreparedUpdate(lambda variant, clip: (Variant.objects.filter(pk=variant, clip=None), {"clip": clip}))


def clips_synthesize(*, dialogue: Dialogue) -> Dialogue:
    """SCRIPTED -> VOICED: have every variant that is still silent spoken, and keep each clip as soon as it exists.

    Side effects per variant: a stored clip, a ledger row, the variant's clip; at the end the move and its Event. Killed
    at any point, the next run goes on with what is still silent. A dialogue in another state is left as it is.
    """
    if dialogue.state != DialogueState.SCRIPTED:
        return dialogue
    alias = brief_of(dialogue).voice_provider
    provider = voice_providers.get(alias)()
    asked = [(variant, _request(dialogue, variant, alias, provider)) for variant in _silent(dialogue)]
    paid = calls_find(request for _variant, request in asked)
    for variant, request in asked:
        paid[request.hash] = _speak(dialogue, variant, request, provider, paid.get(request.hash))
    return dialogue_move(dialogue=dialogue, to=DialogueState.VOICED, reason=f"voice by {alias}")


_MUTE = Prepared[Variant](
    lambda dialogue: (
        Variant.objects.filter(turn__dialogue=dialogue, clip=None)
        .select_related("turn")
        .order_by("turn__position", "uid")
    )
)


def _silent(dialogue: Dialogue) -> list[Variant]:
    """Renditions of a line by public id: a store tells when each file came, so the order must not follow the key."""
    return _MUTE.rows(dialogue=dialogue.pk)


def _speak(
    dialogue: Dialogue, variant: Variant, request: Request, provider: VoiceProvider, paid: ProviderCall | None
) -> ProviderCall:
    clip = Clip.objects.filter(sha256=paid.result["sha256"]).first() if paid else None
    if paid is not None and clip is not None:
        _give(variant, clip)
        return paid
    lease_renew(dialogue=dialogue)
    delivery = _delivery(dialogue, variant, provider)
    gender, voice = _voice(dialogue, variant, provider)
    answer, latency_ms = call_make(
        request,
        lambda: provider.speak(
            text=variant.text,
            language=dialogue.language,
            gender=gender,
            voice=voice,
            delivery=delivery,
            seed=request.seed or 0,
        ),
    )
    incoming = _prepared(request, answer, variant, latency_ms)
    with transaction.atomic():
        clip = clip_keep(incoming)
        call = call_settle(request, answer, latency_ms=latency_ms, result=_result(clip, answer))
        _give(variant, clip if call.result["sha256"] == clip.sha256 else Clip.objects.get(sha256=call.result["sha256"]))
        held = lease_extend(dialogue=dialogue, until=timezone.now() + LEASE, progress=True)
    if not held:
        raise lease_lost()
    return call


def _request(dialogue: Dialogue, variant: Variant, alias: str, provider: VoiceProvider) -> Request:
    gender, voice = _voice(dialogue, variant, provider)
    spoken = asdict(_delivery(dialogue, variant, provider)) if dialogue.takes else variant.delivery
    return Request(
        kind="voice",
        provider=alias,
        model=provider.model,
        content={
            "parameters": provider.parameters(),
            "voice": voice,
            "gender": gender,
            "language": dialogue.language,
            "text": variant.text,
            "delivery": spoken,
        },
        seed=dialogue_seed(dialogue, "voice"),
        prompt_hash=content_hash({"text": variant.text, "delivery": spoken}),
        dialogue=dialogue,
        parameters={**provider.parameters(), "voice": voice, "delivery": spoken},
    )


def _delivery(dialogue: Dialogue, variant: Variant, provider: VoiceProvider) -> Delivery:
    """How a rendition is spoken: as its script asks. Another take by a voice that always says the same is moved a little,
    all renditions of the dialogue alike, so that what tells them apart stays.
    """
    asked = Delivery(**variant.delivery)
    if not dialogue.takes or not provider.deterministic:
        return asked
    rng = Random(dialogue_seed(dialogue, "delivery"))  # noqa: S311 -- variety, not secrecy
    pitch = rng.choice((-1, 1)) * rng.uniform(*TAKE_PITCH_ST)
    return replace(asked, pitch=round(asked.pitch + pitch, 2), rate=round(asked.rate * rng.uniform(*TAKE_RATE), 3))


def _voice(dialogue: Dialogue, variant: Variant, provider: VoiceProvider) -> tuple[str, str]:
    """Gender and voice: the turn's, unless the speaker's voice is the very thing in which this rendition differs."""
    turn, gender = variant.turn, variant.delivery.get("gender", "")
    if not gender or gender == turn.gender:
        return turn.gender, turn.voice
    return gender, provider.voice_for(gender=gender, language=dialogue.language, index=0)


def _prepared(request: Request, answer: VoiceResult, variant: Variant, latency_ms: int) -> Incoming:
    try:
        return clip_prepare(data=answer.audio, name=_("speech for line %(line)d") % {"line": variant.turn.position})
    except InvalidInput as error:
        call_spoil(request, answer, latency_ms=latency_ms, error=error.message)
        raise ProviderError(
            _("The voice sent something that cannot be used. %(why)s") % {"why": error.message},
            cause="unusable audio",
            decision=Retry(5),
        ) from error


def _result(clip: Clip, answer: VoiceResult) -> dict[str, Any]:
    return {"sha256": clip.sha256, "voice": answer.voice, "parameters": answer.parameters}


def _give(variant: Variant, clip: Clip) -> None:
    """A silent variant gets its clip; one that has got it meanwhile keeps it."""
    _GIVE.run(variant=variant.pk, clip=clip.pk)
