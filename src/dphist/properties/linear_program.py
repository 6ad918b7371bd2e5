"""Support size by a linear program (Valiant and Valiant 2011, 2013).

The program finds a histogram of expected counts, h(x) labels of expected count x, that explains
the observed prevalences phi_1..phi_R. Among those that fit nearly as well as the best, it takes
the one with the fewest unseen labels.

Sources: G. Valiant and P. Valiant, "Estimating the unseen", STOC 2011, and "Estimating the
unseen: improved estimators for entropy and other properties", NIPS 2013, Algorithm 1: the grid's
ratio, the weights 1/sqrt(phi_r + 1) and the slack 1/2 are those of the paper's program.

Two differences. In the paper, the histogram covers rare labels only, and frequent ones are counted
directly. Here it covers all labels and only rows 1..R of the profile are fitted, so no label is in
both parts or in neither. The support size is the labels seen plus sum h(x) exp(-x), those unseen.
The range is also ours: it covers all histograms with a larger slack, and the random variation of
the number of unseen labels.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.special import gammaln

from dphist.arrays import FloatArray
from dphist.data.diagram import Diagram
from dphist.errors import Argument, ParameterError
from dphist.properties.estimate import NORMAL

_ROWS = 30  # rows of the profile fitted: labels seen more often say nothing about unseen ones
_FARTHEST = 70.0  # expected count; exp(-70) 70^30/30!, the probability of at most 30, is 1e-8
# The records say nothing about rarer labels, whose number is unbounded, and the solver fails.
_RAREST = 1e-4  # expected count
_RATIO = 1.05  # of neighbors in the grid of expected counts
_SLACK = 0.5  # by which a fit may be worse than the best, in weighted absolute deviations
# The slack for the range. On uniform, geometric, mixed and Zipf distributions of 1000 and 20,000
# labels, with n of k/3 to 3k, the range contained the truth in at least 9 of 10 samples.
_SLACK_OF_RANGE = 2.0
# Residual of a row due to the grid's ratio, as a share of the labels seen: smaller differences
# between fits do not matter. It also keeps the solver's coefficients below 1e4.
_ROUGH = 1e-4
_NEGLIGIBLE = 1e-13  # records; the solver gives up over coefficients of 1e-28


class Unseen(NamedTuple):
    """Number of unseen labels, not rounded: the program's answer, and a range around it."""

    labels: float
    fewest: float
    most: float


def unseen(profile: Diagram, p_min: float, ranged: bool = True) -> Unseen:
    """Return the number of labels of probability `p_min` or more that `profile` lacks.

    Without `ranged` the range is not computed: it contains all possible numbers.

    Raises
    ------
    ParameterError
        If the solver fails.

    Notes
    -----
    Four programs of about 2 R rows and at most 1000 unknowns each, independent of the profile's
    size: the best fit, the answer, and both ends of the range.
    """
    least = profile.total * p_min
    if profile.labels == 0:
        return Unseen(0.0, 0.0, math.inf)
    if least >= _FARTHEST:
        return Unseen(0.0, 0.0, 0.0)
    x = _grid(least)
    # Unknowns are divided by the number of labels seen, so that the solver's numbers are near 1.
    size = float(profile.labels)
    observed = np.zeros(_ROWS)
    few = profile.counts <= _ROWS
    observed[profile.counts[few] - 1] = profile.prevalences[few]
    weight = 1 / np.sqrt(observed + 1 + (_ROUGH * size) ** 2)
    r = np.arange(1, _ROWS + 1)[:, None]
    expected = np.exp(r * np.log(x) - x - gammaln(r + 1)) * size * weight[:, None]
    expected[expected < _NEGLIGIBLE] = 0
    fitted = observed * weight
    one = np.eye(_ROWS)
    rows = np.block(
        [
            [expected, -one],  # expected - observed <= deviation
            [-expected, -one],  # observed - expected <= deviation
            [x[None, :] * size / profile.total, np.zeros((1, _ROWS))],  # probabilities: at most 1
        ]
    )
    bounds = np.concatenate([fitted, -fitted, [1.0]])
    deviation = np.concatenate([np.zeros(len(x)), np.ones(_ROWS)])
    best = _solve_program(deviation, rows, bounds)
    rows = np.vstack([rows, deviation])
    missing = np.concatenate([np.exp(-x), np.zeros(_ROWS)])
    missing[missing < _NEGLIGIBLE] = 0

    def least_cost(cost: FloatArray, slack: float) -> float:
        return _solve_program(cost, rows, np.append(bounds, best + slack)) * size

    labels = max(least_cost(missing, _SLACK), 0.0)
    if not ranged:
        return Unseen(labels, 0.0, math.inf)
    fewest = max(least_cost(missing, _SLACK_OF_RANGE), 0.0)
    most = max(-least_cost(-missing, _SLACK_OF_RANGE), labels) if least >= _RAREST else math.inf
    # The program finds the expected number; the number itself is about Poisson.
    return Unseen(
        labels,
        max(min(fewest, labels) - NORMAL * math.sqrt(fewest), 0.0),
        most + NORMAL * math.sqrt(most),
    )


def _grid(least: float) -> FloatArray:
    """Expected counts from `least`, or `_RAREST`, up to _FARTHEST, in equal ratios."""
    least = max(least, _RAREST)
    steps = math.ceil(math.log(_FARTHEST / least) / math.log(_RATIO))
    return np.asarray(np.geomspace(least, _FARTHEST, steps + 1))


def _solve_program(cost: FloatArray, rows: FloatArray, bounds: FloatArray) -> float:
    """Return the minimum cost of nonnegative unknowns with ``rows @ unknowns <= bounds``."""
    for solver in ("highs", "highs-ipm"):  # the simplex method fails once in some hundred times
        result: Any = linprog(cost, A_ub=rows, b_ub=bounds, bounds=(0, None), method=solver)
        if result.status == 0:
            return float(result.fun)
    raise ParameterError(
        "p_min",
        "makes a linear program that was not solved",
        "use " + Argument("method", "wu-yang"),
    )
