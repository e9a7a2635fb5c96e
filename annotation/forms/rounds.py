"""What a researcher fills in about a round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.domain.round_query import RoundQuery
from annotation.domain.round_rules import QUESTIONS, skills_read
from annotation.forms.choices import ANY, benchmark_choices, category_choices, valence_choices
from annotation.models import Round
from eqstudio.errors import InvalidInput
from generation.models import LANGUAGES, Corpus, Dialogue

RULES = [
    ("k_of_n", _("so many equal votes (k of n)")),
    ("majority", _("the most frequent vote")),
    ("dawid_skene", _("weighted by how reliable each person is (Dawid and Skene)")),
]
GRADE_RULES = [
    ("median", _("the median")),
    ("majority", _("the most frequent grade")),
    ("dawid_skene", _("weighted by how reliable each person is (Dawid and Skene)")),
]
ORDERS = [
    ("fewest_first", _("fewest judgements first")),
    ("least_agreed_first", _("least agreed first")),
    ("category_balanced", _("categories in turn")),
    ("random", _("random, everybody from a place of their own")),
    ("fixed", _("the same for everybody")),
]
COMMENTS = [("optional", _("may be given")), ("required", _("must be given")), ("off", _("is not asked"))]
_WHEN = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
Groups = tuple[tuple[Any, tuple[str, ...]], ...]
_QUERY = ("categories", "sources", "valences")


@dataclass(frozen=True)
class Section:
    """Fields that belong together. ``folded`` ones are opened by whoever wants something out of the ordinary."""

    title: Any
    fields: list[forms.BoundField]
    folded: bool

    @property
    def wrong(self) -> bool:
        return any(field.errors for field in self.fields)


class Sections(forms.Form):
    """A form whose fields are shown in named groups."""

    groups: Groups = ()
    unfolded = 1

    def sections(self) -> Iterator[Section]:
        """The groups, for the template."""
        for place, (title, names) in enumerate(self.groups):
            yield Section(title, [self[name] for name in names], folded=place >= self.unfolded)


class RoundRulesForm(Sections):
    """The rules of a round, new or at work."""

    people_per_item = forms.IntegerField(label=_("People per item"), min_value=1, max_value=50, initial=4)
    people_at_most = forms.IntegerField(
        label=_("People for an undecided item, at most"),
        min_value=1,
        max_value=50,
        required=False,
        help_text=_(
            "While the votes decide nothing, one more person is asked, up to this many. Empty asks nobody more."
        ),
    )
    rule = forms.ChoiceField(label=_("What decides keep or reject"), choices=RULES, help_text=_("A tie stays a tie."))
    agree_needed = forms.IntegerField(
        label=_("Votes that decide"),
        min_value=1,
        max_value=50,
        initial=3,
        help_text=_("An item without so many equal votes is disputed and goes to an expert."),
    )
    grade_rule = forms.ChoiceField(label=_("What decides a grade"), choices=GRADE_RULES)
    gate = forms.IntegerField(
        label=_("Share to be heard, in per cent"),
        min_value=0,
        max_value=100,
        initial=90,
        help_text=_("Of every clip, before it can be graded."),
    )
    show_transcript = forms.BooleanField(label=_("Show what is said as text"), required=False, initial=True)
    rubric_language = forms.ChoiceField(
        label=_("Language of the rubric"),
        choices=[("", _("that of each person's pages")), *LANGUAGES],
        required=False,
    )
    confidence = forms.BooleanField(label=_("Ask how sure people are"), required=False, help_text=_("From 1 to 4."))
    emotion = forms.BooleanField(label=_("Ask for the emotion in a word"), required=False)
    naturalness = forms.BooleanField(label=_("Ask how natural it sounds"), required=False)
    comment = forms.ChoiceField(label=_("A comment"), choices=COMMENTS, initial="optional")
    show_feedback = forms.BooleanField(
        label=_("Show people how they compare"), required=False, help_text=_("Only once an item is closed.")
    )
    guidelines = forms.CharField(
        label=_("Guidelines"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=_("Shown beside every item. Examples with sound are added on the settings of the round."),
    )
    invited_only = forms.BooleanField(label=_("Only people who are invited"), required=False)
    skills_needed = forms.CharField(
        label=_("Skills needed"),
        required=False,
        max_length=400,
        help_text=_("Separated by commas, as on the pages of the people. Empty asks for none."),
    )
    language_needed = forms.BooleanField(label=_("Only people who speak the item's language"), required=False)
    exclude_authors = forms.BooleanField(label=_("Not people who asked for the item"), required=False, initial=True)
    exclude_twins = forms.BooleanField(
        label=_("Not people who know its story"),
        required=False,
        initial=True,
        help_text=_("From another dialogue that was made of the same story."),
    )
    order = forms.ChoiceField(label=_("Order of items"), choices=ORDERS)
    items_per_person = forms.IntegerField(label=_("Items a person, at most"), min_value=1, required=False)
    items_per_day = forms.IntegerField(label=_("Items a person and day, at most"), min_value=1, required=False)
    items_per_sitting = forms.IntegerField(label=_("Items in one sitting, at most"), min_value=1, required=False)
    sitting_break_minutes = forms.IntegerField(
        label=_("Minutes of a break"),
        min_value=1,
        max_value=1440,
        initial=30,
        help_text=_("A pause of this length begins a new sitting."),
    )
    lease_minutes = forms.IntegerField(
        label=_("Minutes an item stays reserved"), min_value=1, max_value=240, initial=20
    )
    undo_seconds = forms.IntegerField(
        label=_("Seconds to take a judgement back"), min_value=0, max_value=86_400, initial=300
    )
    opens_at = forms.DateTimeField(
        label=_("Opens"), required=False, widget=_WHEN, help_text=_("Empty is at once. UTC.")
    )
    closes_at = forms.DateTimeField(
        label=_("Closes"), required=False, widget=_WHEN, help_text=_("Empty is never. UTC.")
    )

    groups: Groups = (
        (
            _("How many people, and what decides"),
            ("people_per_item", "people_at_most", "rule", "agree_needed", "grade_rule"),
        ),
        (
            _("What people hear and are asked"),
            ("gate", "show_transcript", "rubric_language", *QUESTIONS, "comment", "show_feedback", "guidelines"),
        ),
        (
            _("Who may take part"),
            ("invited_only", "skills_needed", "language_needed", "exclude_authors", "exclude_twins"),
        ),
        (
            _("Order and limits"),
            (
                "order",
                "items_per_person",
                "items_per_day",
                "items_per_sitting",
                "sitting_break_minutes",
                "lease_minutes",
                "undo_seconds",
            ),
        ),
        (_("Dates"), ("opens_at", "closes_at")),
    )

    def clean_skills_needed(self) -> list[str]:
        try:
            return skills_read(self.cleaned_data["skills_needed"])
        except InvalidInput as error:
            raise forms.ValidationError(error.message) from error

    def rules(self) -> dict[str, Any]:
        """What ``round_create`` and ``round_update`` take."""
        data = {name: self.cleaned_data[name] for name in RoundRulesForm.base_fields if name in self.cleaned_data}
        data["gate_share"] = data.pop("gate") / 100
        asked = {name: data.pop(name) for name in QUESTIONS}
        data["questions"] = {**asked, "comment": data.pop("comment")}
        return data


def rules_known(round_: Round) -> dict[str, Any]:
    """What the form shows of a round that exists."""
    known = {name: getattr(round_, name) for name in RoundRulesForm.base_fields if hasattr(round_, name)}
    asked = {name: bool(round_.questions.get(name)) for name in QUESTIONS}
    return {
        **known,
        **asked,
        "gate": round(100 * round_.gate_share),
        "comment": round_.questions.get("comment", "optional"),
        "skills_needed": ", ".join(round_.skills_needed),
    }


class RoundForm(RoundRulesForm):
    """A new review queue: which dialogues, and the rules."""

    unfolded = 2
    name = forms.SlugField(label=_("Name"), max_length=80, help_text=_("Letters, digits, hyphens and underscores."))
    corpus = forms.ModelChoiceField(
        label=_("Corpus"),
        queryset=Corpus.objects.all(),
        to_field_name="uid",
        help_text=_("Its dialogues that are ready go into the round."),
    )
    benchmark = forms.ChoiceField(label=_("Benchmark"), choices=benchmark_choices, required=False)
    language = forms.ChoiceField(label=_("Language"), choices=[ANY, *LANGUAGES], required=False)
    categories = forms.MultipleChoiceField(
        label=_("Categories"), choices=category_choices, required=False, help_text=_("None chosen takes all.")
    )
    sources = forms.MultipleChoiceField(
        label=_("Source"), choices=Dialogue.Source.choices, required=False, widget=forms.CheckboxSelectMultiple
    )
    valences = forms.MultipleChoiceField(
        label=_("Valence"), choices=valence_choices, required=False, widget=forms.CheckboxSelectMultiple
    )
    voices = forms.CharField(
        label=_("Voices"),
        required=False,
        max_length=400,
        help_text=_("Dialogues in which one of these speaks, separated by commas. Empty takes all."),
    )
    clean_only = forms.BooleanField(
        label=_("Only what the quality check found nothing against"), required=False, initial=False
    )
    limit = forms.IntegerField(
        label=_("Dialogues, at most"),
        min_value=1,
        max_value=1_000_000,
        required=False,
        help_text=_("Chosen by chance."),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**53,
        required=False,
        help_text=_("The same seed makes the same choice."),
    )

    groups: Groups = (
        (
            _("Which dialogues"),
            (
                "name",
                "corpus",
                "benchmark",
                "language",
                "categories",
                "sources",
                "valences",
                "voices",
                "clean_only",
                "limit",
                "seed",
            ),
        ),
        *RoundRulesForm.groups,
    )

    def query(self) -> RoundQuery:
        """The part of the form that chooses dialogues."""
        data = self.cleaned_data
        voices = [voice.strip() for voice in (data.get("voices") or "").split(",") if voice.strip()]
        return RoundQuery.from_dict(
            {
                **{name: data.get(name) or [] for name in _QUERY},
                "voices": voices,
                "clean": bool(data.get("clean_only")),
                "limit": data.get("limit") or 0,
                "seed": data.get("seed") or 0,
            }
        )

    def arguments(self) -> dict[str, Any]:
        """What ``round_create`` takes."""
        data = {name: self.cleaned_data[name] for name in ("name", "corpus", "benchmark", "language")}
        seed = self.cleaned_data["seed"] or 0
        return {**data, **self.rules(), "query": self.query().as_dict(), "seed": seed}


class RoundStateForm(forms.Form):
    state = forms.TypedChoiceField(choices=Round.State.choices, coerce=Round.State)
    reason = forms.CharField(
        label=_("Why it is paused"), max_length=300, required=False, help_text=_("People read this on their page.")
    )


class ExampleForm(forms.Form):
    """A worked example: a rendition, the grade it deserves, and why."""

    variant = forms.ChoiceField(label=_("Version"))
    grade = forms.TypedChoiceField(label=_("Grade"), coerce=int, choices=[(grade, str(grade)) for grade in range(1, 5)])
    why = forms.CharField(label=_("Why"), max_length=2_000, widget=forms.Textarea(attrs={"rows": 2}))

    def __init__(self, *args: Any, variants: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["variant"].choices = variants  # type: ignore[attr-defined]
