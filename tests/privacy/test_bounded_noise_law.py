"""Exact laws of ThresholdHistogram with noise that ends: docs/understand/proofs/bounded_noise.md.

The mechanism runs on labels of one count, its samplers replaced by ones that hand out every value
of the noise once and record what they were asked for: the exact law of what becomes of a label.
"""

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.data.label_counts import LabelCounts
from dphist.labels.threshold import bounded_noise
from dphist.labels.threshold.bounded_noise import TruncatedNoise
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.noise.finite import FiniteLaw
from dphist.privacy.conversion import geometric_to_rho
from tests.support.privacy.threshold_law import ViolationError, joint, renyi

ORDERS = (1.0001, 1.5, 2.0, 5.0, 40.0)
Law = dict[Any, float]


class EveryValue:
    """Stands in for both samplers: each value once; it keeps the law that it was asked for."""

    def __init__(self, size: int) -> None:
        self.size, self.law = size, Law()

    def truncated(self, rate: Any, limit: int, size: int, source: object = None) -> np.ndarray:
        assert isinstance(rate, Fraction)
        weights = {x: math.exp(-float(rate) * abs(x)) for x in range(-limit, limit + 1)}
        return self.hand_out({x: w / math.fsum(weights.values()) for x, w in weights.items()}, size)

    def finite(self, law: FiniteLaw, size: int, source: object = None) -> np.ndarray:
        chances = [weight / (1 << law.bits) for weight in law.weights]
        return self.hand_out({law.first + i: p for i, p in enumerate(chances)}, size)

    def hand_out(self, law: Law, size: int) -> np.ndarray:
        self.law = law
        return np.resize(np.array(list(law)), size)


@functools.lru_cache
def label_law(mechanism: ThresholdHistogram, count: int) -> Law:
    """Law of what is released of a label with this count; None: it is not released."""
    if mechanism.labels is None and count == 0:  # it is not in the data
        return {None: 1.0}
    size = 2 * int(mechanism.largest_error or 0) + 1
    sampler = EveryValue(size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_noise, "truncated_geometric", sampler.truncated)
        patch.setattr(bounded_noise, "finite_noise", sampler.finite)
        if mechanism.labels is None:
            columns = {"label": np.arange(size), "count": np.full(size, count)}
            bounds = mechanism.max_labels, mechanism.max_count
            value = mechanism.release(LabelCounts.promised(pa.table(columns), *bounds)).value
            released = dict(zip(value.labels, value.counts.tolist(), strict=True))
        else:
            noisy, _ = mechanism.noise_law().add(np.full(size, count), None, None)
            released = dict(enumerate(noisy.tolist()))
    law: Law = defaultdict(float)
    for place, chance in enumerate(sampler.law.values()):
        law[released.get(place)] += chance
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-12)
    return dict(law)


def neighbors(mechanism: ThresholdHistogram) -> Iterator[list[tuple[int, int]]]:
    """What one user may do to labels: new ones, some near the threshold, and common ones."""
    reach = int(mechanism.largest_error or 0)
    counts = {0, 1, reach, 3 * reach} if mechanism.labels is None else {0}
    pairs = [(n, n + t) for n in sorted(counts) for t in range(1, mechanism.max_count + 1)]
    yield from (
        list(e) for e in itertools.combinations_with_replacement(pairs, mechanism.max_labels)
    )


def hockey_stick(p: Law, q: Law, epsilon: float) -> float:
    return math.fsum(max(0.0, v - math.exp(epsilon) * q.get(y, 0.0)) for y, v in p.items())


def check(mechanism: ThresholdHistogram) -> float:
    """Check the (epsilon, delta) claim for all that a user may do; return the largest delta."""
    claim, worst = mechanism.epsilon_guarantee, 0.0
    assert claim is not None
    for pairs in neighbors(mechanism):
        one, other = (
            joint([label_law(mechanism, pair[side]) for pair in pairs]) for side in (0, 1)
        )
        for p, q in ((one, other), (other, one)):
            worst = max(worst, hockey_stick(p, q, float(claim.epsilon)))
    if worst > float(dh.privacy.find_delta(claim)) + 1e-12:
        raise ViolationError("delta is exceeded")
    return worst


def made(epsilon: Any, delta: Any, max_labels: int, **more: Any) -> ThresholdHistogram:
    return ThresholdHistogram(epsilon=epsilon, delta=delta, max_labels=max_labels, **more)


