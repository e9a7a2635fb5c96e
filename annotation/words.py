"""Names of coefficients, questions, groupings and rules as a page says them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.domain.prevalence import Prevalence
from annotation.selectors.dimensions import GRADE, IMPORTED, OWN, UNKNOWN, VERDICT, Dimension
from eqstudio.estimates import Estimate
from generation.words import category_label

COEFFICIENTS: dict[str, Any] = {
    "alpha_nominal": gettext_lazy("Krippendorff's alpha, nominal"),
    "alpha_ordinal": gettext_lazy("Krippendorff's alpha, ordinal"),
    "alpha_interval": gettext_lazy("Krippendorff's alpha, interval"),
    "alpha_ratio": gettext_lazy("Krippendorff's alpha, ratio"),
    "percent_agreement": gettext_lazy("agreement, uncorrected"),
    "ac1": gettext_lazy("Gwet's AC1"),
    "ac2": gettext_lazy("Gwet's AC2, quadratic"),
    "fleiss": gettext_lazy("Fleiss's kappa"),
    "conger": gettext_lazy("Conger's kappa"),
    "brennan_prediger": gettext_lazy("Brennan and Prediger's coefficient"),
    "cohen_kappa": gettext_lazy("Cohen's kappa, mean over pairs"),
    "qwk": gettext_lazy("weighted kappa, mean over pairs"),
    "icc_1_1": gettext_lazy("ICC(1,1): one rating, raters differ by item"),
    "icc_a_1": gettext_lazy("ICC(A,1): one rating, absolute agreement"),
    "icc_c_1": gettext_lazy("ICC(C,1): one rating, consistency"),
    "icc_1_k": gettext_lazy("ICC(1,k): mean rating, raters differ by item"),
    "icc_a_k": gettext_lazy("ICC(A,k): mean rating, absolute agreement"),
    "icc_c_k": gettext_lazy("ICC(C,k): mean rating, consistency"),
}
HEADLINES = {GRADE: "alpha_ordinal", VERDICT: "alpha_nominal"}
BESIDE = {GRADE: ("alpha_ordinal", "percent_agreement", "ac2"), VERDICT: ("alpha_nominal", "percent_agreement", "ac1")}
BESIDE_ELSEWHERE = ("alpha_nominal", "alpha_interval", "percent_agreement", "ac1")
QUESTIONS: dict[str, Any] = {
    GRADE: gettext_lazy("grades 1 to 4"),
    VERDICT: gettext_lazy("keep or reject"),
    IMPORTED: gettext_lazy("imported ratings"),
    OWN[GRADE][0]: gettext_lazy("grades 1 to 4, imported"),
    OWN[VERDICT][0]: gettext_lazy("keep or reject, imported"),
}
GROUPINGS: dict[str, Any] = {
    "": gettext_lazy("nothing: the whole round"),
    "category": gettext_lazy("category"),
    "language": gettext_lazy("language"),
    "annotator": gettext_lazy("person, against the others"),
    "without": gettext_lazy("person left out"),
    "pair": gettext_lazy("pair of people"),
    "week": gettext_lazy("week"),
    "day": gettext_lazy("day"),
    "kind": gettext_lazy("people and machines"),
}
RULES: dict[str, Any] = {
    "k_of_n": gettext_lazy("so many equal votes"),
    "majority": gettext_lazy("majority"),
    "median": gettext_lazy("median"),
    "dawid_skene": gettext_lazy("Dawid and Skene's model"),
}
KINDS: dict[str, Any] = {
    "people": gettext_lazy("people among themselves"),
    "machines": gettext_lazy("machines among themselves"),
}


def headline_of(question: str, level: str = "") -> str:
    """The coefficient that stands for a question: by its scale, where it was imported."""
    return HEADLINES.get(question) or f"alpha_{level or 'interval'}"


def question_label(question: str) -> str:
    return str(QUESTIONS.get(question, question))


def group_label(by: str, label: str, dimension: Dimension | None = None) -> str:
    """What a reader calls a group."""
    if label == UNKNOWN:
        return _("unknown")
    if by == "category":
        return str(category_label((dimension.benchmarks if dimension else {}).get(label, ""), label))
    if by == "language":
        return {"en": _("English"), "zh": _("Chinese")}.get(label, label)
    return str(KINDS.get(label, label)) if by == "kind" else label


def value_label(question: str, value: Any) -> str:
    """A verdict or a grade, in words."""
    return {"keep": _("keep"), "reject": _("reject")}.get(str(value), str(value)) if VERDICT in question else str(value)


def prevalence_sentence(question: str, found: Prevalence, estimates: Mapping[str, Estimate]) -> str:
    """Why alpha is low although people nearly always agree."""
    percent, alpha, ac1 = (estimates[name] for name in ("percent_agreement", "alpha_nominal", "ac1"))
    numbers = {
        "percent": f"{100 * (percent.value or 0):.0f}",
        "share": f"{100 * found.share:.0f}",
        "value": value_label(question, found.value),
        "alpha": _("undefined") if alpha.value is None else f"{alpha.value:z.2f}",
        "ac1": _("undefined") if ac1.value is None else f"{ac1.value:z.2f}",
    }
    return (
        _(
            "People agree in %(percent)s %% of pairs, and alpha is %(alpha)s all the same: %(share)s %% of all ratings are %(value)s, "
            "so chance alone would agree nearly as often and one dissent weighs much. AC1, which chance inflates less here, is %(ac1)s."
        )
        % numbers
    )
