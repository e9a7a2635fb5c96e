"""What a researcher fills in: rounds and splits."""

from annotation.forms.curation import ExportForm, SplitForm
from annotation.forms.rounds import RoundForm, RoundStateForm

__all__ = ["ExportForm", "RoundForm", "RoundStateForm", "SplitForm"]
