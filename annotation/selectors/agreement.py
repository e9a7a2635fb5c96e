"""Ratings of a round as a long table, and the agreement in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from annotation.domain.agreement import NAMES, Agreement, agreement
from annotation.domain.ratings import Rating, Value
from annotation.models import Grade, Judgement, Round
from annotation.selectors.judgements import live_judgements
from eqstudio.errors import UnknownAlias
from generation.models import Dialogue

VERDICT, GRADE, IMPORTED = "verdict", "grade", "rating"
GRADES = (1, 2, 3, 4)
UNKNOWN = "unknown"


class Rated(NamedTuple):
    """One row of the long table. ``group`` is the dialogue in which items are resampled."""

    item: Hashable
    rater: str
    value: Value
    group: Hashable
    category: str
    language: str


@dataclass
class Dimension:
    """One question that was asked, with its scale."""

    name: str
    domain: Sequence[Value] | None = None
    level: str = ""
    rows: list[Rated] = field(default_factory=list)
    benchmarks: dict[str, str] = field(default_factory=dict)
    """The benchmark that each category belongs to."""


def round_dimensions(
    *,
    round: Round,  # noqa: A002 -- the word of the domain
    outcome: str = "",
) -> list[Dimension]:
    """Everything that was rated in a round: grades and verdicts that count, then what was imported. Five queries.

    With an ``outcome``, what was said of the items that ended so.
    """
    if outcome:
        return [found for found in (_grades(round, outcome), _verdicts(round, outcome)) if found.rows]
    found = [_grades(round), _verdicts(round), *_imported(round)]
    benchmarks = dict(round.items.order_by().values_list("dialogue__category", "dialogue__benchmark").distinct())
    for dimension in found:
        dimension.benchmarks = benchmarks
    return [dimension for dimension in found if dimension.rows]


def _live(round_: Round, outcome: str) -> QuerySet[Judgement]:
    live = live_judgements(round=round_)
    return live.filter(item__outcome=outcome) if outcome else live


def _grades(round_: Round, outcome: str = "") -> Dimension:
    rows = Grade.objects.filter(judgement__in=_live(round_, outcome)).values_list(
        "variant_id",
        "judgement__annotator__username",
        "value",
        "judgement__item_id",
        "judgement__item__dialogue__category",
        "judgement__item__dialogue__language",
    )
    return Dimension(GRADE, GRADES, rows=[Rated(*row) for row in rows])


def _verdicts(round_: Round, outcome: str = "") -> Dimension:
    rows = _live(round_, outcome).values_list(
        "item_id", "annotator__username", "verdict", "item_id", "item__dialogue__category", "item__dialogue__language"
    )
    return Dimension(VERDICT, Judgement.Verdict.values, "nominal", [Rated(*row) for row in rows])


def _imported(round_: Round) -> list[Dimension]:
    ratings = list(round_.imported_ratings.order_by("pk").values_list("item", "rater", "value", "dimension", "level"))
    names = {item for item, *_ in ratings}
    known = _dialogues(round_, names) if names else {}
    found: dict[str, Dimension] = {}
    for item, rater, value, name, level in ratings:
        dimension = found.setdefault(name, Dimension(name or IMPORTED, level=level))
        category, language = known.get(item, (UNKNOWN, UNKNOWN))
        dimension.rows.append(Rated(item, rater, value, item, category, language))
    return list(found.values())


def _dialogues(round_: Round, names: set[str]) -> dict[str, tuple[str, str]]:
    """Category and language of the dialogues that items go by, by public or external id."""
    if round_.corpus_id is None:
        return {}
    found: dict[str, tuple[str, str]] = {}
    rows = Dialogue.objects.filter(corpus_id=round_.corpus_id).values_list("uid", "external_id", "category", "language")
    for uid, external, category, language in rows.iterator():
        for name in {uid, external} & names:
            found[name] = (category, language)
    return found


def round_agreement(
    *,
    round: Round,  # noqa: A002
    by: str | None = None,
    names: Sequence[str] = NAMES,
    outcome: str = "",
) -> list[dict[str, Any]]:
    """The groups of ``agreement --json``: one per question asked, split further ``by`` category, language or annotator.

    ``by`` in a group is the name of the group, ``dimension`` the question. Grades are resampled by dialogue. By annotator,
    a person's rating is held against each other person's on the same item, and items are resampled.
    """
    return agreement_groups(round_dimensions(round=round, outcome=outcome), by=by, names=names)


def agreement_groups(
    dimensions: Iterable[Dimension], *, by: str | None = None, names: Sequence[str] = NAMES
) -> list[dict[str, Any]]:
    """``round_agreement`` for dimensions that were read already."""
    if by not in (None, *BY):
        raise UnknownAlias(kind="grouping", alias=str(by), known=sorted(BY))
    groups = []
    for dimension in dimensions:
        for label, rows, clusters in _split(dimension, by):
            found = _agreement(dimension, rows, clusters, names)
            groups.append({"by": label, "dimension": dimension.name, **found.as_dict()})
    return groups


def _agreement(
    dimension: Dimension, rows: Iterable[Rating], clusters: dict[Hashable, Hashable], names: Sequence[str]
) -> Agreement:
    return agreement(rows, domain=dimension.domain, level=dimension.level, clusters=clusters, names=names)


Part = tuple[str, list[Rating], dict[Hashable, Hashable]]


def _split(dimension: Dimension, by: str | None) -> Iterator[Part]:
    if by == "annotator":
        yield from _by_annotator(dimension)
        return
    key = BY[by] if by else BY["dimension"]
    parts: dict[str, list[Rated]] = defaultdict(list)
    for row in dimension.rows:
        parts[key(row) or dimension.name].append(row)
    for label, rows in sorted(parts.items()):
        yield label, [Rating(row.item, row.rater, row.value) for row in rows], {row.item: row.group for row in rows}


def _by_annotator(dimension: Dimension) -> Iterator[Part]:
    by_item: dict[Hashable, list[Rated]] = defaultdict(list)
    for row in dimension.rows:
        by_item[row.item].append(row)
    for person in sorted({row.rater for row in dimension.rows}):
        pairs: list[Rating] = []
        clusters: dict[Hashable, Hashable] = {}
        for item, rows in by_item.items():
            mine = next((row.value for row in rows if row.rater == person), None)
            for other in rows:
                if mine is None or other.rater == person:
                    continue
                unit = (item, other.rater)
                pairs += [Rating(unit, "person", mine), Rating(unit, "other", other.value)]
                clusters[unit] = other.group
        yield person, pairs, clusters


BY: dict[str, Callable[[Rated], str]] = {
    "category": lambda row: row.category,
    "language": lambda row: row.language,
    "annotator": lambda row: row.rater,
    "dimension": lambda row: "",  # noqa: ARG005 -- the question itself names the group
}


def disputed_items(*, round: Round) -> Any:  # noqa: A002
    """Closed items that consensus could not decide and no expert has decided yet, first closed first."""
    waiting = round.items.filter(outcome="disputed").filter(Q(adjudications=None))
    return waiting.select_related("dialogue").order_by("closed_at", "pk")
