"""What was asked in a round, as long tables of codes: grades, verdicts, and every dimension of imported ratings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from annotation.domain.bootstrap import Ints
from annotation.domain.ratings import Coded, Value, coded_arrays, on_scale
from annotation.models import MachineRater, Round, RoundItem, Split
from annotation.selectors.coded import VERDICTS, Arrays, round_arrays
from annotation.selectors.imported import imported_ratings
from eqstudio.models import User
from generation.models import Dialogue

VERDICT, GRADE, IMPORTED = "verdict", "grade", "rating"
GRADES = (1, 2, 3, 4)
UNKNOWN = "unknown"
OWN: dict[str, tuple[str, tuple[Value, ...], str]] = {
    GRADE: ("imported grade", GRADES, "ordinal"),
    VERDICT: ("imported verdict", VERDICTS, "nominal"),
}
"""What the studio asks itself, and as which question, on which scale and level the like from elsewhere is counted: apart, for
a round's own export brings back the same people under other names.
"""
_CHUNK = 20_000
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Dimension:
    """One question that was asked, with its scale and one row per rating, as codes.

    ``group`` is the dialogue in which items are resampled. ``day`` is the ordinal of the day (in the studio's time zone)
    on which the rating was given, 0 where nobody knows. ``raters`` names rater codes; ``machines`` are those that are no
    people. ``categories`` and ``languages`` name the codes of their columns.
    """

    name: str
    domain: tuple[Value, ...]
    level: str
    item: Ints
    rater: Ints
    value: Ints
    group: Ints
    category: Ints
    language: Ints
    day: Ints
    raters: dict[int, str]
    categories: Sequence[str]
    languages: Sequence[str]
    machines: frozenset[int] = frozenset()
    benchmarks: dict[str, str] = field(default_factory=dict)
    """The benchmark that each category belongs to."""
    items: Sequence[str] = ()
    """Names of imported items, by code; empty for items of the round."""

    def where(self, rows: Bools) -> Dimension:
        """The rows that are marked."""
        columns = ("item", "rater", "value", "group", "category", "language", "day")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    @property
    def machine_rows(self) -> Bools:
        return np.isin(self.rater, np.fromiter(self.machines, dtype=np.int64, count=len(self.machines)))

    def people(self) -> Dimension:
        """Without machine raters."""
        return self.where(~self.machine_rows) if self.machines else self

    def table(self) -> tuple[Coded, Ints | None]:
        """Coded for counting, and the number of every item's group where items share groups."""
        names, first, item = np.unique(self.item, return_index=True, return_inverse=True)
        table = coded_arrays(
            item=item.reshape(-1), rater=self.rater, value=self.value, domain=self.domain, items=range(len(names))
        )
        groups = np.unique(self.group[first], return_inverse=True)[1].reshape(-1)
        shared = len(groups) > 0 and int(groups.max()) + 1 < len(groups)
        return table, groups if shared else None


def round_dimensions(
    *,
    round: Round,  # noqa: A002 -- the word of the domain
    split: Split | None = None,
    arrays: Arrays | None = None,
) -> list[Dimension]:
    """Everything that was rated in a round: grades and verdicts that count, then what was imported. A handful of queries.

    With a ``split``, what was said of the items that are in it, and nothing imported.
    """
    arrays = round_arrays(round=round) if arrays is None else arrays
    found = _judged(round, arrays)
    if split is not None:
        inside = round.items.filter(dialogue__split_items__split=split).values_list("pk", flat=True)
        taken = np.asarray(list(inside), dtype=np.int64)
        found = [dimension.where(np.isin(dimension.group, taken)) for dimension in found]
    else:
        found += _imported(round)
    return [dimension for dimension in found if len(dimension.item)]


def _judged(round_: Round, arrays: Arrays) -> list[Dimension]:
    rows = np.nonzero(arrays.live)[0]
    if not len(rows):
        return []
    places, categories, languages, benchmarks = _items(round_)
    people = np.unique(arrays.annotator[rows])
    names = dict(User.objects.filter(pk__in=people.tolist()).values_list("pk", "username"))
    about = places[:, np.searchsorted(places[0], arrays.item)]
    day = _days(arrays.at)

    def about_rows(of: Ints) -> dict[str, Any]:
        return {
            "rater": arrays.annotator[of],
            "group": arrays.item[of],
            "category": about[1][of],
            "language": about[2][of],
            "day": day[of],
            "raters": names,
            "categories": categories,
            "languages": languages,
            "benchmarks": benchmarks,
        }

    graded = arrays.grades[arrays.live[arrays.grades[:, 0]]]
    said = rows[arrays.verdict[rows] >= 0]
    return [
        Dimension(GRADE, GRADES, "", item=graded[:, 1], value=graded[:, 2] - GRADES[0], **about_rows(graded[:, 0])),
        Dimension(VERDICT, VERDICTS, "nominal", item=arrays.item[said], value=arrays.verdict[said], **about_rows(said)),
    ]


def _items(round_: Round) -> tuple[Ints, list[str], list[str], dict[str, str]]:
    """Item, category and language codes (3 x items, in order of item), names of both, and benchmarks of categories."""
    columns = ("pk", "dialogue__category", "dialogue__language", "dialogue__benchmark")
    rows = list(RoundItem.objects.filter(round=round_).order_by("pk").values_list(*columns).iterator(chunk_size=_CHUNK))
    categories = {name: place for place, name in enumerate(dict.fromkeys(row[1] for row in rows))}
    languages = {name: place for place, name in enumerate(dict.fromkeys(row[2] for row in rows))}
    places = np.asarray([(pk, categories[c], languages[lang]) for pk, c, lang, _b in rows], dtype=np.int64)
    return places.reshape(-1, 3).T, list(categories), list(languages), {row[1]: row[3] for row in rows}


def _days(at: Ints) -> Ints:
    """Ordinals of local days; one look-up for each hour that occurs, since offsets change on the hour or half of it."""
    halves, place = np.unique(at // 1800, return_inverse=True)
    zone = timezone.get_default_timezone()
    days = [datetime.fromtimestamp(int(half) * 1800, tz=zone).date().toordinal() for half in halves]
    return np.asarray(days, dtype=np.int64)[place.reshape(-1)] if days else np.zeros(0, dtype=np.int64)


def _imported(round_: Round) -> list[Dimension]:
    columns = ("item", "rater", "value", "dimension", "level")
    rows = list(imported_ratings(round=round_).order_by("pk").values_list(*columns).iterator(chunk_size=_CHUNK))
    if not rows:
        return []
    machines = set(MachineRater.objects.filter(round=round_).values_list("name", flat=True))
    known = _dialogues(round_, {row[0] for row in rows})
    parts: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        parts.setdefault(row[3], []).append(row)
    return [
        _imported_part(
            *_question(name, part, own=round_.corpus_id is not None), rows=part, machines=machines, known=known
        )
        for name, part in parts.items()
    ]


def _question(name: str, rows: list[tuple[str, ...]], *, own: bool) -> tuple[str, str, Ints, tuple[Value, ...]]:
    """Name, level, values and scale of an imported question. Where a round asks the like itself (``own``) it is the scale
    of that, unless a mean or an older import lies off it.
    """
    told = next((row[4] for row in reversed(rows) if row[4]), "")
    values = [row[2] for row in rows]
    if not own or name not in OWN:
        return name or IMPORTED, told, *on_scale(values)
    called, scale, level = OWN[name]
    words = {str(one) for one in scale}
    return called, told or level, *on_scale(values, scale if words.issuperset(values) else None)


def _imported_part(
    name: str,
    level: str,
    value: Ints,
    domain: tuple[Value, ...],
    *,
    rows: list[tuple[str, ...]],
    machines: set[str],
    known: dict[str, tuple[str, str, str]],
) -> Dimension:
    item, items = _codes(row[0] for row in rows)
    rater, raters = _codes(row[1] for row in rows)
    about = [known.get(one, (UNKNOWN, UNKNOWN, "")) for one in items]
    category, categories = _codes(one[0] for one in about)
    language, languages = _codes(one[1] for one in about)
    return Dimension(
        name,
        domain,
        level,
        item=item,
        rater=rater,
        value=value,
        group=item,
        category=category[item],
        language=language[item],
        day=np.zeros(len(item), dtype=np.int64),
        raters=dict(enumerate(raters)),
        categories=categories,
        languages=languages,
        machines=frozenset(code for code, one in enumerate(raters) if one in machines),
        benchmarks={one[0]: one[2] for one in about if one[2]},
        items=items,
    )


def _codes(names: Iterable[str]) -> tuple[Ints, list[str]]:
    found = list(names)
    places = {name: place for place, name in enumerate(dict.fromkeys(found))}
    return np.fromiter((places[name] for name in found), dtype=np.int64, count=len(found)), list(places)


def _dialogues(round_: Round, names: set[str]) -> dict[str, tuple[str, str, str]]:
    """Category, language and benchmark of the dialogues that items go by, by public or external id."""
    if round_.corpus_id is None:
        return {}
    found: dict[str, tuple[str, str, str]] = {}
    columns: Any = ("uid", "external_id", "category", "language", "benchmark")
    for uid, external, *about in Dialogue.objects.filter(corpus_id=round_.corpus_id).values_list(*columns).iterator():
        for name in {uid, external} & names:
            found[name] = (about[0], about[1], about[2])
    return found
