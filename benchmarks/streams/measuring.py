"""Noise of running counts as the library draws it, measured beside what it states."""

from dataclasses import dataclass

import numpy as np

from benchmarks.streams.published import FloatArray, Variance
from dphist import ContinualHistogram
from dphist.streams.counters.noise_table import Counter
from dphist.streams.counters.spectrum import responses
from dphist.streams.counters.toeplitz import ToeplitzCounter
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.methods import Method

# So small that rounding to whole records adds nothing to be seen: sigma_1 is 10 records and more.
EPSILON = "0.02"


@dataclass(frozen=True)
class Readings:
    """Variances of running counts at some times, in units of sigma_1**2.

    Attributes
    ----------
    claimed, measured : (k,) float64.
    """

    claimed: FloatArray
    measured: FloatArray

    @property
    def ratios(self) -> FloatArray:
        """Measured over claimed."""
        return self.measured / self.claimed


def unit_of(mechanism: ContinualMechanism) -> float:
    """Return sigma_1**2 = 1 / (2 rho), records**2, where rho is what one label costs."""
    return float(mechanism.changed_labels / mechanism.mu_squared)


def mechanism_of(method: Method, horizon: int) -> ContinualMechanism:
    """Return the mechanism of one listed label."""
    return ContinualMechanism(epsilon=EPSILON, horizon=horizon, method=method, labels=["a"])


def claimed(method: Method, horizon: int) -> Variance:
    """Return the mean and the largest over all times of the variance that the counter claims."""
    made = mechanism_of(method, horizon)
    return Variance.of(_variances(made.counter, horizon) / unit_of(made))


def _variances(counter: Counter, horizon: int) -> FloatArray:
    """Return the variances at all times, records**2."""
    if isinstance(counter, ToeplitzCounter):
        # That at the end, without what later innovations add, in floating point.
        theta = np.array([float(decay) for decay in counter.decays])
        held = np.array([float(m) for m in responses(counter.decays, counter.variances)])
        series = np.zeros(horizon)
        for response, decay in zip(held, theta, strict=True):
            series += response * decay ** np.arange(horizon)
        return np.cumsum(series**2)
    ones = np.bitwise_count(np.arange(1, horizon + 1))
    # Of the others, it depends on a time by the number of its binary digits that are 1, or not.
    digits = [0.0] + [float(counter.variance_at(2**k - 1)) for k in range(1, int(ones.max()) + 1)]
    found: FloatArray = np.array(digits)[ones]
    return found


def reading_times(horizon: int, readings: int, seed: int) -> list[int]:
    """Return times to read at: chosen at random, the first, and the one with the most digits 1."""
    generator = np.random.default_rng(seed)
    chosen = generator.choice(horizon, size=min(readings, horizon) - 2, replace=False) + 1
    most_digits = max(1, 2 ** (horizon.bit_length() - 1) - 1)  # of a power of 2
    return sorted({1, most_digits, *chosen.tolist()})


def simulate(method: Method, horizon: int, labels: int, readings: int, seed: int) -> Readings:
    """Run a stream of empty events with listed labels: what is read of it is noise."""
    generator = np.random.default_rng(seed)
    stream = ContinualHistogram(
        epsilon=EPSILON,
        horizon=horizon,
        method=method,
        labels=[f"label {number}" for number in range(labels)],
    )
    counter, unit = stream.mechanism.counter, unit_of(stream.mechanism)
    said, found = [], []
    for time in reading_times(horizon, readings, seed):
        stream.update_many([[]] * (time - stream.time))
        noise = np.array(list(stream.counts(source=generator.bytes).values()), np.float64)
        found.append(float(np.square(noise).mean()) / unit)
        said.append(_variance(counter, time, unit))
    return Readings(np.array(said), np.array(found))


def _variance(counter: Counter, time: int, unit: float) -> float:
    return float(counter.variance_at(time)) / unit
