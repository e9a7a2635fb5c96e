"""Batches: what was asked for together, called off, or asked for again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.fields.json import KeyTextTransform
from django.utils.translation import gettext as _

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.stages import REGENERATIONS
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import Event, User
from generation.domain.lifecycle import IN_PRODUCTION, DialogueState
from generation.domain.thresholds import Thresholds, thresholds_read
from generation.models import Batch, Brief, Corpus, Dialogue
from generation.providers import text_providers, transcribers, voice_providers
from generation.selectors.writing import stage_exhausted
from generation.services.lifecycle import dialogue_move


@dataclass(frozen=True)
class BriefInput:
    """What to write, and with whom. ``first`` numbers the first dialogue, so that a second brief goes on counting."""

    benchmark: str
    category: str
    text_provider: str
    voice_provider: str
    transcriber: str
    language: str = "en"
    valence: str = ""
    setting: str = ""
    count: int = 1
    seed: int = 0
    first: int = 0
    parameters: dict[str, Any] = field(default_factory=dict)


@transaction.atomic
def batch_create(
    *,
    corpus: Corpus,
    briefs: Sequence[BriefInput],
    actor: User | None = None,
    thresholds: Mapping[str, float] | None = None,
) -> Batch:
    """Write a batch, its briefs and one BRIEFED dialogue per count; one Event. The sweep finds the work.

    ``thresholds`` are those of its quality checks that differ from the defaults. UnknownAlias or InvalidInput names what
    is wrong with a brief or a threshold; then nothing is written.
    """
    if not briefs:
        raise InvalidInput(_("A batch needs at least one brief."), field="briefs")
    for brief in briefs:
        brief_check(brief)
    limits = thresholds_check(thresholds or {})
    batch = Batch.objects.create(corpus=corpus, created_by=actor, thresholds=limits.changed())
    for brief in briefs:
        _brief_write(batch, brief)
    total = sum(brief.count for brief in briefs)
    event_record(actor=actor, verb="created", entity=batch, corpus=corpus.name, dialogues=total)
    return batch


def thresholds_check(given: Mapping[str, Any]) -> Thresholds:
    """The thresholds with the defaults for what is not given; InvalidInput says what is unknown or makes no sense."""
    try:
        return thresholds_read(given)
    except ValueError as error:
        raise InvalidInput(str(error), field="thresholds") from error


def brief_check(brief: BriefInput) -> None:
    """Raise UnknownAlias or InvalidInput unless every word of the brief is known."""
    benchmark = benchmark_get(brief.benchmark)
    if brief.category not in {category.key for category in benchmark.categories}:
        known = ", ".join(category.key for category in benchmark.categories)
        raise InvalidInput(
            _("%(benchmark)s has no category %(category)r. Known: %(known)s.")
            % {"benchmark": benchmark.title, "category": brief.category, "known": known},
            field="category",
        )
    for name, value, allowed in (
        ("language", brief.language, benchmark.languages),
        ("valence", brief.valence, ("", *benchmark.valences)),
        ("setting", brief.setting, ("", *benchmark.settings)),
    ):
        if value not in allowed:
            raise InvalidInput(
                _("%(benchmark)s knows no %(field)s %(value)r. Known: %(known)s.")
                % {
                    "benchmark": benchmark.title,
                    "field": name,
                    "value": value,
                    "known": ", ".join(filter(None, allowed)),
                },
                field=name,
            )
    if brief.count < 1:
        raise InvalidInput(_("A brief asks for at least one dialogue."), field="count")
    _providers_check(brief)
    lacking = text_providers.get(brief.text_provider)().lacks(
        benchmark=brief.benchmark, category=brief.category, language=brief.language, count=brief.first + brief.count
    )
    if lacking:
        raise InvalidInput(lacking, field="category")


def _providers_check(brief: BriefInput) -> None:
    for provider in (
        text_providers.get(brief.text_provider),
        voice_providers.get(brief.voice_provider),
        transcribers.get(brief.transcriber),
    ):
        if settings.PRODUCTION and provider.is_fake:
            raise InvalidInput(
                _("%(provider)s makes pretend data and is refused in production. Choose another provider.")
                % {"provider": provider.__name__},
                field="provider",
            )


def _brief_write(batch: Batch, brief: BriefInput) -> None:
    row = Brief.objects.create(
        batch=batch,
        benchmark=brief.benchmark,
        category=brief.category,
        language=brief.language,
        valence=brief.valence,
        setting=brief.setting,
        count=brief.count,
        seed=brief.seed,
        text_provider=brief.text_provider,
        voice_provider=brief.voice_provider,
        transcriber=brief.transcriber,
        parameters=brief.parameters,
    )
    Dialogue.objects.bulk_create(
        Dialogue(
            corpus=batch.corpus,
            brief=row,
            ordinal=brief.first + number,
            benchmark=brief.benchmark,
            category=brief.category,
            language=brief.language,
        )
        for number in range(brief.count)
    )


@transaction.atomic
def batch_cancel(*, batch: Batch, now: datetime, actor: User | None = None) -> Batch:
    """Call a batch off: what is made stays, what is not made yet is not begun. One Event; Conflict if already called off."""
    if not Batch.objects.filter(pk=batch.pk, cancelled_at=None).update(cancelled_at=now):
        raise Conflict(_("This batch was called off before. Nothing was changed."))
    batch.cancelled_at = now
    event_record(actor=actor, verb="cancelled", entity=batch)
    return batch


@transaction.atomic
def dialogues_retry(*, batch: Batch, cause: str, actor: User | None = None) -> int:
    """Put the failed dialogues of a batch with this cause back to where their work goes on; what was made is kept.

    One whose writing was refused to the end gets another take, with another draw. Returns how many were moved; writes an
    Event for each. Conflict when the batch was called off; in one that is stopped they wait for a higher limit.
    """
    if Batch.objects.filter(pk=batch.pk, cancelled_at__isnull=False).exists():
        raise Conflict(_("This batch was called off. Ask for its dialogues again instead."))
    failed = (
        Dialogue.objects.filter(brief__batch=batch, state=DialogueState.FAILED.value, error_cause=cause)
        .annotate(
            variants=Count("turns__variants"),
            silent=Count("turns__variants", filter=Q(turns__variants__clip=None)),
            failed_in=_FAILED_IN,
        )
        .order_by("pk")
    )
    moved = 0
    for dialogue in failed:
        if stage_exhausted(dialogue=dialogue, last_attempt=REGENERATIONS):
            dialogue.takes += 1
            dialogue.save(update_fields=["takes", "updated"])
        to = _resume_at(dialogue.failed_in, dialogue.variants, dialogue.silent)
        dialogue_move(dialogue=dialogue, to=to, actor=actor, reason="retry")
        moved += 1
    return moved


_FAILED_IN = Subquery(
    Event.objects.filter(
        entity="dialogue", entity_uid=OuterRef("uid"), verb="moved", detail__after=DialogueState.FAILED.value
    )
    .order_by("-pk")
    .annotate(was=KeyTextTransform("before", "detail"))
    .values("was")[:1]
)
"""The state that a failed dialogue was in, as its last failure tells."""


def _resume_at(failed_in: str | None, variants: int, silent: int) -> DialogueState:
    """A script may be there that was sent back to be written again: then it is the writing that failed."""
    if failed_in == DialogueState.BRIEFED or not variants:
        return DialogueState.BRIEFED
    return DialogueState.SCRIPTED if silent else DialogueState.VOICED


def briefs_missing(*, corpus: Corpus, wanted: BriefInput) -> BriefInput | None:
    """What is still to be asked for so that ``corpus`` holds ``wanted.count`` dialogues like ``wanted``; None if nothing.

    Dialogues count unless their batch was called off before they were finished. A read; used to resume a request.
    """
    same = Dialogue.objects.filter(
        corpus=corpus,
        brief__benchmark=wanted.benchmark,
        brief__category=wanted.category,
        brief__language=wanted.language,
        brief__valence=wanted.valence,
        brief__setting=wanted.setting,
        brief__seed=wanted.seed,
        brief__text_provider=wanted.text_provider,
        brief__voice_provider=wanted.voice_provider,
        brief__transcriber=wanted.transcriber,
    )
    unfinished = [*(state.value for state in IN_PRODUCTION), DialogueState.FAILED.value]
    counted = same.exclude(brief__batch__cancelled_at__isnull=False, state__in=unfinished)
    have = counted.count()
    if have >= wanted.count:
        return None
    last = same.order_by("-ordinal").values_list("ordinal", flat=True).first()
    return BriefInput(
        **{**wanted.__dict__, "count": wanted.count - have, "first": 0 if last is None else last + 1},
    )
