"""From a brief to a script: a text model writes, the benchmark reads, rows are made."""

from __future__ import annotations

from dataclasses import asdict
from random import Random

from django.db import transaction
from django.utils.translation import gettext as _

from eqstudio.benchmarks import Benchmark, benchmark_get
from eqstudio.benchmarks.base import BriefSpec, DialogueSpec, Prompt, TurnSpec
from eqstudio.errors import InvalidInput, ProviderError, Retry
from eqstudio.prepared import Prepared, row_insert, rows_insert_few
from generation.domain.lifecycle import DialogueState
from generation.models import Brief, Dialogue, ProviderCall, Turn, Variant
from generation.providers import TextProvider, VoiceProvider, text_providers, voice_providers
from generation.services.leases import lease_renew
from generation.services.ledger import (
    ANSWERED_BADLY,
    Request,
    call_find,
    call_make,
    call_settle,
    call_spoil,
    content_hash,
)
from generation.services.lifecycle import dialogue_move
from generation.services.seeds import dialogue_seed
from generation.services.writing import script_in_stages

AVOID_TITLES = 12
"""How many earlier titles of the same kind a text model is asked not to repeat."""


def script_generate(*, dialogue: Dialogue) -> Dialogue:
    """BRIEFED -> SCRIPTED: have the script written, once, and make its turns and variants.

    Side effects: a ledger row as soon as the provider has answered; then, in one transaction, turns, variants, the
    dialogue's texts, the move and its Event. A dialogue past BRIEFED is left as it is. ProviderError says why there is
    no script.
    """
    if dialogue.state != DialogueState.BRIEFED:
        return dialogue
    brief = brief_of(dialogue)
    benchmark = benchmark_get(dialogue.benchmark)
    spec = brief_spec(dialogue, benchmark)
    written = _script(dialogue, brief, benchmark, spec)
    voice = voice_providers.get(brief.voice_provider)()
    with transaction.atomic():
        dialogue.turns.all().delete()
        dialogue_fill(dialogue=dialogue, written=written, voice=voice)
        dialogue_move(dialogue=dialogue, to=DialogueState.SCRIPTED, reason=f"script by {brief.text_provider}")
    return dialogue


def brief_of(dialogue: Dialogue) -> Brief:
    """The brief behind a dialogue; InvalidInput when it has none (imported ones are never generated)."""
    if dialogue.brief is None:
        raise InvalidInput(
            _("This dialogue was not asked for by a brief, so nothing can be generated for it."), field="brief"
        )
    return dialogue.brief


_TITLES = Prepared[str](
    lambda corpus, benchmark, category, language, before: (
        Dialogue.objects.filter(corpus=corpus, benchmark=benchmark, category=category, language=language, pk__lt=before)
        .exclude(title="")
        .order_by("-pk")
        .values_list("title", flat=True)[:AVOID_TITLES]
    )
)


def brief_spec(dialogue: Dialogue, benchmark: Benchmark) -> BriefSpec:
    """The brief as the benchmark needs it; what it leaves open is drawn by the dialogue's seed."""
    brief = brief_of(dialogue)
    rng = Random(dialogue_seed(dialogue, "brief"))  # noqa: S311 -- variety, not secrecy
    valence, setting = rng.choice(benchmark.valences), rng.choice(benchmark.settings)
    earlier = _TITLES.rows(
        corpus=dialogue.corpus_id,
        benchmark=dialogue.benchmark,
        category=dialogue.category,
        language=dialogue.language,
        before=dialogue.pk,
    )
    return BriefSpec(
        category=benchmark.category(dialogue.category),
        language=dialogue.language,
        valence=brief.valence or valence,
        setting=brief.setting or setting,
        avoid=tuple(earlier),
    )


def _script(dialogue: Dialogue, brief: Brief, benchmark: Benchmark, spec: BriefSpec) -> DialogueSpec:
    provider = text_providers.get(brief.text_provider)()
    if provider.writes_in_stages and benchmark.stages:
        return script_in_stages(dialogue=dialogue, brief=brief, benchmark=benchmark, provider=provider, spec=spec)
    seed = dialogue_seed(dialogue, _take(dialogue))
    prompt = benchmark.script_prompt(spec, Random(seed))  # noqa: S311 -- variety, not secrecy
    request = _request(dialogue, brief, provider, prompt, seed)
    kept = _kept(request)
    return _read(kept, benchmark, spec) if kept else _write(request, provider, benchmark, spec, prompt)


def _take(dialogue: Dialogue) -> str:
    """Answers that were no script were paid for and thrown away; each of them calls for another seed."""
    spoilt = len(_SPOILT.rows(dialogue=dialogue.pk))
    return f"take {spoilt}" if spoilt else ""


