"""PartitionSampler: time, memory, the reported distortions, and how often floats do not decide.

    python -m benchmarks.partition_sampler

RockYou's profile is needed (`benchmarks.data`). Each row is of a process of its own, so that
peak memory is that of one release; seconds are the processor's. The smallest epsilon takes
about 6 GB.
"""

import math
import os
import resource
import statistics
import subprocess
import sys
import time
from fractions import Fraction

from benchmarks.data import profiles
from benchmarks.markdown import print_table
from dphist import PartitionSampler, Profile
from dphist.anonymized.partition_sampler.proposals import Proposals
from dphist.anonymized.partition_sampler.windows import find_windows

# Blocki, Datta, Bonneau 2016, abstract: "normalized distortion" of RockYou at these epsilons.
REPORTED = {"8": 8.8e-7, "0.002": 1.9e-3}
EPSILONS = {"8": 200, "4": 100, "1": 50, "0.1": 10, "0.01": 4, "0.002": 2}  # and runs


def one(name: str, epsilon: str, runs: int) -> None:
    """Print errors, seconds a release, and peak GiB of this process."""
    profile, mechanism = profiles()[name], PartitionSampler(epsilon=epsilon, delta=1e-9)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    errors = [profile.distance(mechanism.release(profile).value) for _ in range(runs)]
    seconds = (time.process_time() - start) / runs
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
        reported_text = f"{reported:.1e}" if reported else ""
        distortions = [f"{mean / total:.2e}", f"{mean / total / 2:.2e}", reported_text, ratio]
        cost = [f"{seconds:.2f}", f"{peak:.2f}"]
        rows.append([epsilon, f"{mean:,.0f} ± {error:,.0f}", *distortions, *cost])
    return rows


class Counted:
    """The operating system's bits, and how often they were asked for."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, size: int) -> bytes:
        self.calls += 1
        return os.urandom(size)


def decisions(every: dict[str, Profile], runs: int = 20) -> list[list[str]]:
    """How often floats are not enough: for a value, and for keeping what they propose."""
    rows = []
    for name, epsilon in [(n, e) for n in every for e in ("1", "0.1", "0.01")]:
        mechanism, profile = PartitionSampler(epsilon=epsilon, delta=1e-9), every[name]
        windows = find_windows(profile, mechanism.distance(profile))
        proposals = Proposals.within(windows.choices(profile), mechanism.rate)
        source, rejected = Counted(), []
        for _ in range(runs):
            ratio = proposals.ratio(proposals.propose(source))
            rejected.append(1 - Fraction(ratio.enclose(128)[0], 1 << 128))
        refined = source.calls / runs - 2  # bits of the side, and of all its rows and columns
        mean = float(sum(rejected) / runs)
        draws = 2 * windows.largest + 1
        rows.append([name, epsilon, f"{draws:,}", f"{refined:.2f}", f"{mean:.1e}"])
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
        ["profile", "epsilon", "draws at most", "refined", "rejected"],
        decisions({n: p for n, p in profiles().items() if n in kept}),
    )


if __name__ == "__main__":
    main()
