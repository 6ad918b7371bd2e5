"""PartitionSampler: time, memory, the reported distortions, and what float64 costs.

    python -m benchmarks.partition_sampler

RockYou's profile is needed (`benchmarks.data`). Each time is of a process of its own, so that
peak memory is that of one release. The smallest epsilon takes about 6 GB.
"""

import math
import resource
import statistics
import subprocess
import sys
import time

import numpy as np
import numpy.typing as npt

from benchmarks.data import profiles
from benchmarks.markdown import print_table
from dphist import PartitionSampler, Profile
from dphist.anonymized.partition_paths import Half
from dphist.anonymized.partition_windows import RowWindows, windows_around

IntArray = npt.NDArray[np.int64]

# Blocki, Datta, Bonneau 2016, abstract: "normalized distortion" of RockYou at these epsilons.
REPORTED = {"8": 8.8e-7, "0.002": 1.9e-3}
EPSILONS = {"8": 200, "4": 100, "1": 50, "0.1": 10, "0.01": 4, "0.002": 2}  # and runs


def one(name: str, epsilon: str, runs: int) -> None:
    """Print errors, seconds a release, and peak GiB of this process."""
    profile, mechanism = profiles()[name], PartitionSampler(epsilon=epsilon, delta=1e-9)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    errors = [profile.distance(mechanism.release(profile).value) for _ in range(runs)]
    seconds = (time.perf_counter() - start) / runs
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
    mean = statistics.fmean(errors)
    error = statistics.stdev(errors) / math.sqrt(runs)
    print("result", profile.total, mean, error, seconds, peak)


def measured(name: str, epsilon: str, runs: int) -> list[float]:
    """Run `one` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.partition_sampler", name, epsilon, str(runs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split("result")[1].split()]


def rows_for(name: str) -> list[list[str]]:
    """Error, distortion and cost at each epsilon."""
    rows = []
    for epsilon, runs in EPSILONS.items():
        total, mean, error, seconds, peak = measured(name, epsilon, runs)
        reported = REPORTED.get(epsilon)
        ratio = f"{mean / total / 2 / reported:.2f}" if reported else ""
        stated = f"{reported:.1e}" if reported else ""
        distortions = [f"{mean / total:.2e}", f"{mean / total / 2:.2e}", stated, ratio]
        cost = [f"{seconds:.2f}", f"{peak:.2f}"]
        rows.append([epsilon, f"{mean:,.0f} ± {error:,.0f}", *distortions, *cost])
    return rows


def float_error(entries: RowWindows, least: IntArray, rate: float) -> float:
    """Largest error of a logarithm in float64, against 64-bit mantissas.

    Over all sums of all entries that hold more than 1e-20 of the entry's whole, which is what a
    draw compares with.
    """
    half = Half.over(entries, least, rate)
    worst, before = 0.0, np.zeros(0, np.longdouble)
    for i, (true, low, most) in enumerate(zip(entries.true, least, entries.most, strict=True)):
        exact = -np.longdouble(rate) * np.abs(np.arange(most, low - 1, -1) - true)
        if i > 0:
            earlier = before[entries.most[i - 1] - most :]
            shared = min(len(earlier), len(exact))
            exact[:shared] += earlier[:shared]
        before = np.logaddexp.accumulate(exact)
        before -= before[-1]
        held = before > -46
        worst = max(worst, float(np.max(np.abs(half.sums[i] - before)[held])))
    return worst


def float_errors(every: dict[str, Profile]) -> list[list[str]]:
    """Worst error of one comparison, and the sum over a release's draws as a bound on its law."""
    rows = []
    for name, epsilon in [(n, e) for n in every for e in ("1", "0.1", "0.01")]:
        mechanism, profile = PartitionSampler(epsilon=epsilon, delta=1e-9), every[name]
        windows = windows_around(profile, mechanism.distance(profile))
        places = np.maximum(np.arange(1, windows.largest + 1), windows.smallest)
        worst = max(
            float_error(half, np.maximum(half.least, places), mechanism.rate)
            for half in (windows.rows, windows.columns)
        )
        draws = 2 * windows.largest + 1
        rows.append([name, epsilon, f"{draws:,}", f"{worst:.1e}", f"{2 * worst * draws:.1e}"])
    return rows


def main() -> None:
    """Print the tables."""
    name = "passwords_rockyou"
    if len(sys.argv) > 1:
        one(sys.argv[1], sys.argv[2], int(sys.argv[3]))
        return
    print_table(
        ["epsilon", "L1 error", "L1 / n", "L1 / 2n", "reported", "ratio", "seconds", "GiB"],
        rows_for(name),
    )
    print()
    kept = ("words_shakespeare", "degrees_facebook_combined", "passwords_phpbb")
    print_table(
        ["profile", "epsilon", "draws at most", "worst error", "all draws"],
        float_errors({n: p for n, p in profiles().items() if n in kept}),
    )


if __name__ == "__main__":
    main()
