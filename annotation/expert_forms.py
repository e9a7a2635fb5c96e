"""What an expert fills in: a decision, a wish for more judgements, a file of ratings made elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.domain.ratings_file import DUPLICATES, ENCODINGS
from annotation.models import Judgement
from annotation.services.items import MOST_PEOPLE

_REASON = 2_000
LARGEST_MB = 64
_RULES = {
    "error": _("keep the first, refuse another value"),
    "first": _("keep the first"),
    "last": _("keep the last"),
    "mean": _("take the mean"),
}


class DecisionForm(forms.Form):
    """An expert's decision, with a grade for each graded variant if the expert likes."""

    verdict = forms.ChoiceField(label=_("Decision"), choices=Judgement.Verdict.choices, widget=forms.RadioSelect)
    reason = forms.CharField(
        label=_("Reason"),
        max_length=_REASON,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Kept with the decision; whoever looks later will want to know."),
    )

    def __init__(self, *args: Any, variants: Iterable[tuple[str, str]] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.variants = dict(variants)
        for uid, letter in self.variants.items():
            self.fields[f"grade_{uid}"] = forms.TypedChoiceField(
                label=_("My grade for %(letter)s") % {"letter": letter},
                choices=[("", _("none")), *((number, number) for number in range(1, 5))],
                coerce=int,
                empty_value=None,
                required=False,
            )

    def grades(self) -> dict[str, int]:
        """The expert's own grades, by variant."""
        found = {uid: self.cleaned_data[f"grade_{uid}"] for uid in self.variants}
        return {uid: grade for uid, grade in found.items() if grade is not None}

    def grade_fields(self) -> list[forms.BoundField]:
        return [self[f"grade_{uid}"] for uid in self.variants]


class MoreForm(forms.Form):
    """More people, please."""

    people = forms.IntegerField(label=_("More people"), min_value=1, max_value=MOST_PEOPLE, initial=1)
    reason = forms.CharField(label=_("Reason"), max_length=_REASON, widget=forms.Textarea(attrs={"rows": 2}))


class ReopenForm(forms.Form):
    """Why a decision is taken back."""

    reason = forms.CharField(label=_("Reason"), max_length=_REASON, widget=forms.Textarea(attrs={"rows": 2}))


class ImportForm(forms.Form):
    """A file of ratings made elsewhere."""

    file = forms.FileField(
        label=_("File"),
        help_text=_(
            "CSV, TSV or JSON lines, also gzipped, with the columns item, rater, value and, if you like, dimension and level."
        ),
    )
    encoding = forms.ChoiceField(
        label=_("Encoding"),
        required=False,
        choices=[("", _("by its byte order mark, else UTF-8")), *((name, name.upper()) for name in ENCODINGS[1:])],
    )
    duplicates = forms.ChoiceField(
        label=_("Several values of a rater for an item"), choices=[(name, _RULES[name]) for name in DUPLICATES]
    )

    def clean_file(self) -> Any:
        sent = self.cleaned_data["file"]
        if sent.size > LARGEST_MB * 2**20:
            raise forms.ValidationError(_("The file is larger than %(mb)d MB.") % {"mb": LARGEST_MB})
        return sent

    def arguments(self) -> dict[str, Any]:
        """What ``ratings_import`` and ``ratings_preview`` take."""
        data = self.cleaned_data
        sent = data["file"]
        return {
            "data": sent.read(),
            "name": sent.name,
            "encoding": data["encoding"],
            "duplicates": data["duplicates"],
        }
