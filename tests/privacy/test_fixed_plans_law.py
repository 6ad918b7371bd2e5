"""The account of releases that are fixed beforehand, against laws that are computed otherwise."""

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting import dp_event

import dphist as dh
from dphist.lab.bridges.dp_accounting import PLDAccountant
from dphist.noise.gaussian_epsilon import gaussian_delta_above, gaussian_epsilon
from dphist.privacy import loss_curve
from dphist.privacy.loss_curve import compute_atoms, delta_above, find_mixed_epsilon
from dphist.privacy.losses import GeometricLoss

HALF = Fraction(1, 2)
STEP = 1e-4  # of dp_accounting's losses


# --- fixed_plans, Lemma 1: one count that moves by s dominates


def geometric(a: Fraction, moved: int) -> dict[int, tuple[Fraction, Fraction]]:
    """Both probabilities of each loss, in units of the rate: of counts 0 and `moved`."""
    found: dict[int, tuple[Fraction, Fraction]] = {}
    for x in range(moved + 1):
        first, second = a**x, a ** (moved - x)
        ends = 1 if 0 < x < moved else 1 / (1 - a)  # beyond the counts, the loss is constant
        scale = (1 - a) / (1 + a) * ends
        found[moved - 2 * x] = (first * scale, second * scale)
    return found


def together(*laws: dict[int, tuple[Fraction, Fraction]]) -> dict[int, tuple[Fraction, Fraction]]:
    found = {0: (Fraction(1), Fraction(1))}
    for law in laws:
        longer: dict[int, tuple[Fraction, Fraction]] = {}
        for (one, (p, q)), (two, (r, s)) in itertools.product(found.items(), law.items()):
            held = longer.get(one + two, (Fraction(0), Fraction(0)))
            longer[one + two] = (held[0] + p * r, held[1] + q * s)
        found = longer
    return found


def delta_of(law: dict[int, tuple[Fraction, Fraction]], ratio: Fraction) -> Fraction:
    return sum((max(p - ratio * q, Fraction(0)) for p, q in law.values()), Fraction(0))


@pytest.mark.parametrize("a", [HALF, Fraction(9, 10), Fraction(1, 5)])
@pytest.mark.parametrize("moves", [(1, 1), (1, 2), (2, 2), (1, 1, 1), (3, 1), (2, 1, 1)])
def test_one_count_dominates_several(a: Fraction, moves: tuple[int, ...]) -> None:
    """In fractions, at every kink of both curves, which are linear in e**epsilon between them."""
    whole = geometric(a, sum(moves))
    parts = together(*(geometric(a, moved) for moved in moves))
    assert sum(p for p, _ in whole.values()) == sum(q for _, q in parts.values()) == 1
    for power in range(-sum(moves) - 1, sum(moves) + 2):
        assert delta_of(parts, a**-power) <= delta_of(whole, a**-power)
    less = geometric(a, sum(moves) - 1)
    assert any(delta_of(less, a**-k) < delta_of(whole, a**-k) for k in range(sum(moves)))


def test_a_chain_of_pure_steps_is_dominated() -> None:
    """Laws of three points whose neighbors have ratios up to 2, at a distance of three steps."""
    whole = geometric(HALF, 3)
    grid = [Fraction(n, 12) for n in range(1, 11)]
    laws = [(x, y, 1 - x - y) for x, y in itertools.product(grid, grid) if x + y < 1]

    def next_to(one: Any, two: Any) -> bool:
        return all(HALF <= x / y <= 2 for x, y in zip(one, two, strict=True))

    tried = 0
    for start in laws[::5]:
        reached = {start}
        for _ in range(3):
            reached = {law for law in laws if any(next_to(law, one) for one in reached)}
        for end in reached:
            for power in range(-4, 5):
                ratio = Fraction(2) ** power
                parts = [p - ratio * q for p, q in zip(start, end, strict=True)]
                excess = sum(part for part in parts if part > 0)
                assert excess <= delta_of(whole, ratio)
                tried += 1
    assert tried > 1000


# --- fixed_plans, Lemmas 3 and 4: the curve


