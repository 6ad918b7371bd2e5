"""The epsilon of one release that pays for its threshold or its noise, not for both."""

import math
from fractions import Fraction
from pathlib import Path

import mpmath
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dphist import ApproxDP, Release, calibrate
from dphist.errors import ParameterError
from dphist.labels.threshold.cost import convex_from, epsilon_of_ends
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.noise.gaussian_epsilon import gaussian_epsilon

DIGITS = 60


def delta_of_noise(epsilon: object, square: object) -> mpmath.mpf:
    """The delta of Gaussian noise at a squared distance (Balle and Wang 2018, Theorem 8).

    It holds for negative epsilon too.
    """
    e, t = mpmath.mpf(epsilon), mpmath.mpf(square)
    if t == 0:
        return max(mpmath.mpf(0), 1 - mpmath.exp(e))
    mu = mpmath.sqrt(t)
    return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


def last_convex(epsilon: str) -> mpmath.mpf:
    """The largest squared distance of `accounting.md`, Lemma 10: t**2 + 4 t = 4 E**2."""
    return 2 * (mpmath.sqrt(1 + mpmath.mpf(epsilon) ** 2) - 1)


def bend(epsilon: str, square: mpmath.mpf, step: mpmath.mpf) -> mpmath.mpf:
    """The second difference."""
    before, after = (delta_of_noise(epsilon, square + sign * step) for sign in (-1, 1))
    return before + after - 2 * delta_of_noise(epsilon, square)


EPSILONS = ["0.001", "0.1", "1", "3", "20"]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_delta_is_convex_up_to_the_bound(epsilon: str) -> None:
    with mpmath.workdps(2 * DIGITS):  # near 0, delta is as small as e**(-E**2 / 2t)
        last = last_convex(epsilon)
        for part in range(4, 60):
            assert bend(epsilon, last * part / 60, last / 60) > 0


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_delta_is_not_convex_beyond_it(epsilon: str) -> None:
    """Power: a bound that is 2 % larger would be wrong."""
    with mpmath.workdps(DIGITS):
        assert bend(epsilon, last_convex(epsilon) * mpmath.mpf("1.02"), mpmath.mpf("1e-9")) < 0
        assert bend(epsilon, last_convex(epsilon) * mpmath.mpf("0.98"), mpmath.mpf("1e-9")) > 0


@given(st.fractions(Fraction(1, 10**12), 10**6))
def test_the_epsilon_of_convexity_is_rounded_up(square: Fraction) -> None:
    epsilon = convex_from(square)
    assert square**2 + 4 * square <= 4 * epsilon**2
    less = epsilon * (1 - Fraction(2, 10**11))
    assert square**2 + 4 * square > 4 * less**2


def exact_delta(made: ThresholdHistogram, epsilon: mpmath.mpf, shared: int) -> mpmath.mpf:
    """Wilkins et al. 2022: with some shared labels, all others new; the worse direction."""
    reached = mpmath.mpf(made.reached_delta.numerator) / made.reached_delta.denominator
    kept = (1 - reached) ** (mpmath.mpf(made.max_labels - shared) / made.max_labels)
    each = mpmath.mpf(made.epsilon.numerator) ** 2 / made.epsilon.denominator**2
    square = (shared + (made.users_by_labels is not None)) * each
    away = mpmath.log(kept)
    return max(
        1 - kept + kept * delta_of_noise(epsilon - away, square),
        delta_of_noise(epsilon + away, square),
    )


