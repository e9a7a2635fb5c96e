"""The forms of a split: its recipe (the same thing as a recipe file), and what is said when one is released or mended."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.domain.curation import BALANCED, CONSENSUS, GROUPS, Recipe
from annotation.domain.curation.recipe import MEASURES
from annotation.forms.choices import ANY, benchmark_choices
from annotation.models import Round, Split
from annotation.selectors.gates import GATES
from annotation.selectors.splits import Sources, recipe_names_check, sources_of
from annotation.words_curation import (
    BALANCED_LABELS,
    CONSENSUS_LABELS,
    GATE_LABELS,
    GROUP_LABELS,
    MEASURE_LABELS,
)
from eqstudio.errors import InvalidInput, StudioError
from generation.models import LANGUAGES, Corpus, Dialogue

MOST_BYTES = 200_000


def _labelled(names: tuple[str, ...], labels: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, labels[name]) for name in names]


def _count(label: Any, help_text: Any = "", *, least: int = 0) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=least, required=False, help_text=help_text)


def _number(label: Any, low: float, high: float, help_text: Any = "") -> forms.FloatField:
    attributes = {"step": "any"}
    return forms.FloatField(
        label=label,
        min_value=low,
        max_value=high,
        required=False,
        help_text=help_text,
        widget=forms.NumberInput(attrs=attributes),
    )


def _several(label: Any, choices: Any, help_text: Any = "") -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(
        label=label, choices=choices, required=False, help_text=help_text, widget=forms.CheckboxSelectMultiple
    )


SECTIONS = {
    "which": ("benchmark", "language", "source", "valence", "categories"),
    "people": (
        "outcome",
        "consensus",
        "consensus_share",
        "minimum_people",
        "minimum_agreement",
        "minimum_spread",
        "minimum_item_rest",
        "difficulty_from",
        "difficulty_to",
        "agreement_measure",
        "agreement_at_least",
        "agreement_whole",
    ),
    "many": ("per_category", "largest_topic_share", "topic_entropy_at_least", "balance", "targets", "strict"),
    "sides": ("dev", "train", "seed", "indivisible"),
}
"""What most recipes leave as it is: folded until something in it is filled in."""


class RecipeForm(forms.Form):
    """Every key of a recipe, under its own name, and the name of the split."""

    name = forms.SlugField(label=_("Name"), max_length=80, help_text=_("The same name again makes the next version."))
    rounds = _several(_("Rounds"), [], _("What people kept in them. Choose rounds or a corpus."))
    corpus = forms.ChoiceField(
        label=_("Corpus"), choices=[], required=False, help_text=_("Everything in it that is ready, kept or frozen.")
    )
    outcome = forms.ChoiceField(
        label=_("Outcome"),
        choices=[("kept", _("kept")), ("rejected", _("rejected")), ("disputed", _("disputed"))],
        required=False,
    )
    consensus = forms.ChoiceField(label=_("Decided by"), choices=_labelled(CONSENSUS, CONSENSUS_LABELS), required=False)
    consensus_share = _number(_("Share that decides"), 0, 1, _("With a share of the votes, from 0 to 1."))
    minimum_people = _count(_("People per item, at least"))
    minimum_agreement = _number(
        _("Agreement per item, at least"), 0, 1, _("Share of its people who gave its most frequent verdict.")
    )
    agreement_measure = forms.ChoiceField(
        label=_("Agreement of the whole split"), choices=_labelled(MEASURES, MEASURE_LABELS), required=False
    )
    agreement_at_least = _number(_("At least"), 0, 1, _("A gate of the release: 0.667 unless you say otherwise."))
    agreement_whole = forms.BooleanField(label=_("with its whole interval"), required=False)
    benchmark = forms.ChoiceField(label=_("Benchmark"), choices=benchmark_choices, required=False)
    language = forms.ChoiceField(label=_("Language"), choices=[ANY, *LANGUAGES], required=False)
    source = forms.ChoiceField(label=_("Source"), choices=[ANY, *Dialogue.Source.choices], required=False)
    valence = forms.CharField(label=_("Valence"), max_length=20, required=False)
    categories = forms.CharField(
        label=_("Categories"), required=False, max_length=4_000, help_text=_("Keys with commas between; empty is all.")
    )
    size = _count(_("Items, at most"), _("Empty is no limit."), least=1)
    per_category = _count(_("Items per category, at most"), _("Empty is no limit."), least=1)
    balance = _several(
        _("Share the size out evenly over"), _labelled(BALANCED, BALANCED_LABELS), _("Needs a number of items.")
    )
    targets = forms.CharField(
        label=_("Targets"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text=_(
            "One per line, such as: category interpersonal_empathy = 40, or: voice * = 25 for every other voice."
        ),
    )
    strict = forms.BooleanField(label=_("Refuse to freeze when a target is missed"), required=False)
    minimum_spread = _number(
        _("Spread of grades, at least"), 0, 3, _("Between the median grades of its best and worst version.")
    )
    minimum_item_rest = _number(
        _("Item-rest correlation, at least"),
        -1,
        1,
        _("Of people's grades here with their grades elsewhere; empty is any."),
    )
    largest_topic_share = _number(_("Largest topic, at most"), 0, 1, _("As a share of the split; empty is any."))
    topic_entropy_at_least = _number(
        _("Evenness of topics, at least"), 0, 1, _("Entropy over its maximum: 1 when all topics are as frequent.")
    )
    difficulty_from = _number(_("Difficulty from"), 0, 1, _("How far apart people's grades of the same version lie."))
    difficulty_to = _number(_("Difficulty to"), 0, 1)
    indivisible = _several(
        _("Never on two sides"),
        _labelled(GROUPS, GROUP_LABELS),
        _("Items that belong to groups on different sides are left out."),
    )
    dev = _number(_("Share for development"), 0, 1)
    train = _number(_("Share for training"), 0, 1, _("The rest is the test side."))
    seed = _count(_("Seed"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rounds = Round.objects.filter(corpus__isnull=False).values_list("name", flat=True)
        corpora = Corpus.objects.values_list("name", flat=True)
        self.fields["rounds"].choices = [(name, name) for name in dict.fromkeys(rounds)]  # type: ignore[attr-defined]
        self.fields["corpus"].choices = [("", _("none")), *((name, name) for name in corpora)]  # type: ignore[attr-defined]

    def opened(self) -> set[str]:
        """The folded sections in which something was filled in, or is wrong."""
        plain = self.initial_of(Recipe())
        return {
            section
            for section, names in SECTIONS.items()
            if any(name in self.errors or str(self[name].value() or "") != str(plain.get(name) or "") for name in names)
        }

    def recipe(self) -> Recipe:
        """The recipe of a form whose fields are valid. InvalidInput for what no single field can tell."""
        data: dict[str, Any] = {}
        for name, value in self.cleaned_data.items():
            if name in {"name", "targets", "categories"} or value in (None, "", []):
                continue
            data[name] = value
        data["categories"] = [
            part.strip() for part in self.cleaned_data.get("categories", "").split(",") if part.strip()
        ]
        data["targets"] = targets_read(self.cleaned_data.get("targets", ""))
        return Recipe.from_dict(data)

    def clean(self) -> dict[str, Any]:
        """Add what only the whole recipe tells, at the field that it is about."""
        if not any(field in self.errors for field in self.fields if field != "name"):
            try:
                recipe = self.recipe()
                recipe_names_check(recipe)
                self.sources = sources_of(recipe)
                if not self.sources.rounds and self.sources.corpus is None:
                    raise InvalidInput(gettext("Choose rounds or a corpus."), field="rounds")
            except StudioError as error:
                self.add_error(error.field if error.field in self.fields else None, error.message)
        return self.cleaned_data

    sources: Sources = Sources()

    @staticmethod
    def initial_of(recipe: Recipe) -> dict[str, Any]:
        """A recipe as the form shows it."""
        told = recipe.told()
        told["categories"] = ", ".join(recipe.categories)
        told["targets"] = "\n".join(
            f"{name} {value} = {number}" for name, wanted in recipe.targets.items() for value, number in wanted.items()
        )
        plain = {name: getattr(recipe, name) for name in ("outcome", "consensus", "agreement_measure")}
        return plain | {"agreement_at_least": recipe.agreement_at_least} | told


def targets_read(text: str) -> dict[str, dict[str, int]]:
    """``field value = number``, one per line. InvalidInput names the line that is not so."""
    found: dict[str, dict[str, int]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        left, equals, count = line.rpartition("=")
        name, _space, value = left.strip().partition(" ")
        if not equals or not count.strip().isdecimal() or not value.strip():
            raise InvalidInput(
                gettext("Line %(number)d of the targets should read: field value = number.") % {"number": number},
                field="targets",
            )
        found.setdefault(name, {})[value.strip()] = int(count)
    return found


class RecipeFileForm(forms.Form):
    """A recipe as a file, to fill the form with."""

    file = forms.FileField(label=_("Recipe file"), help_text=_("TOML or JSON; it fills the form."))

    def recipe(self) -> Recipe:
        """Read the file. InvalidInput says what is wrong with it."""
        given = self.cleaned_data["file"]
        if given.size > MOST_BYTES:
            raise InvalidInput(gettext("A recipe is a short text; this file is too large."), field="file")
        try:
            text = given.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInput(gettext("This file is no text in UTF-8."), field="file") from error
        return Recipe.from_json(text) if given.name.lower().endswith(".json") else Recipe.from_toml(text)


class AuditForm(forms.Form):
    """Alone, or against another split."""

    against = forms.ChoiceField(label=_("Against"), choices=[], required=False)

    def __init__(self, *args: Any, split: Split, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.others = Split.objects.exclude(pk=split.pk).defer("manifest", "recipe")
        names = [(other.uid, str(other)) for other in self.others]
        self.fields["against"].choices = [("", _("nothing: alone")), *names]  # type: ignore[attr-defined]

    def other(self) -> Split | None:
        uid = self.cleaned_data["against"]
        return self.others.get(uid=uid) if uid else None


class ReasonForm(forms.Form):
    """Why somebody does what cannot be undone."""

    reason = forms.CharField(label=_("Reason"), max_length=2_000, widget=forms.Textarea(attrs={"rows": 2}))


class WaiverForm(ReasonForm):
    gate = forms.ChoiceField(label=_("Gate"), choices=_labelled(GATES, GATE_LABELS))


class WithdrawalForm(ReasonForm):
    items = forms.CharField(
        label=_("Items"), max_length=4_000, help_text=_("Their ids, as the list shows them, with spaces between.")
    )

    def ids(self) -> list[str]:
        return list(dict.fromkeys(self.cleaned_data["items"].replace(",", " ").split()))


class PublicForm(forms.Form):
    public = forms.BooleanField(required=False)
