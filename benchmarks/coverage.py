"""How much of the true rank-count curve lies within the error bars of `AdaptiveScan`.

    python -m benchmarks.coverage

Mean of 20 releases, at level 95 %: of ranks evenly spaced on the logarithmic axis of the
plot, and in brackets of all ranks.
"""

import statistics

import numpy as np

from benchmarks.data import profiles
from benchmarks.markdown import print_table
from dphist import AdaptiveScan, Profile
from dphist.data.diagram import Diagram

EPSILONS = ["4", "2", "1", "0.1", "0.01"]
RUNS = 20


def counts_at(profile: Diagram, ranks: np.ndarray) -> np.ndarray:
    """The count of each rank's label, 0 beyond the last."""
    return profile.conjugate().cumulative_prevalences(ranks)


def coverage(profile: Profile, epsilon: str) -> tuple[float, float]:
    """Parts of the ranks covered: spaced evenly on a logarithmic axis, and of all."""
    mechanism = AdaptiveScan(epsilon=epsilon)
    spaced = np.unique(np.geomspace(1, profile.labels, 300).astype(np.int64))
    every = np.unique(np.linspace(1, profile.labels, 20_000).astype(np.int64))
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(RUNS):
        bars = mechanism.pointwise_band(mechanism.release(profile))
        for ranks, parts in zip((spaced, every), found, strict=True):
            low, true, high = (counts_at(p, ranks) for p in (bars.lower, profile, bars.upper))
            parts.append(float(np.mean((low <= true) & (true <= high))))
    return statistics.fmean(found[0]), statistics.fmean(found[1])


def main() -> None:
    """Print the table."""
    rows = []
    for name, profile in profiles().items():
        pairs = [coverage(profile, epsilon) for epsilon in EPSILONS]
        rows.append([name, *(f"{100 * a:.1f} % ({100 * b:.1f})" for a, b in pairs)])
    print_table(["profile", *(f"ε = {e}" for e in EPSILONS)], rows)


if __name__ == "__main__":
    main()
