"""`calibrate`: the largest epsilon whose releases cost no more than was asked for."""

import math
from fractions import Fraction
from typing import Any, Literal

import mpmath
import pytest
from scipy.stats import norm

from dphist import ApproxDP, ApproxZCDP, PrivHist, PureDP, SortedCounts, compose
from dphist.errors import ParameterError
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.privacy.calibration import calibrate

HISTOGRAMS: list[dict[str, Any]] = [
    {"max_labels": 1, "noise": "laplace"},
    {"max_labels": 10, "noise": "laplace", "max_count": 3},
    {"max_labels": 100, "noise": "laplace"},
    {"max_labels": 1, "noise": "gaussian"},
    {"max_labels": 10, "noise": "gaussian", "max_count": 3},
]
TARGETS = [(1, "1e-6"), ("0.05", "1e-9"), (8, "0.01")]


def total(made: Any, delta: Any, releases: int) -> Fraction:
    """Epsilon of all releases: as `compose` has it, or the exact one of Gaussian noise.

    One release with Gaussian noise pays for its threshold or its noise (`threshold.md`, Lemma 8).
    """
    known = [made.guarantee, getattr(made, "epsilon_guarantee", None)]
    claims = []
    for guarantee in known:
        if guarantee is not None:
            together = compose(*[guarantee] * releases)
            own = getattr(together, "delta", 0)
            if own < Fraction(delta) or (
                own == Fraction(delta) and isinstance(together, ApproxDP | PureDP)
            ):
                claims.append(together.to_approx_dp(delta).epsilon)
    left = Fraction(delta) - releases * (made.delta or 0)
    if releases == 1 and left >= 0:
        left = Fraction(delta)
    if made.noise == "gaussian" and left > 0:
        claims.append(gaussian_epsilon(releases * made.changed_labels * made.epsilon**2, left))
    return min(claims)


def changed(made: ThresholdHistogram, factor: Fraction) -> ThresholdHistogram:
    return ThresholdHistogram(
        epsilon=made.epsilon * factor,
        delta=made.delta,
        max_labels=made.max_labels,
        max_count=made.max_count,
        noise=made.noise,
        labels=made.labels,
    )


@pytest.mark.quick("[1-1-", "[30-")
@pytest.mark.parametrize("parameters", HISTOGRAMS, ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), TARGETS)
@pytest.mark.parametrize("releases", [1, 30])
def test_the_claim_is_the_target_and_not_above(
    parameters: dict[str, Any], epsilon: Any, delta: str, releases: int
) -> None:
    made = calibrate(
        ThresholdHistogram, epsilon=epsilon, delta=delta, releases=releases, **parameters
    )
    target = Fraction(str(epsilon))
    claimed = total(made, delta, releases)
    assert claimed <= target
    assert claimed > target * Fraction(999, 1000)
    # Power: a thousandth more is too much.
    assert total(changed(made, Fraction(1002, 1000)), delta, releases) > target
    assert made.epsilon_at(delta, releases) <= target
    if releases == 1:
        assert made.to_approx_dp(delta).epsilon <= target
    assert made.max_labels == parameters["max_labels"]
    assert made.noise == parameters["noise"]


@pytest.mark.parametrize("parameters", HISTOGRAMS[3:], ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), TARGETS)
@pytest.mark.parametrize("releases", [1, 30])
def test_gaussian_noise_is_as_weak_as_it_may_be(
    parameters: dict[str, Any], epsilon: Any, delta: str, releases: int
) -> None:
    """By the formula of Balle and Wang, in mpmath: the whole delta is spent, and no more."""
    made = calibrate(
        ThresholdHistogram, epsilon=epsilon, delta=delta, releases=releases, **parameters
    )
    with mpmath.workdps(50):
        target, goal = mpmath.mpf(str(epsilon)), mpmath.mpf(delta)

    def spent(mechanism: ThresholdHistogram) -> mpmath.mpf:
        each = mechanism.epsilon
        square = mpmath.mpf(each.numerator) ** 2 / each.denominator**2
        mu = mpmath.sqrt(releases * mechanism.max_labels * square)
        above = mpmath.ncdf(mu / 2 - target / mu)
        below = mpmath.exp(target) * mpmath.ncdf(-mu / 2 - target / mu)
        own = mechanism.delta or Fraction(0)
        of_thresholds = releases * mpmath.mpf(own.numerator) / own.denominator
        if releases == 1:
            return max(above - below, of_thresholds)
        return above - below + of_thresholds

    with mpmath.workdps(50):
        assert goal * (1 - mpmath.mpf(10) ** -8) < spent(made) <= goal
        assert spent(changed(made, Fraction(1002, 1000))) > goal
    if releases == 1:  # and the threshold has nearly all of delta as well
        assert made.delta > Fraction(delta) * Fraction(99, 100)
    cdp = calibrate(
        ThresholdHistogram,
        epsilon=epsilon,
        delta=delta,
        releases=releases,
        accounting="cdp",
        **parameters,
    )
    assert made.threshold < 0.97 * cdp.threshold


