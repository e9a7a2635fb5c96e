"""Which items of a study somebody had met before: as author, as judge, in a twin, or in another exam."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from annotation.models import Assignment
from evaluation.models import Study, TrialRecord
from generation.models import Dialogue

_MET = (Assignment.State.ACTIVE, Assignment.State.SUBMITTED, Assignment.State.LATE)


def twin_keys(*, dialogues: Iterable[int]) -> dict[int, str]:
    """The key that twins share, as the rounds of annotation have it: who has heard one knows what happens in the other."""
    rows = Dialogue.objects.filter(pk__in=list(dialogues)).exclude(topic_key="")
    return {
        pk: f"{benchmark}:{topic}"[:120] for pk, benchmark, topic in rows.values_list("pk", "benchmark", "topic_key")
    }


def exposures(*, study: Study, dialogues: Iterable[int], since: Mapping[int, datetime]) -> dict[int, set[int]]:
    """By person, the dialogues they had met before the moment in ``since`` (primary key of a person to their beginning).

    Four queries, whoever many people and items there are.
    """
    wanted = set(dialogues)
    found: dict[int, set[int]] = {person: set() for person in since}
    for person, dialogue in _authored(wanted, since):
        found[person].add(dialogue)
    by_twin: dict[str, set[int]] = {}
    for dialogue, key in twin_keys(dialogues=wanted).items():
        by_twin.setdefault(key, set()).add(dialogue)
    judged = Assignment.objects.filter(annotator__in=list(since), state__in=_MET).values_list(
        "annotator_id", "item__dialogue_id", "item__twin_key", "created"
    )
    for person, dialogue, twin, when in judged.iterator():
        if when < since[person]:
            found[person] |= ({dialogue} & wanted) | by_twin.get(twin, set())
    sat = TrialRecord.objects.filter(sitting__respondent__user__in=list(since), dialogue__in=list(wanted)).exclude(
        sitting__respondent__study=study, sitting__pilot=False
    )
    for person, dialogue, when in sat.values_list("sitting__respondent__user_id", "dialogue_id", "created").iterator():
        if when < since[person]:
            found[person].add(dialogue)
    return found


def _authored(dialogues: set[int], people: Mapping[int, datetime]) -> Iterator[tuple[int, int]]:
    rows = Dialogue.objects.filter(brief__batch__created_by__in=list(people), pk__in=list(dialogues))
    yield from rows.values_list("brief__batch__created_by_id", "pk")
