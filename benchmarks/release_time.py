"""Time of a release against the number of records, made and real.

    python -m benchmarks.release_time

The made profiles follow Zipf's law. A slope of 1/2 on log-log axes is O(sqrt(n)).
"""

import math
import statistics
import time
from collections.abc import Callable
from functools import partial

from benchmarks.data import ROOT
from benchmarks.markdown import print_table
from dphist import AdaptiveScan, PrivHist, Profile, RankSplit
from dphist.anonymized.reference import fit_zipf_profile

Mechanism = AdaptiveScan | RankSplit | PrivHist
TURNS = 21
EPSILONS = ["4", "1", "0.1", "0.01"]
MECHANISMS: dict[str, Callable[[str], Mechanism]] = {
    "AdaptiveScan": lambda e: AdaptiveScan(epsilon=e),
    "RankSplit": lambda e: RankSplit(epsilon=e),
    "PrivHist": lambda e: PrivHist(epsilon=e),
    "PrivHist, equal shares": lambda e: PrivHist(epsilon=e, shares=(1, 1, 1)),
}


def milliseconds(mechanism: Mechanism, profile: Profile) -> float:
    """Median time of a release."""
    times = []
    for _ in range(TURNS):
        start = time.perf_counter()
        mechanism.release(profile)
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def named_profiles() -> dict[str, Profile]:
    """Profiles by what they are, the decades first."""
    made = {f"{10**k:,}": fit_zipf_profile(10**k) for k in range(5, 13)}
    made["174,000,000"] = fit_zipf_profile(174_000_000)
    yahoo = Profile.read(ROOT / "data" / "passwords_yahoo.csv")
    return {**made, f"Yahoo! {yahoo.total:,}": yahoo}


def slope(times: list[float]) -> float:
    """Slope on log-log axes over the last three decades of the made profiles."""
    return math.log(times[7] / times[4]) / math.log(10**3)


def main() -> None:
    """Print a table for each mechanism, with its slopes."""
    profiles = named_profiles()
    for name, make in MECHANISMS.items():
        columns = [
            list(map(partial(milliseconds, make(epsilon)), profiles.values()))
            for epsilon in EPSILONS
        ]
        print_table(
            [name, "distinct counts", *(f"epsilon {e}, ms" for e in EPSILONS)],
            [
                (label, f"{len(profile.counts):,}", *(f"{column[i]:.2f}" for column in columns))
                for i, (label, profile) in enumerate(profiles.items())
            ],
        )
        slopes = ", ".join(f"{slope(column):.2f}" for column in columns)
        print(f"\nSlope over the last three decades: {slopes}\n")


if __name__ == "__main__":
    main()
