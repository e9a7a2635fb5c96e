"""People of a study: who they are by their code, how far they came, and the counts that may be published."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from statistics import median

from django.db.models import Count, Max, Min, Q, QuerySet

from eqstudio.errors import NotFound
from evaluation.domain.cells import cells_published
from evaluation.domain.flow import Stage, Walked, stage_next
from evaluation.domain.protocol import Protocol
from evaluation.models import Invitation, Part, Participant, PersonalDetails, Response, Sitting, Study, TrialRecord
from evaluation.selectors.protocols import protocol_of

_CODE = re.compile(r"[^a-z0-9]")
CODE_LETTERS = 12
MS_A_MINUTE = 60_000


def participant_by_code(code: str) -> Participant | None:
    """Read a code as people type it: capitals, spaces and missing hyphens do not matter."""
    plain = _CODE.sub("", code.lower())
    if len(plain) != CODE_LETTERS:
        return None
    written = "-".join((plain[:4], plain[4:8], plain[8:]))
    return Participant.objects.select_related("respondent__user", "study__split").filter(code=written).first()


def sitting_of(participant: Participant) -> Sitting | None:
    """The sitting a person goes on with: the latest."""
    return participant.respondent.sittings.order_by("pk").last()


def participant_of(sitting: Sitting) -> Participant:
    found = (
        Participant.objects.select_related("respondent__user", "study__split", "invitation")
        .filter(respondent=sitting.respondent_id)
        .first()
    )
    if found is None:
        raise NotFound("Nobody sits here.")
    return found


def participant_in(study: Study, uid: str) -> Participant:
    found = study.participants.select_related("respondent__user", "study__split").filter(uid=uid).first()
    if found is None:
        raise NotFound("There is no such person in this study.")
    return found


def invitation_in(study: Study, uid: str) -> Invitation:
    found = study.invitations.filter(uid=uid).first()
    if found is None:
        raise NotFound("There is no such invitation in this study.")
    return found


def walked(*, participant: Participant, sitting: Sitting) -> Walked:
    """What the person has left behind. Two queries."""
    consent = participant.consents.order_by("pk").last()
    return Walked(
        eligible=participant.eligible,
        consented=bool(consent and consent.agreed),
        no_ai=participant.no_ai_at is not None,
        headphones=participant.headphones_at is not None,
        instructed=participant.instructions_at is not None or sitting.trials.exists(),
        examined=sitting.state != Sitting.State.OPEN,
        detailed=participant.details_at is not None,
        over=bool(participant.outcome) or sitting.state == Sitting.State.CANCELLED,
    )


def answered_anything(participant: Participant) -> bool:
    """Whether anything can be withdrawn: an answer, also one that was given while practising."""
    return Response.objects.filter(trial__sitting__respondent=participant.respondent_id).exists()


def stage_of(*, participant: Participant, sitting: Sitting, protocol: Protocol | None = None) -> Stage:
    """The page that is this person's turn."""
    return stage_next(protocol or protocol_of(participant.study), walked(participant=participant, sitting=sitting))


@dataclass(frozen=True)
class _Spent:
    """What a sitting holds: answers of the exam and of practice, active minutes, minutes between the first answer and the last."""

    answers: int = 0
    practice: int = 0
    minutes: float = 0.0
    span: float | None = None


@dataclass(frozen=True)
class PersonLine:
    """A line of the payment list. ``answers`` are those of the exam, as the person's own pages count them; ``practice`` stands
    apart. ``minutes`` are active ones, ``span`` the minutes from the first answer to the last, practice among both.
    """

    participant: Participant
    sitting: Sitting | None
    stage: Stage
    answers: int
    minutes: float
    span: float | None
    completion: str
    practice: int = 0

    @property
    def paid(self) -> bool:
        """Whether the person did what pay was promised for."""
        return self.participant.outcome == Participant.Outcome.COMPLETE


def people_of(study: Study) -> QuerySet[Participant]:
    return study.participants.select_related("respondent__user", "invitation").prefetch_related(
        "completion_codes", "consents", "respondent__sittings", "details"
    )


def people_lines(*, study: Study) -> list[PersonLine]:
    """Everybody who came into the study, in the order they came; a fixed number of queries."""
    protocol = protocol_of(study)
    people = list(people_of(study))
    latest = {
        one.respondent_id: max(one.respondent.sittings.all(), key=lambda row: row.pk, default=None) for one in people
    }
    spent = _spent([sitting for sitting in latest.values() if sitting is not None])
    begun = set(
        TrialRecord.objects.filter(sitting__respondent__study=study).values_list("sitting_id", flat=True).distinct()
    )
    return [_line(one, latest[one.respondent_id], protocol, spent, begun) for one in people]


