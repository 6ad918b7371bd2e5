"""Trees of up to millions of bins: seconds of a whole release, beside OpenDP, and peak memory.

    python -m benchmarks.ranges.speed [--bins N] [--branching B] [--small N ...] [--large N]

From a NumPy array of counts to consistent bins, both in one process, in turn: exact sums of all
nodes, noise on them, least squares. OpenDP is given the array as 32-bit integers and its tree
as such an array again, which it reads faster than lists; its own sampler is exact like ours.
The larger tree is released in a process of its own, so that its peak is that of nothing else.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.data import ROOT
from benchmarks.markdown import print_table
from dphist import AdaptiveTree, HierarchicalTree
from dphist.arrays import IntArray

EPSILON = 1
BINS, LARGE, BRANCHING, TURNS = 2**20, 2**24, 16, 3
SMALL = (24, 256, 4096, 65536)
SMALL_TURNS = 11
FEW, MANY = 3, 1000  # records a bin

Release = Callable[[IntArray], Any]

_RUN = """
import json, resource, sys, time
import numpy as np
from benchmarks.ranges.speed import counts_of, ours
bins, branching, nonnegative = json.loads(sys.argv[1])
counts = counts_of(bins)
release = ours(bins, branching, nonnegative)
factor = 1 if sys.platform == "darwin" else 1024
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * factor
start = time.perf_counter()
release(counts)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * factor
print(json.dumps([seconds, peak / 2**30, before / 2**30]))
"""


def counts_of(bins: int, mean: float = 3) -> IntArray:
    """Return counts to release, (bins,) int64: a mean of records a bin, the same each time."""
    return np.random.default_rng(2010).poisson(mean, bins).astype(np.int64)


def ours(bins: int, branching: int, nonnegative: bool) -> Release:
    """Return a release by this library, to its bins."""
    tree = HierarchicalTree(
        epsilon=EPSILON, bins=bins, branching=branching, nonnegative=nonnegative
    )
    return lambda counts: tree.release(counts).value.counts


def adaptive(bins: int) -> Release:
    """Return a release by the mechanism that `dphist ranges` uses, to its bins."""
    tree = AdaptiveTree(epsilon=EPSILON, bins=bins)
    return lambda counts: tree.release(counts).value.counts


def opendp(bins: int, branching: int) -> Release:
    """Return the same by OpenDP, to its list of bins."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    levels = 1
    while branching ** (levels - 1) < bins:
        levels += 1
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.l1_distance(T="i32")
    summed = dp.t.make_b_ary_tree(*space, leaf_count=bins, branching_factor=branching)
    measure = summed >> dp.m.then_laplace(scale=levels / EPSILON)
    assert measure.map(1) <= EPSILON * (1 + 1e-9)
    consistent = dp.t.make_consistent_b_ary_tree(branching_factor=branching, TIA="i32")

    def release(counts: IntArray) -> Any:
        noisy = measure(counts.astype(np.int32))
        return consistent(np.array(noisy, np.int32))

    return release


def seconds_of(release: Release, counts: IntArray) -> tuple[float, float]:
    """Return the time of a release, and the root mean square of its error, records a bin."""
    start = time.perf_counter()
    bins = release(counts)
    seconds = time.perf_counter() - start
    error = np.square(np.asarray(bins, np.float64) - counts).mean()
    return seconds, float(np.sqrt(error))


def processor_seconds(release: Release, counts: IntArray) -> float:
    """Return the time of the processor for a release, which other programs disturb less."""
    start = time.process_time()
    release(counts)
    return time.process_time() - start


def compare(bins: int, branching: int, turns: int) -> None:
    """Print the times of both, in turn, and the median of their ratios."""
    counts = counts_of(bins)
    contenders = {
        "dphist, least squares": ours(bins, branching, False),
        "dphist, non-negative and whole": ours(bins, branching, True),
        "OpenDP, least squares": opendp(bins, branching),
    }
    for release in list(contenders.values())[:2]:
        release(counts)  # tables are made, code is loaded
    taken = [
        {name: seconds_of(one, counts) for name, one in contenders.items()} for _ in range(turns)
    ]
    rows = []
    for name in contenders:
        seconds = statistics.median(turn[name][0] for turn in taken)
        ratio = statistics.median(
            turn["OpenDP, least squares"][0] / turn[name][0] for turn in taken
        )
        error = statistics.median(turn[name][1] for turn in taken)
        rows.append([name, f"{seconds:.3g}", f"{ratio:.3g}", f"{error:.3g}"])
    head = [f"{bins:,} bins, {branching} children a node", "seconds", "times faster than OpenDP"]
    print_table([*head, "error of a bin, records"], rows)


def print_small(sizes: Sequence[int], branching: int) -> None:
    """Print processor time of both trees of this library and of OpenDP, in turn, by bins."""
    rows = []
    for bins in sizes:
        few, many = counts_of(bins, FEW), counts_of(bins, MANY)
        tree, fixed, theirs = adaptive(bins), ours(bins, branching, False), opendp(bins, branching)
        contenders = [(tree, few), (tree, many), (fixed, few), (theirs, few)]
        turns = SMALL_TURNS if bins < 2**16 else TURNS
        taken = [
            [1e3 * processor_seconds(release, counts) for release, counts in contenders]
            for _ in range(turns + 1)
        ][1:]  # in the first, tables are made and code is loaded
        middle = np.median(taken, axis=0)
        rows.append(
            [f"{bins:,}", *(f"{each:,.3g}" if each < 1000 else f"{each:,.0f}" for each in middle)]
        )
    names = [f"AdaptiveTree, {each:,} records a bin" for each in (FEW, MANY)]
    names += [f"HierarchicalTree, {branching} children", "OpenDP, the same tree"]
    print_table(["processor milliseconds of a release; bins", *names], rows)


def print_large(bins: int, branching: int) -> None:
    """Print time and peak memory of a large tree."""
    rows = []
    for name, nonnegative in (("least squares", False), ("non-negative and whole", True)):
        asked = json.dumps([bins, branching, nonnegative])
        command = [sys.executable, "-c", _RUN, asked]
        result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        seconds, peak, before = json.loads(result.stdout)
        rows.append([f"dphist, {name}", f"{seconds:.3g}", f"{peak:.2f}", f"{before:.2f}"])
    head = [f"{bins:,} bins, {branching} children a node", "seconds", "peak GiB"]
    print_table([*head, "of which before the release"], rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--bins", type=int, default=BINS, help=f"default {BINS}")
    add("--branching", type=int, default=BRANCHING, help=f"default {BRANCHING}")
    add("--turns", type=int, default=TURNS, help=f"default {TURNS}")
    add("--small", type=int, nargs="*", default=SMALL, help=f"bins of small trees, default {SMALL}")
    add(
        "--large",
        type=int,
        default=LARGE,
        help=f"bins of the larger tree, default {LARGE}; 0: none",
    )
    chosen = parser.parse_args(arguments)
    try:
        if chosen.small:
            print_small(chosen.small, chosen.branching)
            print()
        compare(chosen.bins, chosen.branching, chosen.turns)
    except ImportError:
        print("OpenDP is not installed (the extra `bench`): only the larger tree is released.")
    if chosen.large:
        print()
        print_large(chosen.large, chosen.branching)


if __name__ == "__main__":
    main()
