"""How often error bars of ranges hold the truth: `python -m benchmarks.ranges.coverage`.

    python -m benchmarks.ranges.coverage [--axes 1 2] [--epsilon 1 0.1 0.01 | --rho 0.1]
        [--records 1000 100000 10000000] [--runs 20] [--queries 500] [--mechanism ...] [--shape ...]

Shapes are those of the folder there is (`benchmarks.ranges.data`) and made ones
(`benchmarks.ranges.made`), resampled to so many records. Of each release three kinds of queries
are asked: boxes (in one axis ranges) with random corners, prefixes (boxes from the first bin on)
with random ends, and single bins that hold a record, at random.

Covered is the share of a release's queries of a kind whose true count lies within the bar, as
the mean over runs; its standard error is that of this mean, for the queries of one release err
together. There are two bars: `interval`, and the count ± 1.96 `error`. Nothing was
fitted to any of these shapes.
"""

import argparse
import math
import random
import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.markdown import print_table
from benchmarks.ranges.data import Shape, read_shapes
from benchmarks.ranges.made import made_shapes
from dphist import AdaptiveTree, HierarchicalTree, LeafCounts
from dphist.arrays import IntArray
from dphist.ranges import RangesMechanism
from dphist.release.range_histogram import RangeHistogram
from dphist.release.range_histogram.answers import ERRORS
from dphist.release.range_histogram.boxes import box_sums, sum_boxes

MECHANISMS: dict[str, tuple[Callable[..., RangesMechanism], dict[str, Any]]] = {
    "AdaptiveTree": (AdaptiveTree, {}),
    "HierarchicalTree": (HierarchicalTree, {}),
    "not-projected": (HierarchicalTree, {"nonnegative": False}),
    "subtrees": (HierarchicalTree, {"nonnegative": "subtrees"}),
    "not-consistent": (HierarchicalTree, {"consistent": False}),
    "LeafCounts": (LeafCounts, {}),
}
KINDS = {"boxes": "random boxes", "prefixes": "prefixes", "occupied": "occupied bins"}
BARS = ("interval", "± 1.96 errors")


@dataclass(frozen=True, slots=True)
class Found:
    """Of a cell's queries of a kind, by bar: coverage, its standard error, mean half width."""

    covered: tuple[float, ...]
    deviation: tuple[float, ...]
    width: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """What is measured: a mechanism on a shape, at a budget and a number of records."""

    mechanism: str
    budget: tuple[str, str]
    records: str
    shape: Shape

    def measure(self, runs: int, queries: int) -> dict[str, Found]:
        """Return what was found, by kind; kinds of which there are no queries are missing."""
        make, settings = MECHANISMS[self.mechanism]
        name, amount = self.budget
        found = defaultdict(list)
        for run in range(runs):
            counts = self.shape.at(self.records, run)
            seed = zlib.crc32(f"{self.shape.name} {self.records} {amount} {run}".encode())
            mechanism = make(bins=counts.shape, **{name: amount}, **settings)
            value = mechanism.release(counts, source=random.Random(seed).randbytes).value
            for kind, (lo, hi) in asked(counts, np.random.default_rng(seed), queries).items():
                found[kind].append(held(counts, value, lo, hi))
        summary = {}
        for kind, of_runs in found.items():
            covered, widths = np.moveaxis(np.array(of_runs), 2, 0)
            deviation = covered.std(axis=0, ddof=min(1, runs - 1)) / math.sqrt(runs)
            parts = (covered.mean(axis=0), deviation, widths.mean(axis=0))
            summary[kind] = Found(*(tuple(part.tolist()) for part in parts))
        return summary


def asked(
    counts: IntArray, rng: np.random.Generator, queries: int
) -> dict[str, tuple[IntArray, IntArray]]:
    """Return lo and hi of some queries of each kind, (axes, queries) each, half-open."""
    sizes = np.array(counts.shape)[:, None]
    corners = rng.integers(0, sizes + 1, (2, counts.ndim, queries))
    boxes = corners.min(axis=0), corners.max(axis=0)
    some = (boxes[0] < boxes[1]).all(axis=0)
    ends = rng.integers(1, sizes + 1, (counts.ndim, queries))
    places = np.argwhere(counts > 0).T
    if places.shape[1] > queries:
        places = places[:, rng.choice(places.shape[1], queries, replace=False)]
    found = {
        "boxes": (boxes[0][:, some], boxes[1][:, some]),
        "prefixes": (np.zeros_like(ends), ends),
        "occupied": (places, places + 1),
    }
    return {kind: (lo, hi) for kind, (lo, hi) in found.items() if lo.shape[1]}


