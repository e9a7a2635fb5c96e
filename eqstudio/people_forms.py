"""Forms about people."""

from __future__ import annotations

import re
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


SPEECH = [("en", _("English")), ("zh", _("Chinese"))]
SKILL = re.compile(r"\w[\w .+-]{0,39}")
SKILLS_AT_MOST = 20


class SkillsField(forms.CharField):
    """Short words separated by commas, each once and in small letters."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]
        words = [word.strip().lower() for word in str(super().to_python(value)).replace("，", ",").split(",")]
        return sorted({word for word in words if word})

    def validate(self, value: Any) -> None:
        if len(value) > SKILLS_AT_MOST or not all(SKILL.fullmatch(word) for word in value):
            raise forms.ValidationError(
                _("At most 20 short words, separated by commas: letters, digits, spaces and . + - _")
            )

    def run_validators(self, value: Any) -> None:
        """A list has no length to hold against that of a line of text."""


def _speaks(help_text: Any) -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(
        label=_("Judges speech in"),
        choices=SPEECH,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=help_text,
    )


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
    skills = SkillsField(
        label=_("Skills"), required=False, help_text=_("Separated by commas; a round may ask for them.")
    )
    speaks = _speaks(_("A round may be only for people who speak the language of its items."))


class InviteForm(PersonForm):
    """A person who is not here yet."""

    username = forms.CharField(
        label=_("Username"),
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        help_text=_("Letters, digits and @ . + - _ only. It stays; the name to show may change."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}),
    )
    field_order = ["username", "name", "email", "language", "roles", "skills", "speaks"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["roles"].initial = [Role.ANNOTATOR.value]


class MeForm(forms.Form):
    """What a person says about themselves."""

    name = forms.CharField(label=_("Name to show"), max_length=80, required=False, help_text=_("How pages call you."))
    language = forms.ChoiceField(label=_("Language of the pages"), choices=PAGE_LANGUAGES)
    speaks = _speaks(_("Some rounds are only for people who speak the language of their items."))
