"""What an exchange of one unit for another costs: docs/understand/proofs/exchanged.md.

Small universes, and all pairs of neighbors in them. A transcript says by how much each noisy number
differs, and each pays by its noise, in fractions.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dp_accounting.dp_event import ZCDpEvent

import dphist as dh
from dphist.lab.auditing.replay import Told, record, replay
from dphist.lab.auditing.replay.transcript import Transcript
from dphist.lab.bridges.dp_accounting import PLDAccountant
from dphist.mechanism import MechanismBase
from dphist.privacy import Guarantee
from dphist.privacy.conversion import geometric_to_rho
from dphist.privacy.exchanged import exchange_by_steps, exchange_of_growing
from dphist.ranges.measuring import RangesMeasuring

SLACK = 1 + Fraction(1, 10**10)  # rounding up, number by number
TOTAL: dict[int, Told] = {0: lambda data: np.array([data.total])}


def cost(one: Transcript, other: Transcript) -> tuple[Fraction, Fraction]:
    """What tells two runs apart that published the same, in epsilon and in rho."""
    epsilon = rho = Fraction(0)
    for mine, its in zip(one.entries, other.entries, strict=True):
        for change in np.abs(mine.exact - its.exact).ravel().tolist():
            if change and mine.request.sampler == "geometric":
                rate = mine.request.parameter * change
                epsilon, rho = epsilon + rate, rho + geometric_to_rho(rate, change)
            elif change:
                rho += mine.request.cost(change)[1]
    return epsilon, rho


def check(mechanism: Any, pairs: Iterator[Any], least: float = 0, told: Any = None) -> None:
    """Check that exchanges cost what is stated at most, and some of them nearly that."""
    stated, worst = mechanism.exchanged, Fraction(0)
    assert stated.unit == dh.PrivacyUnit("record", mechanism.sensitivity, exchanged=True)
    whole = stated if isinstance(stated, dh.ZCDP) else stated.to_zcdp()
    for one, other in pairs:
        mine = record(mechanism.release, one, told=told)
        epsilon, rho = cost(mine, replay(mine, mechanism.release, other, told=told))
        assert rho <= whole.rho * SLACK
        if isinstance(stated, dh.PureDP):
            assert epsilon <= stated.epsilon
        worst = max(worst, rho)
    assert worst >= Fraction(least) * whole.rho


def exchanges(places: int, most: int, base: int) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """All pairs of data sets that add up to `most` records each to the same `base` records."""
    each = [
        (*common, *more)
        for common in itertools.combinations_with_replacement(range(places), base)
        for some in range(1, most + 1)
        for more in itertools.combinations_with_replacement(range(places), some)
    ]
    sets = sorted({tuple(sorted(held)) for held in each})
    for one, other in itertools.product(sets, repeat=2):
        shared = sum(min(one.count(i), other.count(i)) for i in range(places))
        if one != other and max(len(one), len(other)) - shared <= most:
            yield one, other


def binned(bins: int, places: Sequence[int], most: int) -> dh.BinnedCounts:
    """Records by their bins; the place after the last bin is below all of them."""
    counts = np.bincount(np.array(places, np.int64), minlength=bins + 1)
    axis = dh.Axis.regular(0, bins, bins=bins, name="x")
    outside = {"below": int(counts[bins]), "above": 0, "null": 0}
    return dh.BinnedCounts(counts[:bins], (axis,), outside=outside, sensitivity=most)


RANGES: dict[str, tuple[type[Any], dict[str, Any], float]] = {
    "leaves": (dh.LeafCounts, {"bins": 3}, 1 - 1e-9),
    "tree": (dh.HierarchicalTree, {"bins": 4, "branching": 2, "root": False}, 0.99),
    "tree with its root": (dh.HierarchicalTree, {"bins": 4, "branching": 2, "root": True}, 0.5),
    "adaptive": (dh.AdaptiveTree, {"bins": 4}, 0.8),
}


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("budget", ["epsilon", "rho"])
@pytest.mark.parametrize("name", RANGES)
def test_all_exchanges_in_few_bins(name: str, budget: str, most: int) -> None:
    kind, more, least = RANGES[name]
    mechanism = kind(**{budget: Fraction(3, 4)}, sensitivity=most, **more)
    bins = more["bins"]
    pairs = exchanges(bins + 1, most, 2 - most)
    check(mechanism, ((binned(bins, a, most), binned(bins, b, most)) for a, b in pairs), least)


def diagrams(most: int, size: int) -> Iterator[tuple[dh.Profile, dh.Profile]]:
    """All pairs of profiles to which `most` records or fewer are added from a common one."""

    def partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
        if total == 0:
            yield ()
        for first in range(min(total, largest), 0, -1):
            yield from ((first, *rest) for rest in partitions(total - first, first))

    def padded(counts: Sequence[int]) -> list[int]:
        return [*counts, *[0] * (size + most - len(counts))]

    held = [each for n in range(size + most + 1) for each in partitions(n, n)]
    for one, other in itertools.product(held, repeat=2):
        common = sum(map(min, padded(one), padded(other)))
        if one != other and max(sum(one), sum(other)) - common <= most:
            pair = (dh.Profile.from_counts(each, sensitivity=most) for each in (one, other))
            yield next(pair), next(pair)


ANONYMIZED: dict[str, tuple[Callable[..., Any], Any, float]] = {
    "sorted": (lambda **given: dh.SortedCounts(labels=6, **given), None, 1),
    "cumulative": (lambda **given: dh.CumulativeCounts(largest=6, **given), None, 1),
    "rank split": (lambda **given: dh.RankSplit(total=9, **given), None, 1),
    "rank split, total unknown": (dh.RankSplit, TOTAL, 0.5),
    "scan": (dh.AdaptiveScan, None, 0.9),
    "hist": (dh.PrivHist, TOTAL, 0),
    "hist of three": (lambda **given: dh.PrivHist(shares=(1, 1, 1), **given), TOTAL, 0),
}


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("name", ANONYMIZED)
def test_all_exchanges_in_small_profiles(name: str, most: int) -> None:
    make, told, least = ANONYMIZED[name]
    check(
        make(epsilon=Fraction(3, 4), sensitivity=most), diagrams(most, 3 - most), least / most, told
    )


def test_it_is_twice_epsilon_and_twice_rho() -> None:
    """And not four times rho, which group privacy has for two steps."""
    pure, rho = dh.LeafCounts(epsilon=1, bins=9), dh.LeafCounts(rho="1/8", bins=9)
    assert pure.exchanged == dh.PureDP(2, unit=dh.PrivacyUnit("record", exchanged=True))
    assert pure.exchanged.to_zcdp().rho == 2 * geometric_to_rho(Fraction(1), 1)
    assert rho.exchanged == dh.ZCDP("1/4", dh.PrivacyUnit("record", exchanged=True))
    assert rho.guarantee.for_exchange() == dh.ZCDP("1/2", rho.exchanged.unit)
    with pytest.raises(TypeError):
        exchange_of_growing(dh.ApproxDP(1, "1e-6"))


def test_what_is_no_noise_on_numbers_takes_two_steps() -> None:
    sampler = dh.PartitionSampler(epsilon=1, delta="1e-6")
    assert sampler.exchanged == sampler.guarantee.for_exchange()
    assert sampler.exchanged.delta > Fraction(3, 10**6)
    of_others = type("Others", (RangesMeasuring,), {"guarantee": dh.ZCDP(1), "__slots__": ()})
    assert RangesMeasuring.exchanged.fget(of_others) == dh.ZCDP(4, SWAPPED)


SWAPPED = dh.PrivacyUnit("record", exchanged=True)


@pytest.mark.parametrize(
    "stated",
    [
        dh.PureDP("0.7"),
        dh.PureDP("0.7", rho="0.1"),
        dh.ZCDP("0.3"),
        dh.ApproxDP("0.7", "1e-6"),
        dh.ApproxZCDP("0.3", "1e-6"),
    ],
)
def test_two_steps_of_every_guarantee(stated: Guarantee) -> None:
    """Group privacy of two, under the name of an exchange; nothing of deltas that reach 1."""
    found = stated.for_exchange()
    assert found.unit == SWAPPED
    assert found == exchange_by_steps(stated) == MechanismBase.exchanged.fget(Stating(stated))
    assert repr(replace(found, unit=stated.unit.times(2))) == repr(stated.for_group(2))
    assert exchange_by_steps(found) is found
    assert exchange_by_steps(dh.ApproxDP(3, "0.2")) is None


def test_two_steps_are_tight_for_one_number() -> None:
    """A number from which one unit takes one, and to which another one adds one."""
    epsilon, law = Fraction(1, 5), Fraction(0)
    for output in range(-9, 10):  # log of exp(-epsilon abs(z)) at distance from -1 and from 1
        ratio = epsilon * (abs(output - 1) - abs(output + 1))
        law = max(law, abs(ratio))
    assert law == dh.PureDP(epsilon).for_exchange().epsilon
    assert Fraction(2**2, 2) == dh.ZCDP("1/2").for_exchange().rho  # N(-1, 1) and N(1, 1)


def test_numbers_of_units_that_are_exchanged() -> None:
    five = dh.PureDP(1, dh.PrivacyUnit("record", 5))
    assert five.for_unit(SWAPPED).epsilon == 2
    assert five.for_unit(dh.PrivacyUnit("record", 6, exchanged=True)).epsilon == 4
    assert five.for_unit(dh.PrivacyUnit("user", exchanged=True), has=7).epsilon == 4
    exchanged = dh.PureDP(1, SWAPPED)
    assert exchanged.for_group(3).unit == dh.PrivacyUnit("record", 3, exchanged=True)
    assert exchanged.for_unit(dh.PrivacyUnit("record", 3, exchanged=True)).epsilon == 3
    assert dh.compose(exchanged, exchanged) == dh.PureDP(2, SWAPPED)


class Stating:
    def __init__(self, guarantee: Guarantee) -> None:
        self.guarantee = guarantee


def epsilon_of(event: Any, delta: float) -> float:
    return float(PLDAccountant().compose(event).get_epsilon(delta))


def exact_delta(epsilon: float, rates: Sequence[float], moves: Sequence[int]) -> float:
    """The delta of geometric noise on several numbers, from their laws."""
    ratios: tuple[Any, Any] = np.zeros(1), np.ones(1)
    for rate, move in zip(rates, moves, strict=True):
        z = np.arange(-150, 151)
        law = (1 - np.exp(-rate)) / (1 + np.exp(-rate)) * np.exp(-rate * np.abs(z))
        loss = rate * (np.abs(z - move) - np.abs(z))
        ratios = (
            np.add.outer(ratios[0], loss).ravel(), np.multiply.outer(ratios[1], law).ravel()
        )  # fmt: skip
        losses, places = np.unique(np.round(ratios[0], 9), return_inverse=True)
        ratios = losses, np.bincount(places, ratios[1])
    return float((ratios[1] * np.maximum(0, -np.expm1(epsilon - ratios[0]))).sum())


def test_events_of_an_exchange() -> None:
    """Never below the law of two numbers that move by one, and little above it."""
    leaves = dh.LeafCounts(epsilon=1, bins=9)
    found = epsilon_of(leaves.dp_event(exchanged=True), 1e-3)
    assert exact_delta(found - 2e-4, (1, 1), (1, -1)) >= 1e-3 * 0.99
    assert exact_delta(found, (1, 1), (1, -1)) <= 1e-3 * (1 + 1e-9)
    tree = dh.HierarchicalTree(epsilon=1, bins=9, branching=3, root=False)
    rate = 1 / tree.levels
    found = epsilon_of(tree.dp_event(exchanged=True), 1e-3)
    moves = [1, -1] * tree.levels
    assert exact_delta(found, [rate] * len(moves), moves) <= 1e-3 * (1 + 1e-9)
    gaussian = dh.LeafCounts(rho="1/8", bins=9)
    twice = dh.LeafCounts(rho="1/4", bins=9)
    assert gaussian.dp_event(exchanged=True) == twice.dp_event()
    assert dh.AdaptiveTree(rho="1/8", bins=9).dp_event(exchanged=True) == ZCDpEvent(0.25)
    scan = dh.AdaptiveScan(epsilon=1).dp_event(exchanged=True)
    assert scan == dh.AdaptiveScan(epsilon=2).dp_event()
    labels = dh.ThresholdHistogram(epsilon="0.1", delta="1e-9", max_labels=2)
    at = labels.exchanged
    assert at is not None
    expected = at.to_approx_dp("1e-3")
    event = labels.dp_event("1e-3", exchanged=True)
    assert epsilon_of(event, 1e-3 * (1 + 1e-9)) == pytest.approx(float(expected.epsilon), abs=2e-4)
    with pytest.raises(dh.ParameterError, match="True or False"):
        leaves.dp_event(exchanged="yes")  # type: ignore[arg-type]
    with pytest.raises(dh.ParameterError, match="no event"):
        dh.PartitionSampler(epsilon=3, delta="0.2").dp_event(exchanged=True)
