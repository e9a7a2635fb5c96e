"""The files' own verdicts beside our readings, as the comparison page shows them."""

from __future__ import annotations

from typing import Any

from eqstudio.estimates import Estimate
from evaluation.views.asked import Seen


def readings_rows(at: Seen) -> list[dict[str, Any]]:
    """One row a respondent; its cells are (by the file, by us) for each metric that one of them has a value of."""
    return [
        {
            **one,
            "cells": [
                (Estimate(**one["by_file"][metric.name]), Estimate(**one["by_us"][metric.name]))
                for metric in at.benchmark.metrics
            ],
        }
        for one in at.result["readings"]
    ]
