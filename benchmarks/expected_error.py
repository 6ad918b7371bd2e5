"""Error measured on real profiles over the error foretold from their total alone.

    python -m benchmarks.expected_error

Profiles as `benchmarks.data` finds them. Standard errors of the ratios of the first
three mechanisms (16 runs) are below 10 % at epsilon up to 2.
"""

import math
import statistics

from benchmarks.data import profiles
from benchmarks.markdown import print_table
from dphist import AdaptiveScan, PrivHist, Profile, RankSplit, SortedCounts

EPSILONS = ["4", "2", "1", "0.5", "0.1", "0.01"]
RUNS = 16
MOST_LABELS = 2_000_000  # SortedCounts draws once a label


def measured(
    mechanism: AdaptiveScan | PrivHist | RankSplit | SortedCounts, profile: Profile, runs: int
) -> float:
    """Mean sorted L1 error."""
    return statistics.fmean(profile.distance(mechanism.release(profile).value) for _ in range(runs))


def table_of(kind: type[AdaptiveScan | PrivHist | RankSplit], every: dict[str, Profile]) -> None:
    """Print errors and ratios of a mechanism that is told nothing."""
    ratios: dict[str, list[float]] = {e: [] for e in EPSILONS}
    rows = []
    for name, profile in every.items():
        row = [f"{name} ({profile.total:,})"]
        for epsilon in EPSILONS:
            mechanism = kind(epsilon=epsilon)
            error = measured(mechanism, profile, RUNS)
            predicted = mechanism.expected_error(profile.total)
            ratios[epsilon].append(error / predicted)
            row.append(f"{error:,.0f} ({error / predicted:.2f})")
        rows.append(row)
    means = [math.exp(statistics.fmean(map(math.log, ratios[e]))) for e in EPSILONS]
    rows.append(["geometric mean", *(f"({mean:.2f})" for mean in means)])
    print_table([f"`{kind.__name__}`: error (over predicted)", *EPSILONS], rows)
    print()


def main() -> None:
    """Print the table for each mechanism."""
    every = profiles()
    for kind in (AdaptiveScan, PrivHist, RankSplit):
        table_of(kind, every)
    rows = []
    for name, profile in every.items():
        if profile.labels > MOST_LABELS:
            continue
        row = [f"{name} ({profile.labels:,} labels)"]
        for epsilon in EPSILONS:
            sorted_counts = SortedCounts(epsilon=epsilon, labels=profile.labels)
            error = measured(sorted_counts, profile, 4)
            from_total = error / sorted_counts.expected_error(profile.total)
            from_labels = error / sorted_counts.expected_error()
            row.append(f"{error:,.0f} ({from_total:.2f}; {from_labels:.2f})")
        rows.append(row)
    print_table(["`SortedCounts`: error (over predicted from total; from labels)", *EPSILONS], rows)


if __name__ == "__main__":
    main()
