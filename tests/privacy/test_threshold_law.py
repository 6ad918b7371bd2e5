"""Exact laws of ThresholdHistogram on small neighbours: `docs/understand/proofs/threshold.md`.

The mechanism itself runs on labels of one count, its sampler replaced by one that hands out every
value of the noise once and records the parameter it was asked for. That gives the exact law of
what becomes of a label. Laws of several labels are products, as each gets noise of its own, which
is tested too.
"""

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

from dphist.labels.threshold import noise as module
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.labels.threshold.noise import GaussianNoise, GeometricNoise
from tests.support.privacy.threshold_law import (
    ViolationError,
    hockey_stick,
    joint,
    label_law,
    promised_counts,
    renyi,
    users,
)

SLACK = 1e-9
ORDERS = (1.001, 1.5, 2.0, 5.0, 40.0)


def check(mechanism: ThresholdHistogram, common: list[tuple[int, int]], new: list[int]) -> float:
    """Check the definition for a user who lifts common labels (low, high) and brings new ones.

    Returns
    -------
    float
        The mass that is missing, 1 - Pr[S].
    """
    law = functools.cache(functools.partial(label_law, mechanism))
    output_with = joint([law(high) for _, high in common] + [law(c) for c in new])
    short = joint([law(low) for low, _ in common])
    nothing = (None,) * len(new)
    output_without = {outcome + nothing: p for outcome, p in short.items()}
    # The finer space: the common labels' outcomes and those of the new ones, drawn for both.
    finer_with = output_with
    finer_without = joint([law(low) for low, _ in common] + [law(c) for c in new])
    inside = [outcome for outcome in finer_with if outcome[len(common) :] == nothing]
    for finer, output in ((finer_with, output_with), (finer_without, output_without)):
        if any(finer[o] > output[o] + 1e-15 for o in inside):
            raise ViolationError("a restricted law is not dominated")
    missing = 1 - min(sum(law[o] for o in inside) for law in (finer_with, finer_without))
    guarantee = mechanism.guarantee
    if missing > float(guarantee.delta) + 1e-12:
        raise ViolationError("the missing mass exceeds delta")
    for order in ORDERS:
        for p, q in ((finer_with, finer_without), (finer_without, finer_with)):
            if renyi(p, q, order) > float(guarantee.rho) * order + SLACK:
                raise ViolationError("a divergence exceeds rho")
    direct = mechanism.epsilon_guarantee
    if direct is not None:
        for p, q in ((output_with, output_without), (output_without, output_with)):
            if hockey_stick(p, q, float(direct.epsilon)) > float(direct.delta) + 1e-12:
                raise ViolationError("the direct guarantee does not hold")
    return missing


MECHANISMS = [
    ThresholdHistogram(epsilon=1, delta="0.05", max_labels=2, noise="laplace"),
    ThresholdHistogram(epsilon="0.5", delta="0.2", max_labels=2, max_count=2, noise="laplace"),
    ThresholdHistogram(epsilon=3, delta="1e-3", max_labels=1, max_count=2, noise="laplace"),
    ThresholdHistogram(epsilon=1, delta="0.05", max_labels=2, noise="gaussian"),
    ThresholdHistogram(epsilon=2, delta="0.01", max_labels=2, max_count=2, noise="gaussian"),
    ThresholdHistogram(epsilon="0.7", delta="1e-4", max_labels=1, noise="gaussian"),
    ThresholdHistogram(epsilon=2, delta="0.01", max_labels=1, max_count=2, noise="gaussian"),
]


@pytest.mark.long(every=2)
@pytest.mark.quick("epsilon=Fraction(1, 1)", "max_labels=1", every=4)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_the_definition_holds_for_every_user(mechanism: ThresholdHistogram) -> None:
    missing = [check(mechanism, common, new) for common, new in users(mechanism)]
    # What is claimed as reached is reached, by a user all of whose labels are new.
    assert max(missing) == pytest.approx(float(mechanism.reached_delta), rel=1e-9)
    assert mechanism.reached_delta <= mechanism.guarantee.delta


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.quick(every=4)
def test_the_law_of_a_label_is_that_of_the_paper(mechanism: ThresholdHistogram, count: int) -> None:
    """Released iff count + Z > T: a T one step lower or higher, or >=, would be seen."""
    threshold, law = mechanism.threshold, label_law(mechanism, count)
    assert 1 - law[None] == pytest.approx(mechanism.release_chance(count), rel=1e-9)
    released = sorted(o for o in law if o is not None and law[o] > 0)
    for value in released[1:-1]:
        if mechanism.noise == "laplace":
            alpha = math.exp(-1 / float(mechanism.noise_scale))
            wanted = (1 - alpha) / (1 + alpha) * alpha ** abs(value - count)
        else:
            edges = (np.array([value - 0.5, value + 0.5]) - count) / float(mechanism.noise_scale)
            wanted = float(norm.cdf(edges[1]) - norm.cdf(edges[0]))
        assert law[value] == pytest.approx(wanted, rel=1e-6)
    assert threshold is not None
    least = (
        threshold + 1 if mechanism.noise == "laplace" else math.floor(threshold + Fraction(1, 2))
    )
    assert released[0] == least


