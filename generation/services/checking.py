"""Quality: what was measured, what was heard, and whether people may be asked to listen to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from django.db import connection, transaction
from django.utils import timezone

from eqstudio.blobs import blob_read
from eqstudio.bulk import rows_insert
from eqstudio.errors import GiveUp, ProviderError
from eqstudio.prepared import Prepared
from generation.domain.acoustics import Measures
from generation.domain.lifecycle import DialogueState
from generation.domain.quality import Finding, Heard, finding_matched, findings, pair_findings
from generation.domain.sayings import say_where
from generation.domain.thresholds import DEFAULTS, Thresholds, thresholds_read
from generation.domain.voices import Voiced, voice_findings
from generation.intake import clip_measures
from generation.models import Clip, Dialogue, ProviderCall, QcReport, Rendition, Variant
from generation.providers import Transcriber, TranscriptResult, transcribers
from generation.services.leases import LEASE, lease_extend, lease_lost, lease_renew
from generation.services.ledger import Request, call_make, call_settle, calls_find
from generation.services.lifecycle import dialogue_move
from generation.services.matching import variants_match
from generation.services.scripting import brief_of
from generation.services.text_leaks import text_leak_findings

BLOCKING_IMPORTED = frozenset({"decodable", "duration", "silence"})
"""The checks that flag a dialogue from elsewhere."""
BLOCKING_HEARD = BLOCKING_IMPORTED | {"transcript"}
"""The same where a transcriber was asked."""


WORDLESS = Finding("transcript", passed=False, value=None, threshold=None, said="transcript.missing")
"""Nobody is asked to judge a line whose words are not known."""


def qc_run(*, dialogue: Dialogue) -> Dialogue:
    """VOICED -> READY or FLAGGED: transcribe every clip, once, and hold clips, words, voices and pairs against the
    thresholds of the batch.

    Side effects: a ledger row per clip as soon as it is transcribed, and per question to a judge of the words; a copy of each clip that is as loud as its pair;
    then, in one transaction, the findings of this run, the move and its Event. A dialogue in another state is left as
    it is.
    """
    if dialogue.state != DialogueState.VOICED:
        return dialogue
    brief = brief_of(dialogue)
    provider = transcribers.get(brief.transcriber)()
    variants = _variants(dialogue)
    heard = _transcripts(dialogue, variants, brief.transcriber, provider)
    measures = {variant.clip_id: clip_measured(_clip(variant)) for variant in variants}
    limits = thresholds_read(brief.batch.thresholds)
    found = _findings(dialogue, variants, measures, heard, limits)
    if not dialogue.is_made_here:
        return _conclude(dialogue, found, blocking=BLOCKING_HEARD)
    read = text_leak_findings(dialogue=dialogue, brief=brief, variants=variants)
    return _conclude(dialogue, [*found, *(_row(dialogue, finding, None) for finding in read)])


def qc_imported(*, dialogue: Dialogue, measures: Mapping[int | None, Measures]) -> Dialogue:
    """VOICED -> READY or FLAGGED for what came from elsewhere: the same measures and copies, without a transcriber.

    ``measures`` are those of its clips by their row id. Only what makes a clip useless flags the dialogue, and a line whose
    words are not known; how alike a pair is, or how it ends, is recorded and left to the reader.
    """
    variants = _variants(dialogue)
    wordless = [_row(dialogue, WORDLESS, variant) for variant in variants if not variant.text]
    found = _findings(dialogue, variants, measures, {}, DEFAULTS)
    return _conclude(dialogue, found + wordless, blocking=BLOCKING_HEARD)


def clip_measured(clip: Clip) -> Measures:
    """Measure a stored clip whole. ProviderError when its bytes are gone."""
    try:
        return clip_measures(clip=clip)
    except FileNotFoundError as error:
        raise _gone(clip) from error


def _findings(
    dialogue: Dialogue,
    variants: list[Variant],
    measures: Mapping[int | None, Measures],
    heard: Mapping[int, Heard],
    limits: Thresholds,
) -> list[QcReport]:
    """The findings on every clip, every voice, and every pair of deliveries of the same words; not stored yet."""
    found: list[QcReport] = []
    voices = voice_findings(_voiced(variants, measures), thresholds=limits)
    for variant in variants:
        of_clip = findings(
            measures=measures[variant.clip_id],
            text=variant.text,
            language=dialogue.language,
            heard=heard.get(variant.pk),
            thresholds=limits,
        )
        of_voice = [voices[variant.pk]] if variant.pk in voices else []
        found += [_row(dialogue, finding, variant) for finding in (*of_clip, *of_voice)]
    for position, first, second in _pairs(variants):
        where = {"line": str(position), "first": first.label, "second": second.label}
        pair = (measures[first.clip_id], measures[second.clip_id])
        wanted_db = _volume_db(first) - _volume_db(second)
        for finding in pair_findings(first=pair[0], second=pair[1], wanted_db=wanted_db, thresholds=limits):
            found.append(_row(dialogue, finding, None, where=where, pair=[first.uid, second.uid]))
    return found + _matched(dialogue, variants, limits)


def _volume_db(variant: Variant) -> float:
    """How much louder than neutral it was asked for; some sets from elsewhere say that in words."""
    told = variant.delivery.get("volume")
    return told if isinstance(told, int | float) else 0.0


def _voiced(variants: Iterable[Variant], measures: Mapping[int | None, Measures]) -> list[Voiced]:
    """Clips by the part that speaks them, without those whose voice is the very thing in which a rendition differs."""
    return [
        Voiced(variant.pk, variant.turn.speaker, measures[variant.clip_id])
        for variant in variants
        if variant.delivery.get("gender", "") in ("", variant.turn.gender)
    ]


def _matched(dialogue: Dialogue, variants: list[Variant], limits: Thresholds) -> list[QcReport]:
    """Make the equally loud copies, and say of each line with several renditions whether they are."""
    copies: dict[int | None, Rendition] = {copy.clip_id: copy for copy in _copies(variants)}
    found = []
    for position, group in groupby(variants, key=lambda variant: variant.turn.position):
        heard = [copies.get(variant.clip_id) for variant in group]
        levels = [copy.loudness for copy in heard if copy is not None and copy.loudness is not None]
        if len(heard) > 1 and len(levels) == len(heard):
            finding = finding_matched(levels=levels, thresholds=limits)
            found.append(_row(dialogue, finding, None, where={"line": str(position)}, line=position))
    return found


def _copies(variants: list[Variant]) -> list[Rendition]:
    try:
        return variants_match(variants=variants)
    except FileNotFoundError as error:
        raise ProviderError(
            "The sound of a clip is gone from the storage. Restore it, then retry.",
            cause="clip missing",
            decision=GiveUp(),
        ) from error


def _pairs(variants: list[Variant]) -> Iterator[tuple[int, Variant, Variant]]:
    """The deliveries that people will compare: the first of a line with each of the others."""
    for position, group in groupby(variants, key=lambda variant: variant.turn.position):
        first, *others = group
        if first.turn.role == "critical":
            yield from ((position, first, other) for other in others)


def _row(
    dialogue: Dialogue,
    finding: Finding,
    variant: Variant | None,
    *,
    where: Mapping[str, str] | None = None,
    **detail: object,
) -> QcReport:
    """``message`` keeps the sentence in English; ``detail`` its name and figures, from which pages word it again."""
    sentence = {"said": finding.said, "figures": {**finding.figures}, "where": {**(where or {})}}
    return QcReport(
        dialogue=dialogue,
        variant=variant,
        check_name=finding.check_name[:40],
        passed=finding.passed,
        value=finding.value,
        threshold=finding.threshold,
        message=say_where(finding.message, where or {}),
        detail={**finding.detail, **detail, **_where(variant), **sentence},
    )


def _where(variant: Variant | None) -> dict[str, object]:
    """The line and rendition by name, for when the script that it belonged to is written again."""
    return {"line": variant.turn.position, "rendition": variant.label} if variant else {}


_SPOKEN = Prepared[Variant](
    lambda dialogue: (
        Variant.objects.filter(turn__dialogue=dialogue).select_related("turn", "clip").order_by("turn__position", "pk")
    )
)
_RUNS = Prepared[int](
    lambda dialogue: QcReport.objects.filter(dialogue=dialogue).order_by("-run").values_list("run", flat=True)[:1]
)


def _variants(dialogue: Dialogue) -> list[Variant]:
    return _SPOKEN.rows(dialogue=dialogue.pk)


def _transcripts(dialogue: Dialogue, variants: list[Variant], alias: str, provider: Transcriber) -> dict[int, Heard]:
    """What is heard in each variant's clip, by its row id; what was transcribed before is not asked again."""
    requests = {variant.pk: _request(dialogue, _clip(variant), alias, provider) for variant in variants}
    paid = calls_find(requests.values())
    heard = {}
    for variant in variants:
        request = requests[variant.pk]
        call = paid.get(request.hash) or _transcribed(dialogue, _clip(variant), request, provider)
        paid[request.hash] = call
        heard[variant.pk] = Heard(
            text=str(call.result["text"]),
            language=str(call.result.get("language", "")),
            own_error=provider.own_error.get(dialogue.language),
            slack=provider.slack.get(dialogue.language, 0.0),
        )
    return heard


