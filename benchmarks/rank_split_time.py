"""RankSplit: time against the number of records, and on the largest real profile.

    python -m benchmarks.rank_split_time

The made profiles follow Zipf's law. A slope of 1/2 on log-log axes is O(sqrt(n)).
"""

import math
import statistics
import time

from benchmarks.data import ROOT
from benchmarks.markdown import print_table
from dphist import Profile, RankSplit
from dphist.anonymized.reference import zipf_profile_of

TURNS = 21


def milliseconds(profile: Profile, epsilon: str) -> float:
    """Median time of a release."""
    mechanism = RankSplit(epsilon=epsilon)
    times = []
    for _ in range(TURNS):
        start = time.perf_counter()
        mechanism.release(profile)
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def main() -> None:
    """Print the table, then the slope."""
    epsilons = ["4", "1", "0.1", "0.01"]
    rows = []
    for exponent in range(5, 13):
        profile = zipf_profile_of(10**exponent)
        times = [milliseconds(profile, epsilon) for epsilon in epsilons]
        rows.append((10**exponent, len(profile.counts), *times))
    yahoo = Profile.read(ROOT / "data" / "passwords_yahoo.csv")
    real = ("Yahoo! 69,301,337", len(yahoo.counts), *(milliseconds(yahoo, e) for e in epsilons))
    print_table(
        ["records", "distinct counts", *(f"epsilon {e}, ms" for e in epsilons)],
        [
            (f"{row[0]:,}" if isinstance(row[0], int) else row[0], f"{row[1]:,}",
             *(f"{ms:.2f}" for ms in row[2:]))
            for row in [*rows, real]
        ],
    )  # fmt: skip
    slopes = [
        math.log(rows[-1][i] / rows[-4][i]) / math.log(rows[-1][0] / rows[-4][0])
        for i in range(2, 6)
    ]
    print("\nSlope over the last three decades: " + ", ".join(f"{s:.2f}" for s in slopes))


if __name__ == "__main__":
    main()
