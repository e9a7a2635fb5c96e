"""How far people agree, and who answers against the grain of the others, as a page shows it."""

from __future__ import annotations

from typing import Any

from django.utils.translation import get_language

from evaluation.domain.person_fit import Fit
from evaluation.models import Respondent, Study
from evaluation.services.human_agreement import Human
from evaluation.words import SURE
from generation.models import Dialogue


def human_told(study: Study, human: Human, *, shown: bool) -> dict[str, Any]:
    """What the template wants; who does not fit is named only where ``shown``, as with the declared rules."""
    language = "zh" if (get_language() or "en").startswith("zh") else "en"
    unlike = [one for one in human.fits if one.p_holm is not None and one.p_holm < SURE]
    rows = [(one.label[language] if one.label else None, one) for one in human.subscales]
    return {
        "subscales": [(label, one) for label, one in rows if one.group],
        "finer_subscales": [(label, one) for label, one in rows if not one.group],
        "fitted": len([one for one in human.fits if one.p_holm is not None]),
        "unlike": len(unlike),
        "fits": _fits(study, human) if shown else [],
    }


def _fits(study: Study, human: Human) -> list[dict[str, Any]]:
    tested = [one for one in human.fits if one.p_holm is not None]
    names = dict(Respondent.objects.filter(study=study).values_list("pk", "name"))
    wanted = [item for one in tested for item in one.fit.against]
    dialogues = Dialogue.objects.only("uid", "title").in_bulk(wanted)
    return [
        {"name": names[one.fit.person], "fit": one.fit, "p_holm": one.p_holm, "items": _items(one.fit, dialogues)}
        for one in tested
    ]


def _items(fit: Fit, dialogues: dict[int, Dialogue]) -> list[Dialogue]:
    return [dialogues[item] for item in fit.against if item in dialogues]
