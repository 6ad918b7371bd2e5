"""Medians and ninetieth percentiles of groups, beside OpenDP's quantiles and Google's.

    python -m benchmarks.group_quantiles [--runs N] [--epsilon E,E,...]

Each row of the data is one person, in one group, so every contender spends epsilon on each group.
All are given the same bins and the same epsilon: OpenDP's exponential mechanism
(`make_private_quantile`) takes edges as candidates, and divides epsilon among the quantiles that
are asked; Google's bounded quantiles are one noisy tree with 16 children a node and four levels,
as in its differential-privacy library, which all quantiles are read from. That library is not
needed: the tree and the way it is read are written here, from its published algorithm (`quantile-
tree`), with Laplace noise of NumPy. The error is one of ranks: how far the ranks of the bin of a
released value are from the share that was asked, in percent of the group. Where dphist says that
nothing is known of a group, its estimate is compared all the same.
"""

import argparse
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import opendp.prelude as dp
import pandas as pd

import dphist as dh
from benchmarks.data import ROOT, folder
from benchmarks.markdown import print_table
from dphist.groups.comparing.published import google_quantiles

SHARES = (0.5, 0.9)
LEAST = 50  # records of a group whose error is measured
_ASKED: dict[str, tuple[float, ...]] = {
    "OpenDP, both": SHARES,
    "OpenDP, five": (0.5, 0.9, 0.1, 0.25, 0.75),
    "OpenDP, the median alone": (0.5,),
}
"""Quantiles that OpenDP's mechanism is asked, with epsilon divided among them."""

Quantiles = Callable[[np.ndarray, float], Sequence[float]]


@dataclass
class Case:
    """A column by groups.

    Attributes
    ----------
    name : what it is.
    counts : (groups, bins) exact counts; bins have width 1 and begin at 0.
    """

    name: str
    counts: np.ndarray


def _tabulate(name: str, groups: Any, values: Any, most: int | None = None) -> Case:
    table = pd.crosstab(pd.Series(groups), pd.Series(values))
    if most is not None:
        table = table.loc[table.sum(axis=1).nlargest(most).index]
    counts = np.zeros((len(table), int(table.columns.max()) + 1), np.int64)
    counts[:, table.columns.to_numpy(int)] = table.to_numpy()
    return Case(name, counts)


def cases() -> Iterator[Case]:
    """Yield what is measured; that of people needs data that are not shipped."""
    pets = pd.read_parquet(ROOT / "data" / "pets_seattle.parquet")
    since = pets["day"] - 16436  # 2015-01-01
    kept = since >= 0
    yield _tabulate(
        "pets: day of registration by name, 60 names", pets.animal_name[kept], since[kept], 60
    )
    flights = pd.read_parquet(ROOT / "data" / "departures_nyc.parquet")
    local = flights["departure"].dt.tz_localize("UTC").dt.tz_convert("America/New_York")
    yield _tabulate("flights: hour by week, 53 weeks", local.dt.isocalendar().week, local.dt.hour)
    tables = folder("tables")
    if tables is not None:
        people = pd.read_csv(tables / "adult.csv.gz")
        yield _tabulate("people: age by occupation", people["occupation"], people["age"])
        yield _tabulate(
            "people: hours by country of birth", people["native-country"], people["hours-per-week"]
        )


def opendp_quantiles(counts: np.ndarray, epsilon: float, shares: Sequence[float]) -> list[float]:
    """Return OpenDP's quantiles, which share epsilon: the exponential mechanism over edges."""
    data = np.repeat(np.arange(counts.size), counts).tolist()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    found = []
    for share in shares:

        def make(scale: float, alpha: float = share) -> Any:
            candidates = list(range(counts.size))
            return dp.m.make_private_quantile(
                *space, dp.max_divergence(), candidates=candidates, alpha=alpha, scale=scale
            )

        allowed = epsilon / len(shares)
        measure = make(make(1.0).map(1) / allowed * (1 + 1e-9))
        assert measure.map(1) <= allowed
        found.append(float(measure(data)) + 0.5)  # a value is the middle of its bin
    return found


