"""Noise of running counts whose decays are searched for freely: what the constants are worth.

Two kinds: sums of stationary decaying parts, as the library's, and buffered Toeplitz matrices
(BLT: Dvijotham, McMahan, Pillutla, Steinke and Thakurta 2024), which begin without noise. The
search works in floating point; what it finds is priced by the library's own bound.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq, minimize

from benchmarks.streams.published import FloatArray, Variance
from dphist.streams.counters.design import Design
from dphist.streams.counters.spectrum import squared_sensitivity

_REFUSED = 1e6  # the value of what cannot be
_ROUNDS = 3  # Nelder-Mead begins again from where it ended
# Of two times of decay at least: close to each other parts do the work of one, and a search that
# gets there does not find its way out.
_LEAST_RATIO, _LEAST_RATIO_OF_BUFFERS = 1.7, 1.02


@dataclass(frozen=True)
class Effort:
    """How hard to search: starts, and function values of each round of each."""

    starts: int = 3
    values: int = 4000


def stationary(parts: int, horizon: int, begin: Design, effort: Effort) -> Design:
    """Return the best sum of so many decaying parts that was found, from `begin` too."""

    def times_and_weights(point: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.sort(point[:parts]), np.exp(np.append(0.0, point[parts:]))

    def value(point: FloatArray) -> float:
        logs, weights = times_and_weights(point)
        if not _are_apart(logs, horizon, _LEAST_RATIO):
            return _REFUSED
        return float(weights.sum()) * _stationary_distance(_decays(logs), weights, horizon)

    points = [
        np.append(np.log(np.geomspace(low, max(horizon * high, 2.0), parts)), np.zeros(parts - 1))
        for low, high in ((0.9, 0.5), (0.6, 0.3), (0.55, 1.0))
    ]
    spaced = np.geomspace(0.75, max(horizon * 0.035, 1.5), parts - 1)
    heavier = np.append(np.zeros(parts - 2), np.log(2.0))
    points.insert(0, np.concatenate([np.log(spaced), [np.log(horizon * 0.54)], heavier]))
    if len(begin.decays) == parts:
        weights = np.array([float(weight) for weight in begin.weights])
        theirs = np.array([float((1 + decay) / (1 - decay) / 2) for decay in begin.decays])
        points.insert(0, np.append(np.log(theirs), np.log(weights[1:] / weights[0])))
    logs, weights = times_and_weights(_least(value, points, effort))
    decays = tuple(Fraction(decay) for decay in _decays(logs).tolist())
    exact = tuple(Fraction(weight) for weight in weights.tolist())
    return Design(decays, exact, squared_sensitivity(decays, exact, horizon))


def buffered(buffers: int, horizon: int, effort: Effort) -> Variance:
    """Return the BLT with so many buffers whose largest variance is the least that was found.

    Its strategy is c(z) = prod(1 - mu_i z) / prod(1 - theta_j z), zeros and poles in turn; the
    counts' noise is 1 / ((1 - z) c(z)).
    """

    def halves(point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Zeros and poles: of the sorted times of decay every other one."""
        return _decays(np.sort(point))[::2], _decays(np.sort(point))[1::2]

    def value(point: FloatArray) -> float:
        if not _are_apart(np.sort(point), horizon, _LEAST_RATIO_OF_BUFFERS):
            return _REFUSED
        zeros, poles = halves(point)
        strategy = _square_sums(poles, zeros, horizon).largest
        return strategy * _square_sums(np.append(zeros, 1.0), poles, horizon).largest

    points = [
        np.log(np.geomspace(low, max(horizon * high, 2.0), 2 * buffers))
        for low, high in ((0.7, 0.5), (0.55, 1.0), (0.6, 0.1))
    ]
    zeros, poles = halves(_least(value, points, effort))
    strategy = _square_sums(poles, zeros, horizon).largest
    noise = _square_sums(np.append(zeros, 1.0), poles, horizon)
    return Variance(strategy * noise.mean, strategy * noise.largest)


def _least(
    value: Callable[[FloatArray], float], points: Sequence[FloatArray], effort: Effort
) -> FloatArray:
    """Return the best point that was found from these starts."""
    best, least = points[0], value(points[0])
    for point in points[: effort.starts]:
        for _ in range(_ROUNDS):
            options = {"maxiter": effort.values, "maxfev": effort.values, "adaptive": True}
            result = minimize(value, point, method="Nelder-Mead", options=options)
            point = result.x
        if result.fun < least:
            best, least = point, float(result.fun)
    return best


def _decays(logs: FloatArray) -> FloatArray:
    """Return decays of logarithms of times, as `dphist.streams.counters.design` makes them."""
    times = np.exp(logs)
    decays: FloatArray = (times - 0.5) / (times + 0.5)
    return decays


def _are_apart(logs: FloatArray, horizon: int, ratio: float) -> bool:
    inside = logs[0] > np.log(0.51) and logs[-1] < np.log(20 * horizon)
    return bool(inside and (np.diff(logs) > np.log(ratio)).all())


def _stationary_distance(decays: FloatArray, weights: FloatArray, horizon: int) -> float:
    """Return what `squared_sensitivity` bounds, in floating point."""
    powers = weights * (1 - decays**2)
    near = (1 - decays) ** 2
    bounds = np.log(np.sort(near / decays))
    roots = []
    for left, right in pairwise(bounds.tolist()):
        inset = (right - left) * 1e-13

        def spectrum(log: float) -> float:
            return float((powers / (near - decays * np.exp(log))).sum())

        roots.append(np.exp(brentq(spectrum, left + inset, right - inset, xtol=1e-15)))
    y = np.array(roots)
    zeros = 1 - (np.sqrt(y + y * y / 4) - y / 2)
    gain = (powers / near).sum() * np.prod(1 - decays) ** 2 / np.prod(1 - zeros) ** 2
    return _square_sums(np.append(zeros, 1.0), decays, horizon).largest / float(gain)


def _square_sums(poles: FloatArray, zeros: FloatArray, horizon: int) -> Variance:
    """Return sums of squared coefficients of prod(1 - zero z) / prod(1 - pole z).

    There are as many zeros as poles, or one less. The largest is the sum of all `horizon` squares,
    the mean is over the sums of the first 1, 2, ... of them.
    """
    ratios = 1 - poles[:, None] ** -1 * poles
    np.fill_diagonal(ratios, 1.0)
    parts = np.prod(1 - zeros / poles[:, None], axis=1) / np.prod(ratios, axis=1)
    # Of equal degrees, a constant is left over, which is part of the first coefficient.
    first = np.prod(zeros) / np.prod(poles) if len(zeros) == len(poles) else 0.0
    products = np.outer(poles, poles)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = products**horizon
        sums = np.where(products < 1, (1 - rest) / (1 - products), float(horizon))
        means = np.where(
            products < 1,
            (1 - products * sums / horizon) / (1 - products),
            (horizon + 1) / 2,
        )
    added = first * first + 2 * first * parts.sum()
    return Variance(float(parts @ means @ parts + added), float(parts @ sums @ parts + added))
