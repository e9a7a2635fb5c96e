"""What follows for a person from each judgement: counts, training, known answers, flags, a pause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Min

from annotation.domain.quality import (
    SLOT_P,
    QualityRules,
    gold_low,
    heard_seconds,
    highest_slot,
    slot_bias,
    straight_line,
    too_fast,
)
from annotation.models import Assignment, Flag, Grade, Judgement, Kind, Participation
from annotation.selectors.quality import SHOWN_KINDS, checked, grades_by_judgement, last_words, rules_of
from annotation.services.flags import GOLD_LOW, SAME_SLOT, SPEED, STRAIGHT_LINE, flag_raise
from annotation.services.participation_moves import participation_move
from annotation.services.specials import qualification_progress, training_progress
from eqstudio.prepared import Prepared

State = Participation.State
WATCHED = (State.ACTIVE, State.QUALIFYING, State.TRAINING)
_OF_ANSWER = ("pk", "uid", "assignment__uid", "item_id", "verdict", "assignment__shown")
_GRADES_FROM = Prepared[tuple[int, str, int]](
    lambda person, first: (
        Grade.objects.filter(judgement__annotator_id=person, judgement_id__gte=first)
        .order_by()
        .values_list("judgement_id", "variant__uid", "value")
    )
)


class Finding(NamedTuple):
    code: str
    key: str
    judgement: int
    evidence: dict[str, Any]


@dataclass(frozen=True)
class Given:
    """One answer as it looked on the page: for each graded turn the grades by slot."""

    pk: int
    uid: str
    lease: str
    item: int
    verdict: str
    slots: tuple[tuple[int | None, ...], ...]

    @property
    def line(self) -> tuple[int, tuple[Any, ...]]:
        return self.item, (self.verdict, self.slots)

    @property
    def comparisons(self) -> list[tuple[int, int]]:
        """(slot with the highest grade, slots) of each turn whose renditions were all graded and differ."""
        full = [[grade for grade in turn if grade is not None] for turn in self.slots if None not in turn]
        chosen = [(highest_slot(turn), len(turn)) for turn in full]
        return [(slot, of) for slot, of in chosen if slot is not None]


@transaction.atomic(savepoint=False)
def judgement_checked(*, judgement: Judgement, participation: Participation, now: datetime) -> None:
    """Look at a stored judgement: move the person on in training and qualification; flag what looks wrong; pause them where
    the round says so. A late answer is taken like any other.
    """
    rules = rules_of(participation.round)
    lease = judgement.assignment
    if lease.kind == Kind.TRAINING:
        training_progress(participation=participation, rules=rules)
    elif lease.kind == Kind.QUALIFICATION:
        qualification_progress(participation=participation, rules=rules)
    findings = [*_speed(judgement, rules, now), *_latest_signs(judgement, participation, rules)]
    if lease.kind == Kind.GOLD:
        findings += _gold(participation, rules)[-1:]
    _raise(participation, findings, judgement)
    if findings and rules.auto_pause:
        _pause(participation, rules, judgement)


def _speed(judgement: Judgement, rules: QualityRules, now: datetime) -> list[Finding]:
    if rules.fastest_share <= 0:
        return []
    heard = heard_seconds(judgement.heard)
    active = judgement.active_ms / 1000
    lease = judgement.assignment
    wall = (now - lease.created).total_seconds()
    if too_fast(active_s=active, heard_s=heard, wall_s=wall, fastest_share=rules.fastest_share) is None:
        return []
    # What was heard may have come with the draft of an earlier lease on the same item.
    first = Assignment.objects.filter(item_id=judgement.item_id, annotator_id=judgement.annotator_id, kind=lease.kind)
    wall = (now - (first.aggregate(at=Min("created"))["at"] or lease.created)).total_seconds()
    evidence = too_fast(active_s=active, heard_s=heard, wall_s=wall, fastest_share=rules.fastest_share)
    return [Finding(SPEED, lease.uid, judgement.pk, dict(evidence))] if evidence else []


def _latest_signs(judgement: Judgement, participation: Participation, rules: QualityRules) -> Sequence[Finding]:
    least = max(rules.straight_line, rules.same_slot)
    if not least or judgement.assignment.kind not in SHOWN_KINDS:
        return []
    return list(_signs(_given_of_late(participation, least + 1), rules, only_last=True))


def _given(participation: Participation) -> list[Given]:
    """All of the person's answers in the round in order; gold and repetitions among the work."""
    words = last_words(round=participation.round, kinds=SHOWN_KINDS, annotator=participation.annotator)
    chosen = list(words.order_by("pk").values_list(*_OF_ANSWER))
    return _answers(chosen, grades_by_judgement([row[0] for row in chosen]))


def _given_of_late(participation: Participation, count: int) -> list[Given]:
    """The latest ``count`` of them. Two prepared queries."""
    chosen = _latest(count).rows(within=participation.round_id, person=participation.annotator_id)[::-1]
    grades: dict[int, dict[str, int]] = defaultdict(dict)
    if chosen:
        for pk, uid, value in _GRADES_FROM.rows(person=participation.annotator_id, first=chosen[0][0]):
            grades[pk][uid] = value
    return _answers(chosen, grades)


@lru_cache(maxsize=64)
def _latest(count: int) -> Prepared[tuple[Any, ...]]:
    """A person's latest answers in a round, newest first."""
    words = last_words(kinds=SHOWN_KINDS)
    return Prepared(
        lambda within, person: (
            words.filter(item__round_id=within, annotator_id=person).order_by("-pk").values_list(*_OF_ANSWER)[:count]
        )
    )