@pytest.mark.parametrize("parameters", HISTOGRAMS, ids=str)
def test_cdp_accounting_is_shown_by_the_guarantee_alone(parameters: dict[str, Any]) -> None:
    made = calibrate(
        ThresholdHistogram, epsilon=1, delta="1e-6", accounting="cdp", releases=4, **parameters
    )
    guarantee = compose(*[made.guarantee] * 4)
    assert isinstance(guarantee, ApproxZCDP)
    assert 0.999 < guarantee.to_approx_dp("1e-6").epsilon <= 1


@pytest.mark.long(every=2)
@pytest.mark.quick("{'max_labels': 1, 'noise': 'laplace'}")
@pytest.mark.parametrize(
    ("parameters", "accounting"),
    [*((each, "cdp") for each in HISTOGRAMS), *((each, "best") for each in HISTOGRAMS[3:])],
    ids=str,
)
def test_the_split_of_delta_is_near_the_best(
    parameters: dict[str, Any], accounting: Literal["cdp", "best"]
) -> None:
    """Against thresholds in floating point, over a fine grid of splits, with the same claims."""
    made = calibrate(
        ThresholdHistogram, epsilon=1, delta="1e-6", accounting=accounting, **parameters
    )
    best = math.inf
    for n in range(1, 64 + (accounting == "best")):
        own = Fraction(n, 64) / 10**6
        left = Fraction(1, 10**6) - own
        low, high = 1e-4, 10.0
        for _ in range(40):
            middle = math.sqrt(low * high)
            trial = ThresholdHistogram(epsilon=middle, delta=own, **parameters)
            if accounting == "best":
                claimed = gaussian_epsilon(trial.max_labels * trial.epsilon**2, Fraction("1e-6"))
            else:
                claimed = ApproxZCDP(trial.guarantee.rho, 0).to_approx_dp(left).epsilon
            low, high = (middle, high) if claimed <= 1 else (low, middle)
        best = min(
            best, float(ThresholdHistogram(epsilon=low, delta=own, **parameters).threshold or 0)
        )
    assert made.threshold <= best * 1.01 + 1


def test_what_is_pure_needs_no_delta() -> None:
    assert calibrate(SortedCounts, epsilon="1/3", delta=0, labels=5).epsilon <= Fraction(1, 3)
    made = calibrate(SortedCounts, epsilon=1, delta=0, labels=5)
    assert made.guarantee == PureDP(1)
    assert calibrate(PrivHist, epsilon=2, delta=0, releases=4).guarantee == PureDP("0.5")
    many = calibrate(SortedCounts, epsilon=1, delta="1e-6", releases=1000, labels=5)
    assert many.epsilon > Fraction(1, 1000)  # through zCDP
    together = compose(*[many.guarantee.to_zcdp()] * 1000)
    assert together.to_approx_dp("1e-6").epsilon <= 1


def test_listed_labels_spend_no_delta_on_a_threshold() -> None:
    for noise in ("laplace", "gaussian"):
        made = calibrate(
            ThresholdHistogram,
            epsilon=1,
            delta="1e-6",
            max_labels=3,
            labels=["a", "c"],
            noise=noise,
        )
        assert made.delta is None
        assert 0.999 < total(made, "1e-6", 1) <= 1
    pure = calibrate(ThresholdHistogram, epsilon=1, delta=0, max_labels=2, labels=["a", "b"])
    assert pure.epsilon_guarantee == PureDP(1, unit="user")


