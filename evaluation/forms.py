"""What a researcher says about a study and a run."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Split
from evaluation.backends import backends, evaluators
from evaluation.services import Limits
from evaluation.services.runs_budget import MAX_CONCURRENCY


class StudyForm(forms.Form):
    """A new exam on a frozen split."""

    name = forms.SlugField(
        label=_("Name"), max_length=80, help_text=_("Letters, digits, hyphens; it stands in commands and addresses.")
    )
    split = forms.ModelChoiceField(
        label=_("Split"), queryset=Split.objects.all(), to_field_name="uid", help_text=_("Its items are what is asked.")
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        initial=0,
        help_text=_("Fixes the order of items and options for everybody. Keep 0 if in doubt."),
    )
    gate_share = forms.IntegerField(
        label=_("Share of each clip to be heard, percent"),
        min_value=0,
        max_value=100,
        initial=90,
        help_text=_("People answer only after they heard this much of every clip."),
    )


class NormForm(forms.Form):
    """The name under which a norm is frozen."""

    name = forms.SlugField(label=_("Name of the norm"), max_length=60)


class PowerForm(forms.Form):
    """How large a study is, for what it will be able to see."""

    items = forms.IntegerField(label=_("Items"), min_value=2, max_value=1_000_000)
    people = forms.IntegerField(label=_("People"), min_value=1, max_value=100_000)
    discordance = forms.FloatField(
        label=_("Share of items on which a person and the model differ"),
        initial=0.3,
        min_value=0.01,
        max_value=1,
        help_text=_("Between two respondents of 85 % and 65 % that err independently it is about 0.4."),
    )
    spread = forms.FloatField(
        label=_("Standard deviation of people's accuracies"), initial=0.08, min_value=0, max_value=0.5
    )
    cluster_size = forms.FloatField(label=_("Items of one prompt or script"), initial=1, min_value=1, max_value=1000)
    correlation = forms.FloatField(label=_("How alike they are (0 to 1)"), initial=0.3, min_value=0, max_value=1)
    claim = forms.FloatField(label=_("Difference you expect, in points"), initial=10, min_value=0.1, max_value=100)


class LimitsForm(forms.Form):
    """How fast a model may be asked, and what it may take; empty for no limit."""

    concurrency = forms.IntegerField(
        label=_("Questions at once"),
        required=False,
        min_value=1,
        max_value=MAX_CONCURRENCY,
        help_text=_("Leave empty for what the model's backend takes."),
    )
    max_calls = forms.IntegerField(label=_("Calls at most"), required=False, min_value=1)
    max_tokens = forms.IntegerField(label=_("Tokens at most"), required=False, min_value=1)
    max_cost = forms.DecimalField(
        label=_("US dollars at most"),
        required=False,
        min_value=Decimal("0.0001"),
        max_digits=12,
        decimal_places=6,
        help_text=_("Only what has a price in the settings is counted."),
    )

    def limits(self) -> Limits:
        """The limits as they were put in; an empty field is no limit."""
        told = self.cleaned_data
        return Limits(told["concurrency"], told["max_calls"], told["max_tokens"], told["max_cost"])


class RunForm(forms.Form):
    """A model that is to sit a study."""

    backend = forms.ChoiceField(
        label=_("Model"), help_text=_("Rules and blind respondents show what an exam gives away.")
    )
    evaluator = forms.ChoiceField(
        label=_("How questions are put"),
        initial="mcq",
        help_text=_("mcq: with sound, as people hear it. text: words only. silence: silence in place of every clip."),
    )
    runs = forms.IntegerField(
        label=_("Runs"),
        min_value=1,
        max_value=9,
        initial=2,
        help_text=_(
            "Two runs show every item in both orders of its options, so their number is even; a single one is marked on the "
            "leaderboard. Where grades are asked, three or more odd runs vote."
        ),
    )
    limit = forms.IntegerField(
        label=_("Only the first items"), required=False, min_value=1, help_text=_("Leave empty to ask all of them.")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, choices in (("backend", backends.choices()), ("evaluator", evaluators.choices())):
            field = self.fields[name]
            if isinstance(field, forms.ChoiceField):
                field.choices = choices
