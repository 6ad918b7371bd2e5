"""The rho of geometric noise, and what mechanisms state of it beside epsilon.

docs/understand/proofs/geometric_rho.md. Transcripts of neighbors say which noisy numbers differ,
and by how much; the cost of each is known.
"""

import itertools
import json
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.errors import DphistError
from dphist.lab.auditing.replay import Told, record, replay
from dphist.lab.auditing.replay.transcript import Transcript
from dphist.privacy.conversion import geometric_to_rho, pure_to_rho
from dphist.ranges.adaptive_tree.path_budget import UNITS, PathBudget
from dphist.release.document import with_checksum
from dphist.streams.mechanism import ContinualMechanism

profile = dh.Profile.from_prevalences
TOTAL: dict[int, Told] = {0: lambda data: np.array([data.total])}
SLACK = Fraction(1, 10**10)  # rounding up, number by number


def exact_rho(rate: Any, change: int) -> Any:
    """The formula of Lemma 1 with mpmath."""
    with mpmath.workdps(200):
        r = mpmath.mpf(Fraction(rate).numerator) / Fraction(rate).denominator
        a = mpmath.exp(-r)
        return r * (change - 2 * a * (1 - a**change) / (1 - a * a))


@pytest.mark.parametrize("rate", [0.03, 0.5, 1, 3])
@pytest.mark.parametrize("change", [1, 2, 3, 10, 40])
def test_the_supremum_over_orders_is_the_formula(rate: float, change: int) -> None:
    """Rényi divergences of many orders, over the order, from the two laws themselves."""
    values = np.arange(-int(60 / rate) - 5 * change, int(60 / rate) + 5 * change + 1)
    here, there = -rate * np.abs(values), -rate * np.abs(values - change)
    mass = math.log(np.exp(here).sum())
    stated = float(exact_rho(rate, change))
    found = [float((np.exp(here - mass) * (here - there)).sum())]
    for order in 1 + np.geomspace(1e-3, 300, 80):
        terms = order * here + (1 - order) * there - mass
        top = terms.max()
        found.append((top + math.log(np.exp(terms - top).sum())) / (order - 1) / order)
    assert max(found) == pytest.approx(stated, rel=1e-9)
    assert max(found) == found[0]


EPSILONS = [Fraction(each) for each in ("1e-20", "1e-9", "1/1000", "0.1", "1", "2", "50", "997")]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("cells", [1, 2, 3, 10, 1000, 10**9])
def test_it_is_rounded_up_and_by_little(epsilon: Fraction, cells: int) -> None:
    stated, exact = geometric_to_rho(epsilon, cells), exact_rho(epsilon / cells, cells)
    with mpmath.workdps(200):
        number = mpmath.mpf(stated.numerator) / stated.denominator
        assert exact <= number <= exact * (1 + mpmath.mpf(10) ** -10)
    assert stated <= pure_to_rho(epsilon)


def test_it_is_convex_and_parts_cost_less_than_the_whole() -> None:
    """What the lemmas use: fewer cells cost at most their part, and parts of epsilon add up."""
    for epsilon in EPSILONS[2:7]:
        for cells in (2, 3, 10):
            whole = exact_rho(epsilon / cells, cells)
            for some in range(1, cells):
                part = exact_rho(epsilon / cells, some)
                assert part * cells <= whole * some
                both = part + exact_rho(epsilon / cells, cells - some)
                assert both <= whole * (1 + mpmath.mpf(10) ** -12)
            for share in (Fraction(1, 3), Fraction(1, 40)):
                parts = (exact_rho(each * epsilon / cells, cells) for each in (share, 1 - share))
                assert sum(parts) <= whole


def cost(one: Transcript, other: Transcript) -> tuple[Fraction, Fraction]:
    """What tells two runs apart that published the same, in epsilon and in rho."""
    epsilon = rho = Fraction(0)
    for mine, its in zip(one.entries, other.entries, strict=True):
        assert mine.request.sampler == "geometric"
        for change in np.abs(mine.exact - its.exact).ravel().tolist():
            if change:
                each = mine.request.parameter * change
                epsilon, rho = epsilon + each, rho + geometric_to_rho(each, change)
    return epsilon, rho


def check(mechanism: Any, pairs: Iterator[Any], least: float = 0.9, told: Any = None) -> None:
    """Check that neighbors cost what is stated at most, and that some cost nearly that."""
    stated = mechanism.guarantee
    assert isinstance(stated, dh.PureDP)
    worst = Fraction(0)
    for one, other in pairs:
        mine = record(mechanism.release, one, told=told)
        epsilon, rho = cost(mine, replay(mine, mechanism.release, other, told=told))
        assert epsilon <= stated.epsilon
        assert rho <= stated.to_zcdp().rho * (1 + SLACK)
        worst = max(worst, rho)
    assert worst >= Fraction(least) * stated.to_zcdp().rho


