"""What several releases of one mechanism cost together, against a single one that costs as much.

R releases for users of m labels have the squared distance, and the delta, of one release for users
of R m labels whose threshold has R times the delta. `docs/understand/proofs/accounting.md`, Lemmas
1 and 7.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dphist import ThresholdHistogram, TopLabels, TopThreshold
from dphist.privacy import ApproxZCDP, compose
from dphist.streams.mechanism import ContinualMechanism

DELTA = Fraction(1, 10**8)
# From how many releases the mechanism is to be like, one of that cost.
LIKE: dict[str, Callable[[int], Any]] = {
    "laplace": lambda r: ThresholdHistogram(epsilon=1, delta=r * DELTA, max_labels=3 * r),
    "gaussian": lambda r: ThresholdHistogram(
        epsilon="1/3", delta=r * DELTA, max_labels=3 * r, noise="gaussian"
    ),
    "top counts": lambda r: TopThreshold(epsilon="1/3", delta=r * DELTA, max_labels=3 * r),
    "top labels": lambda r: TopLabels(epsilon="1/3", delta=r * DELTA, k=4 * r),
    "binary": lambda r: ContinualMechanism(
        epsilon="1/9", delta=r * DELTA, max_labels=3 * r, horizon=2**16, method="binary"
    ),
    "autoregressive": lambda r: ContinualMechanism(
        epsilon="1/9", delta=r * DELTA, max_labels=3 * r, horizon=2**16
    ),
    "listed": lambda r: ContinualMechanism(
        epsilon="1/9", labels=[str(i) for i in range(90)], max_labels=3 * r, horizon=2**16
    ),
}
# Those of which one release pays for its threshold or its noise: from how many releases, one with
# the same noise and no threshold (`docs/understand/proofs/threshold.md`, Lemma 8).
LARGER: dict[str, Callable[[int], Any]] = {
    "gaussian": lambda r: ThresholdHistogram(
        epsilon="1/3", max_labels=3 * r, labels=list(range(3 * r)), noise="gaussian"
    ),
    "top counts": lambda r: ThresholdHistogram(
        epsilon="1/3", max_labels=3 * r, labels=list(range(3 * r)), noise="gaussian"
    ),
}


@pytest.mark.parametrize("name", LIKE)
@pytest.mark.parametrize("releases", [2, 3, 20])
@pytest.mark.parametrize("delta", ["1e-6", "1/100"])
def test_releases_cost_what_one_of_as_much_costs(name: str, releases: int, delta: str) -> None:
    one, all_of_them = LIKE[name](1), LIKE[name](releases)
    together = one.epsilon_at(delta, releases)
    if name in LARGER:
        # A single release does not add the delta of its threshold; several do.
        without_delta = LARGER[name](releases)
        assert together == without_delta.epsilon_at(Fraction(delta) - releases * DELTA)
        assert together > all_of_them.epsilon_at(delta)
    else:
        assert together == all_of_them.epsilon_at(delta)
    assert together > one.epsilon_at(delta)


@pytest.mark.parametrize("name", LIKE)
def test_deltas_of_releases_add_up(name: str) -> None:
    """Where those of the thresholds use all of delta, nothing can be claimed of Gaussian noise."""
    one = LIKE[name](1)
    if name != "listed":
        assert one.epsilon_at(2 * DELTA, 3) is None
    assert one.epsilon_at(4 * DELTA, 3) is not None


@pytest.mark.parametrize("name", LIKE)
@pytest.mark.parametrize("releases", [2, 20])
def test_no_more_is_claimed_than_composing_the_guarantees_shows(name: str, releases: int) -> None:
    """And for the exact epsilon of Gaussian noise less, but more than half of it."""
    one = LIKE[name](1)
    composed = compose(*[one.guarantee] * releases)
    shown = composed.to_approx_dp("1e-6").epsilon
    direct = getattr(one, "epsilon_guarantee", None)
    if direct is not None:
        shown = min(shown, compose(*[direct] * releases).to_approx_dp("1e-6").epsilon)
    if isinstance(composed, ApproxZCDP):
        assert composed.rho == releases * one.guarantee.rho
        assert composed.delta <= releases * DELTA
    claimed = one.epsilon_at("1e-6", releases)
    assert shown / 2 < claimed <= shown * (1 + Fraction(1, 10**5))
