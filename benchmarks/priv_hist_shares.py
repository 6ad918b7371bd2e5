"""Which shares of epsilon PrivHist should give to its total, split and smoothed blocks.

    python -m benchmarks.priv_hist_shares

Error relative to the published equal shares: geometric mean and worst over the profiles, 24
runs each. A third share of 0 means that nothing is smoothed.
"""

import math
import statistics

from benchmarks.data import profiles
from benchmarks.markdown import print_table
from dphist import PrivHist, Profile

EPSILONS = ["4", "2", "1", "0.5", "0.2", "0.1", "0.05", "0.01"]
SHARES = [
    (1, 9, 0),
    (1, 19, 0),
    (1, 39, 0),
    (1, 79, 0),
    (1, 1, 18),
    (1, 2, 37),
    (1, 8, 31),
    (1, 1, 78),
]
PUBLISHED = (1, 1, 1)
RUNS = 24


def mean_error(epsilon: str, shares: tuple[int, int, int], profile: Profile) -> float:
    """Mean sorted L1 error; half a record if there was none, so that a ratio exists."""
    mechanism = PrivHist(epsilon=epsilon, shares=shares)
    errors = [profile.distance(mechanism.release(profile).value) for _ in range(RUNS)]
    return statistics.fmean(errors) or 0.5 / RUNS


def main() -> None:
    """Print the table."""
    every = list(profiles().values())
    published = {e: [mean_error(e, PUBLISHED, p) for p in every] for e in EPSILONS}

    def cell(shares: tuple[int, int, int], epsilon: str) -> str:
        if shares[2] and float(epsilon) > 1:
            return ""  # never smoothed
        ratios = [
            mean_error(epsilon, shares, p) / reference
            for p, reference in zip(every, published[epsilon], strict=True)
        ]
        return f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f} ({max(ratios):.2f})"

    print_table(
        ["total, split, blocks", *EPSILONS],
        ((str(shares), *(cell(shares, e) for e in EPSILONS)) for shares in SHARES),
    )


if __name__ == "__main__":
    main()
