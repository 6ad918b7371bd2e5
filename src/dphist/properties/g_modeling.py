"""G-modeling: a smooth density of rates, fitted to the small counts of a profile.

A label of probability p has a Poisson count of mean n p, its rate. The density of rates, labels per
unit of the logarithm of the rate, is the exponential of a smooth function (Efron 2016, "Empirical
Bayes deconvolution estimates"). Here this is the function of a gamma distribution, which has power
laws and geometric counts as special cases, plus a cubic spline. The spline is a random walk: second
differences of its coefficients are normal with standard deviation s. With s near 0 the population
is a gamma distribution; a large s allows nearly any density. Below some rate c there are no labels,
because populations are finite. Densities for several s and c are fitted by penalized maximum
likelihood, and estimates are averaged in proportion to the likelihoods of s and c (Laplace's
approximation), so the data choose.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import solve_triangular
from scipy.special import gammaln
from threadpoolctl import ThreadpoolController

from dphist.arrays import FloatArray
from dphist.data.diagram import Diagram

# Labels with more records hardly tell of unseen ones, and there may be very many counts.
LARGEST_COUNT = 40
# Labels of lower rates bring new labels in proportion to their records, so only these matter.
_LOWEST_RATE, _HIGHEST_RATE = 1e-3, 70.0
_LOWEST_RATES = (_LOWEST_RATE, 0.05, 0.2)
# Spacing in the logarithm of the rate. A Poisson count tells the rate to 1/6 at best.
_GRID, _KNOTS = 0.1, 0.25
_DEVIATIONS = 0.005 * 4.0 ** np.arange(5)
# Standard deviations of the gamma distribution's parameters: so wide that they only keep the fit
# finite if, for example, no label has two records.
_SHAPES, _LEVELS = 30.0, 1000.0
_MOST_LABELS = 1e7  # more are fitted in proportion; their relative error is below 1e-3 in any case
# A gain of 1e-3 in log-likelihood moves an estimate by 3 % of its standard error.
_STEPS, _GAIN, _SHORTEST, _ROUNDING = 100, 1e-3, 1e-7, 1e-12
_HIGHEST_LOG, _SMALLEST = 300.0, 1e-300


@dataclass(frozen=True, slots=True)
class Rates:
    """Fitted densities of rates, each with its weight.

    Attributes
    ----------
    rates : (g,) float64, records per label in the sample, ascending.
    labels : (f, g) float64, expected number of labels with each rate, for each of f fits.
    weights : (f,) float64, nonnegative, adding up to 1.
    factors : (f, k, g) float64; for each fit, the transpose of this matrix times the matrix is the
        covariance of the logarithms of `labels`.
    """

    rates: FloatArray
    labels: FloatArray
    weights: FloatArray
    factors: FloatArray

    def estimate_sum(self, each: FloatArray) -> tuple[float, float]:
        """Return the expected sum over labels of `each` (g,), and its standard deviation.

        The variance is the mean of those of the fits (delta method), plus that between the fits.
        """
        sums = self.labels @ each
        value = float(self.weights @ sums)
        changes = np.einsum("fkg,fg->fk", self.factors, self.labels * each)
        variances = np.sum(changes**2, axis=1) + (sums - value) ** 2
        return value, float(np.sqrt(self.weights @ variances))


def new_labels(profile: Diagram, extra: float) -> tuple[float, float]:
    """Return the expected number of new labels in `extra` n further records, and its error.

    A label of rate m is unseen with probability exp(-m) and then seen with 1 - exp(-extra m).
    """
    found = fit_rates(profile)
    return found.estimate_sum(np.exp(-found.rates) * -np.expm1(-extra * found.rates))


def new_labels_of_sample(profile: Diagram, extra: float) -> float:
    """Return the expected number for a profile that is not secret, and remember its fit.

    The samples that measure the noise of a release are asked for several properties.
    """
    many = _compute_remembered(tuple(_small_counts(profile).tolist()))
    rates = _design().rates
    return float(many @ (np.exp(-rates) * -np.expm1(-extra * rates)))


@lru_cache(maxsize=1 << 10)
def _compute_remembered(seen: tuple[float, ...]) -> FloatArray:
    found = _fit(np.array(seen))
    return found.weights @ found.labels


def fit_rates(profile: Diagram) -> Rates:
    """Return the densities of rates that fit the counts up to 40.

    Notes
    -----
    The numbers of labels with 1, 2, ..., 40 records are independent Poisson numbers, up to the
    total. Their likelihood times the densities of the random walk and of the gamma distribution's
    parameters is maximized by Fisher scoring, in O(1) time for any profile (milliseconds).
    """
    return _fit(_small_counts(profile))


def _small_counts(profile: Diagram) -> FloatArray:
    """Return the number of labels with 1, 2, ... records, (r,)."""
    few = profile.counts <= LARGEST_COUNT
    seen = np.zeros(LARGEST_COUNT)
    seen[profile.counts[few] - 1] = profile.prevalences[few]
    return seen


def _fit(seen: FloatArray) -> Rates:
    # The matrices are so small that further threads only wait for each other: on a busy machine a
    # fit then takes a hundred times as long.
    with _threads().limit(limits=1, user_api="blas"):
        return _fit_densities(seen)


@lru_cache(maxsize=1)
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def _fit_densities(seen: FloatArray) -> Rates:
    design = _design()
    scale = max(float(seen.sum()) / _MOST_LABELS, 1.0)
    seen = seen / scale
    labels = float(seen.sum())
    if labels == 0:
        none = np.zeros((1, len(design.rates)))
        return Rates(design.rates, none, np.ones(1), none[None])
    middle = float(seen @ np.arange(1, LARGEST_COUNT + 1)) / labels
    basis = np.column_stack([design.rates / middle - 1, design.spline])
    start = np.zeros(basis.shape[1])
    start[1:] = np.log(labels / len(design.rates))
    many, scores, factors = [], [], []
    at = start
    for deviation in _DEVIATIONS:
        penalty = design.gamma.copy()
        penalty[1:, 1:] += design.walk / deviation**2
        for lowest in _LOWEST_RATES:
            some = design.rates >= lowest
            fit = _maximum(_Problem(seen, design.chances * some, basis, penalty, start), at)
            at = fit.parameters  # near the maximum of the next problem
            root = np.linalg.cholesky(fit.curvature)
            # Of k coefficients, k - 2 second differences have density 1/deviation.
            width = float(np.log(np.diag(root)).sum()) + (len(at) - 3) * float(np.log(deviation))
            scores.append(fit.value - width)
            many.append(fit.labels * some * scale)
            factors.append(solve_triangular(root, basis.T, lower=True, check_finite=False))
    weights = np.exp(np.array(scores) - max(scores))
    return Rates(design.rates, np.array(many), weights / weights.sum(), np.array(factors))


class _Design(NamedTuple):
    """What does not depend on the data: g rates, r counts, k coefficients of the spline."""

    rates: FloatArray  # (g,)
    chances: FloatArray  # (r, g), probability of each count
    spline: FloatArray  # (g, k)
    walk: FloatArray  # (k, k), penalty of second differences
    gamma: FloatArray  # (1 + k, 1 + k), penalty of scale, shape and level


@lru_cache(maxsize=1)
def _design() -> _Design:
    low, high = np.log(_LOWEST_RATE), np.log(_HIGHEST_RATE)
    grid = np.arange(low, high, _GRID)
    knots = np.arange(low - 3 * _KNOTS, high + 4 * _KNOTS, _KNOTS)
    spline = np.asarray(BSpline.design_matrix(grid, knots, 3).toarray(), np.float64)
    counts = np.arange(1, LARGEST_COUNT + 1)[:, None]
    rates = np.exp(grid)
    chances = np.exp(counts * grid - rates - gammaln(counts + 1.0))
    k = spline.shape[1]
    second = np.diff(np.eye(k), 2, axis=0)
    gamma = np.zeros((1 + k, 1 + k))
    gamma[0, 0] = 1 / _SHAPES**2
    # Slope per unit of the logarithm of the rate, by least squares over the coefficients.
    slope = np.arange(k) - (k - 1) / 2
    slope /= _KNOTS * float(slope @ slope)
    level = np.full(k, 1 / k)
    gamma[1:, 1:] = np.outer(slope, slope) / _SHAPES**2 + np.outer(level, level) / _LEVELS**2
    return _Design(rates, chances, spline, second.T @ second, gamma)


class _Problem(NamedTuple):
    seen: FloatArray  # (r,), labels with each count
    chances: FloatArray
    basis: FloatArray  # (g, p)
    penalty: FloatArray  # (p, p)
    center: FloatArray  # (p,), where the penalty is 0


class _Fit(NamedTuple):
    parameters: FloatArray
    labels: FloatArray
    value: float
    curvature: FloatArray


def _maximum(problem: _Problem, start: FloatArray) -> _Fit:
    """Maximize the penalized likelihood by Fisher scoring with step halving."""
    at = start
    value, labels, means = _value(problem, at)
    for step in range(_STEPS + 1):
        jacobian = (problem.chances * labels) @ problem.basis
        curvature = (jacobian.T / means) @ jacobian + problem.penalty
        curvature.flat[:: len(at) + 1] += _ROUNDING * float(curvature.diagonal().max())
        gradient = (problem.seen / means - 1) @ jacobian
        gradient -= problem.penalty @ (at - problem.center)
        direction = np.linalg.solve(curvature, gradient)
        if step == _STEPS or float(gradient @ direction) < _GAIN:
            break
        length, old = 1.0, value
        while length > _SHORTEST:
            value, new_labels, new_means = _value(problem, at + length * direction)
            if value > old:
                break
            length /= 2
        else:  # nothing is gained but rounding
            value = old
            break
        at, labels, means = at + length * direction, new_labels, new_means
    return _Fit(at, labels, value, curvature)


def _value(problem: _Problem, at: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Return penalized log-likelihood, labels with each rate, expected labels with each count."""
    logs = problem.basis @ at
    if not float(logs.max()) < _HIGHEST_LOG:
        return -np.inf, logs, logs
    labels = np.exp(logs)
    means = np.maximum(problem.chances @ labels, _SMALLEST)
    away = at - problem.center
    fits = float(problem.seen @ np.log(means) - means.sum())
    return fits - float(away @ problem.penalty @ away) / 2, labels, means
