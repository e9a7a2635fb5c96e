"""What a researcher sends from a browser."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.functional import lazy
from django.utils.translation import gettext_lazy as _

from eqstudio.benchmarks import benchmark_get, benchmarks
from generation.importers import importers
from generation.models import LANGUAGES
from generation.providers import transcribers
from generation.words import category_label

FORMATS: dict[str, Any] = {
    "audio": _("Recordings: audio files, with a table or text files beside them"),
    "echomind": _("EchoMind folders"),
    "emodialogue": _("EmoDialogue lines (JSONL) with their audio"),
    "huggingface": _("Parquet or a folder from the Hugging Face hub"),
    "speecheq": _("SpeechEQ folders"),
}


class ManyFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class ManyFiles(forms.FileField):
    """All files that were chosen, as a list."""

    widget = ManyFilesInput

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        one = super().clean
        return (
            [one(each, initial) for each in data] if isinstance(data, list | tuple) and data else [one(data, initial)]
        )


def _formats() -> list[tuple[str, str]]:
    return [(alias, str(FORMATS.get(alias, alias))) for alias in importers]


def _categories() -> list[tuple[str, Any]]:
    leaves = [
        (
            benchmark_get(alias).title,
            [(f"{alias}/{leaf.key}", category_label(alias, leaf.key)) for leaf in benchmark_get(alias).categories],
        )
        for alias in benchmarks
    ]
    return [("", _("as each row says")), *leaves]


def listeners() -> list[tuple[str, Any]]:
    """Who may be asked to listen, or nobody."""
    return [("", _("nobody")), *transcribers.choices()]


class UploadForm(forms.Form):
    """Files, what they are, and what holds for every row that does not say it itself."""

    sent = ManyFiles(
        label=_("Files"),
        allow_empty_file=True,  # an empty one among many is refused by its name when it is read; the others come in
        help_text=_(
            "Many files or one zip. WAV, FLAC, MP3, Ogg, Opus, M4A, AAC, WebM and AIFF; a CSV, TSV or JSONL table may be among "
            "them, with the columns audio, text, language, category, speaker, consent and licence."
        ),
    )
    format = forms.ChoiceField(label=_("What they are"), choices=lazy(_formats, list), initial="audio")
    category = forms.ChoiceField(label=_("Category"), choices=lazy(_categories, list), required=False)
    language = forms.ChoiceField(
        label=_("Language"),
        choices=[("", _("as each row says, or as its text is written")), *LANGUAGES],
        required=False,
    )
    transcriber = forms.ChoiceField(
        label=_("Transcript checked by"),
        choices=lazy(listeners, list),
        required=False,
        help_text=_("Each recording is transcribed and held against its words, as what is made here."),
    )
    speaker = forms.CharField(label=_("Speaker"), max_length=80, required=False)
    consent = forms.CharField(
        label=_("Consent"), max_length=120, required=False, help_text=_("Where the speaker's consent is kept.")
    )
    licence = forms.CharField(label=_("Licence"), max_length=120, required=False)

    def defaults(self) -> dict[str, str]:
        """What holds for every row, by the names that importers know."""
        benchmark, _slash, category = self.cleaned_data["category"].partition("/")
        rest = {name: self.cleaned_data[name] for name in ("language", "speaker", "consent", "licence", "transcriber")}
        return {"benchmark": benchmark, "category": category, **rest}


class WordsForm(forms.Form):
    """Who listens again once the words of a recording are put right."""

    transcriber = forms.ChoiceField(label=_("Transcript checked by"), choices=lazy(listeners, list), required=False)
