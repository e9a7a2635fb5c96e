"""Forms about people."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.utils.translation import gettext_lazy as _

from eqstudio.models import PAGE_LANGUAGES, Role

ROLE_WORDS = [
    (Role.ANNOTATOR.value, _("Annotator: listens, grades and sits exams")),
    (Role.RESEARCHER.value, _("Researcher: makes dialogues, runs rounds, freezes splits, compares")),
    (Role.ADMIN.value, _("Admin: looks after people, models and the house; sees what researchers see")),
]


class PersonForm(forms.Form):
    """What an admin says about a person."""

    name = forms.CharField(
        label=_("Name to show"), max_length=80, required=False, help_text=_("How pages call this person.")
    )
    email = forms.EmailField(
        label=_("E-mail"), required=False, help_text=_("May be used to sign in. The studio sends nothing to it.")
    )
    language = forms.ChoiceField(label=_("Language of the pages"), choices=PAGE_LANGUAGES)
    roles = forms.MultipleChoiceField(
        label=_("Roles"), choices=ROLE_WORDS, required=False, widget=forms.CheckboxSelectMultiple
    )


class InviteForm(PersonForm):
    """A person who is not here yet."""

    username = forms.CharField(
        label=_("Username"),
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        help_text=_("Letters, digits and @ . + - _ only. It stays; the name to show may change."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}),
    )
    field_order = ["username", "name", "email", "language", "roles"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["roles"].initial = [Role.ANNOTATOR.value]


class MeForm(forms.Form):
    """What a person says about themselves."""

    name = forms.CharField(label=_("Name to show"), max_length=80, required=False, help_text=_("How pages call you."))
    language = forms.ChoiceField(label=_("Language of the pages"), choices=PAGE_LANGUAGES)
