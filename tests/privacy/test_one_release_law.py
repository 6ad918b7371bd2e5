"""Exact laws of one Gaussian release: its delta is the larger of two (`threshold.md`, Lemmas 8, 9).

The mechanism runs on labels of one count with every value of the noise, as in
`test_threshold_law.py`. Labels are independent, so laws of several are outer products.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

from dphist.labels.threshold import noise as module
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from tests.support.privacy.threshold_law import EveryValue, Law, label_law

FAR = 10
"""Standard deviations above the threshold of a count that is surely released."""

REACH = 7.5
"""Standard deviations from a count beyond which released values are one outcome."""


def made(
    epsilon: str, delta: str, max_labels: int, max_count: int, users: bool = False
) -> ThresholdHistogram:
    return ThresholdHistogram(
        epsilon=epsilon,
        delta=delta,
        max_labels=max_labels,
        max_count=max_count,
        noise="gaussian",
        users_by_labels=100 if users else None,
    )


MECHANISMS = [
    made("0.3", "1e-4", 1, 1),
    made("0.7", "1e-3", 1, 3),
    made("0.4", "1e-3", 2, 3),
    made("0.3", "1e-3", 3, 2),
    made("0.6", "1e-3", 1, 1, users=True),
    made("0.4", "1e-3", 2, 2, users=True),
]

Pair = tuple[np.ndarray, np.ndarray]
"""Probabilities of the same outcomes, with the user and without."""


def counts_of(mechanism: ThresholdHistogram) -> list[int]:
    """Counts that others have: seldom released, near the threshold, surely released."""
    near = math.floor(float(mechanism.threshold or 0))
    return [1, near, math.ceil(near + FAR * float(mechanism.noise_scale))]


def law_of(mechanism: ThresholdHistogram, count: int, most: int = 0) -> Law:
    """Law of a label; `users_by_labels` releases numbers beside the labels and changes none."""
    plain = ThresholdHistogram(
        epsilon=mechanism.epsilon,
        delta=mechanism.delta,
        max_labels=mechanism.max_labels,
        max_count=mechanism.max_count,
        noise="gaussian",
    )
    return label_law(plain, count, most)


@functools.cache
def shared(mechanism: ThresholdHistogram, low: int, by: int) -> Pair:
    """Laws of a label that others have `low` times, where the user adds `by`; None comes first."""
    reach = math.ceil(REACH * float(mechanism.noise_scale))
    high = low + by + reach
    laws = [law_of(mechanism, count, high) for count in (low + by, low)]
    values = [value for value in laws[0] | laws[1] if value is not None]
    least = max(low - reach, min(values))
    both = np.zeros((2, high - least + 2))
    for row, law in zip(both, laws, strict=True):
        for value, chance in law.items():
            row[0 if value is None else max(value, least) - least + 1] += chance
    return both[0], both[1]


@functools.cache
def new(mechanism: ThresholdHistogram, count: int) -> Pair:
    """Laws of a label that only the user has: whether it is released."""
    kept = law_of(mechanism, count)[None]
    return np.array([kept, 1 - kept]), np.array([1.0, 0.0])


@functools.cache
def user_number(mechanism: ThresholdHistogram) -> Pair:
    """Laws of the noisy number of users that counts the user."""
    size = 2 * 24 * 1100 + 1
    laws = []
    for count in (101, 100):
        sampler = EveryValue()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "rounded_gaussian", sampler)
            noisy, _ = mechanism._noise_of_users().add(np.full(size, count), None, None)
        laws.append(np.bincount(np.clip(noisy, 0, 250), sampler.law(size, "gaussian"), 251))
    return laws[0], laws[1]


def together(pairs: list[Pair]) -> Pair:
    """Laws of independent outcomes."""
    with_user, without = (
        functools.reduce(np.multiply.outer, laws) for laws in zip(*pairs, strict=True)
    )
    return with_user, without


def delta_of(pair: Pair, epsilon: float) -> float:
    """The smallest delta at this epsilon, the worse way round."""
    first, second = pair
    grown = math.exp(epsilon)
    return max(
        float(np.maximum(first - grown * second, 0).sum()),
        float(np.maximum(second - grown * first, 0).sum()),
    )


def all_users(mechanism: ThresholdHistogram) -> Iterator[tuple[int, list[Pair]]]:
    """What one user may do: (number of new labels, laws of all that the user changes)."""
    always = [user_number(mechanism)] if mechanism.users_by_labels else []
    by = mechanism.max_count
    lifts = [(low, by) for low in counts_of(mechanism)] + [(counts_of(mechanism)[1], 1)]
    for fresh in range(mechanism.max_labels + 1):
        for kept in itertools.combinations_with_replacement(lifts, mechanism.max_labels - fresh):
            for count in {1, by} if fresh else {by}:
                yield (
                    fresh,
                    [
                        *(shared(mechanism, *lift) for lift in kept),
                        *[new(mechanism, count)] * fresh,
                        *always,
                    ],
                )


def worst(mechanism: ThresholdHistogram, epsilon: float) -> dict[int, float]:
    """The largest delta that a user brings about, by the number of new labels."""
    found: dict[int, float] = {}
    for fresh, laws in all_users(mechanism):
        found[fresh] = max(found.get(fresh, 0), delta_of(together(laws), epsilon))
    return found


def claims(mechanism: ThresholdHistogram) -> list[tuple[float, float]]:
    """Deltas from the threshold's own on, and the epsilons claimed for them."""
    found = []
    for factor in ("1.001", "1.5", "4", "10"):
        total = (mechanism.delta or 0) * Fraction(factor)
        epsilon = mechanism.epsilon_at(total)
        assert epsilon is not None
        found.append((float(total), float(epsilon)))
    return found


