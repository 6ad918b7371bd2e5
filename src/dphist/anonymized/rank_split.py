"""Rows above a rank, columns below it (Manurangsi 2022)."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.anonymized.band import ALL_LABELS, Band, from_rows_and_columns
from dphist.anonymized.inference import infer_decreasing, rounding_error
from dphist.anonymized.measuring import MISSED, MOST_COUNTS, TOTAL_SHARE, Drawn, RankSplitMeasuring
from dphist.anonymized.mechanism import (
    EPSILON,
    SENSITIVITY,
    AnonymizedMechanism,
    check_cell_epsilon,
)
from dphist.anonymized.reference import Shape, public_profile
from dphist.arrays import IntArray
from dphist.data.diagram import Diagram
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.mechanism import parameter
from dphist.noise import Source
from dphist.noise.magnitude import (
    geometric_simultaneous_bound,
    geometric_standard_deviation,
)
from dphist.parameters import Exact, optional_whole
from dphist.privacy.as_text import down, plain
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.mechanisms import savable
from dphist.release.release import Release
from dphist.sentence import Sentence

_IF_TOTAL_HOLDS = Sentence("all {labels}, if the public total holds")


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class RankSplit(RankSplitMeasuring, AnonymizedMechanism):
    """The k largest counts as rows and the rest as columns, with k = sqrt(total).

    Parameters
    ----------
    epsilon : number above 0; required.
    total : int, optional
        A public bound on the number of records: known without looking at the data. It only
        sets k; cells beyond row k and column k are ignored. When omitted, 1/40 of epsilon is
        spent on a private estimate, which is released too.
    sensitivity : int
        Cells one privacy unit can change: 1 for a record, 2 for an edge of an undirected
        graph, M for a user with at most M records.

    Guarantee
    ---------
    - Neighbors differ by adding or removing records with at most `sensitivity` cells in all.
    - Pure epsilon-DP, whatever the true total.
    - Covered: the whole release, also its length and its private total; and the `SizeError` that
      ends it if the private total, less its margin, is above 2**50 records.
    - Not covered: the time it takes, and a `total` that was taken from the data.

    Notes
    -----
    Time O(sqrt(total) + distinct counts). With a public total the error is
    O(sqrt(total) exp(-epsilon)) for epsilon >= 1, which is optimal (Manurangsi 2022, Theorem 6
    and Lemma 10); without one, epsilon is 39/40 of what it was.
    """

    paper = "manurangsi2022"
    reference = (
        "P. Manurangsi. Tight Bounds for Differentially Private Anonymized Histograms. SIAM "
        "Symposium on Simplicity in Algorithms (SOSA), 2022. arXiv:2111.03257. Theorem 6 and "
        "Lemma 10."
    )

    epsilon: Fraction = parameter(**EPSILON)
    total: int | None = parameter(
        Sentence("Public bound on the number of {records}, known without looking at the data."),
        not_given=Sentence(
            "No public bound on the number of {records}; a private estimate took its place."
        ),
        public=True,
    )
    sensitivity: int = parameter(**SENSITIVITY)

    def __init__(self, *, epsilon: Exact, total: int | None = None, sensitivity: int = 1) -> None:
        public = optional_whole(total, "total", 0, MOST_COUNTS**2)
        self._hold_shared(epsilon, sensitivity)
        self._hold(total=public)
        check_cell_epsilon(self._total_epsilon or self.epsilon, self.sensitivity)

    def _draw(self, profile: Profile, source: Source | None) -> Drawn:
        """Draw; `total` is the private total, if any."""
        noisy_total, noisy = self._measure(profile, source)
        total = None if self.total is not None else max(noisy_total, 0)
        return Drawn(self.decode(noisy), total, noisy)

    def decode(self, noisy: Mapping[str, IntArray]) -> AnonymizedHistogram:
        """Return the histogram inferred from noisy rows and columns; post-processing.

        Raises
        ------
        ParameterError
            If `noisy` does not hold the counts of a release of this mechanism.
        """
        if set(noisy) != {"rows", "columns"} or len(noisy["rows"]) != len(noisy["columns"]):
            raise ParameterError("noisy", "must hold the rows and columns of a release")
        return from_rows_and_columns(
            infer_decreasing(noisy["rows"]), infer_decreasing(noisy["columns"])
        )

    def _public(self, total: int | None, shape: Shape) -> Profile:
        guess = self.total if total is None and not isinstance(shape, Release) else total
        return public_profile(guess, shape)

    def draws_on(self, public: Diagram) -> int:
        """Return about how many draws of noise a release of such a profile takes."""
        return 2 * self._size(public.total)

    def band(self, release: Release, level: float = 0.95) -> Band:
        """Return histograms that enclose the true one, all ranks and counts at once.

        If no noise exceeds t, every projected row and column is within t of the truth
        (`docs/understand/proofs/rank_split.md`, Lemma 4); t comes from the noise alone. With a
        public `total` below the true one, only cells within the first k rows or columns are meant.
        """
        missed = self._compute_miss_chance(release, level, 0.998) - (
            MISSED if self.total is None else 0
        )
        rows = infer_decreasing(release.noisy["rows"])
        columns = infer_decreasing(release.noisy["columns"])
        t = geometric_simultaneous_bound(self.cell_epsilon, 2 * len(rows), missed)
        t += max(rounding_error(rows), rounding_error(columns))
        low_rows, low_columns = np.maximum(rows - t, 0), np.maximum(columns - t, 0)
        high_rows, high_columns = rows + t, columns + t
        # No label beyond rank k has a larger count than the one at rank k, and conversely. The
        # narrower bounds stop at the released values, so that the band holds those too.
        high_columns[max(int(high_rows[-1:].sum()), np.count_nonzero(columns)) :] = 0
        low_rows = np.maximum(low_rows, np.minimum(rows, np.count_nonzero(low_columns)))
        return Band(
            from_rows_and_columns(low_rows, low_columns),
            from_rows_and_columns(high_rows, high_columns),
            level,
            ALL_LABELS if self.total is None else _IF_TOTAL_HOLDS,
        )

    def standard_error_of_total(self, release: Release) -> float | None:
        """Return the standard error of the private total, in records; None of a public one."""
        if release.total is None:
            return None
        return geometric_standard_deviation(self._total_epsilon / self.sensitivity)

    @property
    def description(self) -> str:
        """How a release is made."""
        size = f"a public bound of {self.total or 0:,}"
        if self.total is None:
            deviation = geometric_standard_deviation(self._total_epsilon / self.sensitivity)
            size = Sentence(
                "a private estimate that used {share} of epsilon (standard deviation {deviation} "
                "{records})",
                share=TOTAL_SHARE,
                deviation=plain(down(deviation, 2)),
            )
        return Sentence(
            "Rank split (Manurangsi 2022). The k largest counts, and how many of the other "
            "{labels} have each count or more up to k, each with two-sided geometric noise; k is "
            "the square root of the number of {records}, for which there was {size}. Least "
            "squares then makes both parts non-increasing.",
            size=size,
        )
