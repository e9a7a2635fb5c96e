"""Finding one's way in a corpus of any size: filters, order, and what comes before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from generation.models import Corpus, Dialogue, QcReport, Variant
from generation.selectors.listing import FACETS

ORDERS = {
    "newest": ("-pk",),
    "oldest": ("pk",),
    "title": ("title", "pk"),
    "category": ("category", "pk"),
}
DEFAULT_ORDER = "newest"
PARAMETERS = (*FACETS, "finding", "q", "sort")


@dataclass(frozen=True)
class Wanted:
    """What somebody looks for in a corpus, as its page's address says it."""

    facets: Mapping[str, str]
    finding: str = ""
    text: str = ""
    order: str = DEFAULT_ORDER

    @property
    def narrowed(self) -> bool:
        return bool(self.facets or self.finding or self.text)


def wanted_read(parameters: Mapping[str, str]) -> Wanted:
    """Read the parameters of an address; what is unknown is left out."""
    order = parameters.get("sort", "")
    return Wanted(
        facets={name: parameters[name] for name in FACETS if parameters.get(name)},
        finding=parameters.get("finding", "")[:40],
        text=" ".join(parameters.get("q", "").replace("\x00", " ").split())[:200],
        order=order if order in ORDERS else DEFAULT_ORDER,
    )


def dialogues_wanted(*, corpus: Corpus, wanted: Wanted) -> QuerySet[Dialogue]:
    """The dialogues that fit, in order. Text is looked for in titles, codes and ids."""
    found = corpus.dialogues.filter(**wanted.facets)
    if wanted.finding:
        later = QcReport.objects.filter(dialogue=OuterRef("dialogue"), run__gt=OuterRef("run"))
        failed = QcReport.objects.filter(check_name=wanted.finding, passed=False).exclude(Exists(later))
        found = found.filter(pk__in=failed.values("dialogue"))
    if wanted.text:
        found = found.filter(
            Q(title__icontains=wanted.text) | Q(uid=wanted.text) | Q(external_id__icontains=wanted.text)
        )
    return found.order_by(*ORDERS[wanted.order])


def findings_named() -> list[str]:
    """The checks that some dialogue has failed; one query over an index of failures alone."""
    return sorted(QcReport.objects.filter(passed=False).order_by().values_list("check_name", flat=True).distinct())


class Lines(NamedTuple):
    """How many renditions a dialogue has, and how many of them are spoken."""

    lines: int
    voiced: int

    @property
    def silent(self) -> int:
        return self.lines - self.voiced


def lines_counted(*, dialogues: list[Dialogue]) -> dict[int, Lines]:
    """Renditions by dialogue, for the dialogues of one page; one query."""
    rows = (
        Variant.objects.filter(turn__dialogue__in=dialogues)
        .order_by()
        .values(dialogue=F("turn__dialogue"))
        .annotate(lines=Count("pk"), voiced=Count("clip"))
    )
    return {row["dialogue"]: Lines(row["lines"], row["voiced"]) for row in rows}


class Neighbours(NamedTuple):
    """The public ids of the dialogues before and after one in a list; empty at its ends."""

    before: str
    after: str


def dialogue_neighbours(*, dialogue: Dialogue, wanted: Wanted) -> Neighbours:
    """Who stands beside ``dialogue`` in the list that ``wanted`` gives of its corpus; two queries however long it is."""
    listed = dialogues_wanted(corpus=dialogue.corpus, wanted=wanted)
    field, *_rest = ORDERS[wanted.order]
    name = field.lstrip("-")
    value = getattr(dialogue, name)
    behind = _beyond(name, value, dialogue.pk, "lt" if field.startswith("-") else "gt")
    before = _beyond(name, value, dialogue.pk, "gt" if field.startswith("-") else "lt")
    return Neighbours(
        before=listed.filter(before).reverse().values_list("uid", flat=True).first() or "",
        after=listed.filter(behind).values_list("uid", flat=True).first() or "",
    )


def _beyond(name: str, value: object, pk: int, side: str) -> Q:
    if name == "pk":
        return Q(**{f"pk__{side}": pk})
    return Q(**{f"{name}__{side}": value}) | Q(**{name: value, f"pk__{side}": pk})