def several_queries(*, epsilon: Any, delta: Any, queries: int) -> Any:
    """A mechanism whose delta is that of one of its queries, and that has no threshold."""

    class Session:
        def __init__(self) -> None:
            self.epsilon = Fraction(epsilon)
            self.delta = Fraction(delta)
            self.guarantee = ApproxZCDP(self.epsilon**2 / 8, queries * self.delta)

    return Session()


def test_a_delta_a_query_is_taken_into_account() -> None:
    made = calibrate(several_queries, epsilon=1, delta="1e-6", queries=20)
    assert made.guarantee.delta == pytest.approx(5e-7)
    assert 0.999 < made.guarantee.to_approx_dp("1e-6").epsilon <= 1


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"delta": 0}, "delta"),
        ({"delta": -1}, "delta"),
        ({"releases": 0}, "releases"),
        ({"releases": 1.5}, "releases"),
        ({"accounting": "foo"}, "accounting"),
        ({"max_labels": 0}, "max_labels"),
        ({"noise": "foo"}, "noise"),
    ],
)
def test_bad_parameters_are_refused_by_name(changes: dict[str, Any], name: str) -> None:
    parameters = {"epsilon": 1, "delta": "1e-6", "max_labels": 2, **changes}
    with pytest.raises(ParameterError, match=name):
        calibrate(ThresholdHistogram, **parameters)


def test_gaussian_noise_without_any_delta_left_cannot_be_claimed() -> None:
    with pytest.raises(ParameterError, match="delta"):
        calibrate(
            ThresholdHistogram, epsilon=1, delta=0, max_labels=1, labels=["a"], noise="gaussian"
        )


# From dp_accounting 0.6.0, for Gaussian noise of sensitivity mu in standard deviations, composed:
# mu**2, delta, times; epsilon by privacy loss distributions (tight), and by Renyi orders.
REFERENCE = [
    (Fraction("0.1"), "1e-6", 1, 1.367571490202779, 1.4716562679107286),
    (Fraction("0.04"), "5e-7", 1, 0.864521313917561, 0.9295855852154122),
    (Fraction("0.01"), "1e-9", 10, 1.7880248563193102, 1.881734787896261),
    (Fraction(4), "1e-6", 1, 10.997151218387838, 11.688608755700379),
]


@pytest.mark.parametrize(("square", "delta", "times", "tight", "renyi"), REFERENCE)
def test_claims_are_those_of_dp_accounting(
    square: Fraction, delta: str, times: int, tight: float, renyi: float
) -> None:
    """Never below the tight epsilon, and that of Renyi orders, which rests on the same formula."""
    guarantee = ApproxZCDP(square / 2, 0)
    claimed = float(compose(*[guarantee] * times).to_approx_dp(delta).epsilon)
    assert tight <= claimed
    assert claimed == pytest.approx(renyi, rel=1e-4)
    assert float(gaussian_epsilon(square * times, Fraction(delta))) == pytest.approx(
        tight, rel=1e-7
    )
    # The tight one is right: the exact delta of Gaussian noise at it is the delta asked for.
    mu = math.sqrt(square * times)
    exact = norm.cdf(mu / 2 - tight / mu) - math.exp(tight) * norm.cdf(-mu / 2 - tight / mu)
    assert exact == pytest.approx(float(delta), rel=1e-3)


def test_calibrated_noise_in_dp_accounting_itself() -> None:
    """Its epsilon is rounded up too, some 1e-8: the last line allows for no more than that."""
    import dp_accounting as accounting

    kinds: list[tuple[Any, float]] = [("cdp", 0.9), ("best", 1 - 1e-9)]
    for kind, least in kinds:
        made = calibrate(
            ThresholdHistogram,
            epsilon=1,
            delta="1e-6",
            releases=5,
            accounting=kind,
            max_labels=10,
            noise="gaussian",
        )
        multiplier = 1 / math.sqrt(10 * made.epsilon**2)
        event = accounting.SelfComposedDpEvent(accounting.GaussianDpEvent(multiplier), 5)
        tight = accounting.pld.PLDAccountant().compose(event)
        left = 1e-6 - 5 * float(made.delta)
        assert least < tight.get_epsilon(left) <= 1 + (1e-7 if kind == "best" else 0)
