"""What a researcher fills in: rounds and splits."""

from annotation.forms.curation import ExportForm, SplitForm
from annotation.forms.rounds import ExampleForm, RoundForm, RoundRulesForm, RoundStateForm, rules_known

__all__ = [
    "ExampleForm",
    "ExportForm",
    "RoundForm",
    "RoundRulesForm",
    "RoundStateForm",
    "SplitForm",
    "rules_known",
]
