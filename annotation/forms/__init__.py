"""What a researcher fills in: rounds, decisions, splits."""

from annotation.forms.curation import DecisionForm, ExportForm, SplitForm
from annotation.forms.rounds import RoundForm, RoundStateForm

__all__ = ["DecisionForm", "ExportForm", "RoundForm", "RoundStateForm", "SplitForm"]
