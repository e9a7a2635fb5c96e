"""What a researcher fills in: rounds."""

from annotation.forms.rounds import ExampleForm, RoundForm, RoundRulesForm, RoundStateForm, rules_known

__all__ = [
    "ExampleForm",
    "RoundForm",
    "RoundRulesForm",
    "RoundStateForm",
    "rules_known",
]