def _spent(sittings: Iterable[Sitting]) -> dict[int, _Spent]:
    """By sitting, where something was answered."""
    rows = Response.objects.filter(trial__sitting__in=list(sittings)).order_by()
    active: Counter[int] = Counter()
    for sitting, paradata in rows.values_list("trial__sitting_id", "paradata").iterator(chunk_size=2_000):
        active[sitting] += paradata.get("active_ms") or 0
    counted = rows.values("trial__sitting").annotate(
        n=Count("pk"),
        practice=Count("pk", filter=Q(trial__part=Part.PRACTICE)),
        first=Min("trial__created"),
        last=Max("created"),
    )
    return {
        row["trial__sitting"]: _Spent(
            row["n"] - row["practice"],
            row["practice"],
            active[row["trial__sitting"]] / MS_A_MINUTE,
            (row["last"] - row["first"]).total_seconds() / 60,
        )
        for row in counted
    }


def _line(
    one: Participant,
    sitting: Sitting | None,
    protocol: Protocol,
    spent: dict[int, _Spent],
    begun: set[int],
) -> PersonLine:
    took = spent.get(sitting.pk, _Spent()) if sitting else _Spent()
    consents = list(one.consents.all())
    past = Walked(
        eligible=one.eligible,
        consented=bool(consents and consents[-1].agreed),
        no_ai=one.no_ai_at is not None,
        headphones=one.headphones_at is not None,
        instructed=one.instructions_at is not None or bool(sitting and sitting.pk in begun),
        examined=bool(sitting and sitting.state != Sitting.State.OPEN),
        detailed=one.details_at is not None,
        over=bool(one.outcome) or bool(sitting and sitting.state == Sitting.State.CANCELLED),
    )
    codes = [row.code for row in one.completion_codes.all() if row.outcome == one.outcome]
    return PersonLine(
        participant=one,
        sitting=sitting,
        stage=stage_next(protocol, past),
        answers=took.answers,
        practice=took.practice,
        minutes=took.minutes,
        span=took.span,
        completion=codes[0] if codes else "",
    )


FUNNEL = (Stage.ELIGIBILITY, Stage.CONSENT, Stage.NO_AI, Stage.HEADPHONES, Stage.INSTRUCTIONS)


def funnel_of(
    *, lines: Iterable[PersonLine], asked: Iterable[Stage], out: Collection[int] = ()
) -> list[tuple[str, int]]:
    """How many people came how far: joined, past each page, began to answer, finished, and are in the figures.

    ``out`` are the respondents whom a declared rule leaves out.
    """
    rows = list(lines)
    past: dict[Stage, Callable[[PersonLine], bool]] = {
        Stage.ELIGIBILITY: lambda line: line.participant.eligible is True,
        Stage.CONSENT: lambda line: any(row.agreed for row in line.participant.consents.all()),
        Stage.NO_AI: lambda line: line.participant.no_ai_at is not None,
        Stage.HEADPHONES: lambda line: line.participant.headphones_at is not None,
        Stage.INSTRUCTIONS: lambda line: (
            line.participant.instructions_at is not None or line.answers + line.practice > 0
        ),
    }
    steps = [("joined", len(rows))]
    steps += [(stage.value, sum(past[stage](line) for line in rows)) for stage in FUNNEL if stage in set(asked)]
    finished = sum(bool(line.sitting) and line.sitting.state == Sitting.State.FINISHED for line in rows)  # type: ignore[union-attr]
    steps += [("answered", sum(line.answers > 0 for line in rows)), ("finished", finished)]
    staying = [line for line in rows if line.answers > 0 and line.participant.withdrawn_at is None]
    counted = sum(line.participant.respondent_id not in out for line in staying)
    return [*steps, ("not_withdrawn", len(staying)), ("counted", counted)]


def hourly_pay(*, lines: Iterable[PersonLine], pay: float | None) -> float | None:
    """What the pay of a complete sitting comes to for an hour of activity, from the median person; None where it is unknown."""
    minutes = [line.minutes for line in lines if line.paid and line.minutes > 0]
    return pay / median(minutes) * 60 if pay and minutes else None


def demographics_published(*, study: Study) -> dict[str, dict[str, int | None]]:
    """By question, how many gave which answer; None for a count too small to publish. Withdrawn people are in none."""
    asked = protocol_of(study).recruitment.demographics
    counts: dict[str, Counter[str]] = {name: Counter() for name in asked}
    rows = PersonalDetails.objects.filter(participant__study=study, participant__withdrawn_at=None)
    for answers in rows.values_list("answers", flat=True):
        for name in asked:
            counts[name][answers.get(name, "")] += 1
    return {name: cells_published(dict(sorted(found.items()))) for name, found in counts.items() if found}


def parts_shown(*, sitting: Sitting) -> dict[str, int]:
    """How many dialogues of each part are planned."""
    rows = sitting.plan.order_by().values_list("part").annotate(n=Count("pk"))
    return {Part(part).value: n for part, n in rows}