def _request(dialogue: Dialogue, clip: Clip, alias: str, provider: Transcriber) -> Request:
    return Request(
        kind="transcriber",
        provider=alias,
        model=provider.model,
        content={"parameters": provider.parameters(), "sha256": clip.sha256, "language": dialogue.language},
        dialogue=dialogue,
        parameters={**provider.parameters(), "sha256": clip.sha256},
    )


def _transcribed(dialogue: Dialogue, clip: Clip, request: Request, provider: Transcriber) -> ProviderCall:
    lease_renew(dialogue=dialogue)
    audio = _audio(clip)
    answer, latency_ms = call_make(request, lambda: provider.transcribe(audio=audio, language=dialogue.language))
    with transaction.atomic():
        call = call_settle(request, answer, latency_ms=latency_ms, result=_written(answer))
        held = lease_extend(dialogue=dialogue, until=timezone.now() + LEASE, progress=True)
    if not held:
        raise lease_lost()
    return call


def _written(answer: TranscriptResult) -> dict[str, str]:
    return {"text": answer.text} | ({"language": answer.language} if answer.language else {})


def _clip(variant: Variant) -> Clip:
    if variant.clip is None:
        raise ProviderError("A line has no speech to be checked.", cause="no speech", decision=GiveUp())
    return variant.clip


