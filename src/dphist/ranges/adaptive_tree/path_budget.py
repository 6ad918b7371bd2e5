"""Budget spent on every path from the root to a bin, in exact integer units."""

import numpy as np

from dphist.arrays import IntArray
from dphist.errors import DphistError

UNITS = 10**6
"""Units in a mechanism's whole epsilon or rho; every share is a whole number of units."""


class PathBudget:
    """The account of each bin: every count of a node that contains the bin is charged to it.

    A record changes only the counts of nodes that contain its bin. So if no account exceeds
    `UNITS`, a record costs at most the budget, however nodes and shares depend on earlier noisy
    counts (`docs/understand/proofs/adaptive_tree.md`, Lemma 2). The first charge is fixed
    beforehand, and every bin pays it: so a record pays that and the rest, in parts, which costs at
    most the rho of the two (`docs/understand/proofs/geometric_rho.md`, Lemma 4).

    Parameters
    ----------
    height : levels of the binary tree below its root; there are 2**height bins.
    first : units of the first charge; 0 if they are not fixed.
    """

    __slots__ = ("_first", "_spent")

    def __init__(self, height: int, first: int) -> None:
        self._spent, self._first = np.zeros(2**height, np.int32), first

    def charge(self, level: int, nodes: IntArray, units: int) -> None:
        """Charge nodes of one level; refuse if that would overdraw an account.

        Parameters
        ----------
        level : level of the nodes.
        nodes : (k,) int64, strictly ascending, each from 0 to 2**level - 1.
        units : cost of the count of each, at least 1.

        Raises
        ------
        DphistError
            If an account would exceed `UNITS`, the first charge is another than was fixed, or
            `nodes` are invalid. Nothing was counted, and nothing may be released.
        """
        # With another type or sign, the nodes charged and the nodes counted could differ.
        sound = nodes.dtype == np.int64 and nodes.ndim == 1 and bool((np.diff(nodes) > 0).all())
        sound = sound and (len(nodes) == 0 or (nodes[0] >= 0 and nodes[-1] < 2**level))
        sound = sound and self._first in (0, units)
        if not (sound and units >= 1 and self.highest(level, nodes) + units <= UNITS):
            raise DphistError(
                "the path budget refused a count; nothing is released: report this bug"
            )
        if self._first:
            self._spent[:], self._first = units, 0
        else:
            self._spent.reshape(2**level, -1)[nodes] += units

    def highest(self, level: int, nodes: IntArray) -> int:
        """Return the maximum spent on a bin of these nodes, in units."""
        if len(nodes) == 0:
            return 0
        return int(self._spent.reshape(2**level, -1)[nodes].max())
