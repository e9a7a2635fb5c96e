"""How a split leaves the studio: the form of its page."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.exporters import Options, exporters

LABELS = {
    "croissant": _("Croissant: the table with metadata that search engines read"),
    "csv": _("CSV: one recording a row, beside audio files"),
    "emodialogue": _("EmoDialogue: grades and rationales for training"),
    "huggingface": _("Hugging Face: Parquet with the audio inside"),
    "inspect": _("Inspect: a task file with its questions"),
    "jsonl": _("JSON lines: one dialogue a line, beside audio files"),
    "lmeval": _("lm-eval: a task file with its questions"),
    "speecheq": _("SpeechEQ: its own folders and metadata"),
}


def formats_of(benchmark: str) -> list[tuple[str, Any]]:
    """The formats in which a split of a benchmark can leave, with what each is."""
    fitting = [alias for alias, kind in exporters.items() if kind.benchmark in ("", benchmark)]
    return [(alias, LABELS.get(alias, alias)) for alias in sorted(fitting, key=lambda alias: alias != "huggingface")]


class ExportForm(forms.Form):
    format = forms.ChoiceField(label=_("Format"))
    bom = forms.BooleanField(
        label=_("Byte order mark in tables"), required=False, help_text=_("Spreadsheets read other scripts by it.")
    )
    repository = forms.CharField(
        label=_("Also to a hub, as"),
        required=False,
        max_length=120,
        help_text=_("owner/name of a data set; empty is not at all."),
    )
    token_env = forms.CharField(
        label=_("Variable with the hub's token"),
        required=False,
        max_length=80,
        initial="HF_TOKEN",
        help_text=_("Its name, as the worker's environment has it; never the token itself."),
    )
    public = forms.BooleanField(
        label=_("Everybody may read it there"), required=False, help_text=_("Otherwise it is made private.")
    )

    def __init__(self, *args: Any, benchmark: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["format"].choices = formats_of(benchmark)  # type: ignore[attr-defined]

    def arguments(self) -> dict[str, Any]:
        """What ``export_request`` takes."""
        data = self.cleaned_data
        return {
            "format": data["format"],
            "options": Options(bom=data["bom"]),
            "repository": data["repository"].strip(),
            "token_env": data["token_env"].strip(),
            "private": not data["public"],
        }
