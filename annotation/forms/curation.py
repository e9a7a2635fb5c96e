"""What a researcher fills in about a split or an export."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.domain.curation import Recipe
from annotation.exporters import exporters
from annotation.forms.choices import ANY, benchmark_choices
from annotation.models import Round
from generation.models import LANGUAGES, Corpus, Dialogue


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
    benchmark = forms.ChoiceField(label=_("Benchmark"), choices=benchmark_choices, required=False)
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


class ExportForm(forms.Form):
    format = forms.ChoiceField(label=_("Format"), choices=exporters.choices)
