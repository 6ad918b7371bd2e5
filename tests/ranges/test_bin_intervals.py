"""Bounds on single bins reach as far as the exact law of the noise says, and no further."""

import math
from fractions import Fraction
from statistics import NormalDist

import mpmath
import numpy as np
import pytest

from dphist import HierarchicalTree, LeafCounts
from dphist.ranges.mechanism import RangesMechanism

BINS = 6
LEVELS = (0.5, 0.9, 0.95, 0.999)


def chance_within(mechanism: RangesMechanism, width: int, share: Fraction) -> mpmath.mpf:
    """Return the probability that the noise of one count is at most `width` either way."""
    with mpmath.workdps(50):
        cost = mechanism.guarantee
        if mechanism.rho is None:
            rate = cost.epsilon * share / mechanism.sensitivity
            tail = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
            return 1 - 2 * tail ** (width + 1) / (1 + tail)
        scale = mechanism.budget.sigma(share)
        sigma = mpmath.mpf(scale.numerator) / scale.denominator
        return mpmath.erf((width + mpmath.mpf(1) / 2) / sigma / mpmath.sqrt(2))


class TooShortError(AssertionError):
    """Bounds that hold less often than they say."""


def check(mechanism: RangesMechanism, level: float, width: int, share: Fraction) -> None:
    """Check that `width` is the smallest at which bounds hold with probability `level`."""
    if not chance_within(mechanism, width, share) >= level:
        raise TooShortError
    assert width == 0 or chance_within(mechanism, width - 1, share) < level


def width_of(mechanism: RangesMechanism, level: float) -> int:
    release = mechanism.release(np.arange(BINS))
    found, bins = mechanism.intervals(release, level), release.value.counts
    (width,) = {*(bins - found.lower).tolist(), *(found.upper - bins).tolist()}
    return int(width)


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("amount", ["0.01", "0.1", "1", "3", "40"])
@pytest.mark.parametrize("law", ["epsilon", "rho"])
def test_bounds_on_a_single_noisy_count_follow_its_law(law: str, amount: str, level: float) -> None:
    for sensitivity in (1, 3):
        leaf = LeafCounts(bins=BINS, sensitivity=sensitivity, **{law: amount})
        check(leaf, level, width_of(leaf, level), Fraction(1))
    tree = HierarchicalTree(bins=BINS, branching=2, consistent=False, **{law: amount})  # type: ignore[arg-type]
    check(tree, level, width_of(tree, level), Fraction(1, tree.levels))


@pytest.mark.parametrize("level", [0.95, 0.999])
def test_the_normal_quantile_is_too_short_for_geometric_noise(level: float) -> None:
    """What bounds were before: the check above refuses it."""
    mechanism = LeafCounts(bins=BINS, epsilon="0.1")
    error = math.sqrt(mechanism.budget.variance(Fraction(1)))
    width = math.floor(NormalDist().inv_cdf((1 + level) / 2) * error)
    with pytest.raises(TooShortError):
        check(mechanism, level, width, Fraction(1))


def test_bounds_on_fitted_bins_follow_their_standard_errors() -> None:
    tree = HierarchicalTree(bins=BINS, epsilon=1, nonnegative=False)
    release = tree.release(np.arange(BINS))
    found = tree.intervals(release, 0.9)
    reach = NormalDist().inv_cdf(0.95) * release.value.answers.bin_errors()
    assert np.allclose(found.upper - release.value.counts, reach)
    assert np.allclose(release.value.counts - found.lower, reach)