def exact_law(noises: list[GeometricLoss]) -> dict[mpmath.mpf, mpmath.mpf]:
    """The law of the sum of losses, from the probabilities of geometric noise itself."""
    found = {mpmath.mpf(0): mpmath.mpf(1)}
    for noise in noises:
        a = mpmath.exp(-mpmath.mpf(noise.rate.numerator) / noise.rate.denominator)
        rate = -mpmath.log(a)
        law = {}
        for x in range(noise.moved + 1):
            chance = (1 - a) / (1 + a) * a**x
            if x in (0, noise.moved):
                chance /= 1 - a
            law[rate * (noise.moved - 2 * x)] = chance
        for _ in range(noise.times):
            longer: dict[mpmath.mpf, mpmath.mpf] = {}
            for (one, p), (two, q) in itertools.product(found.items(), law.items()):
                place = mpmath.nstr(one + two, 50)
                longer[place] = longer.get(place, 0) + p * q
            found = {mpmath.mpf(place): chance for place, chance in longer.items()}
    return found


def exact_delta(epsilon: float | Fraction, squared: Fraction, noises: list[GeometricLoss]):
    held = Fraction(epsilon)
    at = mpmath.mpf(held.numerator) / held.denominator
    mu = mpmath.sqrt(mpmath.mpf(squared.numerator) / squared.denominator)

    def chance(e):
        if not mu:
            return max(1 - mpmath.exp(e), 0)
        return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)

    return sum(p * chance(at - loss) for loss, p in exact_law(noises).items())


MIXED = [
    (Fraction(0), [GeometricLoss(Fraction(1, 10), 1, 12)], "1e-6"),
    (Fraction(0), [GeometricLoss(Fraction(1, 10), 4, 3), GeometricLoss(Fraction(1, 7))], "1e-8"),
    (Fraction(1, 50), [GeometricLoss(Fraction(1, 10), 1, 9)], "1e-6"),
    (Fraction(2), [GeometricLoss(Fraction(1), 3, 2), GeometricLoss(Fraction(2, 3), 2)], "1e-3"),
    (Fraction(1, 900), [GeometricLoss(Fraction(1, 3), 2, 2)], "1e-12"),
]


@pytest.mark.parametrize(("squared", "noises", "delta"), MIXED)
def test_the_epsilon_is_the_smallest_and_no_smaller(squared, noises, delta) -> None:
    with mpmath.workdps(60):
        found = find_mixed_epsilon(squared, tuple(noises), Fraction(delta))
        assert found is not None
        wanted = mpmath.mpf(delta)
        assert exact_delta(found, squared, noises) <= wanted
        assert exact_delta(found * (1 - Fraction(1, 10**8)), squared, noises) > wanted


@pytest.mark.parametrize(("squared", "noises", "delta"), MIXED)
def test_the_curve_is_bounded_from_above_and_by_little(squared, noises, delta) -> None:
    bits = 128
    atoms = compute_atoms(noises, bits)
    assert sum(mass for _, mass in atoms) >= 1 << bits
    with mpmath.workdps(60):
        for epsilon in (Fraction(0), Fraction(1, 3), Fraction(1), Fraction(-1, 2)):
            exact = exact_delta(epsilon, squared, noises) * (1 << bits)
            bound = delta_above(epsilon, squared, atoms, bits)
            assert exact <= bound <= exact + 2**24


@pytest.mark.parametrize("squared", [Fraction(1, 100), Fraction(1), Fraction(9)])
@pytest.mark.parametrize("epsilon", [Fraction(-3), Fraction(-1, 7), Fraction(0), Fraction(2)])
def test_the_gaussian_curve_is_bounded_on_both_sides_of_0(squared, epsilon) -> None:
    bits = 100
    with mpmath.workdps(60):
        exact = exact_delta(epsilon, squared, []) * (1 << bits)
        assert exact <= gaussian_delta_above(epsilon, squared, bits) <= exact + 2**16


def test_rounding_many_losses_costs_and_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    noises = (GeometricLoss(Fraction(1, 10), 4, 5), GeometricLoss(Fraction(1, 7), 3, 5))
    exact = find_mixed_epsilon(Fraction(1, 50), noises, Fraction(1, 10**6))
    bits = 128
    monkeypatch.setattr(loss_curve, "MOST_ATOMS", 300)
    atoms = compute_atoms(noises, bits)
    assert len(atoms) <= 300
    find_mixed_epsilon.cache_clear()
    rounded = find_mixed_epsilon(Fraction(1, 50), noises, Fraction(1, 10**6))
    find_mixed_epsilon.cache_clear()
    assert exact is not None
    assert rounded is not None
    assert exact < rounded < exact * Fraction(102, 100)


