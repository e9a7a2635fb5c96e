"""The part of an audit that asks people and meters: shortcuts, words alone, the ceiling of labels, judges who also answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import OuterRef, Subquery

from annotation.domain.ceiling import ceiling
from annotation.domain.curation import Recipe
from annotation.models import Split
from annotation.selectors.judgements import live_judgements
from annotation.selectors.split_agreement import keys_agreement
from annotation.selectors.split_judgements import Said, said_of
from annotation.selectors.splits import split_rounds
from eqstudio.estimates import Estimate, clustered_share
from eqstudio.models import User
from generation.domain.shortcuts import WARN_ABOVE
from generation.models import Dialogue, QcReport
from generation.selectors import shortcuts_found
from generation.selectors.writing import TEXT_LEAK


def shortcut_rows(*, split: Split) -> list[dict[str, Any]]:
    """The guard's rules, as respondents, over the clips as they were made. ``cue`` is the choice that does better."""
    dialogues = Dialogue.objects.filter(split_items__split=split)
    return [
        {
            "cue": rule.direction,
            "measure": rule.cue,
            "pairs": found.guard.pairs,
            "accuracy": rule.accuracy.as_dict(),
            "warns": rule.warns,
        }
        for found in shortcuts_found(dialogues=dialogues)
        for rule in found.guard.rules
        if found.guard.pairs
    ]


def text_solvability(*, split: Split) -> dict[str, Any]:
    """How often a judge that reads only the words was right, over the last check of each item it read."""
    last = (
        QcReport.objects.filter(dialogue=OuterRef("dialogue"), check_name=TEXT_LEAK).order_by("-run").values("run")[:1]
    )
    reports = QcReport.objects.filter(
        dialogue__split_items__split=split, check_name=TEXT_LEAK, run=Subquery(last)
    ).values_list("detail", flat=True)
    read = [(detail.get("right", 0), detail["asked"]) for detail in reports.iterator() if "asked" in detail]
    if not any(asked for _right, asked in read):
        found = Estimate.undefined("no text judge has read these items")
    else:
        found = clustered_share(read)
    return {
        "accuracy": found.as_dict(),
        "items": len(read),
        "warns": found.value is not None and found.value > WARN_ABOVE,
    }


def _said(split: Split) -> Iterator[Said]:
    """What was said of each item, read as it is asked for."""
    if rounds := split_rounds(split=split):
        keys = list(split.items.values_list("dialogue_id", flat=True))
        yield from (said for _key, said in said_of(rounds=rounds, keys=keys))


def split_verdict_agreement(*, split: Split) -> dict[str, Any]:
    """The measure of the split's recipe over its items, as judgements stand now."""
    recipe = Recipe(agreement_measure=split.recipe.get("agreement_measure", Recipe.agreement_measure))
    keys = list(split.items.values_list("dialogue_id", flat=True))
    return keys_agreement(rounds=split_rounds(split=split), keys=keys, recipe=recipe).as_dict()


def label_ceiling(*, split: Split) -> dict[str, Estimate]:
    """How often one person gives the grade, or the verdict, that most of the others give."""
    return {
        "grade": ceiling(list(said.values.values()) for said in _said(split)),
        "verdict": ceiling([said.verdicts] for said in _said(split)),
    }


def judges_who_answered(*, split: Split) -> dict[str, Any]:
    """People whose judgements count for items of this split and who also sat an exam on any split with one of them.

    The exam hangs its respondents on the person, so nothing of it has to be known here.
    """
    items = split.items.values("dialogue_id")
    rounds = split_rounds(split=split)
    judges = live_judgements().filter(item__round__in=rounds, item__dialogue_id__in=items).values("annotator_id")
    found = User.objects.filter(pk__in=judges, respondents__study__split__items__dialogue_id__in=items).distinct()
    return {"people": found.count(), "uids": sorted(found.values_list("uid", flat=True)[:20])}
