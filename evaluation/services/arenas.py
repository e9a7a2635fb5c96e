"""Arenas: systems' rationales for the same questions, rated by people. Opening, reserving, rating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import combinations
from random import Random
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Q
from django.utils.translation import gettext as _

from eqstudio.access import can_curate
from eqstudio.benchmarks.base import Trial
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.domain.arena import MOST_SYSTEMS, question_choose, systems_choose
from evaluation.models import (
    Arena,
    Contender,
    Panel,
    PanelSystem,
    Question,
    RatingSheet,
    RationaleRating,
    Respondent,
    Study,
)
from evaluation.models.arena import HIGHEST, LOWEST
from evaluation.selectors.rationales import rationales_of, reasoned_questions
from evaluation.services.hearing import unheard_among

MOST_WANTED = 50
NAMES = ("P", "Q", "R", "S", "T", "U", "V", "W")
"""What options are called for raters: none of the letters that systems were shown, and none that is a key of listening."""


@transaction.atomic
def arena_create(
    *,
    study: Study,
    name: str,
    respondents: Sequence[Respondent],
    per_panel: int,
    wanted: int,
    seed: int = 0,
    actor: User | None = None,
) -> Arena:
    """Open an arena over systems of a study. Its questions are those that every one of them answered with a reason, each in
    its first run. Inserts the Arena, its Contenders and Questions, and one Event.
    """
    systems = list(dict.fromkeys(respondents))
    _check(study, systems, per_panel, wanted)
    questions = reasoned_questions(study=study, respondents=systems)
    if not questions:
        raise InvalidInput(
            _("There is no question that all of these systems answered with a reason."), field="respondents"
        )
    try:
        with transaction.atomic():
            arena = Arena.objects.create(
                study=study, name=name, per_panel=per_panel, wanted=wanted, seed=seed, created_by=actor
            )
    except IntegrityError as error:
        raise Conflict(_("This study has an arena of that name; choose another."), field="name") from error
    Contender.objects.bulk_create(Contender(arena=arena, respondent=one, run=_first_run(one)) for one in systems)
    Question.objects.bulk_create(Question(arena=arena, dialogue_id=item, key=key) for item, key in questions)
    event_record(actor=actor, verb="arena_create", entity=study, arena=name, systems=[one.name for one in systems])
    return arena


def _check(study: Study, systems: Sequence[Respondent], per_panel: int, wanted: int) -> None:
    if any(one.study_id != study.pk or one.kind == Respondent.Kind.PERSON for one in systems):
        raise InvalidInput(_("Only systems of this study can be rated."), field="respondents")
    if not 2 <= len(systems) <= MOST_SYSTEMS:  # noqa: PLR2004 -- one cannot be compared
        raise InvalidInput(_("Choose 2 to %(most)d systems.") % {"most": MOST_SYSTEMS}, field="respondents")
    if not 2 <= per_panel <= len(systems):  # noqa: PLR2004
        raise InvalidInput(
            _("Side by side stand at least 2 rationales, and no more than there are systems."), field="per_panel"
        )
    if not 1 <= wanted <= MOST_WANTED:
        raise InvalidInput(_("1 to %(most)d people can rate a question.") % {"most": MOST_WANTED}, field="wanted")


def _first_run(respondent: Respondent) -> int:
    first = respondent.sittings.exclude(state="cancelled").order_by("run").values_list("run", flat=True).first()
    return first or 0


def arena_set_open(*, arena: Arena, is_open: bool, actor: User) -> bool:
    """Close an arena, or open it again. One conditional UPDATE and one Event; False when it was so already."""
    moved = Arena.objects.filter(pk=arena.pk, is_open=not is_open).update(is_open=is_open)
    arena.refresh_from_db(fields=["is_open"])
    if moved:
        verb = "arena_open" if is_open else "arena_close"
        event_record(actor=actor, verb=verb, entity=arena.study, arena=arena.name)
    return moved == 1


@transaction.atomic
def panel_next(*, arena: Arena, user: User, now: datetime) -> Panel | None:
    """The panel this person is on, or a place on the next question; None when there is none left for them.

    Leases of others that ran out are given up first. The arena's row is held meanwhile, so that places, systems and pairs are
    counted and taken by one at a time. Inserts a Panel and its PanelSystems. Conflict when the arena is closed.
    """
    arena = Arena.objects.select_for_update().select_related("study").get(pk=arena.pk)
    if not arena.is_open:
        raise Conflict(_("This arena is closed; nothing more is rated."))
    until = now + timedelta(minutes=arena.lease_minutes)
    arena.panels.filter(state=Panel.State.LEASED, lease_until__lt=now).update(state=Panel.State.EXPIRED)
    mine = arena.panels.filter(rater=user, state=Panel.State.LEASED).first() or _taken_again(arena, user)
    if mine is not None:
        mine.state, mine.lease_until = Panel.State.LEASED, until
        mine.save(update_fields=["state", "lease_until", "slot"])
        return mine
    rng = Random(f"{arena.seed}:{arena.panels.count()}:{user.uid}")  # noqa: S311 -- an order, not a secret
    chosen = question_choose(_free(arena, user), rng=rng)
    if chosen is None:
        return None
    question = arena.questions.get(pk=chosen)
    panel = Panel.objects.create(
        arena=arena,
        question=question,
        dialogue_id=question.dialogue_id,
        rater=user,
        slot=_slot(question),
        lease_until=until,
        labels=_labels(arena, question, rng),
        key_access=can_curate(user),
    )
    for position, respondent in enumerate(_systems(arena, question, rng)):
        PanelSystem.objects.create(panel=panel, respondent_id=respondent, position=position)
    return panel


def _taken_again(arena: Arena, user: User) -> Panel | None:
    """A panel that this person let run out while its question still has a place: they have seen it, so it stays theirs."""
    for panel in arena.panels.filter(rater=user, state=Panel.State.EXPIRED).select_related("question"):
        if panel.question.panels.filter(state__in=Panel.HOLDING).count() < arena.wanted:
            panel.slot = _slot(panel.question)
            return panel
    return None


def _free(arena: Arena, user: User) -> dict[int, int]:
    """Questions with a place, about items that this person has not met here, and how many hold each."""
    met = arena.panels.filter(rater=user).values("dialogue")
    held = Count("panels", filter=Q(panels__state__in=Panel.HOLDING))
    rows = arena.questions.exclude(dialogue__in=met).order_by().annotate(held=held)
    return dict(rows.filter(held__lt=arena.wanted).values_list("pk", "held"))


def _slot(question: Question) -> int:
    taken = set(question.panels.filter(state__in=Panel.HOLDING).values_list("slot", flat=True))
    return next(slot for slot in range(len(taken) + 1) if slot not in taken)


def _labels(arena: Arena, question: Question, rng: Random) -> dict[str, str]:
    """What each option is called for this person, by its rendition or its words."""
    first = arena.contenders.first()
    record = rationales_of(arena=arena, question=question)[first.respondent_id] if first else None
    options = Trial.from_dict(record.trial.shown).options if record else ()
    names = list(NAMES[: len(options)])
    rng.shuffle(names)
    return {option.variant or option.text or "": name for option, name in zip(options, names, strict=True)}


def _systems(arena: Arena, question: Question, rng: Random) -> list[int]:
    holding = PanelSystem.objects.filter(panel__arena=arena, panel__state__in=Panel.HOLDING)
    met: dict[tuple[int, int], int] = {}
    here: dict[int, int] = {}
    panels: dict[int, list[int]] = {}
    for panel, asked, respondent in holding.order_by("panel", "respondent").values_list(
        "panel", "panel__question", "respondent"
    ):
        panels.setdefault(panel, []).append(respondent)
        if asked == question.pk:
            here[respondent] = here.get(respondent, 0) + 1
    for members in panels.values():
        for pair in combinations(sorted(members), 2):
            met[pair] = met.get(pair, 0) + 1
    systems = list(arena.contenders.values_list("respondent", flat=True))
    return systems_choose(systems, arena.per_panel, met=met, here=here, rng=rng)


def panel_rate(
    *,
    panel: Panel,
    values: Mapping[str, int],
    client_key: str,
    heard: Mapping[str, Any] | None = None,
    comment: str = "",
    paradata: Mapping[str, Any] | None = None,
) -> RatingSheet:
    """Store one person's ratings of a panel: ``values`` from position ("0", "1", ...) to 1-10, all of them. Sent twice they
    are stored once. What comes after the lease ran out is kept, too. InvalidInput names what is missing or was not heard.
    """
    existing = RatingSheet.objects.filter(panel=panel).first()
    if existing is not None:
        return existing
    systems = {str(one.position): one.respondent_id for one in panel.systems.all()}
    _values_check(systems, values)
    share = panel.arena.study.gate_share
    missing = unheard_among(clips=clips_to_hear(panel), heard={} if heard is None else heard, share=share)
    if missing:
        raise InvalidInput(
            _("Please listen to at least %(share)d %% of every clip first. Still to hear: %(missing)s.")
            % {"share": round(100 * share), "missing": ", ".join(missing)},
            field="heard",
        )
    with transaction.atomic():
        arena = Arena.objects.select_for_update().get(pk=panel.arena_id)
        existing = RatingSheet.objects.filter(panel=panel).first()
        if existing is not None:
            return existing
        if not arena.is_open:
            raise Conflict(_("This arena was closed meanwhile; nothing more is rated."))
        current = Panel.objects.select_related("question").get(pk=panel.pk)
        slot = current.slot if current.state == Panel.State.LEASED else _slot(current.question)
        Panel.objects.filter(pk=panel.pk).update(state=Panel.State.RATED, slot=slot)
        sheet = RatingSheet.objects.create(
            panel=panel,
            client_key=client_key,
            comment=comment.strip(),
            heard=dict(heard or {}),
            paradata=dict(paradata or {}),
        )
        RationaleRating.objects.bulk_create(
            RationaleRating(sheet=sheet, respondent_id=systems[position], value=value)
            for position, value in values.items()
        )
    panel.refresh_from_db(fields=["state", "slot"])
    return sheet


def _values_check(systems: Mapping[str, int], values: Mapping[str, int]) -> None:
    for position in sorted(systems):
        value = values.get(position)
        if not isinstance(value, int) or isinstance(value, bool) or not LOWEST <= value <= HIGHEST:
            told = {"number": int(position) + 1, "low": LOWEST, "high": HIGHEST}
            raise InvalidInput(
                _("Rationale %(number)d needs a rating from %(low)d to %(high)d.") % told, field=f"values.{position}"
            )
    if set(values) - set(systems):
        raise InvalidInput(_("A rating was sent for a rationale that is not on this page."), field="values")


def clips_to_hear(panel: Panel) -> list[tuple[str, str]]:
    """Variant and name of every clip of the panel's question, as this person sees them."""
    records = rationales_of(arena=panel.arena, question=panel.question)
    shown = [Trial.from_dict(records[one.respondent_id].trial.shown) for one in panel.systems.all()]
    found: dict[str, str] = {}
    for trial in shown:
        for number, segment in enumerate(trial.context, start=1):
            if segment.variant:
                found.setdefault(segment.variant, _("line %(number)s") % {"number": number})
    for option in shown[0].options:
        if option.variant:
            found[option.variant] = panel.labels.get(option.variant, "")
    return list(found.items())
