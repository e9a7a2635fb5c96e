"""What goes into a split: a recipe, the facts it looks at, and the choice it makes."""

from annotation.domain.curation.choosing import Choice, Offered, Shortfall, Step, choice, choose
from annotation.domain.curation.recipe import BALANCED, CONSENSUS, GROUPS, OUTCOMES, Recipe
from annotation.domain.curation.sides import SIDES, side_of

__all__ = [
    "BALANCED",
    "CONSENSUS",
    "GROUPS",
    "OUTCOMES",
    "SIDES",
    "Choice",
    "Offered",
    "Recipe",
    "Shortfall",
    "Step",
    "choice",
    "choose",
    "side_of",
]
