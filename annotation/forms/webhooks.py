"""What an admin fills in about a webhook."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Round
from eqstudio.words import VERBS

OFFERED = (
    "judged",
    "closed",
    "reopened",
    "adjudicated",
    "set aside",
    "retracted",
    "released",
    "topped up",
    "rules changed",
    "froze",
)


class WebhookForm(forms.Form):
    url = forms.URLField(
        label=_("Address"), max_length=500, assume_scheme="https", help_text=_("Public, and best with https.")
    )
    secret_name = forms.CharField(
        label=_("Environment variable of the secret"),
        max_length=80,
        initial="WEBHOOK_SECRET",
        help_text=_("Its value signs what is sent; it is set where the studio runs and begins with WEBHOOK_."),
    )
    round = forms.ModelChoiceField(
        label=_("Round"),
        queryset=Round.objects.all(),
        to_field_name="uid",
        required=False,
        empty_label=_("all of them"),
    )
    verbs = forms.MultipleChoiceField(
        label=_("What happened"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("None chosen tells everything about rounds, items, reservations and splits."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["verbs"].choices = [(verb, VERBS[verb]) for verb in OFFERED]  # type: ignore[attr-defined]
