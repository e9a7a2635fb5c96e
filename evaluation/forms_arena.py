"""A new arena."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext_lazy as _

from evaluation.domain.arena import MOST_SYSTEMS
from evaluation.models import Respondent, Response, Sitting, Study
from evaluation.services.arenas import MOST_WANTED


class ArenaForm(forms.Form):
    """Whose rationales are rated, how many side by side, by how many people."""

    name = forms.SlugField(label=_("Name"), max_length=60, help_text=_("Letters, digits, hyphens."))
    respondents = forms.ModelMultipleChoiceField(
        label=_("Systems"), queryset=Respondent.objects.none(), to_field_name="uid", widget=forms.CheckboxSelectMultiple
    )
    per_panel = forms.IntegerField(
        label=_("Rationales side by side"),
        initial=3,
        min_value=2,
        max_value=MOST_SYSTEMS,
        help_text=_("Each system and each pair is shown equally often."),
    )
    wanted = forms.IntegerField(label=_("People for each question"), initial=3, min_value=1, max_value=MOST_WANTED)

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["respondents"]
        if isinstance(field, forms.ModelMultipleChoiceField):
            kinds = (Respondent.Kind.MODEL, Respondent.Kind.IMPORTED)
            answers = Response.objects.filter(trial__sitting__respondent=OuterRef("pk"), failure="").exclude(
                trial__sitting__state=Sitting.State.CANCELLED
            )
            field.queryset = study.respondents.filter(Exists(answers), kind__in=kinds).order_by("pk")
