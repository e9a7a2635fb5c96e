"""What replies were judged to be worth: by people, and by judge models with how far each agrees with people."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import numpy as np

from annotation.domain.agreement import agreement
from annotation.domain.ratings import Rating
from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Benchmark, Outcome, Trial
from eqstudio.estimates import Estimate
from evaluation.domain.judging import HIGH, LOW, SCALES, Judged, judge_agreement, rouge_l
from evaluation.domain.statistics import mean_estimate
from evaluation.models import ReplyGrade, ReplyJudge, Response, Study
from evaluation.selectors.replies import replies_of, reply_text
from evaluation.services.comparison_rows import PEOPLE
from generation.selectors import item_view

ROUGE = "rouge_l"
HUMAN = ("alpha_ordinal", "qwk")
BOUNDS = (float(LOW), float(HIGH))


@dataclass
class _Reply:
    """One reply: whose, about which item, and what was given on each scale."""

    respondent: str
    kind: str
    item: str
    people: dict[str, dict[int, int]] = field(default_factory=dict)
    judges: dict[str, dict[str, int]] = field(default_factory=dict)
    rouge: float | None = None


def replies_build(study: Study, *, with_key: bool = False) -> dict[str, Any] | None:
    """Everything judged in a study as plain data; None where no reply was given. Reads only; the same study always gives the
    same figures. Who can read the key is left out of the people who judge unless ``with_key``.

    ``rows`` hold a figure for each respondent and scale by people and by each judge, and ROUGE-L against the reply that was
    written for the recording; ``judges`` say how far each agrees with people, how many grades it gave and how many were
    refused or could not be read.
    """
    replies = _replies(study)
    if not replies:
        return None
    outcomes = _grades_read(study, replies, with_key=with_key)
    digest = hashlib.sha256(f"replies:{study.seed}:{study.uid}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    judges = [_judge(name, rows, replies, outcomes, rng) for name, rows in _judges(study).items()]
    return {
        "replies": len(replies),
        "people": _people(replies),
        "judges": judges,
        "rows": [_row(name, kind, given, judges, rng) for name, kind, given in _groups(replies)],
    }


def _replies(study: Study) -> dict[int, _Reply]:
    benchmark = benchmark_get(study.benchmark)
    rows = replies_of(study=study).select_related("trial__dialogue", "trial__sitting__respondent")
    return {row.pk: _reply(row, benchmark) for row in rows.prefetch_related("scores").order_by("pk")}


def _reply(row: Response, benchmark: Benchmark) -> _Reply:
    respondent, dialogue = row.trial.sitting.respondent, row.trial.dialogue
    reference = benchmark.reference(item_view(dialogue=dialogue), Trial.from_dict(row.trial.shown))
    rouge = rouge_l(_tokens(reference), _tokens(reply_text(row))) if reference else None
    return _Reply(respondent.name, respondent.kind, dialogue.uid, rouge=rouge)


def _tokens(text: str) -> list[str]:
    """Words, and single characters of Chinese; case and punctuation do not count."""
    plain = "".join(char if char.isalnum() or char.isspace() else " " for char in text.casefold())
    spaced = "".join(f" {char} " if "\u4e00" <= char <= "\u9fff" else char for char in plain)
    return spaced.split()


def _grades_read(study: Study, replies: Mapping[int, _Reply], *, with_key: bool) -> dict[str, dict[str, int]]:
    """Put every grade to its reply; how often each outcome came in the end, by judge."""
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


def _judges(study: Study) -> dict[str, list[ReplyJudge]]:
    found: dict[str, list[ReplyJudge]] = {}
    for judge in study.reply_judges.order_by("pk"):
        found.setdefault(judge.name, []).append(judge)
    return found


def _judge(
    name: str,
    rows: Sequence[ReplyJudge],
    replies: Mapping[int, _Reply],
    outcomes: Mapping[str, Mapping[str, int]],
    rng: np.random.Generator,
) -> dict[str, Any]:
    content = rows[-1].content
    counted = dict(outcomes.get(name, {}))
    asked = {row.content["scale"] for row in rows}
    return {
        "name": name,
        "model": content["model"],
        "evaluator": content["evaluator"],
        "prompt_version": content["prompt"]["version"],
        "prompt_hash": content["prompt_hash"],
        "outcomes": counted,
        "grades": sum(counted.values()),
        "read": counted.get(Outcome.ANSWERED.value, 0),
        "agreement": {
            scale.name: {key: figure.as_dict() for key, figure in _agreed(name, scale.name, replies, rng).items()}
            for scale in SCALES
            if scale.name in asked
        },
    }


def _agreed(judge: str, scale: str, replies: Mapping[int, _Reply], rng: np.random.Generator) -> dict[str, Estimate]:
    judged = [
        Judged(one.item, one.judges[judge][scale], tuple(one.people.get(scale, {}).values()))
        for one in replies.values()
        if scale in one.judges.get(judge, {})
    ]
    return judge_agreement(judged, rng=rng)


def _people(replies: Mapping[int, _Reply]) -> dict[str, Any]:
    """How many people judged, and how far they agree among themselves on each scale."""
    raters = {user for one in replies.values() for given in one.people.values() for user in given}
    agreed = {}
    for scale in SCALES:
        ratings = [
            Rating(pk, user, value)
            for pk, one in replies.items()
            for user, value in one.people.get(scale.name, {}).items()
        ]
        if ratings:
            clusters: dict[Hashable, Hashable] = {pk: one.item for pk, one in replies.items()}
            found = agreement(ratings, domain=range(LOW, HIGH + 1), clusters=clusters, names=HUMAN)
            agreed[scale.name] = {name: figure.as_dict() for name, figure in found.estimates.items()}
    return {"raters": len(raters), "agreement": agreed}


def _groups(replies: Mapping[int, _Reply]) -> list[tuple[str, str, list[_Reply]]]:
    """People together, then each system, in the order they came."""
    groups: dict[tuple[str, str], list[_Reply]] = {}
    for one in replies.values():
        key = (PEOPLE, "people") if one.kind == "person" else (one.respondent, one.kind)
        groups.setdefault(key, []).append(one)
    ordered = sorted(groups.items(), key=lambda pair: pair[0][1] != "people")
    return [(name, kind, given) for (name, kind), given in ordered]


def _row(
    name: str, kind: str, replies: Sequence[_Reply], judges: Iterable[Mapping[str, Any]], rng: np.random.Generator
) -> dict[str, Any]:
    people = {
        scale.name: _mean(
            [(fmean(one.people[scale.name].values()), one.item) for one in replies if one.people.get(scale.name)], rng
        )
        for scale in SCALES
    }
    by_judge = {
        str(judge["name"]): {
            scale: _mean(
                [
                    (float(one.judges[judge["name"]][scale]), one.item)
                    for one in replies
                    if scale in one.judges.get(judge["name"], {})
                ],
                rng,
            )
            for scale in judge["agreement"]
        }
        for judge in judges
    }
    rouge = [(one.rouge, one.item) for one in replies if one.rouge is not None]
    return {
        "name": name,
        "kind": kind,
        "replies": len(replies),
        "people": people,
        "judges": by_judge,
        ROUGE: _mean(rouge, rng, bounds=(0.0, 1.0)),
    }


def _mean(
    values: Sequence[tuple[float, str]], rng: np.random.Generator, bounds: tuple[float, float] = BOUNDS
) -> dict[str, Any]:
    """A mean over replies; those to one item are a cluster."""
    if not values:
        return Estimate.undefined("nothing was judged").as_dict()
    figures, items = zip(*values, strict=True)
    return mean_estimate(list(figures), list(items), rng=rng, bounds=bounds).as_dict()