def _read(script: object, benchmark: Benchmark, spec: BriefSpec) -> DialogueSpec:
    try:
        return benchmark.script_read(benchmark.script_schema.model_validate(script), spec)
    except ValueError as error:  # pydantic's ValidationError is one
        raise ProviderError(
            _("The script does not fit %(benchmark)s: %(error)s") % {"benchmark": benchmark.title, "error": error},
            cause="script does not fit",
            decision=Retry(0),
        ) from error


def _request(dialogue: Dialogue, brief: Brief, provider: TextProvider, prompt: Prompt, seed: int) -> Request:
    prompt_hash = content_hash({"system": prompt.system, "user": prompt.user, "version": prompt.version})
    return Request(
        kind="text",
        provider=brief.text_provider,
        model=provider.model,
        content={
            "parameters": provider.parameters(),
            "prompt": prompt_hash,
            "benchmark": brief.benchmark,
            "category": brief.category,
            "language": brief.language,
            "ordinal": dialogue.ordinal,
        },
        seed=seed,
        prompt_version=prompt.version,
        prompt_hash=prompt_hash,
        dialogue=dialogue,
        parameters=provider.parameters(),
    )


_BY_SEED = Prepared[ProviderCall](
    lambda dialogue, provider, seed, prompt_version: ProviderCall.objects.filter(
        dialogue=dialogue, kind="text", provider=provider, seed=seed, prompt_version=prompt_version, outcome="ok"
    ).order_by("-pk")
)
_SPOILT = Prepared[int](
    lambda dialogue: ProviderCall.objects.filter(
        dialogue=dialogue, kind="text", outcome="error", result__cause__in=ANSWERED_BADLY
    ).values_list("pk", flat=True)
)


def _kept(request: Request) -> dict[str, object] | None:
    """The script that was paid for already: for this very request, or for this dialogue and seed with an earlier list
    of titles to avoid.
    """
    found = call_find(request)
    if found is None and request.dialogue is not None:
        found = _BY_SEED.first(
            dialogue=request.dialogue.pk,
            provider=request.provider,
            seed=request.seed,
            prompt_version=request.prompt_version,
        )
    return found.result["script"] if found else None


def _write(
    request: Request, provider: TextProvider, benchmark: Benchmark, spec: BriefSpec, prompt: Prompt
) -> DialogueSpec:
    dialogue = request.dialogue
    if dialogue is None:
        raise InvalidInput(_("A script is written for a dialogue."))
    lease_renew(dialogue=dialogue)
    answer, latency_ms = call_make(
        request,
        lambda: provider.write(
            prompt=prompt,
            schema=benchmark.script_schema,
            seed=request.seed or 0,
            brief=spec,
            ordinal=dialogue.ordinal,
            benchmark=dialogue.benchmark,
        ),
    )
    try:
        written = _read(answer.script, benchmark, spec)
    except ProviderError as error:
        call_spoil(request, answer, latency_ms=latency_ms, error=error.message)
        raise
    call_settle(request, answer, latency_ms=latency_ms, result={"script": answer.script})
    return written


def dialogue_fill(*, dialogue: Dialogue, written: DialogueSpec, voice: VoiceProvider) -> None:
    """Write a script into a dialogue: its texts, one turn per line with the speaker's voice, the variants of each.

    Part of a transaction of the caller's. One speaker keeps one voice, and different speakers get different ones.
    """
    dialogue.title = written.title[:300]
    dialogue.scenario = written.scenario
    dialogue.extras = written.extras
    dialogue.valence = written.valence
    dialogue.template_key = written.template_key[:120]
    dialogue.topic_key = written.topic_key[:120]
    dialogue.save(update_fields=["title", "scenario", "extras", "valence", "template_key", "topic_key", "updated"])
    speakers = list(dict.fromkeys(turn.speaker for turn in written.turns))
    for turn in written.turns:
        spoken_by = voice.voice_for(gender=turn.gender, language=dialogue.language, index=speakers.index(turn.speaker))
        _turn_write(dialogue, turn, spoken_by)


def _turn_write(dialogue: Dialogue, turn: TurnSpec, voice: str) -> None:
    row = row_insert(
        Turn(
            dialogue=dialogue,
            position=turn.position,
            role=turn.role,
            speaker=turn.speaker,
            speaker_name=turn.speaker_name[:80],
            gender=turn.gender,
            voice=voice,
        )
    )
    rows_insert_few(
        [
            Variant(
                turn=row,
                label=variant.label,
                text=variant.text,
                tone=variant.delivery.instruction,
                delivery=asdict(variant.delivery),
                intended_grade=variant.grade,
                rationale=variant.rationale,
            )
            for variant in turn.variants
        ]
    )
