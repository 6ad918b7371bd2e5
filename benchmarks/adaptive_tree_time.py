"""Processor time of AdaptiveTree's release, beside that of an earlier version of this library.

    python -m benchmarks.adaptive_tree_time OLD_SRC [--bins N ...] [--records N ...] [--turns N]

OLD_SRC is the folder `src` of another checkout. Both versions release the same counts in turn, each
in processes of its own, so that a busy machine slows both. Medians, with standard errors.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.data import ROOT
from benchmarks.markdown import print_table
from dphist.arrays import FloatArray

BINS, RECORDS, TURNS = (4096, 65536), (3, 1000), 15
RELEASES = 3  # in each process, after one that loads code and makes tables

_RUN = """
import json, statistics, sys, time
import numpy as np
from dphist import AdaptiveTree
bins, records, releases = json.loads(sys.argv[1])
counts = np.random.default_rng(2010).poisson(records, bins).astype(np.int64)
tree = AdaptiveTree(epsilon=1, bins=bins)
taken = []
for _ in range(releases + 1):
    start = time.process_time()
    tree.release(counts)
    taken.append(1e3 * (time.process_time() - start))
print(statistics.median(taken[1:]))
"""


def milliseconds(src: str, bins: int, records: int) -> float:
    """Return the median time of a few releases by the library in a folder."""
    asked = json.dumps([bins, records, RELEASES])
    result = subprocess.run(
        [sys.executable, "-c", _RUN, asked],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": src},
    )
    return float(result.stdout)


def median_and_error(values: FloatArray) -> str:
    """Return a median with the standard error that resampling shows."""
    resampled = np.random.default_rng(1).choice(values, (1000, len(values)))
    return f"{np.median(values):.3g} ± {np.median(resampled, axis=1).std():.2g}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("old", help="folder src of the earlier version")
    parser.add_argument("--bins", type=int, nargs="+", default=BINS)
    parser.add_argument("--records", type=int, nargs="+", default=RECORDS, help="in a bin")
    parser.add_argument("--turns", type=int, default=TURNS)
    chosen = parser.parse_args(arguments)
    rows = []
    for records in chosen.records:
        for bins in chosen.bins:
            taken = np.array(
                [
                    [milliseconds(src, bins, records) for src in (chosen.old, str(ROOT / "src"))]
                    for _ in range(chosen.turns)
                ]
            )
            each = [taken[:, 0], taken[:, 1], taken[:, 1] / taken[:, 0]]
            rows.append([f"{bins:,}", f"{records:,}", *map(median_and_error, each)])
    print_table(["bins", "records a bin", "before, ms", "now, ms", "now / before"], rows)


if __name__ == "__main__":
    main()
