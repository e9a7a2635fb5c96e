"""A judge model for open replies."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from evaluation.backends import backends
from evaluation.services.judging import READS

HEARS = "mcq"


class JudgeForm(forms.Form):
    """Which model judges, and whether it hears or reads."""

    backend = forms.ChoiceField(label=_("Model"))
    evaluator = forms.ChoiceField(
        label=_("How it is asked"),
        choices=[
            (READS, _("in words: it reads the message and is told what is heard besides")),
            (HEARS, _("with sound: it hears the message, and a spoken reply")),
        ],
        initial=READS,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["backend"]
        if isinstance(field, forms.ChoiceField):
            field.choices = backends.choices()
