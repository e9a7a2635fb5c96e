"""Names of statistical tests; apart from other words, so that services can use them."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy

TESTS: dict[str, Any] = {
    "exact McNemar": gettext_lazy("exact McNemar test"),
    "exact sign test": gettext_lazy("exact sign test over items"),
    "sign flips of clusters": gettext_lazy("sign-flip test over items"),
    "bootstrap over people and items": gettext_lazy("bootstrap over people and items"),
    "one person": gettext_lazy("none: a single person"),
    "one cluster": gettext_lazy("none: a single item"),
    "none": gettext_lazy("none: no common item"),
}
"""How a p-value was found, as a reader would say it."""