def _answers(rows: Sequence[tuple[Any, ...]], grades: Mapping[int, dict[str, int]]) -> list[Given]:
    return [
        Given(pk, uid, lease, item, verdict, _slots(shown, grades.get(pk, {})))
        for pk, uid, lease, item, verdict, shown in rows
    ]


def _slots(shown: dict[str, list[str]], grades: dict[str, int]) -> tuple[tuple[int | None, ...], ...]:
    turns = sorted(shown.items(), key=lambda pair: int(pair[0]))
    rows = [tuple(grades.get(uid) for uid in uids) for _, uids in turns]
    return tuple(row for row in rows if any(grade is not None for grade in row))


def _signs(given: Sequence[Given], rules: QualityRules, *, only_last: bool = False) -> Iterator[Finding]:
    """A finding where a sign begins to hold: not while it goes on holding, so that one run is one flag."""
    ends = range(len(given), len(given) + 1) if only_last else range(1, len(given) + 1)
    for end in ends:
        if end and _straight(given[:end], rules) and not _straight(given[: end - 1], rules):
            run = given[end - rules.straight_line : end]
            yield _finding(STRAIGHT_LINE, run, {"in_a_row": len(run)})
        if end and (bias := _biased(given[:end], rules)) and not _biased(given[: end - 1], rules):
            yield _finding(SAME_SLOT, given[max(0, end - rules.same_slot) : end], bias)


def _finding(code: str, run: Sequence[Given], evidence: dict[str, Any]) -> Finding:
    judgements = {"judgements": [answer.uid for answer in run]}
    return Finding(code, run[-1].lease, run[-1].pk, evidence | judgements)


def _straight(given: Sequence[Given], rules: QualityRules) -> bool:
    return straight_line([answer.line for answer in given[-rules.straight_line or None :]], least=rules.straight_line)


def _biased(given: Sequence[Given], rules: QualityRules) -> dict[str, Any]:
    """The evidence where the latest answers prefer one slot beyond chance, else empty."""
    if not rules.same_slot or len(given) < rules.same_slot:
        return {}
    bias = slot_bias([pair for answer in given[-rules.same_slot :] for pair in answer.comparisons])
    if bias is None or bias.p >= SLOT_P:
        return {}
    return {"slot": bias.slot + 1, "times": bias.times, "of": bias.n, "slots": bias.slots, "p": float(f"{bias.p:.2g}")}


def _gold(participation: Participation, rules: QualityRules) -> list[Finding]:
    """A finding at each answer to gold where the share begins to lie below the pass mark."""
    words = last_words(round=participation.round, kinds=[Kind.GOLD.value], annotator=participation.annotator)
    rows = checked(words.filter(pk__gt=participation.evidence.get("counted_from", 0)))
    rights = [row.right for row in rows]
    found = []
    for end in range(1, len(rows) + 1):
        low = gold_low(rights[:end], rules)
        if low is not None and gold_low(rights[: end - 1], rules) is None:
            evidence = {"right": round((low.value or 0) * low.n), "asked": low.n, "mark": rules.gold_pass}
            found.append(Finding(GOLD_LOW, rows[end - 1].lease, rows[end - 1].judgement, evidence))
    return found


def _raise(participation: Participation, findings: Sequence[Finding], judgement: Judgement | None = None) -> None:
    for finding in findings:
        about = judgement if judgement is not None and judgement.pk == finding.judgement else None
        flag_raise(
            round=participation.round,
            judgement=about or Judgement.objects.get(pk=finding.judgement),
            code=finding.code,
            key=finding.key,
            evidence=finding.evidence,
        )


def _pause(participation: Participation, rules: QualityRules, judgement: Judgement) -> None:
    """Pause for gold at once, for other signs when enough flags are open since the last review."""
    if participation.pk is None or participation.state not in WATCHED:
        return
    since = participation.evidence.get("counted_from", 0)
    flags = Flag.objects.filter(
        round_id=participation.round_id,
        annotator_id=judgement.annotator_id,
        state=Flag.State.OPEN,
        judgement__gt=since,
    )
    found = list(flags.values_list("code", "evidence"))
    low = [evidence for code, evidence in found if code == GOLD_LOW]
    others = [code for code, _ in found if code != GOLD_LOW]
    if low:
        reason, evidence = GOLD_LOW, dict(low[0])
    elif len(others) >= rules.flags_pause:
        reason, evidence = "flags", {code: others.count(code) for code in sorted(set(others))}
    else:
        return
    evidence |= {"before": participation.state, "counted_from": since}
    participation_move(participation=participation, to=State.PAUSED, actor=None, reason=reason, evidence=evidence)


@transaction.atomic
def participation_recheck(*, participation: Participation, now: datetime) -> list[Flag]:
    """Look at everything a person has said in a round again, as after a known answer was mended or answers came late.

    Raises the flags that are missing and touches none that are there: running it twice changes nothing. Pauses nobody.
    """
    rules = rules_of(participation.round)
    findings = [*_signs(_given(participation), rules), *_gold(participation, rules)]
    words = last_words(round=participation.round, kinds=SHOWN_KINDS, annotator=participation.annotator)
    for judgement in words.select_related("assignment").order_by("pk"):
        findings += _speed(judgement, rules, min(now, judgement.created))
    _raise(participation, findings)
    flags = Flag.objects.filter(round=participation.round, annotator=participation.annotator)
    return list(flags.order_by("pk"))
