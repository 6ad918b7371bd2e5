"""The threshold keeps delta, and hardly less would: Lemma 4 of proofs/discover_labels.md."""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest

from dphist.labels.discover import law
from dphist.labels.discover.law import (
    UNIT,
    keeps,
    least_threshold,
    look_sigma,
    most_added,
    total_sigma,
)

CASES = [
    ("1/4", "1e-6", 1, 1),
    ("1/4", "1e-6", 1, 16),
    ("1/4", "1e-6", 100, 16),
    ("1/4", "1e-6", 3000, 1),
    ("3", "1e-12", 1000, 7),
    ("1/100", "1/2", 50, 16),
    ("20", "1e-300", 3, 64),
    ("40", "1e-3", 40, 16),
    ("1/4", Fraction(1, 10**400), 3, 16),
]


def delta_of(epsilon: Fraction, threshold: int, max_labels: int, looks: int) -> mpmath.mpf:
    """The largest t p(t), to 50 digits."""
    with mpmath.workdps(50):
        sigma = UNIT * looks / (mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        away = (
            (threshold - most_added(t, looks) - mpmath.mpf(looks) / 2) / sigma
            for t in range(1, max_labels + 1)
        )
        return max(t * mpmath.erfc(x / mpmath.sqrt(2)) / 2 for t, x in enumerate(away, 1))


@pytest.mark.parametrize(("epsilon", "delta", "max_labels", "looks"), CASES)
@pytest.mark.quick(every=4)
def test_the_threshold_is_nearly_the_least(
    epsilon: str, delta: str | Fraction, max_labels: int, looks: int
) -> None:
    exact, allowed = Fraction(epsilon), Fraction(delta)
    threshold = least_threshold(exact, allowed, max_labels, looks)
    sigma = int(total_sigma(exact, looks))
    wanted = mpmath.mpf(allowed.numerator) / allowed.denominator
    assert delta_of(exact, threshold, max_labels, looks) <= wanted
    assert delta_of(exact, threshold - sigma // 50_000, max_labels, looks) > wanted


@pytest.mark.parametrize(("epsilon", "delta", "max_labels", "looks"), CASES[:6])
def test_what_is_too_low_does_not_keep_delta(
    epsilon: str, delta: str, max_labels: int, looks: int
) -> None:
    exact, allowed = Fraction(epsilon), Fraction(delta)
    threshold, sigma = least_threshold(exact, allowed, max_labels, looks), total_sigma(exact, looks)
    assert keeps(sigma, threshold, allowed, max_labels, looks)
    for step in (Fraction(1, 50_000), Fraction(1, 100), 1):
        assert not keeps(sigma, threshold - int(step * sigma), allowed, max_labels, looks)
    assert not keeps(sigma, -threshold, allowed, max_labels, looks)


@pytest.mark.parametrize("delta", ["1/2", "0.6", "0.99"])
def test_a_threshold_below_what_a_user_adds_keeps_no_delta(delta: str) -> None:
    """Where noise is as likely to help as not: the chance is above one half."""
    sigma = total_sigma(Fraction(1), 4)
    assert not keeps(sigma, most_added(1, 4) - 4 * int(sigma), Fraction(delta), 1, 4)


@pytest.mark.parametrize(("epsilon", "delta", "max_labels", "looks"), CASES[:6])
def test_integers_decide_where_the_proposal_is_too_low(
    epsilon: str, delta: str, max_labels: int, looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By so little that a rule for another delta or another deviation would keep it."""
    exact, allowed = Fraction(epsilon), Fraction(delta)
    propose = law._proposal
    monkeypatch.setattr(
        law, "_proposal", lambda sigma, *held: propose(sigma, *held) - float(sigma) / 4000
    )
    threshold = law.least_threshold.__wrapped__(exact, allowed, max_labels, looks)
    wanted = mpmath.mpf(allowed.numerator) / allowed.denominator
    assert delta_of(exact, threshold, max_labels, looks) <= wanted


@pytest.mark.parametrize(("epsilon", "looks"), [("3", 7), ("20", 1), ("20", 64), ("40", 16)])
@pytest.mark.parametrize(("delta", "max_labels"), [("1e-6", 1), ("1e-12", 5), ("1/20", 40)])
@pytest.mark.quick(every=2)
def test_delta_is_kept_to_the_unit(epsilon: str, looks: int, delta: str, max_labels: int) -> None:
    """Each look is rounded by half a unit, which a search in larger steps does not show."""
    exact, allowed = Fraction(epsilon), Fraction(delta)
    sigma = total_sigma(exact, looks)
    wanted = mpmath.mpf(allowed.numerator) / allowed.denominator
    low, high = 0, least_threshold(exact, allowed, max_labels, looks)
    while high - low > 1:
        middle = (low + high) // 2
        if delta_of(exact, middle, max_labels, looks) <= wanted:
            high = middle
        else:
            low = middle
    room = math.ceil(sigma / 2**24)  # of its digits
    assert keeps(sigma, high + room, allowed, max_labels, looks)
    assert not keeps(sigma, low, allowed, max_labels, looks)
    assert looks == 1 or looks // 2 > room


@pytest.mark.parametrize("looks", [1, 2, 3, 4, 7, 16, 64])
def test_looks_share_the_noise(looks: int) -> None:
    """All together cost no more than one, and hardly less."""
    epsilon = Fraction(1, 3)
    each = look_sigma(epsilon, looks)
    together = looks * UNIT**2 / each**2
    assert epsilon**2 * (1 - Fraction(1, 10**15)) <= together <= epsilon**2
    assert total_sigma(epsilon, looks) ** 2 >= looks * each**2
    if looks in (1, 4, 16, 64):
        assert each == UNIT * math.isqrt(looks) / epsilon


def test_more_labels_never_lower_the_threshold() -> None:
    found = [least_threshold(Fraction(1, 4), Fraction(1, 10**6), m, 16) for m in range(1, 60)]
    slack = int(total_sigma(Fraction(1, 4), 16)) // 50_000
    assert all(after >= before - slack for before, after in itertools.pairwise(found))
