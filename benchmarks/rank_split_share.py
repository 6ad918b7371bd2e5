"""Which share of epsilon RankSplit should spend on an unknown total.

    python -m benchmarks.rank_split_share

Error relative to the same mechanism told the total: geometric mean and worst over the
profiles, 24 runs each.
"""

import math
import statistics
from fractions import Fraction
from unittest.mock import patch

from benchmarks.data import profiles
from benchmarks.markdown import print_table
from dphist import Profile, RankSplit
from dphist.anonymized import measuring

EPSILONS = ["2", "1", "0.1", "0.01"]
SHARES = [Fraction(1, 100), Fraction(1, 50), Fraction(1, 40), Fraction(1, 20), Fraction(1, 10)]
RUNS = 24


def mean_error(mechanism: RankSplit, profile: Profile) -> float:
    """Mean sorted L1 error."""
    return statistics.fmean(profile.distance(mechanism.release(profile).value) for _ in range(RUNS))


def main() -> None:
    """Print the table."""
    every = profiles().values()
    told = {
        (e, i): mean_error(RankSplit(epsilon=e, total=p.total), p)
        for e in EPSILONS
        for i, p in enumerate(every)
    }

    def cell(share: Fraction, epsilon: str) -> str:
        with patch.object(measuring, "TOTAL_SHARE", share):
            ratios = [
                mean_error(RankSplit(epsilon=epsilon), p) / told[epsilon, i]
                for i, p in enumerate(every)
            ]
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        return f"{mean:.3f} ({max(ratios):.2f})"

    print_table(
        ["share of epsilon", *EPSILONS],
        ((str(share), *(cell(share, e) for e in EPSILONS)) for share in SHARES),
    )


if __name__ == "__main__":
    main()
