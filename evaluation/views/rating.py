"""The page on which people rate rationales: hear the question, rate each reason, next. Nothing tells whose it is or who is right."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_POST
from pydantic import Field

from eqstudio.benchmarks.base import Option, Trial
from eqstudio.payload import Payload, payload_read
from evaluation.domain.rationales import rationale_of
from evaluation.models import Arena, Panel, Response
from evaluation.models.arena import HIGHEST, LOWEST
from evaluation.selectors.rationales import arena_for, panel_for, rationales_of
from evaluation.services.arenas import clips_to_hear, panel_next, panel_rate
from evaluation.services.scoring import score_that_counts
from evaluation.views.sit import device_of
from generation.media import clip_card
from generation.models import Variant
from generation.selectors import variants_by_uid
from generation.views.guards import person


class Paradata(Payload):
    """How the ratings came about: times by the page's clock, plays by clip, changes of mind."""

    shown_at: str = Field(max_length=40)
    submitted_at: str = Field(max_length=40)
    plays: dict[str, int] = {}
    changes: int = Field(default=0, ge=0)
    focus_losses: int = Field(default=0, ge=0)
    active_ms: int = Field(default=0, ge=0)


class Ratings(Payload):
    """What the page sends: a number for each thing it asked about."""

    about: str = Field(max_length=40)
    client_key: str = Field(min_length=1, max_length=64)
    values: dict[str, int]
    comment: str = Field(default="", max_length=4_000)
    heard: dict[str, list[list[float]]] = {}
    paradata: Paradata


@require_GET
@never_cache
@ensure_csrf_cookie
def arena_rate(request: HttpRequest, uid: str) -> HttpResponse:
    """The question that this person is on, or the next one."""
    arena = arena_for(person(request), uid)
    context = {**panel_context(request, arena), "words": rating_words()}
    return render(request, "evaluation/arena_rate.html", context)


@require_POST
def arena_submit(request: HttpRequest, uid: str) -> JsonResponse:
    """Store the ratings and return the next question. Sent twice they are stored once."""
    arena = arena_for(person(request), uid)
    sent = payload_read(request, Ratings)
    panel = panel_for(person(request), sent.about)
    panel_rate(
        panel=panel,
        values=sent.values,
        client_key=sent.client_key,
        heard=sent.heard,
        comment=sent.comment,
        paradata={**sent.paradata.model_dump(), "device": device_of(request)},
    )
    html = render_to_string("evaluation/arena_panel.html", panel_context(request, arena), request)
    return JsonResponse({"page": arena.uid, "html": html})


def panel_context(request: HttpRequest, arena: Arena) -> dict[str, Any]:
    """The panel as this person sees it; nothing to rate when the arena is closed or has no place left for them."""
    user = person(request)
    panel = panel_next(arena=arena, user=user, now=timezone.now()) if arena.is_open else None
    done = arena.panels.filter(rater=user, state=Panel.State.RATED).count()
    context: dict[str, Any] = {"arena": arena, "study": arena.study, "done": done}
    return context if panel is None else {**context, **_panel(panel, user.uid)}


def _panel(panel: Panel, holder: str) -> dict[str, Any]:
    records = rationales_of(arena=panel.arena, question=panel.question)
    systems = [records[one.respondent_id] for one in panel.systems.all()]
    trials = [Trial.from_dict(record.trial.shown) for record in systems]
    names = dict(clips_to_hear(panel))
    variants = variants_by_uid(uids=names)
    trial = trials[0]
    question, *anchors = trial.question.splitlines() or [""]
    options = sorted(trial.options, key=lambda option: panel.labels[_id(option)])
    return {
        "panel": panel,
        "trial": trial,
        "scenario": trial.scenario.splitlines(),
        "question": question,
        "anchors": anchors,
        "segments": _segments(trials, names, variants, holder),
        "options": [
            {
                "label": panel.labels[_id(option)],
                "text": option.text,
                "uid": option.variant,
                "card": _card(variants, option.variant, holder),
            }
            for option in options
        ],
        "rationales": [
            _rationale(panel, number, record, shown)
            for number, (record, shown) in enumerate(zip(systems, trials, strict=True))
        ],
        "numbers": list(range(LOWEST, HIGHEST + 1)),
        "data": {"about": panel.uid, "groups": [str(number) for number in range(len(systems))]},
    }


def _id(option: Option) -> str:
    return option.variant or option.text or ""


def _segments(
    trials: list[Trial], names: dict[str, str], variants: dict[str, Variant], holder: str
) -> list[dict[str, Any]]:
    """The lines before the question. Where systems heard different renditions of a line, all of them can be heard."""
    found = []
    for number, segment in enumerate(trials[0].context):
        heard = list(dict.fromkeys(trial.context[number].variant for trial in trials if number < len(trial.context)))
        clips = [(uid, _card(variants, uid, holder)) for uid in heard if uid]
        found.append(
            {
                "speaker": segment.speaker,
                "text": segment.text,
                "clips": [
                    {"uid": uid, "card": card, "name": f"{names[uid]}{_nth(place, len(clips))}"}
                    for place, (uid, card) in enumerate(clips)
                ],
            }
        )
    return found


def _nth(place: int, n: int) -> str:
    return "" if n == 1 else f" ({place + 1}/{n})"


def _rationale(panel: Panel, number: int, record: Response, shown: Trial) -> dict[str, Any]:
    """One reason with the choice it belongs to. ``names`` says what its own names for the options mean on this page."""
    score = score_that_counts(record.scores.all())
    chosen = next((option for option in shown.options if score and option.letter == score.value), None)
    read = score is not None and score.outcome == "answered"
    return {
        "number": number + 1,
        "group": str(number),
        "reason": rationale_of(record.raw, record.paradata),
        "chosen": panel.labels[_id(chosen)] if chosen else score.value if read and score else "",
        "names": [(option.letter, place, panel.labels[_id(option)]) for place, option in enumerate(shown.options, 1)],
    }


def _card(variants: dict[str, Variant], uid: str | None, holder: str) -> Any:
    variant = variants.get(uid or "")
    return clip_card(clip=variant.clip, holder=holder) if variant and variant.clip else None


def rating_words() -> dict[str, str]:
    """What the page says by itself, in the language of the interface."""
    return {
        "hear": _("Hear {what}"),
        "rate": _("Rate {what}"),
        "submit": _("Submit"),
        "sending": _("Saving…"),
        "waiting": _("Waiting to be sent"),
        "wait": _("Your answer is kept in this browser. The next question comes when it has been sent."),
        "failed": _("That did not work: {message} What you entered is kept."),
    }
