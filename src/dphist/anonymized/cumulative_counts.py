"""Cumulative prevalences with noise (Kuo et al. 2018, method Hc)."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.anonymized.band import NOTHING, Band, from_rows_and_columns
from dphist.anonymized.inference import infer_decreasing, rounding_error
from dphist.anonymized.measuring import CumulativeCountsMeasuring, Drawn
from dphist.anonymized.mechanism import (
    EPSILON,
    SENSITIVITY,
    AnonymizedMechanism,
    check_cell_epsilon,
)
from dphist.anonymized.reference import Shape, as_data, public_profile, zipf_profile
from dphist.data import tiling
from dphist.data.diagram import Diagram
from dphist.data.profile import Profile
from dphist.mechanism import parameter
from dphist.noise import Source
from dphist.noise.magnitude import geometric_simultaneous_bound
from dphist.parameters import Exact, whole_number
from dphist.release.mechanisms import savable
from dphist.release.release import Release
from dphist.sentence import Sentence


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class CumulativeCounts(CumulativeCountsMeasuring, AnonymizedMechanism):
    """Noise on how many labels have each count or more, up to a public maximum count.

    Parameters
    ----------
    epsilon : number above 0; required.
    largest : int
        The largest count M that is measured. It must be public: known without looking at
        the data. Counts above M are treated as M.
    sensitivity : int
        Cells one privacy unit can change: 1 for a record, 2 for an edge of an undirected
        graph, M for a user with at most M records.

    Guarantee
    ---------
    - Neighbors differ by adding or removing records with at most `sensitivity` cells in all.
    - Pure epsilon-DP.
    - Covered: all outputs of `release` and `measure`.
    - Not covered: the time they take, and a `largest` that was taken from the data.

    Notes
    -----
    The counterpart of `SortedCounts`: columns of the Ferrers diagram in place of rows, so one
    noise draw a possible count and none a label. Time and memory O(largest).
    Source: Kuo, Chiu, Kifer, Hay, Machanavajjhala 2018 (method Hc); they sum from the other
    end, which needs a public number of labels.
    """

    paper = "kuo2018"
    reference = (
        "Y.-H. Kuo, C.-C. Chiu, D. Kifer, M. Hay, A. Machanavajjhala. Differentially Private "
        "Hierarchical Count-of-Counts Histograms. Proceedings of the VLDB Endowment 11(11), "
        "2018. arXiv:1804.00370. Method Hc."
    )

    epsilon: Fraction = parameter(**EPSILON)
    largest: int = parameter("Public maximum count; larger ones are treated as this.", public=True)
    sensitivity: int = parameter(**SENSITIVITY)

    def __init__(self, *, epsilon: Exact, largest: int, sensitivity: int = 1) -> None:
        self._hold_shared(epsilon, sensitivity)
        self._hold(largest=whole_number(largest, "largest", 1, 2**40))
        check_cell_epsilon(self.epsilon, self.sensitivity)

    def _draw(self, profile: Profile, source: Source | None) -> Drawn:
        """Draw and infer; nothing estimates the total apart, and nothing is kept."""
        columns = infer_decreasing(self.measure(profile, source))
        return Drawn(from_rows_and_columns(NOTHING, columns))

    def _public(self, total: int | None, shape: Shape) -> Profile:
        public = public_profile(total, shape, zipf_profile(self.largest))
        # Cells beyond `largest` are lost by definition and not by noise.
        kept = tiling.columns_below(public, 0, self.largest)
        return as_data(from_rows_and_columns(NOTHING, kept))

    def draws_on(self, public: Diagram) -> int:
        """Return about how many draws of noise a release of such a profile takes."""
        return self.largest

    def band(self, release: Release, level: float = 0.95) -> Band:
        """Return histograms that enclose the true cumulative prevalences, all at once.

        If no noise exceeds t, projecting keeps every one within t of the truth
        (`docs/understand/proofs/cumulative_counts.md`, Lemma 3); t comes from the noise alone.
        """
        missed = self._compute_miss_chance(release, level)
        columns = tiling.columns_below(release.value, 0, self.largest)
        t = geometric_simultaneous_bound(self.cell_epsilon, self.largest, missed)
        t += rounding_error(columns)
        return Band(
            from_rows_and_columns(NOTHING, np.maximum(columns - t, 0)),
            from_rows_and_columns(NOTHING, columns + t),
            level,
            f"counts up to {self.largest:,}",
        )

    @property
    def description(self) -> str:
        """How a release is made."""
        return Sentence(
            "Cumulative counts (Kuo, Chiu, Kifer, Hay and Machanavajjhala 2018). How many {labels} "
            "have each count or more, up to {largest:,}, a public maximum, with two-sided "
            "geometric noise; least squares then makes the sequence non-increasing.",
            largest=self.largest,
        )
