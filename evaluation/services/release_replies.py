"""Open replies as they leave the studio with a comparison: every reply, and every grade that was given to one."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evaluation.domain.text_metrics import TEXT_METRICS
from evaluation.models import ReplyGrade, Study
from evaluation.services.reply_grades import Reply, replies_read

REPLIES = {
    "reply": "public id of the reply",
    "respondent": "as in answers.csv",
    "kind": "as in answers.csv",
    "key_access": "1 where the person who replied could read the key: not among the people together",
    "run": "pass through the exam, from 0",
    "item": "public id of the dialogue",
    "cluster": "items of one script share it",
    "language": "language of the reply",
    "text": "the reply, as it was read from the answer",
    "reference": "the reply that was written for the recording; empty where there is none",
    "rouge_l": "F of the longest common subsequence of words, 0 to 1",
    "bleu": "BLEU of this reply, 0 to 1, under the signature in comparison.json",
    "chrf": "chrF of this reply, 0 to 1, under the signature in comparison.json",
}
JUDGEMENTS = {
    "reply": "public id of the reply",
    "by": "pseudonym of the person who judged, or name of the judge model",
    "by_kind": "person or model",
    "key_access": "1 where the person who judged could read the key: in no figure",
    "scale": "on which scale",
    "value": "the grade from 1 to 5; empty where none was read",
    "outcome": "answered, unparsed, refused or error",
    "rule": "by which rule of the parser it was read",
}


def replies_tables(study: Study) -> dict[str, str]:
    """``replies.csv`` and ``judgements.csv``; nothing where no reply was given. Who judged is a pseudonym."""
    replies = replies_read(study).replies
    if not replies:
        return {}
    return {
        "replies.csv": _csv(list(REPLIES), map(_reply, replies.values())),
        "judgements.csv": _csv(list(JUDGEMENTS), _judgements(study, replies)),
    }


def _csv(columns: list[str], rows: Iterable[Mapping[str, Any]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _reply(reply: Reply) -> dict[str, Any]:
    row = {name: getattr(reply, name) for name in REPLIES if name not in {"reply", *TEXT_METRICS}}
    figures = {name: repr(value) for name, value in reply.words.items()}
    return {"reply": reply.uid, **row, "key_access": int(reply.key_access), **figures}


def _judgements(study: Study, replies: Mapping[int, Reply]) -> Iterator[dict[str, Any]]:
    rows = ReplyGrade.objects.filter(judgement__response__trial__sitting__respondent__study=study).order_by("pk")
    columns = ("judgement__response", "judgement__user", "judgement__judge__name", "judgement__key_access")
    names: dict[int, str] = {}
    for response, user, judge, key_access, scale, value, outcome, rule in rows.values_list(
        *columns, "scale", "value", "outcome", "rule"
    ):
        if response not in replies:
            continue
        yield {
            "reply": replies[response].uid,
            "by": names.setdefault(user, f"Judge {len(names) + 1}") if user else judge,
            "by_kind": "person" if user else "model",
            "key_access": int(key_access),
            "scale": scale,
            "value": "" if value is None else value,
            "outcome": outcome,
            "rule": rule,
        }
