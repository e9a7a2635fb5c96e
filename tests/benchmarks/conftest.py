"""Figures are taken only when they are asked for (`make bench`)."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--benchmarks", action="store_true", help="take the figures of tests/benchmarks")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--benchmarks", default=False):
        return
    for item in items:
        if "benchmarks" in item.path.parts:
            item.add_marker(pytest.mark.skip(reason="figures: `make bench` takes them"))
