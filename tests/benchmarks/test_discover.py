"""The comparison of labels without counts: what others are, and that all keep to one total."""

import numpy as np
import pytest
from benchmarks.discover import __main__ as program
from benchmarks.discover.others import (
    calibrated,
    dp_sips,
    policy_gaussian,
    spread_for,
    threshold_for,
)
from scipy.stats import norm

from tests.support.labels.discover.sets import sets


def test_the_noise_of_others_has_the_stated_delta() -> None:
    sigma = spread_for(1, 1e-6)
    mu = 1 / sigma
    exact = norm.cdf(mu / 2 - 1 / mu) - np.exp(1) * norm.cdf(-mu / 2 - 1 / mu)
    assert exact == pytest.approx(1e-6, rel=1e-6)


def test_their_threshold_is_that_of_the_paper() -> None:
    """The weighted Gaussian of ours, at one look, has the same to within the split of delta."""
    for cap in (1, 20, 200):
        sigma, threshold = calibrated(1, 1e-6, cap)
        assert threshold == pytest.approx(float(program.discover(cap, 1).threshold), rel=0.005)
        assert sigma == pytest.approx(float(program.discover(cap, 1).noise_scale), rel=0.02)
    reached = 1 - norm.cdf((threshold_for(4.3, 5e-7, 1) - 1) / 4.3)
    assert reached == pytest.approx(5e-7, rel=1e-6)


def test_others_find_what_nearly_all_have() -> None:
    held = sets([[0, 1, 2 + i] for i in range(2000)])
    for method in (dp_sips, policy_gaussian):
        assert method(held, 1, 1e-6, 3) == 2


@pytest.mark.verify
def test_data_that_are_shipped_are_found() -> None:
    rows = program.frames()["shop: items of customers"]
    assert rows.shape == (266_802, 2)
