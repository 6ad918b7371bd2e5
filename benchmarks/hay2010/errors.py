"""What the three inferences of Hay et al. (2010) lose, on data like theirs.

A sequence of counts sorted descending gets noise once; three estimates are made of the same
noisy sequence. Errors are squared and summed over positions, as in the paper's section 5.1.
"""

import csv
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.data import ROOT, folder
from dphist import Profile, SortedCounts
from dphist.anonymized.inference import isotonic_decreasing
from dphist.data import tiling
from dphist.noise import Source

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Inference = Callable[[IntArray], IntArray | FloatArray]

# What the paper calls them. "rounded" is not in the paper: what `SortedCounts` releases.
SYMBOLS = {"raw": "S̃", "sorted": "S̃_r", "projected": "S̄", "rounded": "S̄ rounded"}


@dataclass(frozen=True)
class Histogram:
    """Counts of a public number of labels, and the paper's data they stand for.

    `labels` is the length of the sequence: further labels are cut off, missing ones have
    count 0.
    """

    name: str
    stands_for: str
    profile: Profile
    labels: int

    @property
    def counts(self) -> IntArray:
        """The true sequence, (labels,) int64, descending."""
        return tiling.first_rows(self.profile, self.labels)

    @property
    def runs(self) -> IntArray:
        """Lengths of the runs of equal counts, (distinct counts,) int64."""
        return np.unique(self.counts, return_counts=True)[1].astype(np.int64)


def read_bins(path: Path, stands_for: str) -> Histogram:
    """Read a CSV of one bin a row; every bin is a label, the empty ones too."""
    with path.open(newline="") as file:
        counts = [int(row["count"]) for row in csv.DictReader(file)]
    return Histogram(path.stem, stands_for, Profile.from_counts(counts), len(counts))


def read_profile(path: Path, stands_for: str, top: int | None = None) -> Histogram:
    """Read a profile; its `top` labels, or those that have a count."""
    profile = Profile.read(path)
    if top is None:
        return Histogram(path.stem, stands_for, profile, profile.labels)
    return Histogram(f"{path.stem}, top {top:,}", stands_for, profile, top)


# The paper had 20,000 keywords in its search logs.
_KEYWORDS = 20_000


def shipped() -> list[Histogram]:
    """Return what there is without any folder of data."""
    return [read_profile(ROOT / "data" / "words_shakespeare.csv", "keywords", _KEYWORDS)]


def histograms() -> list[Histogram]:
    """Return those of the folders there are, and those shipped with the project."""
    found = []
    ranges, profiles = folder("ranges"), folder("profiles")
    if ranges:
        found += [
            read_bins(ranges / "SEARCHLOGS.csv", "search logs"),
            read_bins(ranges / "NETTRACE.csv", "network trace"),
        ]
    if profiles:
        found += [
            read_profile(profiles / f"degrees_{graph}.csv", stands_for)
            for graph, stands_for in (
                ("facebook_combined", "social network"),
                ("wiki-Vote", "another graph"),
                ("ca-GrQc", "another graph"),
                ("ca-HepTh", "another graph"),
                ("p2p-Gnutella31", "another graph"),
            )
        ]
        found.append(read_profile(profiles / "words_subtlex_us.csv", "keywords", _KEYWORDS))
    return found + shipped()


def inferences(labels: int) -> dict[str, Inference]:
    """Return the paper's three inferences, and the projection as `SortedCounts` releases it."""
    return {
        "raw": lambda noisy: noisy,
        # These two ignore epsilon: they see noisy numbers alone.
        "sorted": SortedCounts(epsilon=1, labels=labels, inference="sort").infer,
        "projected": isotonic_decreasing,
        "rounded": SortedCounts(epsilon=1, labels=labels, inference="isotonic").infer,
    }


def squared_errors(
    histogram: Histogram,
    epsilon: str,
    runs: int,
    among: Mapping[str, Inference] | None = None,
    source: Source | None = None,
) -> dict[str, FloatArray]:
    """Return each inference's sum of squared errors in each run, (runs,) float64, records²."""
    each = [
        {name: float(squares.sum()) for name, squares in one.items()}
        for one in _squares(histogram, epsilon, runs, among, source)
    ]
    return {name: np.array([one[name] for one in each]) for name in each[0]}


def errors_by_position(
    histogram: Histogram,
    epsilon: str,
    runs: int,
    among: Mapping[str, Inference] | None = None,
    source: Source | None = None,
) -> dict[str, FloatArray]:
    """Return each inference's mean squared error at each position, (labels,) float64, records²."""
    sums: dict[str, FloatArray] = {}
    for one in _squares(histogram, epsilon, runs, among, source):
        for name, squares in one.items():
            sums[name] = sums.get(name, np.zeros(histogram.labels)) + squares
    return {name: total / runs for name, total in sums.items()}


def _squares(
    histogram: Histogram,
    epsilon: str,
    runs: int,
    among: Mapping[str, Inference] | None,
    source: Source | None,
) -> Iterator[dict[str, FloatArray]]:
    # Every inference sees the same noise, so that their ratio varies less than they do.
    mechanism = SortedCounts(epsilon=epsilon, labels=histogram.labels)
    true = histogram.counts
    chosen = inferences(histogram.labels) if among is None else among
    for _ in range(runs):
        # The paper's S̃ may be negative: it is what `measure` gives, not what is released.
        noisy = mechanism.measure(histogram.profile, source)
        yield {
            name: np.square(np.asarray(infer(noisy), np.float64) - true)
            for name, infer in chosen.items()
        }


def noise_variance(epsilon: str) -> float:
    """Return the variance of two-sided geometric noise, records²; Laplace's is 2 / epsilon²."""
    return 1 / (2 * math.sinh(float(epsilon) / 2) ** 2)


def harmonic_sum(runs: IntArray) -> float:
    """Return the sum, over runs of equal counts, of 1 + 1/2 + ... + 1/length.

    Noise of variance v gives S̄ an expected squared error of at most v times this sum, at any
    epsilon (`docs/understand/hay2010.md`); that of S̃ is v times the number of labels.
    """
    harmonic = np.cumsum(1 / np.arange(1, runs.max() + 1))
    return float(harmonic[runs - 1].sum())


@dataclass(frozen=True)
class Ratio:
    """A ratio of two mean errors with its standard error."""

    value: float
    standard_error: float


def ratio(over: FloatArray, under: FloatArray) -> Ratio:
    """Return mean `over` / mean `under` of errors measured in the same runs."""
    value = float(over.mean() / under.mean())
    # To first order the ratio varies as the difference of the relative deviations.
    return Ratio(value, value * standard_error(over / over.mean() - under / under.mean()))


def standard_error(values: FloatArray) -> float:
    """Return the standard error of the mean."""
    return float(values.std(ddof=1) / math.sqrt(len(values)))
