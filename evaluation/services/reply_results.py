"""What replies were judged to be worth: by people, and by judge models with how far each agrees with people."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from annotation.domain.agreement import agreement
from annotation.domain.ratings import Rating
from eqstudio.benchmarks.base import Outcome
from eqstudio.estimates import Estimate
from evaluation.domain.judging import HIGH, LOW, SCALES, Judged, judge_agreement
from evaluation.domain.statistics import mean_estimate
from evaluation.domain.text_metrics import TEXT_METRICS, signatures
from evaluation.models import ReplyJudge, Study
from evaluation.services.comparison_pairs import CLAIMS
from evaluation.services.reply_grades import Group, Reply, groups_of, replies_read
from evaluation.services.reply_pairs import reply_pairs

HUMAN = ("alpha_ordinal", "qwk")
BOUNDS = (float(LOW), float(HIGH))


def replies_build(study: Study, *, with_key: bool = False) -> dict[str, Any] | None:
    """Everything judged in a study as plain data; None where no reply was given. Reads only; the same study always gives the
    same figures. Who can read the key is left out of the people who reply and who judge unless ``with_key``.

    ``rows`` hold a figure for each respondent and scale by people and by each judge, and how near the words come to the reply
    that was written for the recording (``signatures`` say how that is counted); ``judges`` say how far each agrees with people,
    how many grades it gave and how many were refused or could not be read; ``pairs`` hold who differs from whom.
    """
    replies, outcomes = replies_read(study, with_key=with_key)
    if not replies:
        return None
    digest = hashlib.sha256(f"replies:{study.seed}:{study.uid}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    judges = [_judge(name, rows, replies, outcomes, rng) for name, rows in _judges(study).items()]
    groups = groups_of(replies, with_key=with_key)
    return {
        "replies": len(replies),
        "people": _people(replies),
        "judges": judges,
        "rows": [_row(group, judges, rng) for group in groups],
        "signatures": signatures(one.language for one in replies.values() if one.reference),
        "pairs": reply_pairs(groups, {judge["name"]: list(judge["agreement"]) for judge in judges}, rng),
        "families": CLAIMS,
    }


def _judges(study: Study) -> dict[str, list[ReplyJudge]]:
    found: dict[str, list[ReplyJudge]] = {}
    for judge in study.reply_judges.order_by("pk"):
        found.setdefault(judge.name, []).append(judge)
    return found


def _judge(
    name: str,
    rows: Sequence[ReplyJudge],
    replies: Mapping[int, Reply],
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


def _agreed(judge: str, scale: str, replies: Mapping[int, Reply], rng: np.random.Generator) -> dict[str, Estimate]:
    judged = [
        Judged(one.cluster, one.judges[judge][scale], tuple(one.people.get(scale, {}).values()))
        for one in replies.values()
        if scale in one.judges.get(judge, {})
    ]
    return judge_agreement(judged, rng=rng)


def _people(replies: Mapping[int, Reply]) -> dict[str, Any]:
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
            clusters: dict[Hashable, Hashable] = {pk: one.cluster for pk, one in replies.items()}
            found = agreement(ratings, domain=range(LOW, HIGH + 1), clusters=clusters, names=HUMAN)
            agreed[scale.name] = {name: figure.as_dict() for name, figure in found.estimates.items()}
    return {"raters": len(raters), "agreement": agreed}


def _row(group: Group, judges: Iterable[Mapping[str, Any]], rng: np.random.Generator) -> dict[str, Any]:
    replies = group.replies
    people = {
        scale.name: _mean(
            [(fmean(one.people[scale.name].values()), one.cluster) for one in replies if one.people.get(scale.name)],
            rng,
        )
        for scale in SCALES
    }
    by_judge = {
        str(judge["name"]): {
            scale: _mean(
                [
                    (float(one.judges[judge["name"]][scale]), one.cluster)
                    for one in replies
                    if scale in one.judges.get(judge["name"], {})
                ],
                rng,
            )
            for scale in judge["agreement"]
        }
        for judge in judges
    }
    words = {
        name: _mean([(one.words[name], one.cluster) for one in replies if one.words], rng, bounds=(0.0, 1.0))
        for name in TEXT_METRICS
    }
    return {
        "name": group.name,
        "kind": group.kind,
        "replies": len(replies),
        "people": people,
        "judges": by_judge,
        **words,
    }


def _mean(
    values: Sequence[tuple[float, str]], rng: np.random.Generator, bounds: tuple[float, float] = BOUNDS
) -> dict[str, Any]:
    """A mean over replies; those to items of one script are a cluster."""
    if not values:
        return Estimate.undefined("nothing was judged").as_dict()
    figures, items = zip(*values, strict=True)
    return mean_estimate(list(figures), list(items), rng=rng, bounds=bounds).as_dict()
