"""A file of answers given elsewhere."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from evaluation.importers import answer_importers

LARGEST_MB = 64
FORMATS: dict[str, Any] = {
    "speecheq": _("SpeechEQ result file (JSON)"),
    "echomind": _("EchoMind output of questions (JSON)"),
    "inspect": _("Inspect log (.eval or .json)"),
    "lmeval": _("lm-eval samples (samples_….jsonl)"),
    "csv": _("Table (CSV with the columns item, trial, answer and perhaps run)"),
}


class AnswersForm(forms.Form):
    """A file, what it is, and the name its answers go under."""

    file = forms.FileField(label=_("File"))
    format = forms.ChoiceField(
        label=_("Format"),
        choices=[(alias, FORMATS.get(alias, alias)) for alias in sorted(answer_importers, key=list(FORMATS).index)],
    )
    respondent = forms.CharField(
        label=_("Respondent"),
        max_length=120,
        help_text=_("The name the answers go under. The same name again adds what is new."),
    )

    def clean_file(self) -> Any:
        sent = self.cleaned_data["file"]
        if sent.size > LARGEST_MB * 2**20:
            raise forms.ValidationError(_("The file is larger than %(mb)d MB.") % {"mb": LARGEST_MB})
        return sent