MECHANISMS = [
    made(1, "0.05", 2, noise="truncated"),
    made("0.5", "0.2", 2, max_count=2, noise="truncated"),
    made(3, "1e-3", 1, max_count=2, noise="truncated"),
    made("0.7", "1e-5", 1, noise="truncated"),
    made("0.7", "0.03", 2, max_count=2, noise="truncated", labels=["a", "b", "c"]),
    made(1, "0.05", 2, noise="optimal"),
    made("0.3", "1e-4", 1, noise="optimal"),
    made(2, "0.01", 3, noise="optimal"),
    made("0.7", "0.03", 2, noise="optimal", labels=["a", "b", "c"]),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_delta_is_kept_by_every_user_and_reached_by_one(mechanism: ThresholdHistogram) -> None:
    worst, reached = check(mechanism), float(mechanism.reached_delta)
    assert worst == pytest.approx(reached, rel=1e-9)
    assert mechanism.reached_delta <= mechanism.delta == dh.privacy.find_delta(mechanism.guarantee)


def finer_laws(mechanism: ThresholdHistogram, pair: tuple[int, int]) -> tuple[float, Law, Law]:
    """Return mass, and both laws on the finer space of the proof, of a label that is listed."""
    sampler = EveryValue(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_noise, "truncated_geometric", sampler.truncated)
        patch.setattr(bounded_noise, "finite_noise", sampler.finite)
        mechanism.noise_law().add(np.zeros(1, np.int64), None, None)
    one, other = ({count + x: p for x, p in sampler.law.items()} for count in pair)
    if mechanism.noise == "truncated":
        overlap = one.keys() & other.keys()
        p, q = ({y: law[y] for y in overlap} for law in (one, other))
    else:
        ratio = math.exp(float(mechanism.epsilon))
        both = one.keys() | other.keys()
        p, q = (
            {y: min(a.get(y, 0.0), ratio * b.get(y, 0.0)) for y in both}
            for a, b in ((one, other), (other, one))
        )
        (light, p), (heavy, q) = sorted(
            ((math.fsum(e.values()), e) for e in (p, q)), key=lambda e: e[0]
        )
        least = math.fsum(p.values()) / ratio
        part = (heavy - light) / (heavy - least) if heavy > light else 0.0
        q = {y: (1 - part) * q[y] + part * p[y] / ratio for y in both}
        p, q = ({y: v for y, v in law.items() if p[y] > 0} for law in (p, q))
    masses = math.fsum(p.values()), math.fsum(q.values())
    assert masses[0] == pytest.approx(masses[1], rel=1e-12)
    for law, own in ((p, (one, other)), (q, (one, other))):
        assert any(all(v <= each.get(y, 0.0) + 1e-15 for y, v in law.items()) for each in own)
    p, q = ({y: v / masses[0] for y, v in law.items()} for law in (p, q))
    return masses[0], p, q


def check_rho(mechanism: ThresholdHistogram) -> None:
    """Check the approximate zCDP claim: of each label alone, which add up over labels.

    A ledger adds up the epsilons too (`ledger.md`, Lemma 1), so these hold on the same event.
    """
    most = Fraction(mechanism.guarantee.rho) / mechanism.changed_labels
    own = 1 - (1 - float(dh.privacy.find_delta(mechanism.guarantee))) ** (
        1 / mechanism.changed_labels
    )
    for by in range(1, mechanism.max_count + 1):
        mass, p, q = finer_laws(mechanism, (5, 5 + by))
        if 1 - mass > own + 1e-12:
            raise ViolationError("the missing mass exceeds delta")
        most_odds = math.exp(float(mechanism.epsilon)) * (1 + 1e-9)
        if any(max(v, q[y]) > most_odds * min(v, q[y]) for y, v in p.items()):
            raise ViolationError("a ratio on the event exceeds that of epsilon")
        for order in ORDERS:
            if max(renyi(p, q, order), renyi(q, p, order)) > float(most) * order + 1e-9:
                raise ViolationError("a divergence exceeds rho")


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_rho_is_that_of_geometric_noise(mechanism: ThresholdHistogram) -> None:
    check_rho(mechanism)
    each = geometric_to_rho(mechanism.epsilon, mechanism.max_count)
    assert mechanism.guarantee.rho == mechanism.changed_labels * each


def lowered(patch: pytest.MonkeyPatch) -> None:
    right = ThresholdHistogram.threshold_in_steps.fget
    assert right is not None
    patch.setattr(ThresholdHistogram, "threshold_in_steps", property(lambda self: right(self) - 1))


def shorter(patch: pytest.MonkeyPatch) -> None:
    right = ThresholdHistogram._noise_of_labels

    def wrong(self: ThresholdHistogram) -> Any:
        noise = right(self)
        if isinstance(noise, TruncatedNoise):
            return TruncatedNoise(noise.rate, noise.largest - 1)
        return bounded_noise.OptimalNoise(noise.rate, 2 * noise.delta)

    patch.setattr(ThresholdHistogram, "_noise_of_labels", wrong)


def weak(patch: pytest.MonkeyPatch) -> None:
    right = ThresholdHistogram._noise_of_labels

    def wrong(self: ThresholdHistogram) -> Any:
        noise = right(self)
        if isinstance(noise, TruncatedNoise):
            return TruncatedNoise(noise.rate * Fraction(13, 10), noise.largest)
        return bounded_noise.OptimalNoise(noise.rate * Fraction(13, 10), noise.delta)

    patch.setattr(ThresholdHistogram, "_noise_of_labels", wrong)


@pytest.mark.parametrize("bug", [lowered, shorter, weak])
@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if m.labels is None], ids=str)
@pytest.mark.quick("epsilon=Fraction(1, 1)", every=3)
def test_planted_bugs_are_caught(
    mechanism: ThresholdHistogram,
    bug: Callable[[pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    label_law.cache_clear()
    bug(monkeypatch)
    with pytest.raises(ViolationError):
        check(mechanism)
        check_rho(mechanism)
    label_law.cache_clear()


def test_users_beside_them_have_noise_without_an_end() -> None:
    """So they cost epsilon and rho, and no delta."""
    for noise in ("truncated", "optimal"):
        alone, beside = (
            made(1, "0.05", 2, noise=noise, users_by_labels=users) for users in (None, 5)
        )
        assert type(beside._noise_of_users()).__name__ == "GeometricNoise"
        assert beside.guarantee.rho == alone.guarantee.rho + geometric_to_rho(Fraction(1), 1)
        assert beside.guarantee.delta == alone.guarantee.delta
        assert beside.epsilon_guarantee == dh.ApproxDP(3, "0.05", beside.guarantee.unit)
