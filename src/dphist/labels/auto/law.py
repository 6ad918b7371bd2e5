"""How a budget is divided, which caps are tried, and the cells of numbers of labels.

All of it follows from public parameters: `docs/understand/proofs/auto_threshold.md`.
"""

from dataclasses import dataclass
from fractions import Fraction

from dphist.labels.threshold.correlation import root_above

TOPS = (10, 100, 400)
"""The sums of the 10, 100 and 400 largest counts are looked at."""

LARGEST_CAP = 2**20
"""Largest `max_labels`: sets of labels with more are refused before anything is computed."""

_STEPS = (10, 13, 16, 20, 25, 32, 40, 50, 63, 80)
"""Ten caps in a factor of ten, as a share of it."""


@dataclass(frozen=True, slots=True)
class Division:
    """How a budget of epsilon**2 / 2 in zCDP is divided.

    Attributes
    ----------
    epsilon : above 0.
    look : share of the budget that is spent before the cap is chosen, above 0 and below 1.
    sums : share of the rest that is spent on sums of values; 0 without them.
    """

    epsilon: Fraction
    look: Fraction
    sums: Fraction = Fraction(0)

    @property
    def users_scale(self) -> Fraction:
        """Standard deviation of the noise on numbers of users; half of the look pays for them."""
        return root_above(2 / (self.look * self.epsilon**2))

    def sum_scale(self, change: int) -> Fraction:
        """Return the standard deviation of the noise on a sum that one user changes by `change`.

        The sums of all `TOPS` share the other half of the look equally.
        """
        return change * root_above(2 * len(TOPS) / (self.look * self.epsilon**2))

    def count_scale(self, cap: int) -> Fraction:
        """Return the standard deviation of the noise on a count, if a user has up to `cap`."""
        return root_above(cap / ((1 - self.look) * (1 - self.sums) * self.epsilon**2))


def list_caps(max_labels: int) -> tuple[int, ...]:
    """Return the caps that are tried: whole numbers at equal ratios, and `max_labels`.

    >>> list_caps(30)
    (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 30)
    """
    decades = range(len(str(max_labels)))
    steps = {round(step * 10 ** (decade - 1)) for decade in decades for step in _STEPS}
    return (*sorted(cap for cap in steps if 0 < cap < max_labels), max_labels)


def list_cells(max_labels: int) -> tuple[int, ...]:
    """Return where cells of a number of labels start: at 1, and above each cap but the largest.

    >>> list_cells(30)
    (1, 2, 3, 4, 5, 6, 7, 9, 11, 14, 17, 21, 26)
    """
    return (1, *(cap + 1 for cap in list_caps(max_labels)[:-1]))


def change_of_sum(top: int, max_labels: int) -> int:
    """Return by how much one user changes the sum of the `top` largest counts at most."""
    return min(top, max_labels)
