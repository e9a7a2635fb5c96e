"""The reporting checklist for human baselines (Wei et al. 2025, arXiv 2506.13776), filled in from the database.

What the database does not know stays open, and is said to be: nobody's silence becomes a "no". The questions are worded anew;
their numbers are those of the published checklist.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from eqstudio.benchmarks import benchmark_get
from evaluation.models import Study
from evaluation.services.checklist_declared import DECLARED, Declared, declared_of
from evaluation.services.checklist_facts import Facts, facts_of

QUESTIONS = Path(__file__).resolve().parent / "checklist.toml"


@dataclass(frozen=True)
class ChecklistRow:
    """``answer`` is None where the database does not know; ``basis`` says what a known answer rests on."""

    number: str
    question: str
    answer: str | None
    follows: bool


@dataclass(frozen=True)
class ChecklistBlock:
    title: str
    rows: tuple[ChecklistRow, ...]


@cache
def questions() -> list[dict[str, Any]]:
    """The blocks with their questions, in English and Chinese."""
    with QUESTIONS.open("rb") as handle:
        found: list[dict[str, Any]] = tomllib.load(handle)["block"]
    return found


def checklist_build(*, study: Study, comparison: Mapping[str, Any]) -> list[ChecklistBlock]:
    """Every question with its answer or without; reads only. ``comparison`` is what ``comparison_build`` gives."""
    language = "zh" if (get_language() or "en").startswith("zh") else "en"
    facts = facts_of(study, benchmark_get(study.benchmark), comparison)
    declared = declared_of(study)
    return [
        ChecklistBlock(
            block[language],
            tuple(
                ChecklistRow(
                    number=row["number"],
                    question=row[language],
                    answer=_answer(row["number"], facts, declared),
                    follows=row["number"].count(".") > 1 and not row["number"].startswith("5.1"),
                )
                for row in block["question"]
            ),
        )
        for block in questions()
    ]


def _answer(number: str, facts: Facts, declared: Declared) -> str | None:
    """What was declared, and what the rows tell; both where both know something of how quality was kept."""
    told = DECLARED[number](declared) if number in DECLARED else None
    known = ANSWERS[number](facts) if number in ANSWERS else None
    if number in BOTH:
        return "; ".join(one for one in (known, told) if one) or None
    return told or known


def _yes(flag: bool | None) -> str | None:  # noqa: FBT001 -- a fact, not an option
    return None if flag is None else _("Yes") if flag else _("No")


def _people(facts: Facts, words: Callable[[], str]) -> str | None:
    """Something that only is so when somebody has answered."""
    return words() if facts.people else None


def _per_item(facts: Facts) -> str:
    return _("%(least)s to %(most)s, mean %(mean).1f") % facts.per_item


def _length(facts: Facts) -> str:
    return _("%(least)s to %(most)s dialogues, mean %(mean).1f; people may stop and come back") % facts.per_person


BOTH = frozenset({"3.2.1", "3.2.2"})

ANSWERS: dict[str, Callable[[Facts], str | None]] = {
    "0.5": lambda _facts: _("Capabilities"),
    "0.6": lambda _facts: _("Audio, with text"),
    "0.7": lambda facts: ", ".join(facts.languages) or None,
    "0.8": lambda facts: str(facts.items),
    "0.9": lambda facts: facts.model_items,
    "0.10": lambda facts: facts.model_runs,
    "1.1": lambda facts: str(facts.people),
    "1.2": lambda facts: _people(facts, lambda: str(facts.items_by_people)),
    "1.2.1": lambda facts: (
        _("Not a sample: people were asked every item") if facts.items_by_people == facts.items else None
    ),
    "1.3": lambda facts: _people(facts, lambda: _per_item(facts)),
    "1.4": lambda facts: _people(facts, lambda: _length(facts)),
    "1.5": lambda _facts: _("Yes: one exam, the same items, instructions, sound and scoring for people and models"),
    "1.7": lambda facts: facts.effort,
    "2.4": lambda facts: facts.authors,
    "3.1": lambda facts: _people(facts, lambda: _length(facts)),
    "3.1.1": lambda _facts: _("Yes: an order of their own for each person, and stored with each answer"),
    "3.2": lambda facts: (
        _("Partial: every clip must be heard to %(share).0f %% before an answer is taken")
        % {"share": 100 * facts.gate_share}
    ),
    "3.2.1": lambda _facts: _("Share of each clip that was heard; sittings of those who can read the key are kept out"),
    "3.2.2": lambda facts: _("%(n)s people kept out") % {"n": facts.knowing},
    "3.3": lambda _facts: _("Partial: the same questions, options and sound; a page for people, messages for models"),
    "3.3.1": lambda facts: _("Yes") if facts.people and facts.models else None,
    "3.4": lambda facts: _("Yes: one text, hash %(hash)s") % {"hash": facts.instructions_hash[:12]},
    "3.6": lambda facts: _people(facts, lambda: _("No: people are asked for their choice only")),
    "4.1": lambda facts: _yes(facts.tested),
    "4.1.1": lambda facts: facts.tests or None,
    "4.2": lambda facts: _people(facts, lambda: _("Yes")),
    "4.2.1": lambda facts: _people(facts, lambda: _("Interval (95 %), persons and items resampled together")),
    "4.3": lambda facts: _people(
        facts, lambda: _("Yes: the mean person against each system; other baselines are named")
    ),
    "4.4": lambda _facts: _("Yes: one scorer"),
    "4.5": lambda _facts: _("Yes: one parser and one scorer, without a judge"),
    "5.1.2": lambda _facts: _("Yes: in the release and on the page of the study"),
    "5.1.3": lambda facts: facts.seconds,
    "5.1.5": lambda facts: _people(facts, lambda: _("%(done)s of %(begun)s finished") % facts.finished),
}
"""What can be told from rows. What only people know (recruitment, pay, ethics) is told by the protocol; publication by nobody."""


def checklist_markdown(study: Study, blocks: list[ChecklistBlock], differences: Sequence[str]) -> str:
    """The report as a document."""
    lines = [f"# {_('Human baseline report: %(study)s') % {'study': study.name}}", ""]
    for block in blocks:
        lines += [f"## {block.title}", ""]
        for row in block.rows:
            lines.append(f"- **{row.number}** {row.question}  \n  {row.answer or _('not reported')}")
        lines.append("")
    lines += [f"## {_('What people and models did not get alike')}", ""]
    lines += [*(f"- {one}" for one in differences), ""]
    return "\n".join(lines)
