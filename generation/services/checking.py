"""Quality: what was measured, what was heard, and whether people may be asked to listen to it."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max

from eqstudio.blobs import blob_read
from eqstudio.errors import GiveUp, ProviderError
from generation.domain.lifecycle import DialogueState
from generation.models import Clip, Dialogue, QcReport, Variant
from generation.providers import Transcriber, transcribers
from generation.services.leases import lease_renew
from generation.services.ledger import Request, call_find, call_make, call_settle
from generation.services.lifecycle import dialogue_move
from generation.services.scripting import brief_of


def qc_run(*, dialogue: Dialogue) -> Dialogue:
    """VOICED -> READY or FLAGGED: transcribe every clip, once, and hold clips, words and pairs against the thresholds.

    Side effects: a ledger row per clip as soon as it is transcribed; then, in one transaction, the findings of this run,
    the move and its Event. A dialogue in another state is left as it is.
    """
    if dialogue.state != DialogueState.VOICED:
        return dialogue
    alias = brief_of(dialogue).transcriber
    provider = transcribers.get(alias)()
    variants = _variants(dialogue)
    heard = {variant.pk: _transcript(dialogue, variant, alias, provider) for variant in variants}
    return _conclude(dialogue, findings_of(dialogue, variants, heard))


def qc_imported(*, dialogue: Dialogue) -> Dialogue:
    """VOICED -> READY or FLAGGED for what came from elsewhere: the same measures, without a transcript.

    Only what makes a clip useless (no sound in it) flags it; how alike a pair is, is recorded and left to the reader.
    """
    return _conclude(dialogue, findings_of(dialogue, _variants(dialogue), {}), blocking=BLOCKING_IMPORTED)


BLOCKING_IMPORTED = frozenset({"duration", "silence"})


def findings_of(dialogue: Dialogue, variants: list[Variant], heard: dict[int, str]) -> list[QcReport]:
    """The findings on a dialogue, not stored yet."""
    return []


def _variants(dialogue: Dialogue) -> list[Variant]:
    found = Variant.objects.filter(turn__dialogue=dialogue).select_related("turn", "clip")
    return list(found.order_by("turn__position", "pk"))


def _transcript(dialogue: Dialogue, variant: Variant, alias: str, provider: Transcriber) -> str:
    clip = variant.clip
    if clip is None:
        raise ProviderError("A line has no speech to be checked.", cause="no speech", decision=GiveUp())
    request = Request(
        kind="transcriber",
        provider=alias,
        model=provider.model,
        content={"parameters": provider.parameters(), "sha256": clip.sha256, "language": dialogue.language},
        dialogue=dialogue,
        parameters={**provider.parameters(), "sha256": clip.sha256},
    )
    call = call_find(request)
    if call is None:
        lease_renew(dialogue=dialogue)
        audio = _audio(clip)
        answer, latency_ms = call_make(request, lambda: provider.transcribe(audio=audio, language=dialogue.language))
        call = call_settle(request, answer, latency_ms=latency_ms, result={"text": answer.text})
        lease_renew(dialogue=dialogue, progress=True)
    return str(call.result["text"])


def _audio(clip: Clip) -> bytes:
    try:
        return blob_read(clip.sha256)
    except FileNotFoundError as error:
        raise ProviderError(
            f"The sound of clip {clip.uid} is gone from the storage. Restore it, then retry.",
            cause="clip missing",
            decision=GiveUp(),
        ) from error


@transaction.atomic
def _conclude(dialogue: Dialogue, findings: list[QcReport], blocking: frozenset[str] | None = None) -> Dialogue:
    run = (QcReport.objects.filter(dialogue=dialogue).aggregate(last=Max("run"))["last"] or 0) + 1
    for finding in findings:
        finding.run = run
    QcReport.objects.bulk_create(findings)
    failed = sorted(
        {
            finding.check_name
            for finding in findings
            if not finding.passed and (blocking is None or finding.check_name in blocking)
        }
    )
    to = DialogueState.FLAGGED if failed else DialogueState.READY
    return dialogue_move(dialogue=dialogue, to=to, reason=", ".join(failed))
