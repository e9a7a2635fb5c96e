"""The open replies of a study with all that was said about each, read once for figures, comparisons and what leaves the studio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Benchmark, ItemView, Trial
from evaluation.domain.text_metrics import text_figures
from evaluation.models import ReplyGrade, Respondent, Response, Study
from evaluation.models.respondents import RUNS
from evaluation.selectors import item_facts
from evaluation.selectors.replies import replies_of, reply_text
from evaluation.services.comparison_rows import PEOPLE
from generation.selectors import item_views

PEOPLE_KIND = "people"
CHUNK = 500


@dataclass
class Reply:
    """One reply: whose, about which item, and what was given on each scale. ``cluster`` is what its item shares with others of
    one script.
    """

    uid: str
    respondent: str
    kind: str
    run: int
    item: str
    cluster: str
    language: str
    text: str
    reference: str
    key_access: bool = False
    people: dict[str, dict[int, int]] = field(default_factory=dict)
    judges: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def words(self) -> Mapping[str, float]:
        """How near its words come to the reply that was written for the recording."""
        return text_figures(self.reference, self.text, self.language)


class Given(NamedTuple):
    """Replies by primary key, and how often each outcome came in the end, by judge."""

    replies: dict[int, Reply]
    outcomes: dict[str, dict[str, int]]


class Group(NamedTuple):
    """A line of the table of replies: people together (``persons`` then holds each one's replies), or one respondent."""

    name: str
    kind: str
    replies: list[Reply]
    persons: list[list[Reply]]


def replies_read(study: Study, *, with_key: bool = False) -> Given:
    """Every reply that counts with its grades. Who can read the key is left out of the people who judge unless ``with_key``."""
    replies = _replies(study)
    return Given(replies, _grades_read(study, replies, with_key=with_key) if replies else {})


def groups_of(replies: Mapping[int, Reply], *, with_key: bool = False) -> list[Group]:
    """People together, then each system, in the order they came. A person who can read the key is a line of their own unless
    ``with_key``.
    """
    found: dict[tuple[str, str], dict[str, list[Reply]]] = {}
    for one in replies.values():
        pooled = one.kind == Respondent.Kind.PERSON and (with_key or not one.key_access)
        line = (PEOPLE, PEOPLE_KIND) if pooled else (one.respondent, one.kind)
        found.setdefault(line, {}).setdefault(one.respondent, []).append(one)
    ordered = sorted(found.items(), key=lambda pair: pair[0][1] != PEOPLE_KIND)
    return [
        Group(name, kind, [one for given in persons.values() for one in given], list(persons.values()))
        for (name, kind), persons in ordered
    ]


def _replies(study: Study) -> dict[int, Reply]:
    benchmark = benchmark_get(study.benchmark)
    clusters = {item: fact.cluster for item, fact in item_facts(study=study, benchmark=benchmark).items()}
    rows = replies_of(study=study).select_related("trial__dialogue", "trial__sitting__respondent")
    found: dict[int, Reply] = {}
    ordered = list(rows.prefetch_related("scores").order_by("pk"))
    for start in range(0, len(ordered), CHUNK):
        part = ordered[start : start + CHUNK]
        views = _views(part)
        found |= {row.pk: _reply(row, benchmark, views[row.trial.dialogue_id], clusters) for row in part}
    return found


def _views(rows: Sequence[Response]) -> dict[int, ItemView]:
    """One view an item, however many replied to it."""
    dialogues = {row.trial.dialogue_id: row.trial.dialogue for row in rows}
    return dict(zip(dialogues, item_views(dialogues=dialogues.values()), strict=True))


def _reply(row: Response, benchmark: Benchmark, view: ItemView, clusters: Mapping[int, str]) -> Reply:
    record, shown = row.trial, Trial.from_dict(row.trial.shown)
    return Reply(
        uid=row.uid,
        respondent=record.sitting.respondent.name,
        kind=record.sitting.respondent.kind,
        run=record.sitting.run % RUNS,
        item=record.dialogue.uid,
        cluster=clusters.get(record.dialogue_id, record.dialogue.uid),
        language=shown.language,
        text=reply_text(row),
        reference=benchmark.reference(view, shown),
        key_access=record.sitting.key_access,
    )


def _grades_read(study: Study, replies: Mapping[int, Reply], *, with_key: bool) -> dict[str, dict[str, int]]:
    """Put every grade to its reply; how often each outcome came in the end, by judge. A judge that was asked anew counts by the last
    answer that could be read, and its outcome is that of the last there was.
    """
    rows = ReplyGrade.objects.filter(judgement__response__trial__sitting__respondent__study=study).order_by("pk")
    came: dict[tuple[str, int, str], str] = {}
    columns = ("judgement__response", "judgement__user", "judgement__judge__name", "judgement__key_access")
    found = rows.values_list(*columns, "scale", "value", "outcome")
    for response, user, judge, key_access, scale, value, outcome in found.iterator(chunk_size=2_000):
        reply = replies.get(response)
        if reply is None or (user and key_access and not with_key):
            continue
        if judge:
            came[judge, response, scale] = outcome
        if value is not None and user:
            reply.people.setdefault(scale, {})[user] = value
        elif value is not None and judge:
            reply.judges.setdefault(judge, {})[scale] = value
    outcomes: dict[str, dict[str, int]] = {}
    for (judge, _response, _scale), outcome in came.items():
        counted = outcomes.setdefault(judge, {})
        counted[outcome] = counted.get(outcome, 0) + 1
    return outcomes
