"""The one moment at which the items of a study are drawn and stored."""

from __future__ import annotations

from django.db import transaction

from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.domain.protocol import Sampling
from evaluation.models import Study, StudyItem
from evaluation.selectors.sampled import sample_planned


def sample_ensure(*, study: Study, sampling: Sampling, actor: User | None = None) -> int:
    """Store what the plan draws, with each item's probability, unless that was done before; the full plan stores nothing.

    Returns how many items were stored now. Two callers at once store the same draw once. Inserts StudyItems, writes one Event.
    """
    if sampling.plan == "full" or StudyItem.objects.filter(study=study).exists():
        return 0
    drawn = sample_planned(study=study, sampling=sampling)
    with transaction.atomic():
        StudyItem.objects.bulk_create(
            [
                StudyItem(study=study, dialogue_id=one.item, stratum=one.stratum[:80], probability=one.probability)
                for one in drawn
            ],
            ignore_conflicts=True,
        )
        event_record(
            actor=actor, verb="sample_draw", entity=study, plan=sampling.plan, items=len(drawn), seed=sampling.seed
        )
    return len(drawn)
