"""Least squares with a banded matrix: the most likely unknowns, and how likely they are."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dphist.arrays import FloatArray


class Clue(NamedTuple):
    """Linear equations with independent normal errors, of the same few unknowns each.

    Attributes
    ----------
    at : slices of k unknowns each, a fixed distance apart, ascending from one to the next.
    by : (k,) float64 each; their coefficients.
    equals, variance : (k,) float64; the right-hand sides, and the variances of their errors.
    """

    at: Sequence[slice]
    by: Sequence[FloatArray]
    equals: FloatArray
    variance: FloatArray

    def off(self, unknowns: FloatArray) -> FloatArray:
        """Return the squared errors over their variances; (k,) float64."""
        found = sum(b * unknowns[a] for a, b in zip(self.at, self.by, strict=True))
        return np.asarray((self.equals - found) ** 2 / self.variance)


class Solved(NamedTuple):
    """The most likely unknowns, the Cholesky factor, and the log-likelihood of the equations."""

    unknowns: FloatArray
    factor: FloatArray
    likelihood: float


def solved(clues: Sequence[Clue], size: int, band: int) -> Solved | None:
    """Return the solution of equations in `size` unknowns at most `band` apart; O(size).

    None where floating point leaves the matrix without a factor.
    """
    from scipy.linalg import cho_solve_banded, cholesky_banded  # slow to import

    matrix, right = np.zeros((band + 1, size)), np.zeros(size)
    for at, by, equals, variance in clues:
        for p, (here, factor) in enumerate(zip(at, by, strict=True)):
            right[here] += factor * equals / variance
            for there, other in zip(at[: p + 1], by[: p + 1], strict=True):
                matrix[here.start - there.start, there] += factor * other / variance
    try:
        factor = cholesky_banded(matrix, lower=True)
        unknowns = cho_solve_banded((factor, True), right)
    except (np.linalg.LinAlgError, ValueError):  # ValueError: not finite
        return None
    off = sum(float(clue.off(unknowns).sum() + np.log(clue.variance).sum()) for clue in clues)
    return Solved(unknowns, factor, -off / 2 - float(np.log(factor[0]).sum()))
