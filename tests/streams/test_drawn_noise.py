"""What an event costs by the noise that the samplers were asked for, whatever the method says.

In the place of a sampler, the k-th draw moves the k-th path alone, by one standard deviation as it
was asked for. So the paths of a table are the matrix of the noise as drawn, and its guarantee is
compared with the one that the mechanism states. Lemmas 3, 5 and 9 of
docs/understand/proofs/streams.md.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from dphist.streams.counters import autoregressive, binary, laplace, toeplitz
from dphist.streams.counters.design import design, unbounded_design
from dphist.streams.counters.noise_table import NoiseTable
from dphist.streams.counters.toeplitz import variance_without_past
from dphist.streams.mechanism import ContinualMechanism

FINE = 2**8  # steps in a unit of noise, so that rounding to whole ones hardly matters
PATHS = 600


class Asked:
    """Stands in for the samplers, and notes what they are asked for."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.scales: list[Fraction] = []
        for module in (autoregressive, binary, toeplitz):
            patch.setattr(module, "rounded_gaussian", self.gaussian)
        patch.setattr(laplace, "two_sided_geometric", self.geometric)

    def gaussian(self, sigma: Fraction, size: int, _source: object) -> np.ndarray:
        drawn = np.zeros(size, np.int64)
        drawn[len(self.scales)] = round(FINE * sigma)
        self.scales.append(sigma)
        return drawn

    def geometric(self, rate: Fraction, size: tuple[int, int], _source: object) -> np.ndarray:
        drawn = np.zeros(size, np.int64)
        for place in range(size[1]):
            drawn[len(self.scales), place] = FINE
            self.scales.append(rate)
        return drawn


def matrix(mechanism: ContinualMechanism, times: list[int], asked: Asked) -> np.ndarray:
    """Return the noise at each time as sums of draws, (times, draws), in records."""
    table, found = NoiseTable.empty(mechanism.counter), []
    for time in times:
        table = table.advance_to(time, PATHS, mark=True)
        found.append(table.total()[: len(asked.scales)])
    whole = np.zeros((len(times), len(asked.scales)))
    for row, units in zip(whole, found, strict=True):
        row[: len(units)] = units
    return whole / FINE / 2**mechanism.counter.unit_bits


def events(times: list[int]) -> np.ndarray:
    """Return what each event adds to the counts at each time, (times, events)."""
    return np.array([[int(time >= first) for first in times] for time in times], float)


STREAMS: list[tuple[dict[str, Any], list[int]]] = [
    ({"horizon": 1}, [1]),
    ({"horizon": 7}, list(range(1, 8))),
    ({"horizon": 31, "max_labels": 3, "max_events_per_user": 2}, list(range(1, 32))),
    ({"horizon": 64, "readings": 12, "windows": 16}, [1, 2, 3, 4, 6, 8, 11, *range(16, 65, 8)]),
    ({"horizon": 2**20, "readings": 21}, [2**k for k in range(21)]),
]


@pytest.mark.parametrize("epsilon", ["1/50", 2])
@pytest.mark.parametrize("method", ["binary", "autoregressive", "toeplitz"])
@pytest.mark.parametrize(("parameters", "times"), STREAMS, ids=lambda x: str(x)[:40])
def test_an_event_costs_what_is_stated(
    method: Any,
    parameters: dict[str, Any],
    times: list[int],
    epsilon: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = ContinualMechanism(epsilon=epsilon, delta="1e-6", method=method, **parameters)
    drawn = matrix(made, times, Asked(monkeypatch))
    check_stated(made, times, drawn)
    shifts, _, rank, _ = np.linalg.lstsq(drawn, events(times), rcond=1e-12)
    assert rank == len(times)
    share = np.square(shifts).sum(axis=0).max() / float(squared_distance(made))
    assert share < 1 + 1e-9
    # Stationary noise costs less where there is no event before; 1/512 is kept for rounding.
    if method != "autoregressive" and len(times) == made.horizon:
        assert share > 0.995


def check_stated(made: ContinualMechanism, times: list[int], drawn: np.ndarray) -> None:
    """Check the variances that thresholds and errors are computed from."""
    for time, variance in zip(times, np.square(drawn).sum(axis=1), strict=True):
        assert variance == pytest.approx(float(made.counter.variance_at(time)), rel=1e-4)


def squared_distance(made: ContinualMechanism) -> Fraction:
    """Return that of one event of one label, by the guarantee for all labels and events."""
    return 2 * made.guarantee.rho / (made.max_labels * (made.max_events_per_user or 1) ** 2)


@pytest.mark.parametrize("method", ["autoregressive", "unbounded"])
@pytest.mark.parametrize("parameters", [{}, {"max_labels": 3, "max_events_per_user": 2}], ids=str)
def test_the_noise_at_each_time_is_that_of_the_design(
    method: Any, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A design is priced for more events than a test has readings: its noise decides."""
    horizon = None if method == "unbounded" else 2**20
    held = {"epsilon": 1, "delta": "1e-6", "readings": 6, "horizon": horizon, **parameters}
    made = ContinualMechanism(method=method, **held)
    priced = unbounded_design() if horizon is None else design(horizon)
    times = [1, 2, 10, 1000, 2**19, made.horizon]
    drawn = matrix(made, times, Asked(monkeypatch))
    check_stated(made, times, drawn)
    scale = priced.squared_sensitivity / squared_distance(made)
    for time, variance in zip(times, np.square(drawn).sum(axis=1), strict=True):
        least = sum(priced.weights)
        if horizon is None:
            least = variance_without_past(priced.decays, priced.weights, time)
        assert 1 <= variance / float(scale * least) < 1.02


@pytest.mark.parametrize("horizon", [3, 13, 40])
@pytest.mark.parametrize("parameters", [{}, {"max_labels": 2, "max_events_per_user": 3}], ids=str)
def test_an_event_of_a_pure_stream_costs_what_is_stated(
    horizon: int, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks that an event is added to, as cheap as they can be chosen."""
    held = {"labels": ["a", "b", "c"], "delta": 0, **parameters}
    made = ContinualMechanism(epsilon="1/2", horizon=horizon, **held)
    labels, users = (parameters.get(name, 1) for name in ("max_labels", "max_events_per_user"))
    times, asked = list(range(1, horizon + 1)), Asked(monkeypatch)
    drawn = matrix(made, times, asked)
    rates = np.array([float(rate) for rate in asked.scales])
    costs = []
    for shift in events(times).T:
        found = linprog(np.tile(rates, 2), A_eq=np.hstack([drawn, -drawn]), b_eq=shift)
        costs.append(labels * users * found.fun)
    assert max(costs) == pytest.approx(float(made.epsilon), rel=1e-9)
