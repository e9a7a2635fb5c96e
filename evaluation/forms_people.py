"""What a researcher says about who may come into a study."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evaluation.models import Participant
from evaluation.services.invitations import MOST_AT_ONCE, MOST_USES, PARAMETERS
from evaluation.words_people import OUTCOME_WORDS

NAMES = {"person": "PROLIFIC_PID", "study": "STUDY_ID", "session": "SESSION_ID"}
"""What Prolific adds to an address; other platforms have other names."""


class InvitationForm(forms.Form):
    """Links for one person each, or one link for many; a crowd platform's names and codes under "crowd"."""

    label = forms.CharField(label=_("What it is for"), max_length=80, required=False)
    count = forms.IntegerField(label=_("Links"), initial=1, min_value=1, max_value=MOST_AT_ONCE)
    max_uses = forms.IntegerField(
        label=_("People by each link"),
        initial=1,
        min_value=1,
        max_value=MOST_USES,
        help_text=_(
            "1: a personal link, which also brings its person back. More: one link for many, each with their own code."
        ),
    )
    days = forms.IntegerField(label=_("Days it works"), initial=30, min_value=1, max_value=730)
    crowd = forms.BooleanField(
        label=_("People come from a crowd platform"),
        required=False,
        help_text=_("Its ids are kept in the guarded table only. The same id never takes part twice."),
    )
    return_url = forms.CharField(
        label=_("Address back to the platform"),
        max_length=400,
        required=False,
        help_text=_("{code} stands for the completion code. Empty: the code is only shown."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        labels = {
            "person": _("Its name for the person"),
            "study": _("Its name for the study"),
            "session": _("Its name for the session"),
        }
        for name in PARAMETERS:
            self.fields[f"name_{name}"] = forms.RegexField(
                r"^[A-Za-z0-9_.-]+$", label=labels[name], max_length=40, initial=NAMES[name], required=False
            )
        for outcome in Participant.Outcome.values:
            self.fields[f"code_{outcome}"] = forms.CharField(
                label=_("Code: %(outcome)s") % {"outcome": OUTCOME_WORDS[outcome]}, max_length=40, required=False
            )

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if given.get("crowd") and not given.get("name_person") and "name_person" not in self.errors:
            self.add_error(
                "name_person", _("People of a platform are told apart, and paid, by this name; it cannot be empty.")
            )
        return given

    @property
    def names(self) -> list[forms.BoundField]:
        return [self[f"name_{name}"] for name in PARAMETERS]

    @property
    def codes(self) -> list[forms.BoundField]:
        return [self[f"code_{outcome}"] for outcome in Participant.Outcome.values]

    def wanted(self) -> dict[str, Any]:
        """What ``invitations_create`` takes."""
        given = self.cleaned_data
        names = {name: given[f"name_{name}"] for name in PARAMETERS} if given["crowd"] else {}
        return {
            "label": given["label"],
            "count": given["count"],
            "max_uses": given["max_uses"],
            "expires_at": timezone.now() + timedelta(days=given["days"]),
            "parameters": names,
            "codes": {outcome: given[f"code_{outcome}"].strip() for outcome in Participant.Outcome.values},
            "return_url": given["return_url"].strip(),
        }


class SpecialsForm(forms.Form):
    """Dialogues outside the study, by their codes, one a line."""

    practice = forms.CharField(
        label=_("To practise on"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("Codes of dialogues, one a line, in the order they are met. People are told what was expected."),
    )
    attention = forms.CharField(
        label=_("Attention items"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("Codes of dialogues whose answer nobody who listens can miss. They look like any other."),
    )
