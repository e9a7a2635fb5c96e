"""Opening who was left out by which rule: once, after the rules were declared."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from eqstudio.errors import Conflict
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.models import Study
from evaluation.selectors.exclusions import UNBLIND, findings_of, unblinded


@transaction.atomic
def study_unblind(*, study: Study, actor: User | None = None) -> None:
    """Show from now on whom the exclusion rules left out, and the results with and without. Writes one Event with the counts.

    Conflict while the protocol is not locked: a rule counts when it was declared before anybody looked. A second call changes
    nothing.
    """
    if study.locked_at is None:
        raise Conflict(_("Lock the protocol first: a rule counts when it was declared before anybody looked."))
    if unblinded(study):
        return
    counts: dict[str, int] = {}
    for findings in findings_of(study).values():
        for found in findings:
            counts[found.rule] = counts.get(found.rule, 0) + found.flagged
    event_record(actor=actor, verb=UNBLIND, entity=study, excluded=counts)
