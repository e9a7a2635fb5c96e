"""The only ways a view obtains a study, a sitting, a trial or a run."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from eqstudio.access import can_curate, can_sit_exam, is_guest, object_for
from eqstudio.errors import Forbidden, NotFound
from eqstudio.models import User
from evaluation.models import Sitting, Study, TrialRecord


def study_for(user: User, uid: str) -> Study:
    """A study for anybody with a role; a closed one only for a researcher or admin (others 403)."""
    found = object_for(user, Study.objects.select_related("split"), may_know=can_sit_exam, may_do=can_sit_exam, uid=uid)
    if not found.is_open and not can_curate(user):
        raise Forbidden(_("This study is closed; it takes no more answers."))
    return found


def study_to_curate_for(user: User, uid: str) -> Study:
    """A study with its results: for a researcher or admin only."""
    return object_for(user, Study.objects.select_related("split"), may_know=can_sit_exam, may_do=can_curate, uid=uid)


def studies_open_for(user: User) -> QuerySet[Study]:
    """The studies this person may sit now."""
    if not can_sit_exam(user):
        return Study.objects.none()
    return Study.objects.filter(is_open=True).select_related("split")


def sitting_for(user: User, uid: str) -> Sitting:
    """A person's own sitting; everybody else's does not exist for them."""
    found = (
        Sitting.objects.filter(uid=uid, respondent__user_id=user.pk)
        .select_related("respondent__study__split", "respondent__user")
        .first()
    )
    if found is None or not (can_sit_exam(user) or is_guest(user)):
        raise NotFound(_("There is no such sitting."))
    return found


def trial_for(user: User, uid: str) -> TrialRecord:
    """A question of a person's own sitting."""
    found = (
        TrialRecord.objects.filter(uid=uid, sitting__respondent__user_id=user.pk)
        .select_related("sitting__respondent__study__split", "sitting__respondent__user", "dialogue")
        .first()
    )
    if found is None or not (can_sit_exam(user) or is_guest(user)):
        raise NotFound(_("There is no such question."))
    return found


def run_for(user: User, uid: str) -> Sitting:
    """Any sitting with its raw answers: for a researcher or admin only."""
    found = Sitting.objects.select_related("respondent__study__split", "respondent__run_spec", "respondent__user")
    return object_for(user, found, may_know=can_sit_exam, may_do=can_curate, uid=uid)
