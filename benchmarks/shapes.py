"""Made shapes of which some are hard on a mechanism: `AdaptiveScan` against the published ones.

    python -m benchmarks.shapes [--epsilons E ...] [--runs N]

Mean sorted L1 error of 50 releases, with its standard error, over the lower of the mechanisms
that, like it, know nothing in advance: `RankSplit` and `PrivHist` (default shares).
"""

import argparse
import math
import statistics
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks import hard_instances
from benchmarks.markdown import print_table
from dphist import AdaptiveScan, PrivHist, Profile, RankSplit

EPSILONS = ["4", "2", "1", "0.1", "0.01"]
RUNS = 50


def stairs(steps: int) -> Profile:
    """Random stairs: so many distinct counts, of random heights and lengths."""
    rng = np.random.default_rng(steps)
    counts = np.unique(rng.integers(1, 3000, steps))
    return Profile.from_prevalences(counts, rng.integers(1, 300, len(counts)))


def drawn(counts: np.ndarray) -> Profile:
    """A profile of counts drawn at random, the same ones each time."""
    return Profile.from_counts(counts[counts > 0])


def zipf(exponent: float) -> Profile:
    """Counts A / i^s of 10,000 labels."""
    return Profile.from_counts((20_000 / np.arange(1, 10_001) ** exponent).astype(np.int64))


def hard(epsilon: float) -> Profile:
    """The instance of a lower bound for this epsilon, of a million records and random bits."""
    rng = np.random.default_rng(7)
    if epsilon >= 1:
        bits = rng.integers(0, 2, hard_instances.low_privacy_bits(10**6))
        return hard_instances.low_privacy(10**6, bits)
    bits = rng.integers(0, 2, hard_instances.high_privacy_bits(10**6, epsilon))
    return hard_instances.high_privacy(10**6, epsilon, bits)


SHAPES: dict[str, Callable[[], Profile]] = {
    "all counts equal (1,000 of 100)": lambda: Profile.from_prevalences([100], [1000]),
    "all counts equal (10,000 of 7)": lambda: Profile.from_prevalences([7], [10_000]),
    "two plateaus": lambda: Profile.from_prevalences([20, 500], [3000, 300]),
    "5 random stairs": lambda: stairs(5),
    "30 random stairs": lambda: stairs(30),
    "100 random stairs": lambda: stairs(100),
    "square of 1,000": lambda: Profile.from_prevalences([1000], [1000]),
    "even counts only": lambda: Profile.from_counts(2 * np.arange(1, 1000)),
    "one label of a million": lambda: Profile.from_counts([10**6]),
    "Poisson(50)": lambda: drawn(np.random.default_rng(1).poisson(50, 20_000)),
    "geometric": lambda: drawn(np.random.default_rng(1).geometric(0.02, 20_000)),
    "Zipf 0.5": lambda: zipf(0.5),
    "Zipf 1": lambda: zipf(1),
    "Zipf 1.5": lambda: zipf(1.5),
    "linear stairs": lambda: Profile.from_counts(np.arange(1, 1500)),
    "hard, low privacy": lambda: hard(1),
    "hard, high privacy (0.1)": lambda: hard(0.1),
    "hard, high privacy (0.01)": lambda: hard(0.01),
}


Mechanism = AdaptiveScan | PrivHist | RankSplit


def errors_of(mechanism: Mechanism, profile: Profile, runs: int = RUNS) -> list[int]:
    """Sorted L1 errors of some releases."""
    return [profile.distance(mechanism.release(profile).value) for _ in range(runs)]


def mean_error(mechanism: Mechanism, profile: Profile, runs: int = RUNS) -> float:
    """Mean sorted L1 error, at least half a record in all runs together."""
    return max(statistics.fmean(errors_of(mechanism, profile, runs)), 0.5 / runs)


def cell(profile: Profile, epsilon: str, runs: int) -> tuple[float, str]:
    """The ratio, and it in words: with our error, and its standard error."""
    errors = errors_of(AdaptiveScan(epsilon=epsilon), profile, runs)
    ours = max(statistics.fmean(errors), 0.5 / runs)
    spread = statistics.stdev(errors) / math.sqrt(runs)
    theirs = min(mean_error(kind(epsilon=epsilon), profile, runs) for kind in (RankSplit, PrivHist))
    return ours / theirs, f"{ours / theirs:.2f} ({ours:,.3g} ± {spread:,.2g})"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS, metavar="E")
    parser.add_argument("--runs", type=int, default=RUNS)
    chosen = parser.parse_args(arguments)
    rows = []
    ratios: dict[str, list[float]] = {e: [] for e in chosen.epsilons}
    for name, make in SHAPES.items():
        profile, row = make(), [name]
        for epsilon in chosen.epsilons:
            ratio, text = cell(profile, epsilon, chosen.runs)
            ratios[epsilon].append(ratio)
            row.append(text)
        rows.append(row)
    means = [math.exp(statistics.fmean(map(math.log, found))) for found in ratios.values()]
    rows.append(["geometric mean", *(f"{mean:.2f}" for mean in means)])
    print_table(["shape: ratio (error)", *chosen.epsilons], rows)


if __name__ == "__main__":
    main()
