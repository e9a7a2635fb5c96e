"""What the protocol of a study answers in the reporting checklist. What it leaves open stays open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.domain.power import Plan, design_effect
from evaluation.domain.protocol import Protocol
from evaluation.models import Participant, ProtocolVersion, Respondent, Sitting, Study
from evaluation.selectors import answers_counted, planned_of, protocol_latest, protocol_of, sample_of
from evaluation.selectors.exclusions import excluded_of
from evaluation.selectors.participants import hourly_pay, people_lines
from evaluation.selectors.planned import Planned
from evaluation.selectors.sampled import Sample
from evaluation.words_protocol import value_words

LIKENESS = 0.3
"""How alike items of one prompt are assumed to be before anybody has answered; the power page lets one try others."""


@dataclass(frozen=True)
class Declared:
    """A protocol with what was kept of it. ``version`` is None where nothing was ever saved: defaults declare nothing."""

    study: Study
    protocol: Protocol
    version: ProtocolVersion | None
    sample: Sample
    planned: Planned
    answered: bool
    piloted: int
    screened_out: int
    excluded: int
    hourly: float | None

    def words(self, field: str) -> str | None:
        """A field that may be empty, in words."""
        block, _dot, name = field.partition(".")
        value = self.protocol.model_dump(mode="json")[block][name]
        return value_words(field, value) or None if value not in (None, "", []) else None


def declared_of(study: Study) -> Declared:
    """Reads only; a fixed number of queries."""
    protocol = protocol_of(study)
    pilots = Sitting.objects.filter(respondent__study=study, pilot=True, respondent__kind=Respondent.Kind.PERSON)
    out = Participant.objects.filter(study=study, outcome=Participant.Outcome.SCREENED_OUT)
    return Declared(
        study=study,
        protocol=protocol,
        version=protocol_latest(study),
        sample=sample_of(study=study, sampling=protocol.sampling),
        planned=planned_of(study=study, protocol=protocol),
        answered=answers_counted(study),
        piloted=pilots.values("respondent").distinct().count(),
        screened_out=out.count(),
        excluded=len(excluded_of(study)),
        hourly=hourly_pay(lines=people_lines(study=study), pay=protocol.recruitment.pay),
    )


def plan_of(declared: Declared) -> Plan | None:
    """The size that was planned, where the protocol says how many people are wanted."""
    if declared.protocol.recruitment.people is None or declared.planned.items == 0:
        return None
    planned = declared.planned
    plan = Plan(items=planned.items, people=planned.people)
    return replace(plan, deff=design_effect(planned.cluster_size, LIKENESS))


def _sampled(declared: Declared) -> str | None:
    if declared.sample.plan == "full":
        return None
    plan = value_words("sampling.plan", declared.sample.plan)
    return _("%(items)s of %(whole)s items: %(plan)s, seed %(seed)s; the probability of each is stored") % {
        "items": declared.sample.items,
        "whole": declared.sample.whole,
        "plan": plan,
        "seed": declared.protocol.sampling.seed,
    }


def _rounds(declared: Declared) -> str | None:
    told = []
    if declared.piloted:
        told.append(
            ngettext(
                "a pilot with %(n)s person, kept out of every figure",
                "a pilot with %(n)s people, kept out of every figure",
                declared.piloted,
            )
            % {"n": declared.piloted}
        )
    if declared.study.split.round is not None:
        told.append(_("every item was judged by people before"))
    return _("Yes: %(what)s") % {"what": "; ".join(told)} if told else None


def _power(declared: Declared) -> str | None:
    if plan_of(declared) is None or not declared.planned.claimed:
        return None
    return _("Yes: for %(items)s items and %(people)s people, design effect from the clusters of the items") % {
        "items": declared.planned.items,
        "people": declared.planned.people,
    }


def _detectable(declared: Declared) -> str | None:
    plan = plan_of(declared)
    if plan is None or not declared.planned.claimed:
        return None
    return _(
        "%(mde).1f points with power 0.8 (two-sided 0.05); %(claim)g points were called a difference that counts"
    ) % {
        "mde": 100 * plan.detectable(),
        "claim": round(100 * declared.planned.claim, 4),
    }


def _registered(declared: Declared) -> str | None:
    study, version = declared.study, declared.version
    if study.locked_at and version:
        return _("Yes: locked on %(time)s, hash %(hash)s") % {
            "time": study.locked_at.strftime("%Y-%m-%d %H:%M UTC"),
            "hash": version.hash[:12],
        }
    return _("No: the first answer came before any protocol was locked") if declared.answered else None


def _criteria(declared: Declared) -> str | None:
    recruitment = declared.protocol.recruitment
    told = [recruitment.eligibility, value_words("recruitment.languages", list(recruitment.languages))]
    return "; ".join(one for one in told if one) or None


def _screened(declared: Declared) -> str | None:
    execution, recruitment = declared.protocol.execution, declared.protocol.recruitment
    if recruitment.screening or execution.headphones == "required":
        return _("Yes")
    return None


def _screening(declared: Declared) -> str | None:
    told = [declared.protocol.recruitment.screening]
    if declared.protocol.execution.headphones == "required":
        told.append(_("a headphone check that has to be passed"))
    return "; ".join(one for one in told if one) or None


def _screened_out(declared: Declared) -> str | None:
    if _screened(declared) is None:
        return None
    return ngettext("%(n)s person", "%(n)s people", declared.screened_out) % {"n": declared.screened_out}


def _exposed(declared: Declared) -> str | None:
    if any(one.rule == "exposed_before" for one in declared.protocol.analysis.exclusions):
        return _("Yes: nobody is asked an item, or its twin, that they wrote or judged")
    return None


def _trained(declared: Declared) -> str | None:
    if declared.version is None:
        return None
    return _("Yes") if declared.protocol.execution.practice else _("No")


def _training(declared: Declared) -> str | None:
    practice = declared.protocol.execution.practice
    if not practice:
        return None
    return ngettext(
        "%(n)s item with feedback, kept out of the data", "%(n)s items with feedback, kept out of the data", practice
    ) % {"n": practice}


def _training_paid(declared: Declared) -> str | None:
    if not declared.protocol.execution.practice or not declared.protocol.recruitment.pay:
        return None
    return _("Yes: it is part of the sitting that is paid")


def _paid(declared: Declared) -> str | None:
    pay = declared.protocol.recruitment.pay
    return None if pay is None else _("Yes") if pay else _("No")


def _pay(declared: Declared) -> str | None:
    recruitment = declared.protocol.recruitment
    if not recruitment.pay:
        return None
    told = _("%(pay)g %(currency)s for a complete sitting") % {"pay": recruitment.pay, "currency": recruitment.currency}
    if declared.hourly is None:
        return told
    hourly = _("%(hourly).2f %(currency)s an hour at the median active time") % {
        "hourly": declared.hourly,
        "currency": recruitment.currency,
    }
    return f"{told}; {hourly}"


def _bonus(declared: Declared) -> str | None:
    return _("Yes") if declared.protocol.recruitment.bonus else None


def _alike(declared: Declared) -> str | None:
    if not declared.protocol.recruitment.pay:
        return None
    return _("No: with a bonus") if declared.protocol.recruitment.bonus else _("Yes: each complete sitting the same")


def _left_out(declared: Declared) -> str | None:
    rules = declared.words("analysis.exclusions")
    if rules is None:
        return None
    return _("Declared beforehand: %(rules)s") % {"rules": rules.replace("\n", "; ")}


def _tools_kept(declared: Declared) -> str | None:
    return _("People state that they use no AI tools") if declared.protocol.execution.no_ai_statement else None


def _reasons(declared: Declared) -> str | None:
    return _("Partial: people may say why, in their own words") if declared.protocol.design.comment else None


def _robust(declared: Declared) -> str | None:
    if not declared.protocol.analysis.exclusions:
        return None
    return _("Shown below: with nobody left out, by all rules, and by each alone")


def _demographics(declared: Declared) -> str | None:
    asked = declared.words("recruitment.demographics")
    if asked is None:
        return None
    return _("Yes, for groups of five or more: %(asked)s") % {"asked": asked}


DECLARED: Mapping[str, Callable[[Declared], str | None]] = {
    "1.2.1": _sampled,
    "1.6": _rounds,
    "1.8": _power,
    "1.8.1": _detectable,
    "1.9": lambda declared: declared.protocol.recruitment.consent.ethics or None,
    "1.10": _registered,
    "2.1": lambda declared: declared.words("recruitment.population"),
    "2.1.1": _criteria,
    "2.2": lambda declared: declared.words("recruitment.source"),
    "2.3": _screened,
    "2.3.1": _screening,
    "2.3.2": _screened_out,
    "2.5": _exposed,
    "2.6": _trained,
    "2.6.1": _training,
    "2.6.2": _training_paid,
    "2.7": _paid,
    "2.7.1": _pay,
    "2.7.2": _bonus,
    "2.7.2.1": lambda declared: declared.words("recruitment.bonus"),
    "2.7.3": _alike,
    "2.7.3.1": lambda declared: declared.words("recruitment.bonus"),
    "3.2.1": _left_out,
    "3.2.2": lambda declared: (
        _("%(n)s people by the declared rules") % {"n": declared.excluded}
        if declared.protocol.analysis.exclusions
        else None
    ),
    "3.3.2": lambda declared: declared.words("execution.differences"),
    "3.5": lambda declared: declared.words("execution.tools"),
    "3.5.1": _tools_kept,
    "3.6": _reasons,
    "4.6": _robust,
    "5.1.1": _demographics,
    "5.1.4": _tools_kept,
}
"""By the number of the question. An answer stands before what the database alone can tell of the same question."""


def differences_of(declared: Declared, *, hears: bool = True, both_orders: bool = True) -> list[str]:
    """Everything that people and models did not get alike: what the studio knows of itself, and what the protocol writes down.
    ``both_orders``: every model was asked each item equally often in both orders of the options.
    """
    execution, design = declared.protocol.execution, declared.protocol.design
    found = [
        _("People have a page with players; models are given messages that hold the same text and the same sound."),
        _("People have to hear %(share)g %% of every clip before they answer; of a model that cannot be known.")
        % {"share": round(100 * execution.gate_share, 2)},
        _("A person answers in one order of the options; a model is asked in both.")
        if both_orders
        else _("A person answers in one order of the options; not every model was asked in both equally often."),
    ]
    if execution.practice or execution.attention or execution.repeats:
        found.append(
            _(
                "Only people: %(practice)s items for practice, %(attention)s attention items, %(repeats)s repeated items."
            )
            % {"practice": execution.practice, "attention": execution.attention, "repeats": execution.repeats}
        )
    if design.confidence or design.comment:
        found.append(_("Only people are asked how sure they are or why; what they say there is not scored."))
    if execution.per_sitting:
        found.append(_("A person is asked %(n)s items in one sitting.") % {"n": execution.per_sitting})
    if not hears:
        found.append(_("Some systems answered without the sound, or with another: their names say so."))
    if execution.differences:
        found.append(execution.differences)
    return found
