"""What a bound on the records of a user costs: fixed bounds, and the one that is chosen.

    python -m benchmarks.bounding_records [--runs 20] [--rows 10000000]

Anonymized histograms by `AdaptiveScan`: the sorted L1 distance to the whole data, in records. Bins
by `AdaptiveTree`: the root mean square error of 2,000 ranges with random ends. A fixed bound has
the whole budget; "best" is the one with the smallest error in hindsight, which nobody knows.
The chosen one spends a twentieth on how many users have how many records. "Inside" says how often
the interval of the share that was dropped holds the true share. Then: the seconds that counting and
releasing rows takes, with a fixed bound and with one that is chosen.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import dphist as dh
from benchmarks.data import folder
from benchmarks.markdown import print_table
from dphist.planning.max_records import bound_mechanism
from dphist.ranges.reference import random_boxes

CAPS = (1, 2, 3, 5, 7, 10, 15, 22, 31, 44, 63, 90, 127, 180, 255, 361, 511, 723, 999)
EPSILONS = ("0.2", "1")
SHARE = Fraction(1, 20)
TABLES = {
    "online_retail": ("labelled/online_retail.parquet", "item", "customer", "ts"),
    "reddit_bigrams": ("labelled/reddit_bigrams.parquet", "ngram", "author", None),
    "nycflights13": ("streams/nycflights13.parquet", "dest", "tailnum", "ts_hour"),
    "shakespeare_by_work": ("labelled/shakespeare_by_work.parquet", "word", "work", None),
}
BINS = 1024


@dataclass(frozen=True)
class Case:
    """Rows of users that are released in one way."""

    name: str
    kind: str
    rows: pd.DataFrame
    user: str
    count: Callable[[int], Any]
    make: Callable[[Fraction], Any]
    error: Callable[[dh.Release], float]

    def cut(self, cap: int) -> float:
        """Return the true share of records that a bound drops."""
        sizes = self.rows.groupby(self.user).size().to_numpy()
        return float(1 - np.minimum(sizes, cap).sum() / sizes.sum())


def load() -> Iterator[Case]:
    """Read the data: a histogram of labels of each table, and bins of times."""
    place = folder("labelled")
    if place is None:
        raise SystemExit("no data; name their folder in DPHIST_DATA")
    for name, (path, label, user, when) in TABLES.items():
        columns = [label, user, *([when] if when else [])]
        rows = pd.read_parquet(place.parent / path, columns=columns).dropna()
        if name == "online_retail":
            rows = rows[rows[user] >= 0]
        yield profiles(name, rows, label, user)
        if when:
            yield bins(name, rows, when, user)


def profiles(name: str, rows: pd.DataFrame, label: str, user: str) -> Case:
    """Count how many labels occur how often."""
    whole = dh.Profile.from_table(rows, label=label)

    def count(cap: int) -> dh.Profile:
        return dh.Profile.from_table(rows, label=label, user=user, max_records=cap)

    def error(release: dh.Release) -> float:
        return float(whole.distance(release.value))

    return Case(
        name, "AdaptiveScan", rows, user, count, lambda e: dh.AdaptiveScan(epsilon=e), error
    )


def bins(name: str, rows: pd.DataFrame, when: str, user: str) -> Case:
    """Count the records by time."""
    first, last = int(rows[when].min()), int(rows[when].max()) + 1
    width = -(-(last - first) // BINS)
    edges: dict[str, Any] = {"start": first, "stop": first + width * BINS, "width": width}
    counts = dh.bin_counts(rows, column=when, **edges).counts
    sums = np.append(0, np.cumsum(counts))
    (lo,), (hi,) = random_boxes((BINS,))

    def count(cap: int) -> dh.BinnedCounts:
        return dh.bin_counts(rows, column=when, **edges, user=user, max_records=cap)

    def error(release: dh.Release) -> float:
        off = release.value.count_bins(lo, hi) - (sums[hi] - sums[lo])
        return float(np.sqrt(np.mean(np.square(off, dtype=np.float64))))

    return Case(
        name,
        "AdaptiveTree",
        rows,
        user,
        count,
        lambda e: dh.AdaptiveTree(epsilon=e, bins=BINS),
        error,
    )


def compare(case: Case, runs: int) -> Iterator[list[str]]:
    """Release at all bounds, and at the one that is chosen."""
    counted = {cap: case.count(cap) for cap in CAPS}
    users = dh.count_user_records(case.rows, user=case.user)
    true = {cap: case.cut(cap) for cap in CAPS}
    for epsilon in EPSILONS:
        whole = Fraction(epsilon)
        fixed = {}
        for cap in CAPS:
            made = bound_mechanism(case.make(whole), cap)
            fixed[cap] = np.mean([case.error(made.release(counted[cap])) for _ in range(runs)])
        best = min(fixed, key=lambda cap: fixed[cap])
        errors, chosen, inside, widths = [], [], 0, []
        for _ in range(runs):
            look = dh.LeafCounts(epsilon=whole * SHARE, bins=users.bins).release(users)
            choice = dh.choose_max_records(look, case.make(whole * (1 - SHARE)))
            cap = choice.max_records
            errors.append(case.error(choice.mechanism.release(counted[cap])))
            chosen.append(cap)
            share = dh.share_cut(look, cap)
            inside += share.low <= true[cap] and (true[cap] <= share.high or _is_open(case))
            widths.append(share.high - share.low)
        auto, middle = float(np.mean(errors)), sorted(chosen)[runs // 2]
        yield [
            case.name,
            case.kind,
            epsilon,
            f"{best}",
            f"{fixed[best]:,.0f}",
            f"{middle} ({min(chosen)} to {max(chosen)})",
            f"{auto:,.0f}",
            f"{auto / fixed[best]:.2f}",
            f"{fixed[10] / fixed[best]:.2f}",
            f"{true[middle]:.0%}",
            f"{inside / runs:.0%}",
            f"{np.mean(widths):.0%}",
        ]


def _is_open(case: Case) -> bool:
    """Whether a user has more records than are looked at: shares are then at least those stated."""
    return int(case.rows.groupby(case.user).size().max()) > max(CAPS) + 1


def take_times(rows: int) -> Iterator[list[str]]:
    """Count and release made-up rows with a fixed bound and with a chosen one, by turns."""
    rng = np.random.default_rng(1)
    users = rng.zipf(1.3, 2 * rows)
    table = pa.table(
        {
            "who": users[users < 2_000_000][:rows],
            "age": rng.integers(0, 4096, rows),
            "word": np.minimum(rng.zipf(1.3, rows), 10**7),
        }
    )
    edges: dict[str, Any] = {"column": "age", "start": 0, "stop": 4096, "width": 1}
    ways: dict[str, tuple[Callable[[int], Any], Any]] = {
        "bins": (
            lambda cap: dh.bin_counts(table, **edges, user="who", max_records=cap),
            lambda e: dh.AdaptiveTree(epsilon=e, bins=4096),
        ),
        "anonymized": (
            lambda cap: dh.Profile.from_table(table, label="word", user="who", max_records=cap),
            lambda e: dh.AdaptiveScan(epsilon=e),
        ),
    }
    for name, (count, make) in ways.items():
        times: dict[str, list[float]] = {"fixed": [], "chosen": []}
        cap = 10
        for _ in range(3):
            start = time.perf_counter()
            sizes = dh.count_user_records(table, user="who")
            look = dh.LeafCounts(epsilon=SHARE, bins=sizes.bins).release(sizes)
            choice = dh.choose_max_records(look, make(1 - SHARE))
            cap = choice.max_records
            choice.mechanism.release(count(cap))
            times["chosen"].append(time.perf_counter() - start)
            start = time.perf_counter()
            bound_mechanism(make(1), cap).release(count(cap))
            times["fixed"].append(time.perf_counter() - start)
        fixed, chosen = (min(times[way]) for way in ("fixed", "chosen"))
        yield [
            name,
            f"{rows:,}",
            f"{cap}",
            f"{fixed:.1f}",
            f"{chosen:.1f}",
            f"{chosen / fixed:.2f}",
        ]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rows", type=int, default=10_000_000)
    given = parser.parse_args()
    ratios: list[float] = []

    def rows() -> Iterator[list[str]]:
        for case in load():
            for row in compare(case, given.runs):
                ratios.append(float(row[7]))
                yield row

    heads = "data|mechanism|ε|best bound|error|chosen|error|ratio|ratio of 10|share dropped|inside|"
    print_table([*heads.split("|")[:-1], "width of interval"], rows())
    mean = math.exp(np.mean(np.log(ratios)))
    print(f"\ngeometric mean of the ratios {mean:.2f}, largest {max(ratios):.2f}\n")
    print_table(
        ["release", "rows", "bound", "fixed (s)", "chosen (s)", "ratio"], take_times(given.rows)
    )


if __name__ == "__main__":
    main()
