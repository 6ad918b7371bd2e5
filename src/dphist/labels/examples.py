"""How many labels users have in three public tables: guesses for plans."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dphist.arrays import FloatArray

ExampleName: TypeAlias = Literal["flights", "forum", "shop"]


@dataclass(frozen=True, slots=True)
class Example:
    """Users by how many labels they have.

    Attributes
    ----------
    title : what the table is about.
    users : (j,) float64, of 10,000 users, those with 1, 2, 3, 4 to 5, 6 to 7, 8 to 10, ... labels,
        as `dphist.data.cells.make_cells` has it.
    means : (j,) float64, the mean number of labels of the users in each cell.
    """

    title: str
    users: FloatArray
    means: FloatArray

    def share_cut(self, max_labels: int) -> float:
        """Return the share of pairs of a user and a label that a bound drops.

        >>> round(EXAMPLES["flights"].share_cut(10), 3)
        0.411
        """
        kept = self.users @ np.minimum(self.means, max_labels)
        return max(float(1 - kept / (self.users @ self.means)), 0.0)


def _example(title: str, users: str, means: str) -> Example:
    return Example(title, *(np.array(each.split(), np.float64) for each in (users, means)))


EXAMPLES: dict[ExampleName, Example] = {
    "flights": _example(
        "destinations of an airplane in a year: 8 in the middle, 25 or more of a tenth",
        "1447 809 1113 722 663 1434 1172 1296 653 685 5 2",
        "1 2 3 4.4 6.6 8.8 12.8 19.1 26.4 37.9 46.5 69",
    ),
    "forum": _example(
        "pairs of words of an author in a forum: 14 in the middle, 60 or more of a tenth",
        "565 422 516 927 789 915 1216 1176 1024 849 668 393 252 146 63 52 20 6",
        "1 2 3 4.5 6.5 9 12.8 18.8 26.6 37.6 52.7 75.1 107.7 146.6 216.7 293.9 433 617.5",
    ),
    "shop": _example(
        "products of a customer of a shop in a year: 35 in the middle, 142 or more of a tenth",
        "233 149 140 290 341 542 826 965 1185 1091 1146 1043 867 563 341 183 64 18 5 9",
        "1 2 3 4.6 6.5 9 13 19 26.8 37.6 53.2 76 107.2 151.2 213.8 296.6 412.6 625.6 858 1503.8",
    ),
}
"""Of nycflights13, of the bigrams of Gopi et al. (2020), and of Online Retail (UCI repository)."""
