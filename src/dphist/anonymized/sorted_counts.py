"""Sorted counts with noise (Hay, Rastogi, Miklau, Suciu 2010, section 3)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from dphist.anonymized.band import NOTHING, Band, from_rows_and_columns
from dphist.anonymized.inference import infer_decreasing, rounding_error
from dphist.anonymized.measuring import Drawn, SortedCountsMeasuring
from dphist.anonymized.mechanism import (
    EPSILON,
    SENSITIVITY,
    AnonymizedMechanism,
    check_cell_epsilon,
)
from dphist.anonymized.reference import Shape, public_profile, zipf_profile
from dphist.arrays import IntArray
from dphist.data import tiling
from dphist.data.diagram import Diagram
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.mechanism import parameter
from dphist.noise import Source
from dphist.noise.magnitude import geometric_simultaneous_bound
from dphist.parameters import Exact, whole_number
from dphist.release.mechanisms import savable
from dphist.release.release import Release
from dphist.sentence import Sentence

Inference = Literal["isotonic", "sort", "none"]
_INFERENCES = ("isotonic", "sort", "none")


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class SortedCounts(SortedCountsMeasuring, AnonymizedMechanism):
    """Noise on each of the sorted counts, for a public number of labels.

    Parameters
    ----------
    epsilon : number above 0; required.
    labels : int
        Number of labels K, those that never occur included. It must be public: known
        without looking at the data. Rows 1..K of the sorted counts are kept; further labels
        in the data are ignored, and missing ones have count 0.
    inference : "isotonic", "sort" or "none"
        How the noisy counts become a non-increasing sequence: the least-squares projection
        (the paper's S-bar), sorting (its S-tilde-r), or not at all (its S-tilde; a
        profile has no order, so this profile equals that of "sort").
    sensitivity : int
        Cells one privacy unit can change: 1 for a record, 2 for an edge of an undirected
        graph, M for a user with at most M records.

    Guarantee
    ---------
    - Neighbors differ by adding or removing records with at most `sensitivity` cells in all.
    - Pure epsilon-DP.
    - Covered: all outputs of `release` and `measure`.
    - Not covered: the time they take, and a `labels` that was taken from the data.

    Notes
    -----
    One noise draw a label: time and memory are O(labels), for Yahoo!'s 34 million labels
    some five seconds and 1.6 GB. `RankSplit` costs O(sqrt(records)) instead.
    Source: Hay et al. 2010, section 3; Proposition 3 is the sensitivity.
    """

    paper = "hay2010"
    reference = (
        "M. Hay, V. Rastogi, G. Miklau, D. Suciu. Boosting the Accuracy of Differentially "
        "Private Histograms Through Consistency. Proceedings of the VLDB Endowment 3(1), 2010. "
        "arXiv:0904.0942. Section 3; Proposition 3 is the sensitivity."
    )

    epsilon: Fraction = parameter(**EPSILON)
    labels: int = parameter(
        Sentence("Public number of {labels}, those that never occur included."), public=True
    )
    inference: Inference = parameter("How the noisy counts become a non-increasing sequence.")
    sensitivity: int = parameter(**SENSITIVITY)

    def __init__(
        self,
        *,
        epsilon: Exact,
        labels: int,
        inference: Inference = "isotonic",
        sensitivity: int = 1,
    ) -> None:
        if inference not in _INFERENCES:
            raise ParameterError("inference", "must be 'isotonic', 'sort' or 'none'")
        self._hold_shared(epsilon, sensitivity)
        self._hold(labels=whole_number(labels, "labels", 1, 2**40))
        self._hold(inference=inference)
        check_cell_epsilon(self.epsilon, self.sensitivity)

    def infer(self, noisy: IntArray) -> IntArray:
        """Return the counts inferred from noisy ones, (labels,) int64; post-processing."""
        if self.inference == "isotonic":
            return infer_decreasing(noisy)
        clipped = np.maximum(noisy, 0)
        return np.sort(clipped)[::-1] if self.inference == "sort" else clipped

    def _draw(self, profile: Profile, source: Source | None) -> Drawn:
        """Draw and infer; nothing estimates the total apart, and nothing is kept."""
        counts = self.infer(self.measure(profile, source))
        return Drawn(from_rows_and_columns(counts, NOTHING))

    def _public(self, total: int | None, shape: Shape) -> Profile:
        public = public_profile(total, shape, zipf_profile(self.labels))
        # Labels beyond `labels` are lost by definition and not by noise.
        return Profile.from_counts(tiling.first_rows(public, self.labels))

    def draws_on(self, public: Diagram) -> int:
        """Return about how many draws of noise a release of such a profile takes."""
        return self.labels

    def band(self, release: Release, level: float = 0.95) -> Band:
        """Return histograms that enclose the first `labels` true counts, all at once.

        If no noise exceeds t, sorting or projecting keeps every count within t of the truth
        (`docs/understand/proofs/sorted_counts.md`, Lemma 3); t comes from the noise alone.
        """
        missed = self._compute_miss_chance(release, level)
        counts = tiling.first_rows(release.value, self.labels)
        t = geometric_simultaneous_bound(self.cell_epsilon, self.labels, missed)
        t += rounding_error(counts)
        return Band(
            from_rows_and_columns(np.maximum(counts - t, 0), NOTHING),
            from_rows_and_columns(counts + t, NOTHING),
            level,
            f"the {self.labels:,} largest counts",
        )

    @property
    def description(self) -> str:
        """How a release is made."""
        ending = {
            "isotonic": "least squares then makes the sequence non-increasing",
            "sort": "sorting then makes the sequence non-increasing",
            "none": "negative counts then become zero",
        }[self.inference]
        return Sentence(
            "Sorted counts (Hay, Rastogi, Miklau and Suciu 2010). Each of the {number:,} largest "
            "counts, a public number of {labels}, with two-sided geometric noise; {ending}.",
            number=self.labels,
            ending=ending,
        )