def lowered(steps: int) -> Callable[[pytest.MonkeyPatch], None]:
    """Plant a threshold that is too low by steps of its grid; one is >= in place of >."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        right = ThresholdHistogram.threshold_in_steps.fget
        assert right is not None

        def wrong(self: ThresholdHistogram) -> int | Fraction:
            fine = 1 if self.noise == "laplace" else module.grid(self.noise_scale)
            step = Fraction(steps, fine)
            return right(self) - (steps if self.noise == "laplace" else step)

        patch.setattr(ThresholdHistogram, "threshold_in_steps", property(wrong))

    return plant


def weak_noise(patch: pytest.MonkeyPatch) -> None:
    def wrong(self: ThresholdHistogram, change: int) -> GeometricNoise | GaussianNoise:
        if self.noise == "laplace":
            return GeometricNoise(self.epsilon / change * Fraction(13, 10))
        return GaussianNoise(change / self.epsilon * Fraction(7, 10))

    patch.setattr(ThresholdHistogram, "_noise_for", wrong)


def unmultiplied_rho(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ThresholdHistogram, "changed_labels", property(lambda self: 1))


@pytest.mark.long(every=4)
@pytest.mark.quick("epsilon=Fraction(3, 1)", every=3)
@pytest.mark.parametrize(
    "bug", [lowered(1), lowered(2), weak_noise], ids=["lowered 1", "lowered 2", "weak noise"]
)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_planted_bugs_are_caught(
    mechanism: ThresholdHistogram, bug: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    every = list(users(mechanism))
    bug(monkeypatch)
    with pytest.raises(ViolationError):
        for common, new in every:
            check(mechanism, common, new)


@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if m.max_labels > 1], ids=str)
@pytest.mark.quick(every=4)
def test_a_guarantee_for_one_label_only_is_caught(
    mechanism: ThresholdHistogram, monkeypatch: pytest.MonkeyPatch
) -> None:
    unmultiplied_rho(monkeypatch)
    with pytest.raises(ViolationError):
        for common, new in users(mechanism):
            check(mechanism, common, new)


def each_label_has_noise_of_its_own(mechanism: ThresholdHistogram) -> bool:
    """Whether what the sampler returns is added once to each label: 0, 1, 2, ... stay apart."""
    asked = []

    def ladder(parameter: Fraction, size: int, source: object = None) -> np.ndarray:
        asked.append(size)
        return 100_000 * (sum(asked[:-1]) + np.arange(size))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "two_sided_geometric", ladder)
        patch.setattr(module, "rounded_gaussian", ladder)
        counts = mechanism.release(promised_counts([10**6] * 50, mechanism.max_labels)).value.counts
    return sum(asked) == 50 and len(set(counts.tolist())) == 50


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("labels", [None, list(range(50))])
@pytest.mark.parametrize("at_once", [7, 1 << 18])
def test_each_label_has_noise_of_its_own(
    noise: Any, labels: Any, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dphist.counting.bounding.stores._ROWS_AT_ONCE", at_once)
    delta = "0.01" if labels is None else None
    mechanism = ThresholdHistogram(epsilon=1, delta=delta, max_labels=1, noise=noise, labels=labels)
    assert each_label_has_noise_of_its_own(mechanism)


@pytest.mark.parametrize("kind", [GeometricNoise, GaussianNoise])
def test_shared_noise_is_caught(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right = kind.add

    def shared(self: Any, counts: np.ndarray, threshold: Any, source: Any) -> Any:
        noisy, above = right(self, counts[:1], threshold, source)
        return noisy + counts - counts[:1], np.repeat(above, len(counts))

    monkeypatch.setattr(kind, "add", shared)
    noise: Any = "laplace" if kind is GeometricNoise else "gaussian"
    mechanism = ThresholdHistogram(epsilon=1, delta="0.01", max_labels=1, noise=noise)
    assert not each_label_has_noise_of_its_own(mechanism)


SINGLETONS = 400_000
UNLIKELY = 1e-6

SHARES = [
    ThresholdHistogram(epsilon=1, delta="1e-3", max_labels=1, noise="laplace"),
    ThresholdHistogram(epsilon="1.386", delta="3e-4", max_labels=1, noise="laplace"),  # ln 4
    ThresholdHistogram(epsilon="0.3", delta="1e-2", max_labels=10, max_count=3, noise="laplace"),
    ThresholdHistogram(epsilon=1, delta="1e-3", max_labels=1, noise="gaussian"),
    ThresholdHistogram(epsilon="0.3", delta="1e-2", max_labels=10, max_count=3, noise="gaussian"),
    ThresholdHistogram(epsilon=40, delta="1e-3", max_labels=1, noise="gaussian"),
]


def users_betrayed(mechanism: ThresholdHistogram, source: Any) -> tuple[int, int]:
    """Release 400,000 labels that one user each has; return users with a label out, and users."""
    each = mechanism.max_labels
    data = promised_counts(np.full(SINGLETONS, mechanism.max_count), each, mechanism.max_count)
    labels = mechanism.release(data, source).value.labels
    return len({label // each for label in labels}), SINGLETONS // each


@pytest.mark.parametrize("mechanism", SHARES, ids=str)
@pytest.mark.quick(every=6)
def test_singletons_are_released_with_delta_and_not_four_times_less(
    mechanism: ThresholdHistogram, seeded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed = float(mechanism.guarantee.delta)
    out, all_users = users_betrayed(mechanism, seeded(3))
    assert binom.sf(out - 1, all_users, claimed) > UNLIKELY
    assert out / all_users > claimed / 4
    reached = float(mechanism.reached_delta)
    assert min(binom.cdf(out, all_users, reached), binom.sf(out - 1, all_users, reached)) > UNLIKELY
    # Power: a threshold lower by the noise's scale; by one record, as >= would be, for scale 1.
    lower = math.ceil(mechanism.noise_scale)
    steps = lower if mechanism.noise == "laplace" else lower * module.grid(mechanism.noise_scale)
    lowered(steps)(monkeypatch)
    out, all_users = users_betrayed(mechanism, seeded(3))
    assert binom.sf(out - 1, all_users, claimed) < UNLIKELY
