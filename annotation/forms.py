"""What a researcher fills in: a round, a decision, a split."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.domain.curation import Recipe
from annotation.models import Judgement, Round
from eqstudio.benchmarks import benchmarks
from generation.models import LANGUAGES, Corpus, Dialogue

ANY = ("", _("any"))


def _benchmarks() -> list[tuple[str, Any]]:
    return [ANY, *benchmarks.choices()]


class RoundForm(forms.Form):
    """A new review queue."""

    name = forms.SlugField(label=_("Name"), max_length=80, help_text=_("Letters, digits, hyphens and underscores."))
    corpus = forms.ModelChoiceField(
        label=_("Corpus"),
        queryset=Corpus.objects.all(),
        to_field_name="uid",
        help_text=_("Its dialogues that are ready go into the round."),
    )
    benchmark = forms.ChoiceField(label=_("Benchmark"), choices=_benchmarks, required=False)
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


class DecisionForm(forms.Form):
    """An expert's decision."""

    verdict = forms.ChoiceField(label=_("Decision"), choices=Judgement.Verdict.choices, widget=forms.RadioSelect)
    reason = forms.CharField(
        label=_("Reason"),
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Kept with the decision; whoever looks later will want to know."),
    )


class SplitForm(forms.Form):
    """A split to be frozen: where its items come from and which of them."""

    name = forms.SlugField(label=_("Name"), max_length=80, help_text=_("The same name again makes the next version."))
    source = forms.ChoiceField(label=_("Items from"))
    outcome = forms.ChoiceField(
        label=_("Outcome"),
        choices=[("kept", _("kept")), ("rejected", _("rejected")), ("disputed", _("disputed"))],
        required=False,
        help_text=_("Of a round; from a corpus everything that is ready or kept is taken."),
    )
    minimum_people = forms.IntegerField(label=_("People per item, at least"), min_value=0, initial=0, required=False)
    benchmark = forms.ChoiceField(label=_("Benchmark"), choices=_benchmarks, required=False)
    language = forms.ChoiceField(label=_("Language"), choices=[ANY, *LANGUAGES], required=False)
    origin = forms.ChoiceField(label=_("Source"), choices=[ANY, *Dialogue.Source.choices], required=False)
    per_category = forms.IntegerField(
        label=_("Items per category, at most"), min_value=0, required=False, help_text=_("Empty is no limit.")
    )
    size = forms.IntegerField(label=_("Items, at most"), min_value=0, required=False, help_text=_("Empty is no limit."))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rounds = Round.objects.filter(corpus__isnull=False).values_list("uid", "name")
        corpora = Corpus.objects.values_list("uid", "name")
        self.fields["source"].choices = [  # type: ignore[attr-defined]
            (_("Rounds"), [(f"round:{uid}", name) for uid, name in rounds]),
            (_("Corpora"), [(f"corpus:{uid}", name) for uid, name in corpora]),
        ]

    def source_arguments(self) -> dict[str, Any]:
        """``round`` and ``corpus`` for ``split_freeze``."""
        kind, _colon, uid = self.cleaned_data["source"].partition(":")
        if kind == "round":
            return {"round": Round.objects.select_related("corpus").get(uid=uid), "corpus": None}
        return {"round": None, "corpus": Corpus.objects.get(uid=uid)}

    def recipe(self) -> Recipe:
        data = self.cleaned_data
        return Recipe(
            outcome=data["outcome"] or "kept",
            minimum_people=data["minimum_people"] or 0,
            benchmark=data["benchmark"],
            language=data["language"],
            source=data["origin"],
            size=data["size"] or 0,
            per_category=data["per_category"] or 0,
        )
