"""Open replies judged by people and by judge models: the judgement is stored as it was given, then read."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from random import Random
from typing import Any, NamedTuple

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Count, Q
from django.utils.translation import gettext as _

from eqstudio.access import can_curate
from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Outcome, Parsed, Trial
from eqstudio.benchmarks.parsing import answer_parse
from eqstudio.blobs import blob_read
from eqstudio.errors import Conflict, InvalidInput, ProviderError, Refused, Retry
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.backends import Answer, Backend, ClipAudio, backends, evaluators
from evaluation.backends.base import Exam
from evaluation.domain.judging import (
    BY_NAME,
    HIGH,
    LOW,
    REPLY_CLIP,
    SCALES,
    SYSTEM,
    Scale,
    hash_of,
    judge_trial,
    prompt_content,
)
from evaluation.models import ReplyGrade, ReplyJudge, ReplyJudgement, Response, Study
from evaluation.selectors.replies import replies_of, reply_text
from evaluation.services.hearing import unheard_among
from generation.media import clip_served
from generation.models import Clip, Variant
from generation.selectors import item_view, variants_by_uid

WANTED = 3
"""How many people judge a reply before others come first; nobody is offered one that this many have judged."""
PEOPLE_READ = "page"
READS = "text"
"""The evaluator of a judge that reads: it is told in words what the recording holds besides its words."""
REPLY_VARIANT = "reply"
TRIES = 5
LONGEST_WAIT_S = 20.0
STEP_S = 240.0
"""A step begins no further reply after this long; a task has ten minutes."""


def scales_of(response: Response) -> tuple[Scale, ...]:
    """The scales a reply is judged on: the vocal one only where it was spoken."""
    spoken = bool(response.paradata.get(REPLY_CLIP))
    return tuple(scale for scale in SCALES if spoken or not scale.vocal)


def reply_next(*, study: Study, user: User) -> Response | None:
    """A reply that this person has not judged, one that fewest people have; by chance among equals. None when each reply has
    been judged by enough people, or by this one. Nobody judges their own.
    """
    people = Count("judgements", filter=Q(judgements__user__isnull=False))
    rows = (
        replies_of(study=study)
        .exclude(judgements__user=user)
        .exclude(trial__sitting__respondent__user=user)
        .annotate(people=people)
        .filter(people__lt=WANTED)
        .order_by()
    )
    found = list(rows.values_list("people", "pk"))
    if not found:
        return None
    fewest = min(found)[0]
    rng = Random(f"{user.uid}:{len(found)}")  # noqa: S311 -- an order, not a secret
    chosen = rng.choice(sorted(pk for n, pk in found if n == fewest))
    return Response.objects.select_related("trial__dialogue", "trial__sitting__respondent__study").get(pk=chosen)


def clips_of_reply(response: Response) -> list[tuple[str, str]]:
    """Variant and name of what is heard before a reply is judged: the recording it answers. A spoken reply is named
    ``reply``.
    """
    trial = Trial.from_dict(response.trial.shown)
    return [(segment.variant, _("the message")) for segment in trial.context if segment.variant]


def reply_clip(response: Response) -> Clip | None:
    """The sound of a spoken reply."""
    sha256 = response.paradata.get(REPLY_CLIP)
    return Clip.objects.filter(sha256=sha256).first() if sha256 else None


def reply_judge(
    *,
    response: Response,
    user: User,
    values: Mapping[str, int],
    client_key: str,
    heard: Mapping[str, Any] | None = None,
    paradata: Mapping[str, Any] | None = None,
) -> ReplyJudgement:
    """Store what one person said about one reply on every scale; sent twice it is stored once. InvalidInput names the scale
    that is missing, or what was not heard.
    """
    study = response.trial.sitting.respondent.study
    existing = ReplyJudgement.objects.filter(response=response, user=user).first()
    if existing is not None:
        return existing
    if not study.is_open:
        raise Conflict(_("This study is closed; nothing more is judged."))
    if response.trial.sitting.respondent.user_id == user.pk:
        raise Conflict(_("This reply is your own; somebody else judges it."))
    scales = scales_of(response)
    _values_check(scales, values)
    missing = unheard_among(
        clips=clips_of_reply(response), heard={} if heard is None else heard, share=study.gate_share
    )
    if missing:
        raise InvalidInput(
            _("Please listen first. Still to hear: %(missing)s.") % {"missing": ", ".join(missing)}, field="heard"
        )
    kept = {scale.name: values[scale.name] for scale in scales}
    try:
        with transaction.atomic():
            made = ReplyJudgement.objects.create(
                response=response,
                user=user,
                client_key=client_key,
                raw=json.dumps(kept),
                key_access=can_curate(user),
                heard=dict(heard or {}),
                paradata=dict(paradata or {}),
            )
            _grades_store(made, {name: Parsed(Outcome.ANSWERED, value, PEOPLE_READ) for name, value in kept.items()})
    except IntegrityError:
        return ReplyJudgement.objects.get(response=response, user=user)
    return made


def _values_check(scales: Sequence[Scale], values: Mapping[str, int]) -> None:
    for scale in scales:
        value = values.get(scale.name)
        if not isinstance(value, int) or isinstance(value, bool) or not LOW <= value <= HIGH:
            told = {"scale": scale.name, "low": LOW, "high": HIGH}
            raise InvalidInput(
                _("The scale %(scale)s needs a grade from %(low)d to %(high)d.") % told, field=f"values.{scale.name}"
            )


def _grades_store(judgement: ReplyJudgement, read: Mapping[str, Parsed]) -> None:
    ReplyGrade.objects.bulk_create(
        ReplyGrade(
            judgement=judgement,
            scale=name,
            value=parsed.value if parsed.outcome is Outcome.ANSWERED else None,
            outcome=parsed.outcome.value,
            rule=parsed.rule,
        )
        for name, parsed in read.items()
    )


def judge_create(
    *, study: Study, backend: str, evaluator: str = READS, scales: Sequence[str] = (), actor: User | None = None
) -> list[ReplyJudge]:
    """A judge model for the replies of a study: one row a scale, each the same when everything that makes it is the same.

    ``evaluator`` says how it is asked: with sound, or (``text``) in words, then it is told what is heard besides them. The
    vocal scale needs sound. Inserts ReplyJudges and one Event.
    """
    unknown = [name for name in scales if name not in BY_NAME]
    if unknown:
        raise InvalidInput(f"Unknown scale {unknown[0]!r}; known: {', '.join(BY_NAME)}.", field="scales")
    wanted = [one for one in SCALES if (one.name in scales or not scales) and (not one.vocal or evaluator != READS)]
    if not wanted:
        raise InvalidInput(_("The vocal scale needs a judge that hears."), field="scales")
    asked = _backend(study, backend, evaluator)
    asked.check()
    prompt = prompt_content()
    content: dict[str, Any] = {
        "backend": backend,
        "evaluator": evaluator,
        "model": asked.model,
        "parameters": asked.parameters(),
        "prompt": prompt,
        "prompt_hash": hash_of(prompt),
    }
    name = f"{asked.model[:90]} ({evaluator}, {hash_of(content)[:6]})"
    made = []
    for scale in wanted:
        whole = {**content, "scale": scale.name}
        found, _created = ReplyJudge.objects.get_or_create(
            study=study, hash=hash_of(whole), defaults={"name": name, "content": whole, "created_by": actor}
        )
        made.append(found)
    event_record(actor=actor, verb="judge_create", entity=study, judge=name, prompt=content["prompt_hash"][:12])
    return made


def _backend(study: Study, alias: str, evaluator: str) -> Backend:
    kind = backends.get(alias)
    if settings.PRODUCTION and kind.is_fake:
        raise InvalidInput(_("%(alias)s is a fake: it is refused in production.") % {"alias": alias}, field="backend")
    return kind(Exam(instructions=SYSTEM, seed=study.seed), evaluators.get(evaluator)())


class Step(NamedTuple):
    """What a step did: how many replies it judged, and whether more wait."""

    judged: int
    more: bool


def judge_advance(
    *,
    judge: ReplyJudge,
    at_most: int = 20,
    errors_before: datetime | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Step:
    """Ask a judge model about the next replies. Each judgement is stored raw and committed before it is read. A provider that
    asks for patience is asked again up to five times; then, and where trying again cannot help, the judgement is an error.
    What came to an error before ``errors_before`` is asked once more.
    """
    content = judge.content
    scale = BY_NAME[content["scale"]]
    backend = _backend(judge.study, content["backend"], content["evaluator"])
    if (backend.model, backend.parameters()) != (content["model"], content["parameters"]):
        raise Conflict(
            _("This judge was %(then)s; the settings now say %(now)s. Set them back, or make a new judge.")
            % {"then": content["model"], "now": backend.model}
        )
    waiting = _waiting(judge, scale, errors_before)
    until = time.monotonic() + STEP_S
    judged = 0
    backend.load()
    try:
        for response in waiting[:at_most]:
            if time.monotonic() > until:
                break
            _judge_one(judge, scale, backend, response, sleep)
            judged += 1
    finally:
        backend.close()
    return Step(judged, bool(_waiting(judge, scale, errors_before)))


def _waiting(judge: ReplyJudge, scale: Scale, errors_before: datetime | None) -> list[Response]:
    """Replies that the judge has not been asked about, or where all that came before ``errors_before`` was an error."""
    asked = ReplyJudgement.objects.filter(judge=judge)
    if errors_before is not None:
        asked = asked.exclude(failure=Outcome.ERROR.value, created__lt=errors_before)
    rows = replies_of(study=judge.study).exclude(pk__in=asked.values("response"))
    rows = rows.select_related("trial__dialogue", "trial__sitting__respondent__study").order_by("pk")
    return [row for row in rows if not scale.vocal or row.paradata.get(REPLY_CLIP)]


def _judge_one(
    judge: ReplyJudge, scale: Scale, backend: Backend, response: Response, sleep: Callable[[float], None]
) -> None:
    shown = Trial.from_dict(response.trial.shown)
    heard = next((segment.variant for segment in shown.context if segment.variant), "") or ""
    benchmark = benchmark_get(judge.study.benchmark)
    cue = benchmark.cue(item_view(dialogue=response.trial.dialogue), shown)
    trial = judge_trial(
        scale=scale,
        language=shown.language,
        heard=heard,
        reply=reply_text(response),
        cue=cue if judge.content["evaluator"] == READS else "",
        reply_variant=REPLY_VARIANT,
    )
    answer = _asked(backend, trial, _clips(response), sleep)
    try:
        with transaction.atomic():
            made = ReplyJudgement.objects.create(
                response=response,
                judge=judge,
                raw=answer.raw,
                failure=answer.failure,
                error=answer.error,
                paradata=answer.paradata,
            )
    except IntegrityError:
        return
    parsed = Parsed(Outcome(answer.failure)) if answer.failure else answer_parse(trial, answer.raw)
    _grades_store(made, {scale.name: parsed})


def _asked(backend: Backend, trial: Trial, clips: Callable[[str], ClipAudio], sleep: Callable[[float], None]) -> Answer:
    for attempt in range(1, TRIES + 1):
        try:
            return backend.answer(trial, clips)
        except Refused as error:
            return Answer(raw="", failure=Outcome.REFUSED.value, error=error.message)
        except ProviderError as error:
            if not isinstance(error.decision, Retry) or attempt == TRIES:
                return Answer(raw="", failure=Outcome.ERROR.value, error=error.message)
            sleep(min(LONGEST_WAIT_S, error.decision.after_s))
    raise AssertionError("the last attempt returns")


def _clips(response: Response) -> Callable[[str], ClipAudio]:
    trial = Trial.from_dict(response.trial.shown)
    variants = variants_by_uid(uids=[segment.variant for segment in trial.context if segment.variant])

    def clip(uid: str) -> ClipAudio:
        variant = variants.get(uid)
        sound = reply_clip(response) if uid == REPLY_VARIANT else variant.clip if variant else None
        if sound is None:
            raise InvalidInput(_("A clip that the judge should hear is missing."), field="clip")
        return _audio(uid, variant, sound)

    return clip


def _audio(uid: str, variant: Variant | None, sound: Clip) -> ClipAudio:
    served = clip_served(clip=sound)
    return ClipAudio(
        variant=uid,
        text=variant.text if variant else "",
        media_type=served.media_type,
        duration=sound.duration,
        loudness=sound.loudness,
        pitch=sound.pitch,
        read=lambda: blob_read(served.sha256),
    )
