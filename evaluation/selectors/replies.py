"""The open replies of a study that count, and what was said about them."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from eqstudio.access import can_sit_exam
from eqstudio.benchmarks.trials import Outcome
from eqstudio.errors import NotFound
from eqstudio.models import User
from evaluation.domain.judging import REPLY
from evaluation.models import JudgeWork, Response, Study
from evaluation.selectors.marks import IMPORTED, counting


def replies_of(*, study: Study) -> QuerySet[Response]:
    """Every reply that counts: readable, of a sitting that counts."""
    found = Response.objects.filter(counting(study), trial__key=REPLY, failure="")
    return found.filter(scores__outcome=Outcome.ANSWERED.value).distinct()


def reply_text(response: Response) -> str:
    """The words of a reply, as our parser last read them."""
    own = [score for score in response.scores.all() if score.rule != IMPORTED]
    score = max(own, key=lambda one: one.pk, default=None)
    return score.value if score and score.outcome == Outcome.ANSWERED else response.raw


def reply_for(user: User, study: Study, uid: str) -> Response:
    """A reply of this study, for anybody with a role; whose it is is not told."""
    found = (
        replies_of(study=study)
        .filter(uid=uid)
        .select_related("trial__dialogue", "trial__sitting__respondent__study")
        .first()
    )
    if found is None or not can_sit_exam(user):
        raise NotFound(_("There is no such reply."))
    return found


def studies_with_replies() -> list[Study]:
    """Open studies in which replies were given."""
    return list(Study.objects.filter(is_open=True, respondents__sittings__trials__key=REPLY).distinct().order_by("-pk"))


def judges_at_work(*, study: Study) -> QuerySet[JudgeWork]:
    """Judges that go through the replies now, and those that had to stop. One query."""
    found = JudgeWork.objects.filter(judge__study=study).exclude(wanted=False, stopped="")
    return found.select_related("judge").order_by("pk")
