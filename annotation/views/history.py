"""One's own judgements, as the page My judgements lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils.translation import gettext_lazy as _

from annotation.domain.questions import Questions
from annotation.models import Adjudication, Assignment, Judgement, Kind, Round, RoundItem
from annotation.selectors.comparison import Comparison, comparisons
from annotation.views.judge_words import question_rows, ui_text
from annotation.views.judging import graded_positions, letters_of, scenario_lines, undo_until
from eqstudio.benchmarks import benchmark_get
from eqstudio.models import User
from generation.domain.lifecycle import DialogueState

State = Assignment.State
COUNTS, LATE, REPLACED, TAKEN_BACK = "counts", "late", "replaced", "taken_back"


@dataclass(frozen=True)
class HistoryRow:
    """A judgement with its grades by the letters they were given under. ``about`` says which dialogue it
    is, ``state`` is counts, late, replaced or taken_back;
    ``compared`` is there once the person may see how others judged, its grades by letter.
    """

    judgement: Judgement
    about: str
    category: str
    grades: list[tuple[str, int]]
    reasons: list[str]
    answers: list[tuple[str, str]]
    state: str
    compared: Comparison | None
    can_take_back: bool
    can_change: bool


class HistoryForm(forms.Form):
    """Which judgements to list."""

    round = forms.ModelChoiceField(Round.objects.none(), to_field_name="uid", required=False, label=_("Round"))
    verdict = forms.ChoiceField(required=False, label=_("Verdict"))
    state = forms.ChoiceField(required=False, label=_("State"))

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mine = Judgement.objects.filter(annotator=user).values("item__round")
        self.fields["round"].queryset = Round.objects.filter(pk__in=mine)  # type: ignore[attr-defined]
        self.fields["round"].empty_label = _("all")  # type: ignore[attr-defined]
        self.fields["verdict"].choices = [("", _("all")), *Judgement.Verdict.choices]  # type: ignore[attr-defined]
        self.fields["state"].choices = [  # type: ignore[attr-defined]
            ("", _("all")),
            (COUNTS, _("counts")),
            (LATE, _("late: kept, not counted")),
            (REPLACED, _("replaced by a change")),
            (TAKEN_BACK, _("taken back")),
        ]

    @property
    def is_set(self) -> bool:
        return self.is_valid() and any(self.cleaned_data.values())

    def narrow(self, found: QuerySet[Judgement]) -> QuerySet[Judgement]:
        """Only what was chosen; a nonsense choice narrows nothing."""
        chosen = self.cleaned_data if self.is_valid() else {}
        if chosen.get("round"):
            found = found.filter(item__round=chosen["round"])
        if chosen.get("verdict"):
            found = found.filter(verdict=chosen["verdict"])
        return found.filter(**_BY_STATE[chosen["state"]]) if chosen.get("state") else found


_BY_STATE: dict[str, dict[str, Any]] = {
    COUNTS: {"followed_by": None, "assignment__state": State.SUBMITTED},
    LATE: {"followed_by": None, "assignment__state": State.LATE},
    REPLACED: {"followed_by": False},
    TAKEN_BACK: {"followed_by": True},
}


def judgements_of(user: User) -> QuerySet[Judgement]:
    """A person's judgements, newest first. ``followed_by`` is None for a last word, True for one that was taken back,
    False for one that a change replaced. Constant in queries.
    """
    later = Judgement.objects.filter(assignment=OuterRef("assignment"), revision__gt=OuterRef("revision"))
    return (
        Judgement.objects.filter(annotator=user, retracted=False)
        .annotate(followed_by=Subquery(later.order_by("revision").values("retracted")[:1]))
        .select_related("item__round", "item__dialogue", "assignment")
        .prefetch_related("grades__variant", "item__dialogue__turns__variants", "item__adjudications")
        .order_by("-pk")
    )


def history_rows(judgements: Iterable[Judgement], *, now: datetime) -> list[HistoryRow]:
    listed = list(judgements)
    compared = comparisons(listed, now=now)
    return [_row(judgement, compared.get(judgement.pk), now) for judgement in listed]


def _row(judgement: Judgement, compared: Comparison | None, now: datetime) -> HistoryRow:
    item, dialogue = judgement.item, judgement.item.dialogue
    benchmark = benchmark_get(dialogue.benchmark)
    letters = letters_of(judgement.assignment.shown, graded_positions(dialogue))
    labels = {reason.code: ui_text(reason.label) for reason in benchmark.review_form.reasons}
    state = _state(judgement)
    settled = dialogue.state == DialogueState.FROZEN.value or _decided(item)
    open_still = state in (COUNTS, LATE) and not (settled and judgement.assignment.kind == Kind.WORK)
    return HistoryRow(
        judgement=judgement,
        about=_about(judgement),
        category=ui_text(benchmark.category(dialogue.category).label),
        grades=sorted((letters.get(grade.variant.uid, "?"), grade.value) for grade in judgement.grades.all()),
        reasons=[labels.get(code, code) for code in judgement.reasons],
        answers=_answers(judgement),
        state=state,
        compared=None if compared is None or state in (REPLACED, TAKEN_BACK) else _by_letter(compared, letters),
        can_take_back=open_still and item.kind != Kind.TRAINING and now <= undo_until(judgement, item.round),
        can_change=open_still
        and compared is None
        and item.round.state == Round.State.OPEN
        and item.kind != Kind.TRAINING,
    )


def _about(judgement: Judgement) -> str:
    """What the dialogue is known by to who has judged it: its scenario, else its first words where they are shown."""
    told = scenario_lines(judgement.item.dialogue.scenario)
    if told or not judgement.item.round.show_transcript:
        return next(iter(told), "")
    return next((str(one.text) for turn in judgement.item.dialogue.turns.all() for one in turn.variants.all()), "")


def _decided(item: RoundItem) -> bool:
    """Whether the latest word of an expert is a decision."""
    latest = next(iter(item.adjudications.all()), None)
    return latest is not None and latest.action == Adjudication.Action.DECIDED


def _state(judgement: Judgement) -> str:
    followed_by: bool | None = judgement.followed_by  # type: ignore[attr-defined]
    if followed_by is not None:
        return TAKEN_BACK if followed_by else REPLACED
    return COUNTS if judgement.assignment.state == State.SUBMITTED else LATE


def _answers(judgement: Judgement) -> list[tuple[str, str]]:
    rows = question_rows(Questions.from_dict(judgement.item.round.questions))
    found = [(row["short"], dict(row["values"]).get(judgement.answers.get(row["name"]))) for row in rows]
    return [(label, value) for label, value in found if value]


def _by_letter(compared: Comparison, letters: Mapping[str, str]) -> Comparison:
    grades = {letters.get(uid, "?"): value for uid, value in compared.grades.items()}
    return Comparison(keeps=compared.keeps, rejects=compared.rejects, grades=dict(sorted(grades.items())))
