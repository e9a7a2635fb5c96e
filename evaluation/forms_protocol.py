"""The protocol of a study as a form: one field of the form for one field of the protocol, under its dotted name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from eqstudio.benchmarks import Benchmark, benchmark_get
from evaluation.domain.protocol import Protocol
from evaluation.models import Study
from evaluation.words_protocol import BLOCKS, EXCLUSIONS, FIELDS, benchmark_names, choices_of, value_at

LONG = forms.Textarea(attrs={"rows": 3})
PERCENT = ("execution.gate_share", "analysis.smallest_difference")
RULE = "rule."


def _count(least: int = 1, most: int = 1_000_000, *, initial: int | None = None, help_text: Any = "") -> Any:
    return forms.IntegerField(
        required=least == 0, min_value=least, max_value=most, initial=initial, help_text=help_text, label=""
    )


def _pick(field: str, *, many: bool = False, empty: Any = None, help_text: Any = "") -> Any:
    if many:
        return forms.MultipleChoiceField(
            choices=choices_of(field),
            required=False,
            widget=forms.CheckboxSelectMultiple,
            help_text=help_text,
            label="",
        )
    choices = [*([("", empty)] if empty is not None else []), *choices_of(field)]
    return forms.ChoiceField(choices=choices, required=empty is None, help_text=help_text, label="")


def _tick(help_text: Any = "") -> Any:
    return forms.BooleanField(required=False, help_text=help_text, label="")


def _text(most: int = 1000, *, long: bool = True, help_text: Any = "") -> Any:
    return forms.CharField(
        required=False, max_length=most, widget=LONG if long else forms.TextInput, help_text=help_text, label=""
    )


@dataclass(frozen=True)
class Section:
    """One block of the protocol as a form."""

    name: str
    title: Any
    fields: list[forms.BoundField]
    rules: list[tuple[forms.BoundField, forms.BoundField]]


def _fields(benchmark: Benchmark) -> dict[str, forms.Field]:
    """In the order of the protocol; labels are put on afterwards."""
    names = benchmark_names(benchmark)
    return {
        "design.history": _pick("design.history"),
        "design.order": _pick("design.order"),
        "design.tasks": forms.MultipleChoiceField(
            choices=list(names["design.tasks"].items()),
            required=False,
            widget=forms.CheckboxSelectMultiple,
            label="",
            help_text=_("None ticked: those the benchmark asks by itself."),
        ),
        "design.confidence": _tick(_("From 1 to 5, with each answer.")),
        "design.comment": _tick(),
        "sampling.plan": _pick("sampling.plan"),
        "sampling.size": _count(help_text=_("Not for the plan that asks every item.")),
        "sampling.by": _pick("sampling.by", help_text=_("Only for a stratified sample.")),
        "sampling.seed": forms.IntegerField(label="", help_text=_("The same seed draws the same items again.")),
        "recruitment.population": _text(help_text=_("For instance: adults whose first language is English.")),
        "recruitment.eligibility": _text(),
        "recruitment.languages": _pick("recruitment.languages", many=True),
        "recruitment.source": _pick("recruitment.source", empty=_("not said")),
        "recruitment.screening": _text(),
        "recruitment.people": _count(most=100_000),
        "recruitment.pay": forms.FloatField(required=False, min_value=0, max_value=1_000_000, label=""),
        "recruitment.currency": _text(3, long=False, help_text=_("Three letters, as in GBP.")),
        "recruitment.bonus": _text(400),
        "recruitment.demographics": _pick(
            "recruitment.demographics",
            many=True,
            help_text=_("Always optional, kept apart from the answers, told only for groups of five or more."),
        ),
        "recruitment.consent.ethics": _text(400),
        "recruitment.consent.version": _text(40, long=False),
        **{f"recruitment.consent.text.{one}": _text(20_000) for one in benchmark.languages},
        "execution.pilot": _tick(_("Take this out before you lock. What was answered in a pilot stays out for good.")),
        **{
            f"execution.instructions.{one}": forms.CharField(
                required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 8}), label=""
            )
            for one in benchmark.languages
        },
        "execution.differences": _text(
            2000, help_text=_("Page and prompt have the same text. Write down whatever else is not the same.")
        ),
        "execution.tools": _text(400),
        "execution.no_ai_statement": _tick(),
        "execution.per_sitting": _count(most=100_000, help_text=_("Empty: all of them.")),
        "execution.break_after": _count(most=100_000),
        "execution.max_minutes": _count(most=10_000),
        "execution.headphones": _pick("execution.headphones"),
        "execution.practice": _count(0, 20),
        "execution.attention": _count(0, 50),
        "execution.repeats": _count(0, 50),
        "execution.gate_share": forms.FloatField(min_value=0, max_value=100, label="", help_text=_("In per cent.")),
        "analysis.primary_metric": forms.ChoiceField(
            choices=[("", _("not said")), *names["analysis.primary_metric"].items()], required=False, label=""
        ),
        "analysis.hypotheses": _text(4000, help_text=_("One a line.")),
        "analysis.smallest_difference": forms.FloatField(
            required=False,
            min_value=0,
            max_value=100,
            label="",
            help_text=_("In points of 100. The power page warns when the study cannot see it."),
        ),
        "analysis.baselines": _pick("analysis.baselines", many=True),
    }


class ProtocolForm(forms.Form):
    """The whole protocol; ``content`` gives it as the service takes it."""

    def __init__(self, *args: Any, study: Study, protocol: Protocol, **kwargs: Any) -> None:
        self.study = study
        kwargs["initial"] = _initial(study, protocol)
        super().__init__(*args, **kwargs)
        names = {"en": _("English"), "zh": _("Chinese")}
        for name, field in _fields(benchmark_get(study.benchmark)).items():
            stem, _dot, last = name.rpartition(".")
            field.label = f"{FIELDS[stem]}: {names[last]}" if stem in FIELDS else FIELDS[name]
            if not isinstance(field, forms.MultipleChoiceField) or field.choices:
                self.fields[name] = field
        self._keep_own_questions(protocol)
        for rule, words in EXCLUSIONS.items():
            self.fields[RULE + rule] = forms.BooleanField(required=False, label=words)
            self.fields[f"{RULE}{rule}.threshold"] = forms.FloatField(
                required=False, min_value=0, label=_("Threshold"), help_text=""
            )

    def _keep_own_questions(self, protocol: Protocol) -> None:
        """A protocol from a file may ask people something that this form does not know; it stays."""
        field = self.fields["recruitment.demographics"]
        if isinstance(field, forms.MultipleChoiceField):
            known = choices_of("recruitment.demographics")
            own = [one for one in protocol.recruitment.demographics if one not in dict(known)]
            field.choices = [*known, *((one, one) for one in own)]

    def sections(self) -> Iterator[Section]:
        """The five blocks, for the template."""
        for block, title in BLOCKS.items():
            fields = [self[name] for name in self.fields if name.partition(".")[0] == block]
            rules = [(self[RULE + rule], self[f"{RULE}{rule}.threshold"]) for rule in EXCLUSIONS]
            yield Section(block, title, fields, rules if block == "analysis" else [])

    def content(self) -> dict[str, Any]:
        """What was filled in, as the content of a protocol. Call it on a valid form."""
        found: dict[str, Any] = {}
        for name, value in self.cleaned_data.items():
            if not name.startswith(RULE):
                _put(found, name, _stored(name, value))
        found["analysis"]["exclusions"] = [
            {"rule": rule, "threshold": self.cleaned_data[f"{RULE}{rule}.threshold"]}
            for rule in EXCLUSIONS
            if self.cleaned_data[RULE + rule]
        ]
        return found

    def show(self, field: str | None, message: str) -> None:
        """Put an error of the service beside the field that it is about, or above the form."""
        name = field or ""
        known = next((one for one in self.fields if one == name or one.startswith(f"{name}.")), None) if name else None
        self.add_error(known, message)


def _stored(name: str, value: Any) -> Any:
    """A value of the form as the protocol stores it; None stands for its default."""
    if name in PERCENT:
        return None if value is None else round(value / 100, 6)
    if name == "analysis.hypotheses":
        return [line.strip() for line in value.splitlines() if line.strip()]
    if isinstance(value, str):
        return value.replace("\r\n", "\n").strip()
    return value


_OPTIONAL = {
    "sampling.size",
    "recruitment.people",
    "recruitment.pay",
    "execution.per_sitting",
    "execution.break_after",
    "execution.max_minutes",
    "analysis.smallest_difference",
}


def _put(content: dict[str, Any], name: str, value: Any) -> None:
    """Set a dotted name. An empty choice or count leaves the protocol's own default; an empty text in a language is no text."""
    *path, last = name.split(".")
    for part in path:
        content = content.setdefault(part, {})
    if value is None and name not in _OPTIONAL:
        return
    if value == "" and (
        path[-1:] in (["text"], ["instructions"]) or last in {"history", "order", "plan", "by", "headphones"}
    ):
        return
    content[last] = value


def _initial(study: Study, protocol: Protocol) -> dict[str, Any]:
    content = protocol.model_dump(mode="json")
    found: dict[str, Any] = {}
    for field in FIELDS:
        value = value_at(content, field)
        if isinstance(value, dict):
            found |= {f"{field}.{language}": text for language, text in value.items()}
        elif field == "analysis.hypotheses":
            found[field] = "\n".join(value)
        else:
            found[field] = round(100 * value, 4) if field in PERCENT and value is not None else value
    for language, text in study.instructions.items():
        found.setdefault(f"execution.instructions.{language}", text)
    for one in protocol.analysis.exclusions:
        found |= {RULE + one.rule: True, f"{RULE}{one.rule}.threshold": one.threshold}
    return found