def held(
    counts: IntArray, value: RangeHistogram, lo: IntArray, hi: IntArray
) -> list[tuple[float, float]]:
    """Return, for both bars, the share that holds the true count, and the mean half width."""
    ends = (lo[0], hi[0]) if len(lo) == 1 else (tuple(lo), tuple(hi))
    true = box_sums(sum_boxes(counts), list(lo), list(hi))
    low, high = value.interval_bins(*ends)
    count, error = value.count_bins(*ends), ERRORS * value.error_bins(*ends)
    bars = (low, high), (count - error, count + error)
    slack = 1e-9 * (1 + np.abs(true))  # of sums of floats; less than any record
    return [
        (
            float(((start - slack <= true) & (true <= stop + slack)).mean()),
            float((stop - start).mean() / 2),
        )
        for start, stop in bars
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the tables."""
    chosen = _parser().parse_args(arguments)
    budgets = [("rho", rho) for rho in chosen.rho] or [("epsilon", e) for e in chosen.epsilon]
    for axes in chosen.axes:
        shapes = [*read_shapes(axes), *made_shapes(axes)]
        shapes = [one for one in shapes if not chosen.shape or one.name in chosen.shape]
        for mechanism in chosen.mechanism:
            results: dict[str, list[tuple[Cell, dict[str, Found]]]] = {}
            rows = []
            for budget in budgets:
                for records in chosen.records:
                    cells = [Cell(mechanism, budget, records, shape) for shape in shapes]
                    found = [cell.measure(chosen.runs, chosen.queries) for cell in cells]
                    label = f"{'ρ' if chosen.rho else 'ε'} = {budget[1]}"
                    where = [label, f"10^{round(math.log10(int(records)))}"]
                    rows += _over_shapes(where, found)
                    print(*where, flush=True)
                    for cell, one in zip(cells, found, strict=True):
                        results.setdefault(cell.shape.name, []).append((cell, one))
            name = f"{mechanism}, {axes} {'axis' if axes == 1 else 'axes'}, {chosen.runs} runs"
            print(f"\n{name}: mean over {len(shapes)} shapes (lowest ± its SE, to highest), in %\n")
            widths = [f"mean half width of {bar}" for bar in BARS]
            print_table(["budget", "records", "queries", *BARS, *widths], rows)
            print("\nBy shape: lowest ± SE and highest over budgets and records, in %\n")
            columns = [f"{kind}: {bar}" for kind in KINDS.values() for bar in BARS]
            print_table(
                ["shape", *columns],
                [[shape, *_over_cells([f for _, f in of])] for shape, of in results.items()],
            )
            print()


def _over_shapes(where: list[str], found: list[dict[str, Found]]) -> list[list[str]]:
    """Return a row a kind of query."""
    rows = []
    for kind, text in KINDS.items():
        some = [one[kind] for one in found if kind in one]
        if not some:
            continue
        texts, widths = [], []
        for bar in range(len(BARS)):
            mean = np.mean([one.covered[bar] for one in some])
            texts.append(f"{100 * mean:.1f} ({_lowest_to_highest(some, bar)})")
            width = np.exp(np.mean([math.log(max(one.width[bar], 1e-9)) for one in some]))
            widths.append(f"{width:.3g}")
        rows.append([*where, text, *texts, *widths])
    return rows


def _over_cells(found: list[dict[str, Found]]) -> list[str]:
    texts = []
    for kind in KINDS:
        some = [one[kind] for one in found if kind in one]
        texts += [_lowest_to_highest(some, bar) if some else "" for bar in range(len(BARS))]
    return texts


def _lowest_to_highest(found: list[Found], bar: int) -> str:
    low = min(found, key=lambda one: one.covered[bar])
    high = max(one.covered[bar] for one in found)
    return f"{100 * low.covered[bar]:.1f} ± {100 * low.deviation[bar]:.1f} to {100 * high:.1f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--axes", type=int, nargs="+", choices=(1, 2), default=[1, 2])
    parser.add_argument("--epsilon", nargs="+", default=["1", "0.1", "0.01"])
    parser.add_argument("--rho", nargs="+", default=[], help="zCDP in place of pure DP")
    parser.add_argument("--records", nargs="+", default=["1000", "100000", "10000000"])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--queries", type=int, default=500, help="of each kind, of a release")
    parser.add_argument("--mechanism", nargs="+", choices=MECHANISMS, default=["AdaptiveTree"])
    parser.add_argument("--shape", nargs="+", default=[], help="only these, by name")
    return parser


if __name__ == "__main__":
    main()
