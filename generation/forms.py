"""What a researcher asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.functional import lazy
from django.utils.translation import gettext_lazy as _

from eqstudio.benchmarks import benchmark_get, benchmarks
from eqstudio.errors import StudioError
from generation.domain.lifecycle import DialogueState
from generation.models import LANGUAGES, Corpus
from generation.providers import text_providers, transcribers, voice_providers
from generation.services import BriefInput, Budget, briefs_wanted
from generation.services.batches import thresholds_check
from generation.threshold_fields import PREFIX, limit_fields, limits_given
from generation.words import category_label

MOST_PER_CATEGORY = 500


def _categories() -> list[tuple[str, list[tuple[str, str]]]]:
    """All leaves of all benchmarks, grouped by benchmark; a value names both."""
    return [
        (
            benchmark_get(alias).title,
            [(f"{alias}/{leaf.key}", category_label(alias, leaf.key)) for leaf in benchmark_get(alias).categories],
        )
        for alias in benchmarks
    ]


class BatchForm(forms.Form):
    """A request for dialogues: what, how many, and by whom."""

    corpus = forms.SlugField(
        label=_("Corpus"),
        max_length=80,
        help_text=_("Where they go. A name that does not exist yet makes a new corpus."),
    )
    benchmark = forms.ChoiceField(label=_("Benchmark"))
    categories = forms.MultipleChoiceField(
        label=_("Categories"),
        required=False,
        choices=lazy(_categories, list),
        widget=forms.SelectMultiple(attrs={"size": "10"}),
        help_text=_("None chosen means all categories of the benchmark."),
    )
    languages = forms.MultipleChoiceField(
        label=_("Languages"), choices=LANGUAGES, initial=["en"], widget=forms.CheckboxSelectMultiple
    )
    per_category = forms.IntegerField(
        label=_("Dialogues per category and language"), min_value=1, max_value=MOST_PER_CATEGORY, initial=2
    )
    text_provider = forms.ChoiceField(label=_("Written by"), initial="local")
    voice_provider = forms.ChoiceField(label=_("Spoken by"), initial="local")
    transcriber = forms.ChoiceField(label=_("Checked by"), initial="local")
    seed = forms.IntegerField(
        label=_("Seed"),
        initial=0,
        help_text=_("The same request with the same seed adds nothing that is there already."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices: dict[str, list[tuple[str, str]]] = {
            "benchmark": [(alias, benchmark_get(alias).title) for alias in benchmarks],
            "text_provider": text_providers.choices(),
            "voice_provider": voice_providers.choices(),
            "transcriber": transcribers.choices(),
        }
        for name, pairs in choices.items():
            field = self.fields[name]
            if isinstance(field, forms.ChoiceField):
                field.choices = pairs
        self.fields.update(limit_fields())
        names = Corpus.objects.values_list("name", flat=True)
        self.corpora = list(names)
        self.fields["corpus"].widget.attrs["list"] = "corpora-known"

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if self.errors:
            return cleaned
        mine = [
            key
            for alias, _slash, key in (value.partition("/") for value in cleaned["categories"])
            if alias == cleaned["benchmark"]
        ]
        if len(mine) != len(cleaned["categories"]):
            self.add_error(
                "categories",
                _("Some of these categories belong to another benchmark. Choose only those of the one above."),
            )
            return cleaned
        try:
            cleaned["thresholds"] = thresholds_check(limits_given(cleaned)).changed()
            cleaned["briefs"] = self._briefs(cleaned, mine)
        except StudioError as error:
            self.add_error(None, error.message)
        return cleaned

    def limits(self) -> list[forms.BoundField]:
        """The thresholds, for a part of the page of their own."""
        return [self[name] for name in self.fields if name.startswith(PREFIX)]

    def _briefs(self, cleaned: dict[str, Any], categories: list[str]) -> list[BriefInput]:
        return [
            brief
            for language in cleaned["languages"]
            for brief in briefs_wanted(
                like=BriefInput(
                    benchmark=cleaned["benchmark"],
                    category="",
                    language=language,
                    count=cleaned["per_category"],
                    seed=cleaned["seed"],
                    text_provider=cleaned["text_provider"],
                    voice_provider=cleaned["voice_provider"],
                    transcriber=cleaned["transcriber"],
                ),
                categories=categories,
            )
        ]


class BudgetForm(forms.Form):
    """What a batch may take."""

    max_calls = forms.IntegerField(label=_("Calls at most"), required=False, min_value=1)
    max_tokens = forms.IntegerField(label=_("Tokens at most"), required=False, min_value=1)
    max_cost = forms.DecimalField(
        label=_("US dollars at most"),
        required=False,
        min_value=0.0001,
        max_digits=12,
        decimal_places=6,
        help_text=_("Only what has a price in the settings is counted."),
    )

    def budget(self) -> Budget:
        """The limits as they were put in; an empty field is no limit."""
        told = self.cleaned_data
        return Budget(calls=told["max_calls"], tokens=told["max_tokens"], cost=told["max_cost"])


class CorpusForm(forms.Form):
    """An empty corpus."""

    name = forms.SlugField(label=_("Name"), max_length=80, help_text=_("Letters, digits, hyphens and underscores."))
    licence = forms.CharField(label=_("Licence"), max_length=120, required=False)


BECOMES = {
    DialogueState.READY: _("It is good enough: let people judge it"),
    DialogueState.SCRIPTED: _("Speak it again"),
    DialogueState.BRIEFED: _("Write it again"),
    DialogueState.REJECTED: _("Reject it"),
}


class FlaggedForm(forms.Form):
    """What becomes of a flagged dialogue, or of several; ``possible`` is what is offered."""

    to = forms.TypedChoiceField(label=_("What is to become of it"), coerce=DialogueState)
    reason = forms.CharField(label=_("Why"), max_length=300)

    def __init__(self, *args: Any, possible: Sequence[DialogueState], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        to = self.fields["to"]
        if isinstance(to, forms.ChoiceField):
            to.choices = [(state.value, BECOMES[state]) for state in possible]
