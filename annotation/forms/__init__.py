"""What a researcher fills in: rounds, decisions, splits."""

from annotation.forms.curation import DecisionForm, ExportForm, SplitForm
from annotation.forms.rounds import ExampleForm, RoundForm, RoundRulesForm, RoundStateForm, rules_known

__all__ = [
    "DecisionForm",
    "ExampleForm",
    "ExportForm",
    "RoundForm",
    "RoundRulesForm",
    "RoundStateForm",
    "SplitForm",
    "rules_known",
]
