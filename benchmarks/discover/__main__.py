"""Labels found at a total of (1, 1e-6): `DiscoverLabels` beside other methods.

    python -m benchmarks.discover [--runs N] [--data NAME ...] [--methods NAME ...]
        [--dpsynth CHECKOUT]

Each method gets the same total, at each of the caps of `CAPS` on the labels of a user, and shows
the cap at which it finds most. That choice is not private: it favors all methods alike. DP-SIPS,
policy Gaussian (`others.py`) and MAD (`adaptive.py`) are for comparison only: they are not exact. A
checkout of google/dpsynth adds the DP-SIPS of its authors (`dpsynth.py`).
"""

import argparse
import functools
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import dphist as dh
from benchmarks.data import ROOT, folder
from benchmarks.discover.adaptive import mad
from benchmarks.discover.dpsynth import google_sips, primitives
from benchmarks.discover.others import dp_sips, policy_gaussian
from benchmarks.markdown import print_table

EPSILON, DELTA = 1, "1e-6"
CAPS = (1, 5, 20, 50, 100, 200, 500)

Method = Callable[[dh.LabelCounts, int], int]


def frames() -> dict[str, pl.DataFrame]:
    """Users and labels of each data set that is found."""
    rows: dict[str, pl.DataFrame] = {}

    def add(name: str, path: Path | None, user: str, label: str) -> None:
        if path is not None and path.exists():
            found = pl.read_parquet(path).with_row_index("row").select(who=user, term=label)
            rows[name] = found.drop_nulls().cast(pl.String).unique()

    labelled, streams, edges = folder("labelled"), folder("streams"), folder("edges")
    add(
        "shop: items of customers",
        ROOT / "data" / "items_online_retail.parquet",
        "customer",
        "item",
    )
    if labelled:
        add("shop: items of invoices", labelled / "online_retail.parquet", "invoice", "item")
        add("reddit: bigrams of authors", labelled / "reddit_bigrams.parquet", "author", "ngram")
        add("Shakespeare: words of works", labelled / "shakespeare_by_work.parquet", "work", "word")
    if streams:
        add("pets: names of days", streams / "seattle_pets.parquet", "day", "animal_name")
        add("pets: names of zip codes", streams / "seattle_pets.parquet", "zip_code", "animal_name")
        add("pets: one name each", streams / "seattle_pets.parquet", "row", "animal_name")
        add("flights: airports of aircraft", streams / "nycflights13.parquet", "tailnum", "dest")
    for name in ("facebook_combined", "ca-GrQc") if edges else ():
        assert edges is not None
        ends = pl.read_csv(edges / f"{name}_edges.csv.gz").cast(pl.String)
        ends.columns = ["who", "term"]
        both = pl.concat([ends, ends.select(who="term", term="who")])
        rows[f"{name}: neighbors of nodes"] = both.unique()
    return rows


@functools.lru_cache
def threshold(cap: int) -> dh.ThresholdHistogram:
    """Return the histogram with the noise that shows most labels."""
    found: dh.ThresholdHistogram = dh.calibrate(
        dh.ThresholdHistogram, epsilon=EPSILON, delta=DELTA, max_labels=cap, noise="best"
    )
    return found


@functools.lru_cache
def discover(cap: int, looks: int) -> dh.DiscoverLabels:
    """Return the mechanism of ours; with one look it is the weighted Gaussian."""
    found: dh.DiscoverLabels = dh.calibrate(
        dh.DiscoverLabels, epsilon=EPSILON, delta=DELTA, max_labels=cap, looks=looks
    )
    return found


METHODS: dict[str, Method] = {
    "ThresholdHistogram": lambda data, cap: len(threshold(cap).release(data).value),
    "1 look": lambda data, cap: len(discover(cap, 1).release(data).value),
    "DiscoverLabels": lambda data, cap: len(discover(cap, 32).release(data).value),
    "MAD": lambda data, cap: mad(data.sets, EPSILON, float(DELTA), cap),
    "MAD2R": lambda data, cap: mad(data.sets, EPSILON, float(DELTA), cap, rounds=2),
    "DP-SIPS": lambda data, cap: dp_sips(data.sets, EPSILON, float(DELTA), cap),
    "policy Gaussian": lambda data, cap: policy_gaussian(data.sets, EPSILON, float(DELTA), cap),
}


def found(rows: pl.DataFrame, runs: int, methods: list[str]) -> dict[str, dict[int, list[int]]]:
    """Return how many labels each method finds, at each cap, in each run.

    A run chooses anew which labels a user keeps.
    """
    counts: dict[str, dict[int, list[int]]] = {name: {cap: [] for cap in CAPS} for name in methods}
    for cap in CAPS:
        for _ in range(runs):
            data = dh.LabelCounts.from_table(
                rows, label="term", user="who", max_labels=cap, keep_sets=True
            )
            for name in methods:
                counts[name][cap].append(METHODS[name](data, cap))
    return counts


def cell(runs: list[int]) -> str:
    """Write a mean and its standard error."""
    error = statistics.stdev(runs) / len(runs) ** 0.5 if len(runs) > 1 else float("nan")
    return f"{statistics.fmean(runs):.1f} ± {error:.1f}"


def main() -> None:
    """Print the table of each method's best cap, and one of all caps on the shop."""
    parser = argparse.ArgumentParser(description="Labels found at a total of (1, 1e-6).")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--data", nargs="*", default=[""], help="parts of names of data sets")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=METHODS)
    parser.add_argument("--dpsynth", type=Path, help="a checkout of google/dpsynth")
    options = parser.parse_args()
    methods: list[str] = options.methods
    if options.dpsynth:
        module = primitives(options.dpsynth)
        METHODS["DP-SIPS of Google"] = lambda data, cap: google_sips(
            module, data.sets, EPSILON, float(DELTA), cap
        )
        methods = [*methods, "DP-SIPS of Google"]
    chosen = {
        name: rows for name, rows in frames().items() if any(part in name for part in options.data)
    }
    best, shop = [], []
    for name, rows in chosen.items():
        counts = found(rows, options.runs, methods)
        line = [f"{name} ({rows['who'].n_unique():,}; {rows['term'].n_unique():,})"]
        for method in methods:
            cap = max(CAPS, key=lambda cap: float(np.mean(counts[method][cap])))
            line.append(f"{cell(counts[method][cap])} ({cap})")
        best.append(line)
        print(" | ".join(line), flush=True)
        if name.startswith("shop: items of customers"):
            shop = [[str(cap), *(cell(counts[m][cap]) for m in methods)] for cap in CAPS]
    print()
    print_table(["data (users; labels)", *methods], best)
    if shop:
        print()
        print_table(["`max_labels`", *methods], shop)


if __name__ == "__main__":
    main()