def tables(bins: tuple[int, ...], user: int) -> Iterator[tuple[dh.BinnedCounts, dh.BinnedCounts]]:
    """Neighbors by a user's records: all in one bin, in many, in no bin, and half and half."""
    rng, size = np.random.default_rng(7), math.prod(bins)
    plain = np.where(rng.random(size) < 0.05, rng.geometric(0.02, size), 0)
    where = "below" if len(bins) == 1 else "outside"
    names = ("below", "above", "null") if len(bins) == 1 else ("outside", "null")
    axes = tuple(dh.Axis.regular(0, many, bins=many, name=str(k)) for k, many in enumerate(bins))

    def table(counts: np.ndarray, outside: int) -> dh.BinnedCounts:
        out = dict.fromkeys(names, 3) | {where: 3 + outside}
        return dh.BinnedCounts(counts.reshape(bins), axes, outside=out, sensitivity=user)

    for beyond in {0, user // 2, user}:
        for together in (True, False):
            more, inside = plain.copy(), user - beyond
            places = [size // 3] * inside if together else rng.integers(0, size, inside)
            np.add.at(more, places, 1)
            yield table(plain, 0), table(more, beyond)
            yield table(more, beyond), table(plain, 0)


RANGES: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "leaves": (dh.LeafCounts, {"bins": 50}),
    "binary tree": (dh.HierarchicalTree, {"bins": 1024, "branching": 2}),
    "tree": (dh.HierarchicalTree, {"bins": 300}),
    "tree of a map": (dh.HierarchicalTree, {"bins": (16, 16), "root": False}),
    "adaptive": (dh.AdaptiveTree, {"bins": 1024}),
    "prefixes": (dh.AdaptiveTree, {"bins": 1024, "workload": "prefix"}),
    "map": (dh.AdaptiveTree, {"bins": (32, 32)}),
    "few bins": (dh.AdaptiveTree, {"bins": 20}),
}


@pytest.mark.parametrize("user", [1, 4])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
@pytest.mark.parametrize("name", RANGES)
def test_ranges(name: str, epsilon: str, user: int) -> None:
    kind, more = RANGES[name]
    mechanism = kind(epsilon=epsilon, sensitivity=user, **more)
    bins = more["bins"] if isinstance(more["bins"], tuple) else (more["bins"],)
    check(mechanism, tables(bins, user), 0.85)


def diagrams(cells: int) -> Iterator[tuple[dh.Profile, dh.Profile]]:
    """Neighbors by cells: all at one large count, at labels of their own, or half of each."""
    start = {1: 4000, 3: 600, 40: 90, 900: 9, 5000: 1}
    for large in {0, cells // 2, cells}:
        more = {**start, 1: 4000 + cells - large, 5000 + large: 1}
        if large:
            del more[5000]
        one, other = (profile(list(each), list(each.values())) for each in (start, more))
        yield one, other
        yield other, one


ANONYMIZED: dict[str, tuple[Any, Any, float]] = {
    "sorted": (lambda **given: dh.SortedCounts(labels=6000, **given), None, 0.9),
    "cumulative": (lambda **given: dh.CumulativeCounts(largest=6000, **given), None, 0.9),
    "rank split": (lambda **given: dh.RankSplit(total=20_000, **given), None, 0.9),
    "rank split, total unknown": (dh.RankSplit, TOTAL, 0.9),
    "scan": (dh.AdaptiveScan, None, 0.9),
    "hist": (dh.PrivHist, TOTAL, 0.8),
    "hist of three": (lambda **given: dh.PrivHist(shares=(1, 1, 1), **given), TOTAL, 0.3),
}


@pytest.mark.parametrize("cells", [1, 4])
@pytest.mark.parametrize("epsilon", ["1/10", "2"])
@pytest.mark.parametrize("name", ANONYMIZED)
def test_anonymized(name: str, epsilon: str, cells: int) -> None:
    make, told, least = ANONYMIZED[name]
    check(make(epsilon=epsilon, sensitivity=cells), diagrams(cells), least, told)


@pytest.mark.parametrize("max_count", [1, 3])
@pytest.mark.parametrize("users", [None, 9])
def test_labels(max_count: int, users: int | None) -> None:
    """Counts of a user's labels, and the number of users: which moves by 1, with noise for that."""
    mechanism = dh.ThresholdHistogram(
        epsilon="1/2", max_labels=3, max_count=max_count, labels=list("abcdef"),
        noise="laplace", users_by_labels=users,
    )  # fmt: skip
    rows = [("u", "a", 2), ("v", "b", 9), ("v", "c", 1)]
    own = [("w", label, max_count) for label in "abd"]

    def released(more: list[Any]) -> Any:
        frame = pd.DataFrame(rows + more, columns=["who", "what", "n"])
        return mechanism.release(
            dh.LabelCounts.from_table(
                frame, label="what", user="who", count="n", max_labels=3, max_count=max_count,
                users_by_labels=users,
            )
        )  # fmt: skip

    mine = record(released, [])
    _, rho = cost(mine, replay(mine, released, own))
    stated = mechanism.guarantee.rho
    assert stated * Fraction(99, 100) <= rho <= stated * (1 + SLACK)
    if max_count == 3:
        assert stated < (3 + (users is not None)) * pure_to_rho(Fraction(1, 2))


@pytest.mark.parametrize("events", [None, 5])
def test_streams(events: int | None) -> None:
    """A user's events are in one block of each level and label: the blocks of the proof."""
    stream = ContinualMechanism(
        epsilon=1, horizon=2**16, method="laplace", labels=("a", "b", "c"), max_labels=2,
        max_events_per_user=events,
    )  # fmt: skip
    counter: Any = stream.counter
    most = events or 1
    assert stream.guarantee.epsilon == 2 * counter.levels * most * counter.rate
    each = exact_rho(counter.rate, most)
    assert float(stream.guarantee.to_zcdp().rho) == pytest.approx(
        float(2 * counter.levels * each), rel=1e-9
    )


def test_the_numbers_of_the_table() -> None:
    """Against the table that was computed apart from the library."""
    tree: dict[str, Any] = {"epsilon": 1, "bins": 1024, "branching": 2}
    found = {
        "tree": dh.HierarchicalTree(**tree),
        "tree of 10": dh.HierarchicalTree(**tree, sensitivity=10),
        "adaptive": dh.AdaptiveTree(epsilon=1, bins=1024),
        "prefix": dh.AdaptiveTree(epsilon=1, bins=1024, workload="prefix"),
        "map": dh.AdaptiveTree(epsilon=1, bins=(64, 64)),
        "leaves of 10": dh.LeafCounts(epsilon=1, bins=9, sensitivity=10),
        "scan of 2": dh.AdaptiveScan(epsilon=1, sensitivity=2),
        "rank split": dh.RankSplit(epsilon=1),
        "hist": dh.PrivHist(epsilon="0.1"),
    }
    rhos = [round(float(each.guarantee.to_zcdp().rho), 5) for each in found.values()]
    assert rhos == [
        0.04542, 0.04412, 0.25374, 0.26475, 0.32389, 0.36893, 0.39347, 0.44124, 0.00429
    ]  # fmt: skip
    assert dh.LeafCounts(epsilon=1, bins=9).guarantee.rho is None  # as of every pure guarantee
    assert found["tree"].guarantee == dh.PureDP(1)


def test_a_path_budget_holds_the_first_charge_that_was_fixed() -> None:
    """Or a path could be charged at once, which costs a larger rho than the two parts do."""
    nodes = np.arange(4)
    for units in (UNITS, UNITS // 2 + 1, 1):
        with pytest.raises(DphistError, match="refused"):
            PathBudget(3, UNITS // 2).charge(2, nodes, units)
    budget = PathBudget(3, UNITS // 2)
    budget.charge(2, nodes[:1], UNITS // 2)
    assert budget.highest(3, np.arange(8)) == UNITS // 2  # every bin pays
    with pytest.raises(DphistError, match="refused"):
        budget.charge(3, np.arange(4, 8), UNITS // 2 + 1)
    budget.charge(3, np.arange(4, 8), UNITS // 2)


def test_all_transcripts_of_a_path_keep_the_rho_of_two_parts() -> None:
    """Stop, spend the rest at once or in two parts, by an earlier noisy count: all summed up."""
    values = np.arange(-60, 61)

    def law(epsilon: float) -> np.ndarray:
        return math.log(math.tanh(epsilon / 2)) - epsilon * np.abs(values)

    def moment(epsilon: float, order: float) -> float:
        f = law(epsilon)
        return float(np.exp(order * f[1:] + (1 - order) * f[:-1]).sum())

    stated = float(geometric_to_rho(Fraction(2, 5), 1) + geometric_to_rho(Fraction(3, 5), 1))
    rules: list[Any] = [
        lambda y, order: 1 if y < 0 else moment(0.6, order) if y < 2 else moment(0.3, order) ** 2,
        lambda _, order: moment(0.6, order),
        lambda y, order: moment(0.6, order) if y > 0 else 1,
    ]
    ways = [(slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))]
    worst = []
    for rest, order, (one, two) in itertools.product(rules, (1.001, 1.5, 2, 4, 16), ways):
        weights = np.exp(order * law(0.4)[one] + (1 - order) * law(0.4)[two])
        total = sum(weight * rest(y, order) for weight, y in zip(weights, values[one], strict=True))
        worst.append(math.log(total) / (order - 1) / order)
    assert 0.99 * stated < max(worst) <= stated + 1e-4


def test_a_ledger_takes_eleven_trees(tmp_path: Path) -> None:
    ledger = dh.Ledger.create(tmp_path / "l.ledger", epsilon=5, delta="1e-5", unit="one record")
    data = np.arange(1024) % 7
    ledger.release(dh.LeafCounts(rho="0.01", bins=1024), data, by="ana", key="first")
    tree = dh.HierarchicalTree(epsilon=1, bins=1024, branching=2)
    assert ledger.releases_left(tree) == 11


def test_keys_of_earlier_ledgers_stand_for_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that was charged, or reserved, at the larger rho of before: at what it was charged."""
    ledger = dh.Ledger.create(tmp_path / "l.ledger", epsilon=5, delta="1e-5", unit="one record")
    tree, data = dh.HierarchicalTree(epsilon=1, bins=8), np.arange(8)
    with monkeypatch.context() as before:
        before.setattr(dh.HierarchicalTree, "_rho_of_noise", None)
        first = ledger.release(tree, data, by="ana", key="released")
        ledger.reserve(tree, by="ana", key="reserved")
    assert ledger.balance().totals.rho == 2 * pure_to_rho(Fraction(1))
    assert ledger.release(tree, data, by="ana", key="released").value.counts.tolist() == (
        first.value.counts.tolist()
    )
    ledger.release(tree, data, by="ana", key="reserved")
    assert ledger.balance().totals.rho == 2 * pure_to_rho(Fraction(1))
    assert ledger.verify()
    with pytest.raises(dh.LedgerError, match="used for another release"):
        ledger.release(dh.HierarchicalTree(epsilon=1, bins=9), [1] * 9, by="ana", key="released")


def test_keys_that_paid_too_little_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if an earlier version had charged less than the release costs."""
    ledger = dh.Ledger.create(tmp_path / "l.ledger", epsilon=5, delta="1e-5", unit="one record")
    tree = dh.HierarchicalTree(epsilon=1, bins=8)
    with monkeypatch.context() as before:
        before.setattr(dh.HierarchicalTree, "_rho_of_noise", Fraction(1, 1000))
        ledger.reserve(tree, by="ana", key="reserved")
    with pytest.raises(dh.LedgerError, match="used for another release"):
        ledger.release(tree, np.arange(8), by="ana", key="reserved")


def test_guarantees_of_earlier_files_stay(tmp_path: Path) -> None:
    """A file without rho states what was charged; one with a smaller rho is refused."""
    release = dh.HierarchicalTree(epsilon=1, bins=8).release(np.arange(8))
    own = release.guarantee.rho
    assert own is not None

    def with_rho(rho: str | None) -> dh.Release:
        content = json.loads(release.to_json())
        del content["checksum"], content["guarantee"]["rho"]
        if rho is not None:
            content["guarantee"]["rho"] = rho
        return dh.Release.from_json(with_checksum(content))

    earlier = with_rho(None)
    assert earlier.guarantee.rho is None
    assert earlier.guarantee.to_zcdp().rho == pure_to_rho(Fraction(1))
    assert dh.Release.from_json(earlier.to_json()).guarantee.rho is None
    assert with_rho(str(own)).guarantee.rho == own
    with pytest.raises(dh.ReleaseFileError):
        with_rho(str(own / 2))


def test_composition_and_groups_keep_rho() -> None:
    tree, scan = dh.PureDP(1, rho="0.05"), dh.PureDP(2)
    both = dh.compose(tree, scan)
    assert both == dh.PureDP(3)
    assert both.to_zcdp().rho == Fraction("0.05") + pure_to_rho(Fraction(2))
    assert dh.compose(tree, dh.ZCDP("0.01")).rho == Fraction("0.06")
    assert tree.for_group(3).to_zcdp().rho == Fraction("0.45")
    assert tree.for_unit("one user", has=2).to_zcdp().rho == Fraction("0.2")
    assert dh.PureDP(1, rho=3).rho is None