def _audio(clip: Clip) -> bytes:
    try:
        return blob_read(clip.sha256)
    except FileNotFoundError as error:
        raise _gone(clip) from error


def _gone(clip: Clip) -> ProviderError:
    return ProviderError(
        f"The sound of clip {clip.uid} is gone from the storage. Restore it, then retry.",
        cause="clip missing",
        decision=GiveUp(),
    )


_TOLD = ("check_name", "passed", "value", "threshold", "message")


def _json(finding: QcReport) -> str:
    return json.dumps(finding.detail)


@transaction.atomic
def _conclude(dialogue: Dialogue, findings: list[QcReport], blocking: frozenset[str] | None = None) -> Dialogue:
    run = (_RUNS.first(dialogue=dialogue.pk) or 0) + 1
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    rows_insert(
        model=QcReport,
        columns=["created", "run", "dialogue", "variant", *_TOLD, "detail"],
        rows=(
            (now, run, dialogue.pk, finding.variant_id, *(getattr(finding, name) for name in _TOLD), _json(finding))
            for finding in findings
        ),
    )
    failed = sorted(
        {
            finding.check_name
            for finding in findings
            if not finding.passed and (blocking is None or finding.check_name in blocking)
        }
    )
    to = DialogueState.FLAGGED if failed else DialogueState.READY
    return dialogue_move(dialogue=dialogue, to=to, reason=", ".join(failed))
