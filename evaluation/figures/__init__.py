"""Figures of a comparison: each is a table first, and a drawing of that table. Every one leaves as SVG, CSV and LaTeX."""

from evaluation.figures.base import Figure, View, csv_of, latex_of
from evaluation.figures.kinds import figures

__all__ = ["Figure", "View", "csv_of", "figures", "latex_of"]
