"""The gates of a release: how each stands, why, and who let a shut one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from annotation.domain.curation import Recipe
from annotation.models import Release, Split, Waiver
from annotation.selectors.rights import corpora_unlicensed, split_licences, without_consent
from annotation.selectors.splits import latest_audits
from annotation.words_curation import MEASURE_LABELS, shut_words
from eqstudio.estimates import Estimate
from eqstudio.templatetags.studio import figure

GATES = ("agreement", "audit", "licence", "consent")
_NAMED = 10


@dataclass(frozen=True)
class Gate:
    """``open`` by itself, or shut for the reason ``why``; ``waiver`` is an admin's word that it does not matter. ``found`` names
    what shut it, where that can be several things of which a later look finds more.
    """

    name: str
    open: bool
    why: str
    found: tuple[str, ...] = ()
    waiver: Waiver | None = None

    @property
    def passes(self) -> bool:
        return self.open or self.waiver is not None

    def waived(self, waiver: Waiver | None) -> Gate:
        """With a waiver, unless something was found that whoever wrote it did not know of."""
        knew = waiver is not None and (waiver.found is None or set(self.found) <= set(waiver.found))
        return replace(self, waiver=waiver) if knew else self

    def as_dict(self) -> dict[str, Any]:
        return {
            "gate": self.name,
            "open": self.open,
            "why": self.why,
            "waived": self.waiver.reason if self.waiver else "",
        }


def split_gates(*, split: Split) -> list[Gate]:
    """Every gate of a split, in order. A handful of queries."""
    waivers = {waiver.gate: waiver for waiver in split.waivers.select_related("waived_by")}
    judged = [
        Gate("agreement", *_agreement(split)),
        _audit(split),
        Gate("licence", *_licence(split)),
        Gate("consent", *_consent(split)),
    ]
    return [gate.waived(waivers.get(gate.name)) for gate in judged]


def _agreement(split: Split) -> tuple[bool, str]:
    found = split.manifest.get("agreement") or {}
    recipe = Recipe.from_dict({key: value for key, value in split.recipe.items() if key in Recipe().as_dict()})
    if "estimate" not in found:
        return False, _("Its agreement was not kept when it was frozen. Freeze it again.")
    estimate = Estimate(**found["estimate"])
    told = {
        "measure": MEASURE_LABELS.get(found["measure"], found["measure"]),
        "figure": figure(estimate),
        "floor": f"{recipe.agreement_at_least:g}",
    }
    if estimate.value is None:
        return False, _("Agreement is not known: %(figure)s.") % told
    reached = estimate.lo if recipe.agreement_whole else estimate.value
    if reached is not None and reached >= recipe.agreement_at_least:
        return True, _("%(measure)s is %(figure)s, at least %(floor)s.") % told
    return False, _("%(measure)s is %(figure)s, and %(floor)s is asked for.") % told


def _audit(split: Split) -> Gate:
    """By the latest audit of the split alone and the latest against each other one: what one of them found stays found."""
    alone, others = latest_audits(split=split)
    if alone is None and not others:
        return Gate("audit", open=False, why=_("It was not audited yet."), found=("none",))
    shut_by = dict.fromkeys(
        name for audit in (alone, *others) if audit for name in audit.report.get("summary", {}).get("shut_by", [])
    )
    if shut_by:
        told = _("The latest audit found: %(found)s.") % {"found": "; ".join(map(shut_words, shut_by))}
        return Gate("audit", open=False, why=told, found=tuple(shut_by))
    if alone is None:
        return Gate(
            "audit",
            open=False,
            why=_("It was held against another split only. Audit it by itself, too."),
            found=("none",),
        )
    return Gate("audit", open=True, why=_("The latest audit found nothing that gives the key away or is there twice."))


def _licence(split: Split) -> tuple[bool, str]:
    if without := corpora_unlicensed(split=split):
        return False, _("These corpora have no licence: %(names)s.") % {"names": ", ".join(without)}
    return True, _("Licensed under: %(names)s.") % {"names": ", ".join(split_licences(split=split))}


def _consent(split: Split) -> tuple[bool, str]:
    """Recorded and imported items have to say that those who speak agreed."""
    missing = list(without_consent(split=split))
    if not missing:
        return True, _("Nobody's voice is in it without a word of consent.")
    named = ", ".join(missing[:_NAMED])
    return False, _(
        "%(count)d items were recorded or imported and do not say that their speakers agreed: %(named)s."
    ) % {
        "count": len(missing),
        "named": named,
    }


def latest_release(*, split: Split) -> Release | None:
    return split.releases.select_related("released_by").first()


def is_public(*, split: Split) -> bool:
    """Whether anybody may read its page: not before somebody said so."""
    latest = latest_release(split=split)
    return latest is not None and latest.public
