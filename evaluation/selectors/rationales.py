"""Which answers hold a reason, and whose they are."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from eqstudio.access import can_curate, can_sit_exam, object_for
from eqstudio.errors import Forbidden, NotFound
from eqstudio.models import User
from evaluation.domain.rationales import rationale_of
from evaluation.models import Arena, Panel, Question, Respondent, Response, Sitting, Study
from evaluation.selectors.marks import withdrawn_answers


def reasoned_questions(*, study: Study, respondents: Sequence[Respondent]) -> list[tuple[int, str]]:
    """(item, key) of the questions that each of ``respondents`` answered with a reason in its first run, in a fixed order."""
    common: set[tuple[int, str]] | None = None
    for respondent in respondents:
        first = respondent.sittings.exclude(state=Sitting.State.CANCELLED).order_by("run").first()
        rows = (
            Response.objects.filter(trial__sitting=first, failure="")
            .exclude(pk__in=withdrawn_answers(study=study))
            .values_list("trial__dialogue", "trial__key", "raw", "paradata")
        )
        own = {
            (item, key)
            for item, key, raw, paradata in rows.iterator(chunk_size=1_000)
            if not key.startswith(("asr", "reply")) and rationale_of(raw, paradata)
        }
        common = own if common is None else common & own
    return sorted(common or ())


def rationales_of(*, arena: Arena, question: Question) -> dict[int, Response]:
    """Every contender's answer to the question, by respondent, with what was shown and what was read. Two queries."""
    runs = dict(arena.contenders.values_list("respondent", "run"))
    rows = (
        Response.objects.filter(
            trial__sitting__respondent__in=runs, trial__dialogue=question.dialogue_id, trial__key=question.key
        )
        .select_related("trial__sitting")
        .prefetch_related("scores")
    )
    return {
        row.trial.sitting.respondent_id: row
        for row in rows
        if row.trial.sitting.run == runs[row.trial.sitting.respondent_id]
    }


def arena_to_curate_for(user: User, uid: str) -> Arena:
    """An arena with its results: for a researcher or admin only."""
    found = Arena.objects.select_related("study__split")
    return object_for(user, found, may_know=can_sit_exam, may_do=can_curate, uid=uid)


def arena_for(user: User, uid: str) -> Arena:
    """An arena to rate in, for anybody with a role; a closed one only for a researcher or admin (others 403)."""
    found = object_for(
        user, Arena.objects.select_related("study__split"), may_know=can_sit_exam, may_do=can_sit_exam, uid=uid
    )
    if not found.is_open and not can_curate(user):
        raise Forbidden(_("This arena is closed; nothing more is rated."))
    return found


def panel_for(user: User, uid: str) -> Panel:
    """A person's own panel; everybody else's does not exist for them."""
    found = (
        Panel.objects.filter(uid=uid, rater_id=user.pk)
        .select_related("arena__study", "question", "rater")
        .prefetch_related("systems")
        .first()
    )
    if found is None or not can_sit_exam(user):
        raise NotFound(_("There is no such question to rate."))
    return found


def arenas_open_for(user: User) -> list[Arena]:
    """The arenas somebody may rate in now."""
    if not can_sit_exam(user):
        return []
    return list(Arena.objects.filter(is_open=True).select_related("study").order_by("-pk"))
