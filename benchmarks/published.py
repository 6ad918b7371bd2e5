"""`AdaptiveScan` against the best published mechanism at small noise, with standard errors.

    python -m benchmarks.published [--epsilons E ...] [--seconds S] [--profiles NAME ...]

Published are sorted counts given the number of labels, `RankSplit` given the number of records
and `PrivHist` with equal shares. A cell is run until its standard error is 1 % of its mean, or for
S seconds; sorted counts of more than two million labels are left out, because they are never best.
"""

import argparse
import math
from collections.abc import Sequence
from fractions import Fraction

from benchmarks.data import profiles
from benchmarks.markdown import print_table
from benchmarks.repeating import measure
from dphist import Profile
from dphist.anonymized.comparing import CONTENDERS
from dphist.lab.comparing.compare import open_case
from dphist.lab.comparing.measuring import Effort, Measured

EPSILONS = ("4", "2", "1")
PUBLISHED = ("SortedCounts", "RankSplit, n known", "PrivHist, equal shares")
OURS = "AdaptiveScan"
MOST_LABELS = 2_000_000


def measured(name: str, profile: Profile, epsilon: str, effort: Effort) -> Measured:
    """Measure one contender."""
    contender = next(c for c in CONTENDERS if c.name == name)
    _, case = open_case(profile)
    mechanism = contender.make(Fraction(epsilon), case.opened)
    return measure(case.run(mechanism), effort, math.inf)


def cell(profile: Profile, epsilon: str, effort: Effort) -> tuple[str, float]:
    """Our error, the best other, and the ratio with its standard error."""
    ours = measured(OURS, profile, epsilon, effort)
    others = {
        name: measured(name, profile, epsilon, effort)
        for name in PUBLISHED
        if name != "SortedCounts" or profile.labels <= MOST_LABELS
    }
    best = min(others, key=lambda name: others[name].error)
    ratio = ours.error / others[best].error
    spread = ratio * math.hypot(
        *(found.standard_error / found.error for found in (ours, others[best]))
    )
    return f"{ours.error:,.4g}: {ratio:.3f} ± {spread:.3f} ({best})", ratio


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS, metavar="E")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--profiles", nargs="+", default=[""], metavar="NAME")
    chosen = parser.parse_args(arguments)
    effort = Effort(target=0.01, fewest=10, most=20_000, seconds=chosen.seconds)
    rows, logs = [], []
    for name, profile in profiles().items():
        if any(part in name for part in chosen.profiles):
            cells = [cell(profile, epsilon, effort) for epsilon in chosen.epsilons]
            rows.append([name, *(text for text, _ in cells)])
            logs.append([math.log(ratio) for _, ratio in cells])
    means = [math.exp(sum(column) / len(logs)) for column in zip(*logs, strict=True)]
    rows.append(["geometric mean", *(f"{mean:.3f}" for mean in means)])
    print_table(["error: ratio to the best", *(f"ε = {e}" for e in chosen.epsilons)], rows)


if __name__ == "__main__":
    main()