def estimates_of(histogram: Any, shares: Sequence[float]) -> list[float]:
    """Return dphist's estimates, also where it says that nothing is known."""
    found = []
    for share, each in zip(shares, histogram.quantile(list(shares)), strict=True):
        if each.is_known:
            found.append(float(each.value))
            continue
        curve = histogram.cdf()
        known = not np.isnan(curve[-1])
        bins = histogram.counts.size
        found.append(float(np.interp(share, curve, np.arange(bins + 1))) if known else bins / 2)
    return found


def rank_errors(counts: np.ndarray, found: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Return how far ranks are from those asked, in percent; 0 in the bin of the true quantile."""
    curve, bins, errors = np.append(0, np.cumsum(counts)) / counts.sum(), counts.size, []
    for value, share in zip(found, shares, strict=True):
        first = min(max(math.ceil(value) - 1, 0), bins - 1)
        last = min(max(math.floor(value) + 1, 1), bins)
        errors.append(100 * max(float(curve[first]) - share, share - float(curve[last]), 0.0))
    return errors


def measure(case: Case, epsilon: float, runs: int) -> tuple[dict[str, list[float]], list[float]]:
    """Return mean rank errors of each contender, a number a run, and what dphist's intervals hold.

    The latter is the share of known intervals that hold the true quantile, over all groups, and
    the share of quantiles that are not known.
    """
    counts, draw = case.counts, np.random.default_rng(1)
    large = np.flatnonzero(counts.sum(axis=1) >= LEAST)
    errors: dict[str, list[float]] = {}
    held = known = 0
    mechanism = dh.GroupedHistogram(
        epsilon=str(epsilon), groups={"group": range(len(counts))}, bins=counts.shape[1]
    )
    for _ in range(runs):
        histograms = mechanism.release(counts).value.histograms
        found = [
            rank_errors(counts[at], estimates_of(histograms[at], SHARES), SHARES) for at in large
        ]
        _add(errors, "dphist, all", found)
        for own, histogram in zip(counts, histograms, strict=True):
            for share, each in zip(SHARES, histogram.quantile([*SHARES]), strict=True):
                known += each.is_known
                held += each.is_known and holds(own, share, each.low, each.high)
        for name, shares in _ASKED.items():
            _add(errors, name, [
                rank_errors(counts[at], opendp_quantiles(counts[at], epsilon, shares), shares)
                for at in large
            ])  # fmt: skip
        _add(errors, "Google, both", [
            rank_errors(counts[at], google_quantiles(counts[at], epsilon, SHARES, draw), SHARES)
            for at in large
        ])  # fmt: skip
    every = runs * len(counts) * len(SHARES)
    return errors, [100 * held / max(known, 1), 100 * (1 - known / every)]


def _add(errors: dict[str, list[float]], name: str, found: Sequence[Sequence[float]]) -> None:
    """Add the mean over groups, of each quantile by itself."""
    for share, each in zip(SHARES, np.mean(found, axis=0), strict=False):
        errors.setdefault(f"{name}; {share:g}", []).append(float(each))


def holds(counts: np.ndarray, share: float, low: float, high: float) -> bool:
    """Whether an interval that ends at edges holds the true quantile: that of some record."""
    if not counts.sum():
        return True
    curve = np.append(0, np.cumsum(counts)) / counts.sum()
    at = int(np.searchsorted(curve, share, side="left"))  # the quantile is in the bin before
    return bool(low <= at and at - 1 <= high)


def main() -> None:
    """Print a table for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", default="0.1,1")
    asked = parser.parse_args()
    dp.enable_features("contrib")
    for case in cases():
        groups, bins = case.counts.shape
        print(f"\n{case.name}: {groups} groups, {bins} bins, {case.counts.sum():,} records\n")
        rows = []
        for epsilon in map(float, asked.epsilon.split(",")):
            errors, (held, unknown) = measure(case, epsilon, asked.runs)
            for name, each in errors.items():
                deviation = statistics.stdev(each) / len(each) ** 0.5 if len(each) > 1 else 0.0
                rows.append(
                    [f"{epsilon:g}", name, f"{statistics.mean(each):.2f}", f"{deviation:.2f}"]
                )
            print(f"epsilon {epsilon:g}: intervals hold {held:.1f} %, unknown {unknown:.1f} %")
        print()
        print_table(["ε", "", "rank error, %", "± s.e."], rows)


if __name__ == "__main__":
    main()
