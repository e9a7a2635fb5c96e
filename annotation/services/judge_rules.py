"""The rules of a round for its judges are set here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from annotation.domain.quality import QualityRules
from annotation.models import Round
from eqstudio.events import event_record
from eqstudio.models import User


@transaction.atomic
def judge_rules_set(*, round: Round, quality: Mapping[str, Any], actor: User) -> Round:  # noqa: A002 -- the word of the domain
    """Keep the rules and write one Event that names what changed; the same rules again change nothing.

    InvalidInput names the key that is wrong. People stay where they are: who has begun is not trained again.
    """
    after = QualityRules.from_dict(quality).as_dict()
    before = QualityRules.from_dict(round.quality).as_dict()
    changed = {name: value for name, value in after.items() if before[name] != value}
    if not changed and round.quality:
        return round
    Round.objects.filter(pk=round.pk).update(quality=after)
    round.quality = after
    event_record(actor=actor, verb="set the rules for judges", entity=round, **changed)
    return round
