"""Where a person stands in a round, and what follows from each judgement for it."""

from __future__ import annotations

from datetime import datetime

from annotation.models import Judgement, Kind, Participation, Round, RoundItem
from eqstudio.models import User


def participation_get(*, round: Round, annotator: User) -> Participation:  # noqa: A002 -- the word of the domain
    """The person's place in the round, made on first use."""
    found, _made = Participation.objects.get_or_create(round=round, annotator=annotator)
    return found


def special_next(*, participation: Participation, now: datetime) -> tuple[RoundItem, Kind] | None:  # noqa: ARG001
    """The training, qualification, gold or repeated item that is due for the person now; None when work is."""
    return None


def judgement_checked(*, judgement: Judgement, participation: Participation, now: datetime) -> None:
    """Take a stored judgement into the person's counts, and flag what looks wrong about it."""
