"""Everything about one dialogue, for the page that shows it whole."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Max

from eqstudio.blobs import blob_whole
from generation.models import Clip, Dialogue, ProviderCall, QcReport, Take, Turn, Variant


@dataclass(frozen=True)
class VariantDetail:
    """One rendition with its sound, what was found out about it, what was heard in it and who made it."""

    variant: Variant
    findings: list[QcReport]
    transcript: str | None
    made_by: ProviderCall | None

    @property
    def clip(self) -> Clip | None:
        return self.variant.clip

    @property
    def flagged(self) -> bool:
        return any(not finding.passed for finding in self.findings)


@dataclass(frozen=True)
class TurnDetail:
    turn: Turn
    variants: list[VariantDetail]


@dataclass(frozen=True)
class DialogueDetail:
    turns: list[TurnDetail]
    findings: list[QcReport]
    """Of the dialogue as a whole, from its last check."""
    calls: list[ProviderCall]
    cost: Decimal | None
    seconds: float
    takes: list[Take]
    """What it sounded like before it was spoken again, the first take first; each with its ``failed`` findings and a ``code``."""

    def lines_without_sound(self) -> list[int]:
        """Positions of the lines that have a clip whose bytes are gone from the store, or not as many as they were."""
        return [
            line.turn.position
            for line in self.turns
            if any(each.clip and not blob_whole(each.clip.sha256, each.clip.size) for each in line.variants)
        ]


def dialogue_detail(*, dialogue: Dialogue) -> DialogueDetail:
    """Turns, variants, clips, findings of the last check and the ledger, earlier takes; seven queries however long the dialogue is."""
    turns = list(dialogue.turns.all())
    found = Variant.objects.filter(turn__dialogue=dialogue).select_related("clip", "turn__dialogue").order_by("pk")
    variants = list(found.prefetch_related("clip__renditions"))
    findings = _findings(dialogue)
    calls = _calls(dialogue, variants)
    by_clip = {
        (call.kind, call.result.get("sha256") or call.parameters.get("sha256")): call
        for call in calls
        if call.outcome == "ok"
    }
    details = {variant.pk: _variant(variant, findings, by_clip) for variant in variants}
    costs = [call.cost for call in calls if call.cost is not None]
    return DialogueDetail(
        turns=[TurnDetail(turn, [details[v.pk] for v in variants if v.turn_id == turn.pk]) for turn in turns],
        findings=[finding for finding in findings if finding.variant_id is None],
        calls=calls,
        cost=sum(costs, Decimal(0)) if costs else None,
        seconds=sum(variant.clip.duration for variant in variants if variant.clip),
        takes=_takes(dialogue),
    )


def _findings(dialogue: Dialogue) -> list[QcReport]:
    last = dialogue.findings.aggregate(last=Max("run"))["last"]
    return list(dialogue.findings.filter(run=last)) if last else []


def _takes(dialogue: Dialogue) -> list[Take]:
    takes = list(dialogue.earlier_takes.select_related("clip").prefetch_related("clip__renditions"))
    failed = list(dialogue.findings.filter(run__in={take.run for take in takes}, passed=False)) if takes else []
    for take in takes:
        take.code = f"take-{take.pk}"  # type: ignore[attr-defined]
        where = {"line": take.position, "rendition": take.label}
        take.failed = [  # type: ignore[attr-defined]
            finding for finding in failed if finding.run == take.run and where.items() <= finding.detail.items()
        ]
    return takes


def _calls(dialogue: Dialogue, variants: list[Variant]) -> list[ProviderCall]:
    """The dialogue's own calls; for a clip that was there already, the call that it was first made by."""
    mine = list(dialogue.calls.order_by("pk"))
    made = {call.result.get("sha256") for call in mine if call.kind == "voice"}
    missing = [variant.clip_id for variant in variants if variant.clip and variant.clip.sha256 not in made]
    if not missing or dialogue.source != Dialogue.Source.SYNTHETIC:
        return mine
    others = Dialogue.objects.filter(turns__variants__clip__in=missing).exclude(pk=dialogue.pk)
    shared = ProviderCall.objects.filter(dialogue__in=others, kind__in=["voice", "transcriber"], outcome="ok")
    return [*mine, *shared.order_by("pk")]


def _variant(
    variant: Variant, findings: list[QcReport], by_clip: dict[tuple[str, str | None], ProviderCall]
) -> VariantDetail:
    sha256 = variant.clip.sha256 if variant.clip else None
    heard = by_clip.get(("transcriber", sha256)) if sha256 else None
    return VariantDetail(
        variant=variant,
        findings=[finding for finding in findings if finding.variant_id == variant.pk],
        transcript=heard.result.get("text") if heard else None,
        made_by=by_clip.get(("voice", sha256)) if sha256 else None,
    )
