"""What is compared with a noisy count is the threshold that the mechanism states, to the last unit.

The laws that other tests compare with hold to a few digits, and would not show a threshold that is
1 % too low.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.labels import measuring
from dphist.labels.discover import measuring as discover_measuring
from dphist.labels.discover.law import HIGHEST, first_weight
from dphist.labels.threshold import noise
from dphist.labels.threshold.law import grid
from tests.support.labels.discover.sets import data, sets

FEW: dict[str, Any] = {"epsilon": "1/1000", "delta": "1e-6", "max_labels": 3, "max_count": 2}
TABLE = {"label": ["at", "beyond"], "count": [5, 5]}


def handed_out(monkeypatch: pytest.MonkeyPatch, module: Any, sampler: str, drawn: Any) -> None:
    """Let a sampler of a module hand out these numbers."""
    held = np.array(drawn, np.int64)
    monkeypatch.setattr(module, sampler, lambda _law, _size, _source=None: held)


def test_geometric_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = dh.ThresholdHistogram(noise="laplace", **FEW)
    assert isinstance(mechanism.threshold, int)
    assert mechanism.threshold > 10_000
    reach = mechanism.threshold - 5
    handed_out(monkeypatch, noise, "two_sided_geometric", [reach, reach + 1])
    assert mechanism.release(pa.table(TABLE)).value.labels == ["beyond"]


def test_gaussian_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = dh.ThresholdHistogram(noise="gaussian", **FEW)
    assert isinstance(mechanism.threshold, Fraction)
    # In steps of the grid, between two of which the threshold lies.
    reach = (mechanism.threshold - 5) * grid(mechanism.noise_scale)
    handed_out(monkeypatch, noise, "rounded_gaussian", [reach // 1, reach // 1 + 1])
    assert mechanism.release(pa.table(TABLE)).value.labels == ["beyond"]


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_new_labels_of_a_user_are_above_it_with_delta_and_no_more(law: Any) -> None:
    """The threshold of a mechanism is that of its own delta, bounds and noise."""
    mechanism = dh.ThresholdHistogram(noise=law, **FEW)
    with mpmath.workdps(40):
        scale, threshold, delta = (
            mpmath.mpf(held.numerator) / held.denominator
            for held in (mechanism.noise_scale, mechanism.threshold, mechanism.delta)
        )
        if law == "laplace":
            ratio = mpmath.exp(-1 / scale)
            above = ratio ** (threshold - 2 + 1) / (1 + ratio)
        else:
            above = mpmath.erfc((threshold - 2) / scale / mpmath.sqrt(2)) / 2
        assert 0.99 * delta < 1 - (1 - above) ** 3 <= delta


@pytest.mark.parametrize(
    ("kind", "module", "sizes"),
    [
        (dh.TopLabels, measuring, {"k": 3, "candidates": 3}),
        (dh.TopThreshold, measuring, {"k": 3}),
    ],
)
def test_noise_that_is_computed_as_far_as_needed(
    kind: Callable[..., Any],
    module: Any,
    sizes: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is handed the threshold itself, above the next count, and the stated scale."""
    asked: list[Any] = []
    lazy = module.LazyNoise

    def record(*held: Any) -> Any:
        asked.append(held)
        return lazy(*held)

    monkeypatch.setattr(module, "LazyNoise", record)
    mechanism = kind(**sizes, **FEW)
    mechanism.release(pa.table({"label": list("abcd"), "count": [9, 8, 7, 2]}))
    ((_, scale, centers, _),) = asked
    assert centers == [7, 6, 5, mechanism.threshold]
    assert scale == mechanism.noise_scale


def test_discovered_labels_of_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = dh.DiscoverLabels(epsilon="1/1000", delta="1e-6", max_labels=3, looks=1)
    held = sets([[0, 1], [0, 1], [1]])
    reach = mechanism._threshold - discover_measuring.make_totals(held)(np.full(2, HIGHEST))
    handed_out(monkeypatch, discover_measuring, "rounded_gaussian", reach + np.arange(2))
    assert mechanism.release(data(held, 3)).value.labels == [1]


def test_discovered_labels_of_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = dh.DiscoverLabels(epsilon="1/1000", delta="1e-6", max_labels=3, looks=1)
    reach = mechanism._threshold - 5 * first_weight(3)
    handed_out(monkeypatch, discover_measuring, "rounded_gaussian", [reach, reach + 1])
    assert mechanism.release(pa.table(TABLE)).value.labels == ["beyond"]
