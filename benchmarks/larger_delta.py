"""Labels released if one Gaussian release pays the larger of two deltas, and if it pays the sum.

    python -m benchmarks.larger_delta

Prints the table of docs/understand/lab-notes: thresholds at a total of (1, 1e-6), and how many
labels are released of each data set, with standard errors over trials. A trial bounds the users
anew and draws new noise. Data as in `benchmarks.data`; the two files that are shipped are always
there.
"""

import argparse
import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.data import ROOT, folder
from benchmarks.markdown import print_table
from dphist import LabelCounts, ThresholdHistogram, calibrate

EPSILON, DELTA = 1, "1e-6"
BOUNDS = (1, 10, 50)


class PayingTheSum(ThresholdHistogram):
    """The same mechanism, accounted as if every label could be betrayed in both ways."""

    __slots__ = ()

    def _price_larger(self, total: Fraction) -> None:
        """Know nothing of `docs/understand/proofs/threshold.md`, Lemma 8."""


@dataclass(frozen=True, slots=True)
class Table:
    """A file, and its columns of users (None: each row is a user) and of labels."""

    name: str
    path: Path
    user: str | None
    label: str

    @property
    def bounds(self) -> tuple[int, ...]:
        """Bounds on the labels of a user that say something."""
        return BOUNDS if self.user else BOUNDS[:1]

    def counted(self, max_labels: int) -> LabelCounts:
        """Return the counts, users bounded at random."""
        return LabelCounts.from_table(
            self.path,
            label=self.label,
            user=self.user,
            max_labels=max_labels,
            null_users="drop" if self.user else "refuse",
            null_labels="drop",
        )


def tables() -> Iterator[Table]:
    """All labelled tables there are."""
    yield Table(
        "items of a shop", ROOT / "data" / "items_online_retail.parquet", "customer", "item"
    )
    yield Table("names of pets", ROOT / "data" / "pets_seattle.parquet", None, "animal_name")
    labelled, streams = folder("labelled"), folder("streams")
    if labelled is not None:
        yield Table("bigrams of authors", labelled / "reddit_bigrams.parquet", "author", "ngram")
        yield Table("words of plays", labelled / "shakespeare_by_work.parquet", "work", "word")
    if streams is not None:
        yield Table("destinations of planes", streams / "nycflights13.parquet", "tailnum", "dest")


def rows(table: Table, trials: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each bound."""
    for max_labels in table.bounds:
        before, after = (
            calibrate(kind, epsilon=EPSILON, delta=DELTA, max_labels=max_labels, noise="gaussian")
            for kind in (PayingTheSum, ThresholdHistogram)
        )
        found: tuple[list[int], list[int]] = ([], [])
        for _ in range(trials):
            counts = table.counted(max_labels)
            for numbers, mechanism in zip(found, (before, after), strict=True):
                numbers.append(len(mechanism.release(counts).value.labels))
        means = [statistics.fmean(numbers) for numbers in found]
        yield (
            f"{table.name}, {max_labels}",
            f"{float(before.threshold or 0):.1f}",
            f"{float(after.threshold or 0):.1f}",
            *(with_error(numbers) for numbers in found),
            f"{means[1] / means[0]:.2f}" if means[0] else "",
        )


def with_error(numbers: list[int]) -> str:
    """Return the mean and its standard error."""
    error = statistics.stdev(numbers) / math.sqrt(len(numbers)) if len(numbers) > 1 else math.nan
    return f"{statistics.fmean(numbers):,.1f} ± {error:.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    chosen = parser.parse_args()
    print_table(
        (
            "labels, `max_labels`",
            "threshold: sum",
            "larger",
            "labels released: sum",
            "larger",
            "ratio",
        ),
        (row for table in tables() for row in rows(table, chosen.trials)),
    )


if __name__ == "__main__":
    main()
