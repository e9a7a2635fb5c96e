"""What the fields of a protocol and their values are called: one vocabulary for the form, the page and the document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from eqstudio.benchmarks import Benchmark
from evaluation.domain.protocol import Protocol

BLOCKS: dict[str, Any] = {
    "design": gettext_lazy("Design"),
    "sampling": gettext_lazy("Sampling"),
    "recruitment": gettext_lazy("People"),
    "execution": gettext_lazy("Execution"),
    "analysis": gettext_lazy("Analysis"),
}

FIELDS: dict[str, Any] = {
    "design.history": gettext_lazy("What is heard before a later question"),
    "design.order": gettext_lazy("Where the reason stands"),
    "design.tasks": gettext_lazy("Kinds of question"),
    "design.confidence": gettext_lazy("People are asked how sure they are"),
    "design.comment": gettext_lazy("People may say why"),
    "sampling.plan": gettext_lazy("Which items are asked"),
    "sampling.size": gettext_lazy("Number of items"),
    "sampling.by": gettext_lazy("Strata are made of"),
    "sampling.seed": gettext_lazy("Seed of the draw"),
    "recruitment.population": gettext_lazy("For whom the figures may hold"),
    "recruitment.eligibility": gettext_lazy("Who may take part"),
    "recruitment.languages": gettext_lazy("Languages people must understand"),
    "recruitment.source": gettext_lazy("How people are found"),
    "recruitment.people": gettext_lazy("How many people are wanted"),
    "recruitment.pay": gettext_lazy("Pay for one complete sitting"),
    "recruitment.currency": gettext_lazy("Currency"),
    "recruitment.bonus": gettext_lazy("Bonus for doing well"),
    "recruitment.screening": gettext_lazy("Who is turned away while recruiting"),
    "recruitment.demographics": gettext_lazy("What people are asked about themselves"),
    "recruitment.consent.version": gettext_lazy("Version of the consent"),
    "recruitment.consent.text": gettext_lazy("Consent"),
    "recruitment.consent.ethics": gettext_lazy("Ethics: approval, or why none is needed"),
    "execution.pilot": gettext_lazy("Pilot: nothing that is answered counts"),
    "execution.per_sitting": gettext_lazy("Items in one sitting"),
    "execution.break_after": gettext_lazy("Items until a break is offered"),
    "execution.max_minutes": gettext_lazy("Minutes at most"),
    "execution.headphones": gettext_lazy("Headphones"),
    "execution.practice": gettext_lazy("Items for practice, with feedback"),
    "execution.attention": gettext_lazy("Attention items"),
    "execution.repeats": gettext_lazy("Repeated items"),
    "execution.gate_share": gettext_lazy("Share of each clip to be heard"),
    "execution.no_ai_statement": gettext_lazy("People state that they use no AI tools"),
    "execution.tools": gettext_lazy("Tools people may use"),
    "execution.instructions": gettext_lazy("Instructions"),
    "execution.differences": gettext_lazy("What people and models do not get alike"),
    "analysis.primary_metric": gettext_lazy("Figure of the claim"),
    "analysis.hypotheses": gettext_lazy("Hypotheses"),
    "analysis.smallest_difference": gettext_lazy("Smallest difference that counts"),
    "analysis.exclusions": gettext_lazy("Who is left out of the figures"),
    "analysis.baselines": gettext_lazy("Human baselines that are reported"),
}
"""Every field of the protocol, in its order."""

CHOICES: dict[str, dict[str, Any]] = {
    "design.history": {
        "own": gettext_lazy("what the respondent chose"),
        "gold": gettext_lazy("the right version"),
        "none": gettext_lazy("nothing"),
    },
    "design.order": {
        "rationale_first": gettext_lazy("before the answer"),
        "answer_first": gettext_lazy("after the answer"),
    },
    "sampling.plan": {
        "full": gettext_lazy("every item of the split"),
        "random": gettext_lazy("a simple random sample"),
        "stratified": gettext_lazy("a stratified sample, in proportion"),
    },
    "sampling.by": {
        "category": gettext_lazy("category"),
        "language": gettext_lazy("language"),
        "source": gettext_lazy("source"),
        "valence": gettext_lazy("valence"),
    },
    "recruitment.source": {
        "convenience": gettext_lazy("whoever is at hand"),
        "crowd": gettext_lazy("a crowd-work service"),
        "panel": gettext_lazy("a panel"),
        "expert": gettext_lazy("experts, by name"),
    },
    "recruitment.languages": {"en": gettext_lazy("English"), "zh": gettext_lazy("Chinese")},
    "recruitment.demographics": {
        "age_band": gettext_lazy("age band"),
        "gender": gettext_lazy("gender"),
        "native_language": gettext_lazy("first language"),
        "education": gettext_lazy("education"),
        "hearing": gettext_lazy("hearing"),
        "expertise": gettext_lazy("expertise"),
    },
    "execution.headphones": {
        "off": gettext_lazy("not asked for"),
        "asked": gettext_lazy("asked for"),
        "required": gettext_lazy("checked, and required"),
    },
    "analysis.baselines": {
        "mean": gettext_lazy("the mean person"),
        "median": gettext_lazy("the median person"),
        "best": gettext_lazy("the best person"),
        "majority": gettext_lazy("the majority"),
        "experts": gettext_lazy("experts only"),
    },
}

UNSET: dict[str, Any] = {
    "design.tasks": gettext_lazy("those the benchmark asks by itself"),
    "sampling.size": gettext_lazy("all of them"),
    "execution.per_sitting": gettext_lazy("all of them"),
    "execution.break_after": gettext_lazy("no break is offered; people may stop and come back"),
    "execution.max_minutes": gettext_lazy("no limit"),
    "execution.instructions": gettext_lazy("the benchmark's own"),
    "analysis.exclusions": gettext_lazy("nobody by a rule"),
}
"""What it means that nothing is set, where it means something. Everywhere else it is not reported."""

EXCLUSIONS: dict[str, Any] = {
    "attention_failed": gettext_lazy("misses attention items (share of them, from)"),
    "too_fast": gettext_lazy("answers before the sound can have ended (share of answers, above)"),
    "straight_lined": gettext_lazy("gives the same answer in a row (how often, from)"),
    "same_slot": gettext_lazy("chooses the same slot (share of choices, above)"),
    "inconsistent_repeats": gettext_lazy("answers repeated items otherwise (share of them, from)"),
    "headphones_failed": gettext_lazy("fails the headphone check"),
    "incomplete": gettext_lazy("does not finish (share of the items answered, below)"),
    "exposed_before": gettext_lazy("had met items before (how many, above)"),
    "can_read_key": gettext_lazy("can read the key"),
}
"""Rules that leave somebody out; in brackets what the threshold counts and on which side of it a person is left out."""


def choices_of(field: str) -> list[tuple[str, Any]]:
    return list(CHOICES[field].items())


def protocol_told(
    protocol: Protocol, names: Mapping[str, Mapping[str, Any]] | None = None
) -> list[tuple[str, Any, list[tuple[str, Any, str]]]]:
    """The protocol to be read: for each block its name and words, and its fields as (dotted name, label, value in words). A field
    of which nothing is known has empty words. ``names``: what a benchmark calls the values of some fields.
    """
    content = protocol.model_dump(mode="json")
    blocks: dict[str, list[tuple[str, Any, str]]] = {name: [] for name in BLOCKS}
    for field, label in FIELDS.items():
        blocks[field.partition(".")[0]].append((field, label, value_words(field, value_at(content, field), names)))
    return [(name, BLOCKS[name], rows) for name, rows in blocks.items()]


def value_at(content: dict[str, Any], field: str) -> Any:
    """The value under a dotted name; None where there is none."""
    value: Any = content
    for part in field.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def value_words(field: str, value: Any, names: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """A value as a reader would say it; empty where nothing is known."""
    if value in (None, "", [], {}):
        return str(UNSET.get(field, ""))
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if field in {"execution.gate_share", "analysis.smallest_difference"}:
        return _("%(points)g %%") % {"points": round(100 * value, 4)}
    known = CHOICES.get(field) or (names or {}).get(field) or {}
    if isinstance(value, list):
        return _list_words(value, known)
    if isinstance(value, dict):
        return "\n\n".join(f"[{name}] {text}" for name, text in value.items())
    return str(known.get(value, value))


def _list_words(values: list[Any], known: Mapping[str, Any]) -> str:
    """Several of a choice in one line; texts and rules one a line."""
    if known:
        return ", ".join(str(known.get(one, one)) for one in values)
    return "\n".join(_exclusion(one) if isinstance(one, dict) else one for one in values)


def _exclusion(one: dict[str, Any]) -> str:
    name = str(EXCLUSIONS[one["rule"]])
    return name if one["threshold"] is None else f"{name}: {one['threshold']:g}"


def benchmark_names(benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """What a benchmark calls its figures and tasks, in the language of the page."""
    language = "zh" if (get_language() or "en").startswith("zh") else "en"
    return {
        "analysis.primary_metric": {metric.name: metric.label[language] for metric in benchmark.metrics},
        "design.tasks": {name: text[language] for name, text in benchmark.tasks.items()},
    }


def field_label(field: str) -> str:
    """The label of a field; a part of the protocol that is no single field is told by its own name."""
    return str(FIELDS.get(field, field))
