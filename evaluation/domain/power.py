"""What a study can see: minimum detectable difference and power for n items by k people, before anybody has answered.

Formulas: paired differences of Miller (2024), n = (z_a/2 + z_b)^2 (omega^2 + s_A^2/K_A + s_B^2/K_B) / delta^2; for paired
right-or-wrong answers the variance of a difference is the share of discordant pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

_NORMAL = NormalDist()
ALPHA = 0.05
POWER = 0.8


def design_effect(size: float, correlation: float) -> float:
    """How much the variance grows when ``size`` items of a cluster are alike by ``correlation``: 1 + (m - 1) rho."""
    return 1 + (size - 1) * correlation


def detectable(*, items: int, variance: float, deff: float = 1.0, alpha: float = ALPHA, power: float = POWER) -> float:
    """The smallest difference seen with ``power``: (z + z) sqrt(variance deff / items). ``variance`` is that of one paired
    difference; for two respondents that are right or wrong, the share of items on which they differ.
    """
    return _z(alpha, power) * math.sqrt(variance * deff / items)


def power_at(difference: float, *, items: int, variance: float, deff: float = 1.0, alpha: float = ALPHA) -> float:
    """The chance to see ``difference`` (two-sided)."""
    error = math.sqrt(variance * deff / items)
    edge = _NORMAL.inv_cdf(1 - alpha / 2)
    shift = abs(difference) / error
    return _NORMAL.cdf(shift - edge) + _NORMAL.cdf(-shift - edge)


def items_needed(  # noqa: PLR0917 -- the formula's own terms
    difference: float,
    omega2: float,
    within_a: float = 0.0,
    within_b: float = 0.0,
    samples: int = 1,
    alpha: float = ALPHA,
) -> int:
    """Items to see ``difference`` with power .8: ``omega2`` between items, ``within_*`` within an item, ``samples`` each."""
    variance = omega2 + within_a / samples + within_b / samples
    return math.ceil(_z(alpha, POWER) ** 2 * variance / difference**2 - 1e-9)


@dataclass(frozen=True)
class Plan:
    """People against a model. ``discordance``: the share of items on which one person and the model differ; ``common``: how
    much of that all people share (what an item does to everybody); ``spread``: standard deviation of people's accuracies;
    ``deff``: design effect of clustered items.
    """

    items: int
    people: int
    discordance: float = 0.3
    common: float = 0.5
    spread: float = 0.08
    deff: float = 1.0

    @property
    def error(self) -> float:
        """Standard error of the difference with persons and items crossed: what is a person's own falls with the number of
        people, what is an item's own with the number of items.
        """
        between_items = self.discordance * (self.common + (1 - self.common) / self.people) * self.deff / self.items
        return math.sqrt(between_items + self.spread**2 / self.people)

    def detectable(self, *, alpha: float = ALPHA, power: float = POWER) -> float:
        return _z(alpha, power) * self.error

    def power(self, difference: float, *, alpha: float = ALPHA) -> float:
        edge = _NORMAL.inv_cdf(1 - alpha / 2)
        shift = abs(difference) / self.error
        return _NORMAL.cdf(shift - edge) + _NORMAL.cdf(-shift - edge)

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval that the difference will have."""
        return _NORMAL.inv_cdf(0.975) * self.error


def people_needed(difference: float, plan: Plan, *, most: int = 10_000) -> int | None:
    """The fewest people with whom ``plan`` sees ``difference`` (power .8); None where no number up to ``most`` is enough."""
    low, high = 1, most
    if replace(plan, people=most).detectable() > difference:
        return None
    while low < high:
        middle = (low + high) // 2
        if replace(plan, people=middle).detectable() <= difference:
            high = middle
        else:
            low = middle + 1
    return low


def _z(alpha: float, power: float) -> float:
    return _NORMAL.inv_cdf(1 - alpha / 2) + _NORMAL.inv_cdf(power)