@pytest.mark.quick("1-1e-6-False-1]", "1-1e-6-True-10]", "4-0.01-False-1000]")
@pytest.mark.parametrize("max_labels", [1, 2, 10, 1000])
@pytest.mark.parametrize("users", [False, True])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-3"), ("4", "0.01")])
def test_no_mixture_exceeds_the_larger_delta(
    max_labels: int, users: bool, epsilon: str, delta: str
) -> None:
    made = calibrate(
        ThresholdHistogram,
        epsilon=epsilon,
        delta=delta,
        max_labels=max_labels,
        noise="gaussian",
        users_by_labels=2000 if users else None,
    )
    some = sorted({0, 1, max_labels // 2, max_labels - 1, max_labels, *range(0, max_labels, 89)})
    with mpmath.workdps(DIGITS):
        goal = mpmath.mpf(delta)
        found = [exact_delta(made, mpmath.mpf(epsilon), shared) for shared in some]
        assert max(found) <= goal
        # Tight: all of delta is spent, by a user whose labels are shared and by one with new ones.
        assert found[-1] > goal * (1 - mpmath.mpf(10) ** -8)
        assert found[0] > goal * mpmath.mpf("0.93")
        # Power: a tenth of a percent more epsilon of a label breaks it.
        weak = ThresholdHistogram(
            epsilon=made.epsilon * Fraction(1001, 1000),
            delta=made.delta,
            max_labels=max_labels,
            noise="gaussian",
            users_by_labels=2000 if users else None,
        )
        assert exact_delta(weak, mpmath.mpf(epsilon), max_labels) > goal


def gaussian(epsilon: str, delta: str, max_labels: int, users: bool = False) -> ThresholdHistogram:
    return ThresholdHistogram(
        epsilon=epsilon,
        delta=delta,
        max_labels=max_labels,
        noise="gaussian",
        users_by_labels=2000 if users else None,
    )


def test_one_release_has_the_epsilon_of_its_noise_at_the_whole_delta() -> None:
    made = gaussian("0.07", "1e-6", 10)
    whole = gaussian_epsilon(10 * made.epsilon**2, Fraction("1e-6"))
    assert made.epsilon_at("1e-6") == whole
    assert made.to_approx_dp("1e-6") == ApproxDP(whole, "1e-6", made.guarantee.unit)
    assert made.epsilon_at("3e-6") == gaussian_epsilon(10 * made.epsilon**2, Fraction("3e-6"))


def test_several_releases_add_deltas() -> None:
    made = gaussian("0.07", "1e-6", 10)
    assert made.epsilon_at("2e-6", 2) is None
    total = Fraction("3e-6")
    assert made.epsilon_at(total, 2) == gaussian_epsilon(20 * made.epsilon**2, total / 3)


def test_less_than_the_threshold_s_delta_is_not_claimed() -> None:
    made = gaussian("0.07", "1e-6", 10)
    assert made.epsilon_at("0.999999e-6") is None
    with pytest.raises(ParameterError, match="delta"):
        made.to_approx_dp("0.999999e-6")


def test_numbers_of_users_need_a_delta_beside_the_threshold_s() -> None:
    made = gaussian("0.07", "1e-6", 1, users=True)
    assert made.epsilon_at("1e-6") is None
    each = made.epsilon**2
    nearly = Fraction("1.0000001e-6")
    left = (nearly - Fraction("1e-6")) / (1 - Fraction("1e-6"))
    assert made.epsilon_at(nearly) == gaussian_epsilon(each, left)
    assert gaussian_epsilon(each, left) > gaussian_epsilon(2 * each, nearly)
    assert made.epsilon_at("2e-6") == gaussian_epsilon(2 * each, Fraction("2e-6"))


def test_without_convexity_the_maximum_is_not_claimed() -> None:
    made = gaussian("1", "0.2", 2)
    noise = gaussian_epsilon(Fraction(2), Fraction("0.3"))
    assert noise < convex_from(Fraction(2))
    expected = min(convex_from(Fraction(2)), gaussian_epsilon(Fraction(2), Fraction("0.1")))
    assert made.epsilon_at("0.3") == expected > noise


def test_ends() -> None:
    one, two = Fraction("0.01"), Fraction("0.02")
    small, large = Fraction("1e-9"), Fraction("1e-6")
    assert epsilon_of_ends([(two, large)]) == gaussian_epsilon(two, large)
    assert epsilon_of_ends([(two, large), (Fraction(0), Fraction(0))]) == gaussian_epsilon(
        two, large
    )
    assert epsilon_of_ends([(two, large), (one, small)]) == max(
        gaussian_epsilon(two, large), gaussian_epsilon(one, small)
    )
    assert epsilon_of_ends([(two, large), (one, Fraction(0))]) is None


def test_thresholds_at_a_total_of_one_and_a_millionth() -> None:
    """Those of ALGORITHMS.md's table; with a sum of deltas they were 22.4, 74.5 and 174.0."""
    for max_labels, threshold in ((1, 21.1), (10, 70.5), (50, 165.0)):
        made = calibrate(
            ThresholdHistogram, epsilon=1, delta="1e-6", max_labels=max_labels, noise="gaussian"
        )
        assert made.threshold == pytest.approx(threshold, abs=0.05)


def test_a_release_keeps_its_target(tmp_path: Path) -> None:
    made = calibrate(ThresholdHistogram, epsilon=1, delta="1e-6", max_labels=1, noise="gaussian")
    counts = pa.table({"label": ["a", "b"], "count": [500, 3]})
    path = tmp_path / "r.json"
    made.release(counts).save(path)
    loaded = Release.load(path)
    assert loaded.mechanism == made
    assert loaded.mechanism.target == made.target
    assert math.isclose(float(loaded.mechanism.epsilon_at("1e-6")), 1, rel_tol=1e-9)


EARLIER = Path(__file__).parents[1] / "saved_releases" / "with_targets"


def test_a_release_that_paid_the_sum_loads_with_its_threshold_and_target(tmp_path: Path) -> None:
    """Written by the version before the larger of two deltas; it was calibrated to (1, 1e-6)."""
    release = Release.load(EARLIER / "threshold_paying_the_sum.json")
    mechanism = release.mechanism
    assert isinstance(mechanism, ThresholdHistogram)
    assert mechanism.delta == Fraction("3.75e-7")
    assert mechanism.threshold == pytest.approx(74.4867, abs=1e-4)
    assert mechanism.target is not None
    assert mechanism.target.guarantee == ApproxDP(1, "1e-6", mechanism.guarantee.unit)
    # What it was said to cost holds; less is known now.
    assert mechanism.epsilon_at("1e-6") < Fraction(98, 100)
    release.save(tmp_path / "again.json")
    assert Release.load(tmp_path / "again.json").mechanism == mechanism
