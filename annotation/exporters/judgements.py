"""Item-level judgements under pseudonyms, in the form that ``ratings_import`` reads, with a codebook.

Left out on purpose: names, comments (free text may name people), times, and what was heard when. What is told of the
people themselves passes a k-anonymity check.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import QuerySet

from annotation.domain.anonymity import Anonymity, K, anonymity
from annotation.exporters.rows import Names, repeated_ids
from annotation.exporters.sink import Sink
from annotation.models import Grade, Judgement, Split
from annotation.selectors import live_judgements
from annotation.selectors.splits import split_rounds
from eqstudio.benchmarks import benchmark_get
from eqstudio.models import User

FOLDER = "judgements"
PERSONAL = ("speaks", "skills")
_BATCH = 2_000
_PLAIN = re.compile(r"\w[^\x00-\x1f]{0,179}")
_LEVELS = {"verdict": "nominal", "reasons": "nominal", "emotion": "nominal"}


def judgements_write(split: Split, sink: Sink) -> None:
    """``judgements/ratings.csv``, ``raters.csv`` and ``codebook.json``; nothing for a split that nobody judged."""
    if not split_rounds(split=split):
        return
    names = Names(split)
    people = _people(split, names)
    with sink.file(f"{FOLDER}/ratings.csv") as handle:  # short beside the audio: written again on resuming
        for block in _csv_blocks(("item", "rater", "dimension", "value", "level"), _ratings(split, names)):
            handle.write(block)
    found = anonymity(people, PERSONAL, k=K)
    rows = ([row["rater"], row["judgements"], *(row[name] for name in found.kept)] for row in people)
    sink.put(f"{FOLDER}/raters.csv", b"".join(_csv_blocks(("rater", "judgements", *found.kept), rows)))
    sink.put(f"{FOLDER}/codebook.json", _codebook(split, found).encode())


def item_name(uid: str, external_id: str) -> str:
    """What an item is called among the ratings: its id in the world if a table can hold that as it is, else ours.

    An id that several items of the split bear is no name: give '' for it.
    """
    return external_id if _PLAIN.fullmatch(external_id) else uid


def _csv_blocks(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[bytes]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(head)
    for number, row in enumerate(rows, start=1):
        writer.writerow(row)
        if number % _BATCH == 0:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()


def _live(split: Split) -> QuerySet[Judgement]:
    """What counts, of the items of the split."""
    rounds = split_rounds(split=split)
    return live_judgements().filter(item__round__in=rounds, item__dialogue__split_items__split=split)


def _people(split: Split, names: Names) -> list[dict[str, str]]:
    """One row a person, by pseudonym."""
    live = _live(split).order_by()
    counts = Counter(live.values_list("annotator_id", flat=True).iterator())
    rows = []
    for person in User.objects.filter(pk__in=list(counts)).only("pk", "speaks", "skills"):
        personal = {name: " ".join(sorted(map(str, getattr(person, name)))) for name in PERSONAL}
        rows.append({"rater": names[person.pk], "judgements": str(counts[person.pk]), **personal})
    return sorted(rows, key=lambda row: row["rater"])


def _ratings(split: Split, names: Names) -> Iterator[tuple[str, str, str, str, str]]:
    """In the order of the split, and for each item by pseudonym: nothing tells who judged first."""
    live, repeated = _live(split), repeated_ids(split)
    here: list[tuple[Any, ...]] = []
    fields = "item__dialogue__uid", "item__dialogue__external_id"
    rows = (
        live.order_by("item__dialogue__split_items__position", "item_id")
        .values_list("pk", "item_id", "annotator_id", "verdict", "reasons", "answers", *fields)
        .iterator(chunk_size=_BATCH)
    )
    for row in rows:
        if here and here[-1][1] != row[1]:
            yield from _of_item(here, names)
            here = []
        *said, external_id = row
        here.append((*said, "" if external_id in repeated else external_id))
    yield from _of_item(here, names)


def _of_item(rows: list[Any], names: Names) -> Iterator[tuple[str, str, str, str, str]]:
    graded = (
        Grade.objects.filter(judgement_id__in=[row[0] for row in rows])
        .order_by()
        .values_list("judgement_id", "variant__turn__position", "variant__label", "value")
    )
    grades: dict[int, list[Any]] = {}
    for judgement, *grade in sorted(graded):  # not by the database: each has an order of letters of its own
        grades.setdefault(judgement, []).append(grade)
    for pk, _item, person, verdict, reasons, answers, uid, external_id in sorted(rows, key=lambda row: names[row[2]]):
        item, rater = item_name(uid, external_id), names[person]
        said = {"verdict": verdict, "reasons": " ".join(sorted(reasons)), **_plain(answers)}
        for dimension, value in said.items():
            if value:
                yield item, rater, dimension, value, _LEVELS.get(dimension, "ordinal")
        for position, label, value in grades.get(pk, []):
            yield f"{item}/{position}/{label}", rater, "grade", str(value), "ordinal"


def _plain(answers: dict[str, Any]) -> dict[str, str]:
    """Answers to questions with fixed choices; free text stays in the studio."""
    return {name: str(answers[name]) for name in ("confidence", "naturalness", "emotion") if answers.get(name)}


def _codebook(split: Split, found: Anonymity) -> str:
    benchmark = benchmark_get(split.benchmark)
    document = {
        "ratings.csv": {
            "item": "id of the dialogue; for a grade also the position of the line and the label of its rendition",
            "rater": "pseudonym of a person, the same all through this split and in no other",
            "dimension": {
                "verdict": {"keep": "belongs into the benchmark", "reject": "does not"},
                "reasons": {reason.code: reason.label for reason in benchmark.review_form.reasons},
                "grade": {"question": benchmark.review_form.question, "values": [1, 2, 3, 4]},
                "confidence": "how sure the person was; higher is surer",
                "naturalness": "how natural it sounds; higher is more natural",
                "emotion": "which emotion the person heard",
            },
            "level": "scale of measurement: nominal or ordinal",
        },
        "raters.csv": {
            "judgements": "how many items of this split the person judged",
            "personal": {name: {"speaks": "languages", "skills": "skills"}[name] for name in found.kept},
        },
        "anonymity": {
            "k": found.k,
            "left_out": list(found.dropped),
            "smallest_group": found.smallest,
            "meaning": "every combination of personal values is shared by at least k people, or they are left out",
        },
        "not_included": ["names", "comments", "times", "what was listened to and when"],
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"
