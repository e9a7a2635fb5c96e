"""What a researcher fills in about a round."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms.choices import ANY, benchmark_choices
from annotation.models import Round
from generation.models import LANGUAGES, Corpus


class RoundForm(forms.Form):
    """A new review queue."""

    name = forms.SlugField(label=_("Name"), max_length=80, help_text=_("Letters, digits, hyphens and underscores."))
    corpus = forms.ModelChoiceField(
        label=_("Corpus"),
        queryset=Corpus.objects.all(),
        to_field_name="uid",
        help_text=_("Its dialogues that are ready go into the round."),
    )
    benchmark = forms.ChoiceField(label=_("Benchmark"), choices=benchmark_choices, required=False)
    language = forms.ChoiceField(label=_("Language"), choices=[ANY, *LANGUAGES], required=False)
    people_per_item = forms.IntegerField(label=_("People per item"), min_value=1, max_value=50, initial=3)
    agree_needed = forms.IntegerField(
        label=_("Votes that decide"),
        min_value=1,
        max_value=50,
        initial=2,
        help_text=_("An item without so many equal votes is disputed and goes to an expert."),
    )
    gate = forms.IntegerField(
        label=_("Share to be heard, in per cent"),
        min_value=0,
        max_value=100,
        initial=90,
        help_text=_("Of every clip, before it can be graded."),
    )
    order = forms.ChoiceField(
        label=_("Order of items"),
        choices=[
            ("fewest_first", _("fewest judgements first")),
            ("random", _("random, one order per person")),
            ("fixed", _("the same for everybody")),
        ],
    )
    lease_minutes = forms.IntegerField(
        label=_("Minutes an item stays reserved"), min_value=1, max_value=240, initial=20
    )
    guidelines = forms.CharField(
        label=_("Guidelines"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=_("Shown beside every item."),
    )

    def arguments(self) -> dict[str, Any]:
        """What ``round_create`` takes."""
        data = dict(self.cleaned_data)
        data["gate_share"] = data.pop("gate") / 100
        return data


class RoundStateForm(forms.Form):
    state = forms.TypedChoiceField(choices=Round.State.choices, coerce=Round.State)
