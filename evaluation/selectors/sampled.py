"""Which items of its split a study asks."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from annotation.models import SplitItem
from evaluation.domain.protocol import Sampling
from evaluation.domain.sampling import Drawn, Stratum, item_set_hash, sample_draw, strata_of
from evaluation.models import ProtocolVersion, Study, StudyItem
from evaluation.selectors.protocols import protocol_of

STRATA = {
    "category": "dialogue__category",
    "language": "dialogue__language",
    "source": "dialogue__source",
    "valence": "dialogue__valence",
}


def sample_planned(*, study: Study, sampling: Sampling) -> list[Drawn]:
    """What the plan draws from the split, in the split's order; nothing is stored. One query."""
    rows = (
        SplitItem.objects.filter(split_id=study.split_id)
        .order_by("position")
        .values_list("dialogue_id", STRATA[sampling.by], "dialogue__uid")
    )
    strata = {item: stratum or "–" for item, stratum, _uid in rows}
    names = {item: uid for item, _stratum, uid in rows}
    return sample_draw(strata, plan=sampling.plan, size=sampling.size, seed=sampling.seed, names=names)


def sample_stored(study: Study) -> set[int]:
    """The dialogues that were drawn when the protocol was locked, or at the first sitting; empty: the whole split is asked."""
    return set(StudyItem.objects.filter(study=study).order_by().values_list("dialogue_id", flat=True))


def items_of(*, study: Study, pilot: bool = False) -> list[int]:
    """The dialogues a study asks, in the split's order. A pilot asks what the plan of the moment draws."""
    stored = sample_stored(study)
    if pilot and not stored:
        return [one.item for one in sample_planned(study=study, sampling=protocol_of(study).sampling)]
    every = SplitItem.objects.filter(split_id=study.split_id).order_by("position").values_list("dialogue_id", flat=True)
    return [item for item in every if item in stored] if stored else list(every)


def items_counted(studies: Iterable[Study]) -> dict[int, int]:
    """How many items each study asks, by the study's key; the split's own number where nothing was drawn. One query."""
    rows = list(studies)
    drawn = dict(
        StudyItem.objects.filter(study__in={row.pk for row in rows})
        .order_by()
        .values_list("study")
        .annotate(n=Count("pk"))
    )
    return {row.pk: drawn.get(row.pk, row.split.item_count) for row in rows}


def studies_in_pilot(studies: Iterable[int]) -> set[int]:
    """Which of these studies (by key) are in pilot mode now. One query."""
    now: dict[int, Any] = dict(
        ProtocolVersion.objects.filter(study__in=list(studies))
        .order_by("number")
        .values_list("study_id", "content__execution__pilot")
    )
    return {study for study, pilot in now.items() if pilot}


@dataclass(frozen=True)
class Sample:
    """What a study asks, told: ``drawn`` is False while the plan is only a plan. ``hash`` names the set of items."""

    plan: str
    items: int
    whole: int
    drawn: bool
    hash: str
    strata: tuple[Stratum, ...]

    @property
    def uneven(self) -> bool:
        """Whether some items were likelier to be drawn than others: then plain means lean towards them."""
        return len({round(one.probability, 9) for one in self.strata}) > 1

    @property
    def missing(self) -> list[str]:
        return [one.name for one in self.strata if one.drawn == 0]


def sample_of(*, study: Study, sampling: Sampling) -> Sample:
    """The sample of a study under this plan, stratum by stratum. Two queries."""
    rows = list(
        SplitItem.objects.filter(split_id=study.split_id)
        .order_by("position")
        .values_list("dialogue_id", STRATA[sampling.by], "dialogue__uid")
    )
    names = {item: uid for item, _stratum, uid in rows}
    every = {item: stratum or "–" for item, stratum, _uid in rows}
    stored = sample_stored(study)
    chosen = stored or {
        one.item for one in sample_draw(every, plan=sampling.plan, size=sampling.size, seed=sampling.seed, names=names)
    }
    by = every if sampling.plan == "stratified" else dict.fromkeys(every, "")
    return Sample(
        plan=sampling.plan,
        items=len(chosen),
        whole=len(rows),
        drawn=bool(stored) or sampling.plan == "full",
        hash=item_set_hash([names[item] for item in chosen]),
        strata=tuple(strata_of([by[item] for item in every], [by[item] for item in chosen])),
    )


def sample_told(study: Study) -> dict[str, object] | None:
    """The items that were drawn, as a result names its inputs; None where the whole split is asked. One query."""
    uids = list(StudyItem.objects.filter(study=study).order_by().values_list("dialogue__uid", flat=True))
    if not uids:
        return None
    return {"items": len(uids), "whole": study.split.item_count, "hash": item_set_hash(uids)}


def item_set_of(study: Study, only: Collection[int] | None = None) -> str:
    """The hash of the set of items that figures are about: the split's manifest, the drawn sample, or ``only`` some of its
    dialogues (primary keys).
    """
    if only is not None:
        names = SplitItem.objects.filter(split_id=study.split_id).values_list("dialogue_id", "dialogue__uid")
        return item_set_hash([uid for item, uid in names if item in only])
    drawn = sample_told(study)
    return study.split.manifest_hash if drawn is None else str(drawn["hash"])


def weights_of(study: Study) -> dict[int, float]:
    """How many items of the split each drawn one stands for (1 / probability); empty where all were equally likely."""
    rows = dict(StudyItem.objects.filter(study=study).order_by().values_list("dialogue_id", "probability"))
    return {} if len({round(one, 9) for one in rows.values()}) < 2 else {item: 1 / one for item, one in rows.items()}  # noqa: PLR2004
