"""What histograms by group cost: docs/understand/proofs/groups.md."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.groups.measuring import GroupsMeasuring, estimate_total
from dphist.lab.auditing.replay import loss_of_neighbours, record, replay
from dphist.privacy import ApproxZCDP, least_epsilon
from dphist.privacy.conversion import geometric_to_rho
from dphist.tables.discovery import LabelSearch, make_search

GROUPS, BINS = {"place": ["z", "b", "a"]}, 32
INNER = ["AdaptiveTree", "HierarchicalTree", "LeafCounts"]
KINDS: list[dict[str, Any]] = [{"epsilon": 1}, {"epsilon": "1/10"}, {"rho": "1/20"}]
kinds = pytest.mark.parametrize("kind", KINDS, ids=str)
inners = pytest.mark.parametrize("inner", INNER)
SLACK = 1 + Fraction(1, 10**9)


def make(**asked: Any) -> dh.GroupedHistogram:
    return dh.GroupedHistogram(**{"groups": GROUPS, "bins": BINS, **asked})


def some_counts(seed: int = 3) -> np.ndarray:
    """A full group, an empty one, and one with a few records."""
    draw = np.random.default_rng(seed)
    return np.stack([draw.poisson(30, BINS), np.zeros(BINS, int), draw.poisson(0.2, BINS)])


def with_rows(counts: np.ndarray, places: list[tuple[int, int]]) -> np.ndarray:
    more = counts.copy()
    for place in places:
        more[place] += 1
    return more


@kinds
@inners
def test_all_groups_cost_what_one_does(inner: str, kind: dict[str, Any]) -> None:
    """A record costs the whole budget, in whatever group it is, and no more."""
    mechanism = make(inner=inner, **kind)
    (stated,) = kind.values()
    alone = {"epsilon": None, "rho": None, **kind}
    given = {"bins": BINS, **{k: v for k, v in alone.items() if v is not None}}
    if inner == "AdaptiveTree":
        given["workload"] = "prefix"
    assert mechanism.guarantee == getattr(dh, inner)(**given).guarantee
    for group, place in itertools.product(range(3), (0, 13, BINS - 1)):
        one = some_counts()
        losses = loss_of_neighbours(mechanism.release, one, with_rows(one, [(group, place)]))
        spent = losses[0 if "epsilon" in kind else 1] / Fraction(stated)
        assert Fraction(85, 100) < spent <= 1


def splits(rows: int) -> Iterator[list[tuple[int, int]]]:
    """Yield places of the rows of a unit: each number in each group, together and apart."""
    for parts in itertools.product(range(rows + 1), repeat=3):
        if sum(parts) != rows:
            continue
        for apart in (False, True):
            yield [
                (group, (5 + 3 * k * apart) % BINS)
                for group, number in enumerate(parts)
                for k in range(number)
            ]


def rho_of(mechanism: Any, one: Any, other: Any) -> Fraction:
    """Return what two data sets cost in rho: geometric noise by its own, exact rho."""
    mine = record(mechanism.release, one)
    its = replay(mine, mechanism.release, other)
    found = Fraction(0)
    for a, b in zip(mine.entries, its.entries, strict=True):
        for change in np.abs(a.exact - b.exact).ravel().tolist():
            if change:
                assert a.request.sampler == "geometric"
                found += geometric_to_rho(a.request.parameter * change, change)
    return found


@kinds
@inners
def test_every_split_of_the_rows_of_a_unit_costs_at_most_the_whole(
    inner: str, kind: dict[str, Any]
) -> None:
    """All of m rows in one bin is the worst; rows in several groups never cost more."""
    rows = 3
    mechanism = make(inner=inner, max_rows=rows, **kind)
    (stated,) = map(Fraction, kind.values())
    worst = Fraction(0)
    for places in splits(rows):
        one = some_counts()
        more = with_rows(one, places)
        epsilon, rho = loss_of_neighbours(mechanism.release, one, more)
        cost = epsilon if "epsilon" in kind else rho
        assert cost <= stated
        if "epsilon" in kind:
            assert rho_of(mechanism, one, more) <= mechanism.guarantee.to_zcdp().rho * SLACK
        worst = max(worst, cost)
    assert worst > Fraction(85, 100) * stated


@inners
def test_every_listed_group_is_measured_whatever_the_data_are(inner: str) -> None:
    """The same noise is asked for in every group, also in one without records."""
    mechanism = make(epsilon=1, inner=inner)
    full, empty = some_counts(), np.zeros((3, BINS), np.int64)
    mine = record(mechanism.release, full)
    replay(mine, mechanism.release, empty)
    drawn = len(mine.entries)
    assert drawn >= 3
    assert drawn == len(replay(mine, mechanism.release, full[::-1].copy()).entries)
    for counts in (full, empty):
        value = mechanism.release(counts).value
        assert value.labels == ("z", "b", "a")
        assert len(value.histograms) == 3
    seen = {mechanism.release(empty).value["b"].count_bins(0, BINS) for _ in range(40)}
    assert len(seen) > 1, "an empty group has no noise"


def test_what_is_released_is_a_function_of_the_noisy_numbers() -> None:
    """Quantiles, counts and the total follow from what had noise, and from nothing else."""
    mechanism = make(epsilon="1/2")
    release = mechanism.release(some_counts())
    decoded = mechanism.decode(release.noisy)
    assert decoded == release.value
    assert release.total == estimate_total(decoded)
    one, two = (each.quantiles([0.1, 0.5, 0.9]).to_arrow() for each in (release.value, decoded))
    assert one == two
    totals = {mechanism.release(some_counts()).total for _ in range(30)}
    assert len(totals) > 5


@kinds
@inners
def test_an_exchange_costs_what_is_stated(inner: str, kind: dict[str, Any]) -> None:
    """A unit of one group for a unit of another: two counts of every level move by one."""
    mechanism = make(inner=inner, max_rows=2, **kind)
    exchanged = mechanism.exchanged
    (name,) = kind
    one = some_counts()
    for mine, its in ([(0, 3)] * 2, [(2, 9)] * 2), ([(0, 3), (1, 4)], [(0, 30), (2, 2)]):
        losses = loss_of_neighbours(mechanism.release, with_rows(one, mine), with_rows(one, its))
        assert losses[0 if name == "epsilon" else 1] <= getattr(exchanged, name)


FOUND = {"place": dh.DiscoverKeys(share="0.25", max_found=5)}


def counted(rows: list[tuple[str | None, int]], **more: Any) -> dh.GroupedCounts:
    table = pa.table({"place": pa.array([p for p, _ in rows], pa.string()),
                      "fare": [f for _, f in rows]})  # fmt: skip
    return dh.GroupedCounts.from_table(
        table, groups=FOUND, column="fare", bins=dh.Axis.regular(0, BINS, 1), **more
    )


@pytest.mark.parametrize("found", [(), ("a",), ("a", "b", "c", "d", "e")])
@pytest.mark.parametrize("asked", [{"rho": "1/2"}, {"epsilon": 1}], ids=str)
def test_finding_and_counting_cost_what_is_stated_whatever_is_found(
    asked: dict[str, Any], found: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = make(groups=FOUND, delta="1e-6", **asked)
    stated, search = mechanism.guarantee, mechanism.search
    assert isinstance(stated, ApproxZCDP)
    assert search is not None
    assert search == make_search(stated.rho / 4, stated.delta, 1, 5)
    finding = 1 / (2 * search.sigma**2)
    monkeypatch.setattr(LabelSearch, "find", lambda *_: found)
    base = [("a", 3)] * 40 + [("b", 9)] * 9
    for place in ("a", "unseen", None):
        _, counting = loss_of_neighbours(
            mechanism.release, counted(base), counted([*base, (place, 30)])
        )
        assert Fraction(7, 10) * stated.rho < finding + counting <= stated.rho
    if "epsilon" in asked:
        assert stated.delta == Fraction(1, 2 * 10**6)
        least = least_epsilon([stated], Fraction(1, 10**6), 1)
        assert least is not None
        assert Fraction(99, 100) < least <= 1
    assert mechanism.release(counted(base)).value.labels == (*found, "other")


def test_a_search_that_costs_more_than_stated_finds_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = make(groups=FOUND, rho="1/2", delta="1e-6")
    search = mechanism.search
    assert search is not None
    cheap = LabelSearch(search.sigma * (1 - Fraction(1, 2**20)), search.threshold, 5)
    monkeypatch.setattr(GroupsMeasuring, "search", property(lambda _: cheap))
    with pytest.raises(RuntimeError, match="finding groups costs more"):
        mechanism.release(counted([("a", 3)]))


def test_the_order_of_found_groups_tells_nothing() -> None:
    """Neither the order of rows nor that of sizes orders the groups found."""
    sizes = {"zug": 4000, "alp": 2000, "mid": 3000}
    mechanism = make(groups=FOUND, rho="1/2", delta="1e-6")
    for names in itertools.permutations(sizes):
        rows = [(name, 5) for name in names for _ in range(sizes[name])]
        release = mechanism.release(counted([*rows, ("rare", 8), (None, 8)]))
        assert release.value.labels == ("alp", "mid", "zug", "other")
        assert "rare" not in release.to_json()


def test_a_user_keeps_so_many_rows_in_all_groups_together() -> None:
    """One user with rows in every group, another in one: both keep two."""
    table = pa.table(
        {
            "place": ["z", "b", "a"] * 4 + ["a"] * 5 + ["nowhere"] * 9,
            "fare": [*range(12), *range(5), *[3] * 9],
            "who": [1] * 12 + [2] * 5 + [1] * 9,
        }
    )
    counts = dh.GroupedCounts.from_table(
        table,
        groups=GROUPS,
        column="fare",
        bins=dh.Axis.regular(0, BINS, 1),
        user="who",
        max_rows=2,
    )
    assert counts.counts_by_group().sum() == 4
    assert counts.counts_by_group()[:2].sum() <= 2
    with pytest.raises(dh.BoundsError, match="max_rows"):
        make(epsilon=1).release(counts)