@pytest.mark.quick(
    "max_labels=1", "epsilon=Fraction(2, 5), delta=Fraction(1, 1000), max_labels=2", every=5
)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_no_user_exceeds_the_larger_delta(mechanism: ThresholdHistogram) -> None:
    for delta, epsilon in claims(mechanism):
        assert max(worst(mechanism, epsilon).values()) <= delta


@pytest.mark.quick("max_labels=1", "epsilon=Fraction(2, 5), delta=Fraction(1, 1000), max_labels=2")
@pytest.mark.parametrize("mechanism", MECHANISMS[:4], ids=str)
def test_the_larger_delta_is_reached(mechanism: ThresholdHistogram) -> None:
    """By shared labels at a claimed epsilon, and by new ones at any."""
    for delta, epsilon in claims(mechanism)[1:]:
        assert worst(mechanism, epsilon)[0] > 0.95 * delta
    new_alone = worst(mechanism, 3 * claims(mechanism)[0][1])[mechanism.max_labels]
    assert new_alone == pytest.approx(float(mechanism.reached_delta), rel=1e-6)
    assert new_alone > 0.9 * float(mechanism.delta or 0)


def of_noise_alone(one: ThresholdHistogram, total: Fraction) -> Fraction:
    """Wrong: the threshold's delta is left out."""
    return gaussian_epsilon(one._changed * one.epsilon**2, total)


def of_one_label_less(one: ThresholdHistogram, total: Fraction) -> Fraction:
    """Wrong: as if a user's last label were always new."""
    return gaussian_epsilon((one._changed - Fraction(1)) * one.epsilon**2, total)


def without_users(one: ThresholdHistogram, total: Fraction) -> Fraction:
    """Wrong: as if new labels left nothing else to tell the user by."""
    return gaussian_epsilon(one._changed * one.epsilon**2, total)


@pytest.mark.parametrize(
    ("wrong", "mechanism", "factor"),
    [
        (of_noise_alone, MECHANISMS[0], "0.5"),
        (of_noise_alone, MECHANISMS[2], "0.5"),
        (of_one_label_less, MECHANISMS[2], "4"),
        (of_one_label_less, MECHANISMS[5], "4"),
        (without_users, MECHANISMS[4], "1.001"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_too_tight_claims_are_broken(
    wrong: Callable[[ThresholdHistogram, Fraction], Fraction],
    mechanism: ThresholdHistogram,
    factor: str,
) -> None:
    """Power: by what is released, each at a delta where it differs from the right claim."""
    total = (mechanism.delta or 0) * Fraction(factor)
    claimed = wrong(mechanism, total)
    right = mechanism.epsilon_at(total)
    assert right is None or claimed < right
    assert max(worst(mechanism, float(claimed)).values()) > float(total)


@pytest.mark.parametrize("mechanism", [MECHANISMS[0], MECHANISMS[2]], ids=str)
def test_the_sum_is_not_reached(mechanism: ThresholdHistogram) -> None:
    """Power: at the epsilon of the sum (Lemma 6) much less than the delta asked for is used."""
    own = mechanism.delta or Fraction(0)
    summed = gaussian_epsilon(mechanism.max_labels * mechanism.epsilon**2, own)
    assert max(worst(mechanism, float(summed)).values()) < 0.6 * float(2 * own)
    assert mechanism.epsilon_at(2 * own) < summed
