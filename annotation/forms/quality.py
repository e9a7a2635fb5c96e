"""What a researcher fills in about judges: the rules of a round, a known answer, a decision on a flag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.domain.quality import QualityRules
from annotation.models import Judgement, Kind
from eqstudio.errors import InvalidInput
from eqstudio.models import Role, User

_SHARES = ("training_pass", "qualification_pass", "gold_pass", "fastest_share")
EITHER = ("", _("either"))


def _whole(label: Any, low: int, high: int, help_text: Any = "") -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=low, max_value=high, help_text=help_text)


def _switch(label: Any, help_text: Any = "") -> forms.BooleanField:
    return forms.BooleanField(label=label, required=False, help_text=help_text)


class QualityForm(forms.Form):
    """The rules of a round for its judges. ``rules`` are those it has; a new round starts from the recommended ones.

    ``quality()`` is what ``Round.quality`` stores. Shares are asked in per cent; 0 switches a check off.
    """

    title = _("Judges")

    headphones = _switch(_("Headphone check first"), _("Six short sounds that only headphones tell apart."))
    headphones_hours = _whole(_("Good for, hours"), 1, 720)
    training = _switch(_("Training with feedback first"), _("On items with a known answer; see the page Gold."))
    training_pass = _whole(_("Training is passed at, per cent right"), 0, 100)
    qualification_pass = _whole(_("Qualification is passed at, per cent right"), 0, 100, _("0: no qualification."))
    qualification_items = _whole(_("Items in one try"), 0, 200, _("0: all there are."))
    qualification_tries = _whole(_("Tries"), 1, 10, _("Each with items of its own."))
    gold_first = _whole(_("Gold before any work"), 0, 200, _("Items with a known answer that look like work."))
    gold_every = _whole(_("Then gold about every so many items"), 0, 1000, _("0: none. The place varies."))
    gold_pass = _whole(_("Gold right at least, per cent"), 0, 100)
    gold_window = _whole(_("Over the latest so many"), 1, 500)
    repeat_every = _whole(
        _("An item again about every so many items"), 0, 1000, _("0: never. Shows who is consistent.")
    )
    repeat_gap = _whole(_("Items that lie between, at least"), 0, 1000)
    fastest_share = _whole(
        _("Impossible below this share of the sound, per cent"),
        0,
        100,
        _("Active time against what was heard. 0: off."),
    )
    straight_line = _whole(_("Flag so many equal answers in a row"), 0, 200, _("0: off."))
    same_slot = _whole(
        _("Test so many answers for one place always winning"), 0, 500, _("0: off. Exact binomial test, p below 0.001.")
    )
    auto_pause = _switch(
        _("Pause a person by itself"), _("When gold falls below its mark or flags pile up. They read why.")
    )
    flags_pause = _whole(_("Open flags that pause"), 1, 100)

    GROUPS: tuple[tuple[Any, tuple[str, ...]], ...] = (
        (_("Headphones"), ("headphones", "headphones_hours")),
        (
            _("Before work"),
            ("training", "training_pass", "qualification_pass", "qualification_items", "qualification_tries"),
        ),
        (
            _("Gold and repetitions"),
            ("gold_first", "gold_every", "gold_pass", "gold_window", "repeat_every", "repeat_gap"),
        ),
        (_("Signs of not listening"), ("fastest_share", "straight_line", "same_slot", "auto_pause", "flags_pause")),
    )

    def __init__(self, *args: Any, rules: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        known = QualityRules.recommended() if rules is None else QualityRules.from_dict(rules)
        values = {name: round(value * 100) if name in _SHARES else value for name, value in known.as_dict().items()}
        super().__init__(*args, **{**kwargs, "initial": {**values, **(kwargs.get("initial") or {})}})

    def groups(self) -> Iterable[tuple[Any, list[forms.BoundField]]]:
        """The fields under their headings, for a template."""
        return [(title, [self[name] for name in names]) for title, names in self.GROUPS]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not self.errors:
            try:
                QualityRules.from_dict(_stored(data))
            except InvalidInput as error:
                self.add_error(error.field if error.field in self.fields else None, error.message)
        return data

    def quality(self) -> dict[str, Any]:
        """What the round stores."""
        return QualityRules.from_dict(_stored(self.cleaned_data)).as_dict()


def _stored(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value / 100 if name in _SHARES else value for name, value in data.items()}


class GoldForm(forms.Form):
    """A known answer. ``slots`` are (variant uid, letter) of what is graded; a grade left open is not asked for."""

    kind = forms.ChoiceField(
        label=_("Asked as"),
        choices=[
            (Kind.GOLD.value, _("gold: looks like work")),
            (Kind.TRAINING.value, _("training: the answer is shown after")),
            (Kind.QUALIFICATION.value, _("qualification: before work, without the answer")),
        ],
    )
    verdict = forms.ChoiceField(label=_("Known verdict"), choices=[EITHER, *Judgement.Verdict.choices], required=False)
    tolerance = forms.IntegerField(
        label=_("Grades may differ by"), min_value=0, max_value=3, initial=1, help_text=_("0 asks for exactly these.")
    )
    explanation = forms.CharField(
        label=_("Why"),
        required=False,
        max_length=4_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Shown after the answer in training; elsewhere only researchers read it."),
    )

    def __init__(self, *args: Any, slots: Iterable[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.slots = list(slots)
        for uid, letter in self.slots:
            self.fields[f"grade-{uid}"] = forms.TypedChoiceField(
                label=_("Known grade of %(letter)s") % {"letter": letter},
                choices=[("", _("any")), *((grade, str(grade)) for grade in range(1, 5))],
                coerce=int,
                empty_value=None,
                required=False,
            )

    def grade_fields(self) -> list[forms.BoundField]:
        return [self[f"grade-{uid}"] for uid, _letter in self.slots]

    def answer(self) -> dict[str, Any]:
        """What ``gold_set`` takes."""
        data = self.cleaned_data
        grades = {uid: data[f"grade-{uid}"] for uid, _letter in self.slots if data[f"grade-{uid}"] is not None}
        return {
            "kind": data["kind"],
            "verdict": data["verdict"],
            "grades": grades,
            "tolerance": data["tolerance"],
            "explanation": data["explanation"],
        }


class ReasonForm(forms.Form):
    """Why something is done."""

    reason = forms.CharField(label=_("Reason"), max_length=1_000, widget=forms.Textarea(attrs={"rows": 2}))


class FlagForm(ReasonForm):
    """Uphold or dismiss, and what follows for the judgements."""

    decision = forms.ChoiceField(
        label=_("Decision"),
        choices=[("uphold", _("uphold: it is as it looks")), ("dismiss", _("dismiss: there is an explanation"))],
        widget=forms.RadioSelect,
    )
    unusable = _switch(_("Keep these judgements out of the statistics"))
    unaccepted = _switch(_("Do not accept them as work done"))
    field_order = ("decision", "reason", "unusable", "unaccepted")


class StandingForm(ReasonForm):
    """Whether a judgement is accepted and usable."""

    accepted = _switch(_("accepted: done and paid"))
    usable = _switch(_("usable: in the statistics"))
    field_order = ("accepted", "usable", "reason")


class PlaceForm(forms.Form):
    """Pause, resume or take out a person, with a note for them."""

    action = forms.ChoiceField(choices=[("pause", _("pause")), ("resume", _("resume")), ("remove", _("remove"))])
    note = forms.CharField(
        label=_("Note to the person"),
        max_length=2_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("They read it on their home page."),
    )


class InviteForm(forms.Form):
    """Somebody to be let into the round."""

    person = forms.ModelChoiceField(label=_("Annotator"), queryset=User.objects.none(), to_field_name="uid")

    def __init__(self, *args: Any, known: Iterable[int], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        annotators = User.objects.filter(groups__name=Role.ANNOTATOR.value, is_active=True).exclude(pk__in=list(known))
        self.fields["person"].queryset = annotators.order_by("username")  # type: ignore[attr-defined]


class PeriodForm(forms.Form):
    """From one day to another, both included; empty is from the beginning, or to the end."""

    start = forms.DateField(label=_("First day"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    end = forms.DateField(label=_("Last day"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