def test_without_much_geometric_noise_it_is_the_gaussian_curve() -> None:
    squared, delta = Fraction(1, 30), Fraction(1, 10**6)
    alone = gaussian_epsilon(squared, delta)
    with_little = find_mixed_epsilon(squared, (GeometricLoss(Fraction(1, 10**9)),), delta)
    assert with_little is not None
    assert alone <= with_little <= alone * (1 + Fraction(1, 10**7))


@pytest.mark.parametrize(("squared", "noises", "delta"), MIXED[:4])
def test_it_is_what_dp_accounting_finds(squared, noises, delta) -> None:
    found = find_mixed_epsilon(squared, tuple(noises), Fraction(delta))
    assert found is not None
    events = [
        dp_event.SelfComposedDpEvent(
            dp_event.DiscreteLaplaceDpEvent(float(n.rate), n.moved), n.times
        )
        for n in noises
    ]
    if squared:
        events.append(dp_event.GaussianDpEvent(1 / math.sqrt(squared)))
    accountant = PLDAccountant().compose(dp_event.ComposedDpEvent(events))
    theirs = accountant.get_epsilon(float(delta))
    parts = sum(n.times for n in noises) + 1
    # Theirs is rounded up as well, in steps of every part.
    assert theirs - parts * STEP <= float(found) <= theirs * (1 + 1e-6) + STEP


def test_what_is_not_computed_is_none() -> None:
    assert find_mixed_epsilon(Fraction(0), (GeometricLoss(Fraction(1), 5000),), HALF) is None
    assert find_mixed_epsilon(Fraction(0), (GeometricLoss(Fraction(2000)),), HALF) is None
    assert find_mixed_epsilon(Fraction(0), (GeometricLoss(Fraction(1)),), Fraction(0)) is None
    assert (
        find_mixed_epsilon(Fraction(0), (GeometricLoss(Fraction(1)),), Fraction(1, 10**400)) is None
    )
    assert find_mixed_epsilon(Fraction(0), (GeometricLoss(Fraction(1)),), Fraction(9, 10)) == 0
    # With as many rates as half of all steps, no step would be left to round a loss to.
    for many in (1024, 1030):
        rates = tuple(GeometricLoss(Fraction(many + n, 10**7)) for n in range(many))
        assert find_mixed_epsilon(Fraction(0), rates, Fraction(1, 10**6)) is None


# --- fixed_plans, Lemma 2: what is released has at most the delta that is stated


def law_of_count(rate: float, center: int, reach: int, threshold: int | None) -> np.ndarray:
    """Probabilities of a noisy count; of those at most a threshold, only that it is."""
    places = np.arange(-reach, reach + 1) - center
    a = math.exp(-rate)
    law = (1 - a) / (1 + a) * a ** np.abs(places)
    law[0], law[-1] = a ** (reach + center) / (1 + a), a ** (reach - center) / (1 + a)
    if threshold is None:
        return law
    cut = reach + threshold + 1
    return np.append(law[:cut].sum(), law[cut:])


@pytest.mark.parametrize("new", [True, False])
def test_two_releases_keep_the_total_that_is_stated(new: bool) -> None:
    """A user with one label, which nobody else has or everybody, who is in one bin as well."""
    wanted: dict[str, Any] = {"epsilon": 1, "delta": "1e-3"}
    asked: list[Any] = [
        (dh.ThresholdHistogram, {"max_labels": 1, "noise": "laplace"}),
        (dh.LeafCounts, {"bins": 3, "rho": None}),
    ]
    labels, bins = dh.calibrate(
        asked,
        unit="one user",
        **wanted,
    )
    plan = dh.FixedPlan([labels, bins], "1e-3", "one user")
    assert 0.999 < plan.fixed.epsilon <= 1
    reach = 80
    rates = float(labels.epsilon), float(bins.epsilon)
    threshold = int(labels.threshold)
    laws = []
    for there in (0, 1):
        if new and not there:  # a label that nobody has is never released
            first = np.zeros(reach - threshold + 1)
            first[0] = 1
        else:
            center = there if new else threshold + 5 + there
            first = law_of_count(rates[0], center, reach, threshold)
        laws.append(np.multiply.outer(first, law_of_count(rates[1], there, reach, None)).ravel())
    for one, two in (laws, laws[::-1]):
        excess = float(np.maximum(one - math.exp(plan.fixed.epsilon) * two, 0).sum())
        assert excess <= 1e-3
    own = float(labels.delta)
    if new:  # the label alone takes nearly all of its delta, so nothing else may take it
        shown = 1 - law_of_count(rates[0], 1, reach, threshold)[0]
        assert 0.3 * own < shown <= own
