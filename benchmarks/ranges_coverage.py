"""How often the error bars of ranges hold: `python -m benchmarks.ranges_coverage [--runs 5]`.

For every shape, resampled to so many records: the share of 20,000 random ranges whose true count
lies within 1.96 standard errors of the answer, and the root mean squared error over the root mean
square of the stated ones. The table gives the mean over the shapes, the lowest and the highest.
"""

import argparse
import math
from collections.abc import Callable

import numpy as np

from benchmarks.markdown import print_table
from benchmarks.ranges.data import read_shapes
from benchmarks.ranges.queries import random_ranges
from dphist import AdaptiveTree, HierarchicalTree
from dphist.histogram import RangeHistogram
from dphist.universal import RangeMechanism
from dphist.universal.consistency import FloatArray
from dphist.universal.shape import IntArray

EPSILONS = ("1", "0.1", "0.01")
SCALES = ("1000", "100000", "10000000")
MECHANISMS: dict[str, tuple[Callable[..., RangeMechanism], dict[str, bool]]] = {
    "HierarchicalTree, not projected": (HierarchicalTree, {"nonnegative": False}),
    "HierarchicalTree": (HierarchicalTree, {}),
    "AdaptiveTree": (AdaptiveTree, {}),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    shapes = read_shapes(axes=1)
    rows = []
    for epsilon in EPSILONS:
        for scale in SCALES:
            for name, (make, settings) in MECHANISMS.items():
                found = []
                for shape in shapes:
                    data = [shape.at(scale, run) for run in range(runs)]
                    values = [
                        make(epsilon=epsilon, bins=d.shape, **settings).release(d).value
                        for d in data
                    ]
                    pairs = zip(data, values, strict=True)
                    found.append(np.mean([_of_run(d, value) for d, value in pairs], axis=0))
                covered, ratio = np.array(found).T
                texts = [_spread(100 * covered, "{:.0f}"), _spread(ratio, "{:.2f}")]
                rows.append([epsilon, f"10^{round(math.log10(int(scale)))}", name, *texts])
    print_table(["ε", "records", "mechanism", "covered, %", "true / stated error"], rows)


def _of_run(counts: IntArray, value: RangeHistogram) -> tuple[float, float]:
    lo, hi = random_ranges(len(counts))
    below = np.append(0, np.cumsum(counts))
    off = value.count(lo, hi) - (below[hi] - below[lo])
    stated = value.error(lo, hi)
    # Rounding to whole records moves a range by up to 1, which no error bar need cover.
    covered = np.abs(off) <= 1.96 * stated + 1
    return float(covered.mean()), float(np.sqrt(np.mean(off**2.0) / np.mean(stated**2)))


def _spread(values: FloatArray, text: str) -> str:
    low, mean, high = (text.format(v) for v in (values.min(), values.mean(), values.max()))
    return f"{mean} ({low} to {high})"


if __name__ == "__main__":
    main()
