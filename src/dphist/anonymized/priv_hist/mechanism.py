"""PrivHist: small counts as columns, large ones as rows or smoothed (Suresh 2019)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.anonymized.band import ALL_LABELS, Band, holding
from dphist.anonymized.measuring import Drawn, PrivHistMeasuring, Shares
from dphist.anonymized.mechanism import (
    EPSILON,
    SENSITIVITY,
    AnonymizedMechanism,
    check_cell_epsilon,
)
from dphist.anonymized.priv_hist.decoding import (
    bound_blocks,
    bound_split,
    decode_blocks,
    decode_split,
)
from dphist.anonymized.reference import zipf_profile
from dphist.arrays import IntArray
from dphist.data.diagram import Diagram
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.mechanism import parameter
from dphist.noise import Source
from dphist.noise.magnitude import (
    geometric_simultaneous_bound,
    geometric_standard_deviation,
    geometric_upper_bound,
)
from dphist.parameters import Exact, exact_number
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.mechanisms import savable
from dphist.release.release import Release
from dphist.sentence import Sentence

# Probability that a band's bound on the number of records fails.
_MISSED = 1e-3
_NO_RELEASE = "must hold the private total and the counts of a release"


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class PrivHist(PrivHistMeasuring, AnonymizedMechanism):
    """A private total, then columns for small counts and rows, or blocks, for large ones.

    Parameters
    ----------
    epsilon : number above 0; required.
    shares : three numbers, optional
        Weights of the private total, of the split at T = sqrt(total min(epsilon, 1)), and of
        the smoothed blocks, in epsilon. (1, 1, 1) is published. A third weight of 0 means that
        nothing is smoothed; without smoothing, which is never used for epsilon above 1, a
        third share is not spent. When omitted: 1, 39, 0; for epsilon up to 1/10: 1, 2, 37.
    sensitivity : int
        Cells one privacy unit can change: 1 for a record, 2 for an edge of an undirected
        graph, M for a user with at most M records. What is said of epsilon here holds for
        epsilon divided by it.

    Guarantee
    ---------
    - Neighbors differ by adding or removing records with at most `sensitivity` cells in all.
    - Pure epsilon-DP.
    - Covered: the whole release, also its lengths and its private total; and the `SizeError` that
      ends it if noisy numbers ask for more than 2**25 counts.
    - Not covered: the time it takes.

    Notes
    -----
    Time O(sqrt(total) + distinct counts) for epsilon > 1, O(sqrt(total / epsilon) +
    1 / epsilon + distinct counts) below, up to logarithms. Error O(sqrt(n) exp(-c epsilon))
    for epsilon > 1, O(sqrt(n / epsilon log(2 / epsilon))) with smoothing for
    1/n << epsilon <= 1.
    Source: Suresh 2019, algorithm PrivHist and Theorem 1. Here the smoothed cumulative
    prevalences get integer noise on their blocks' cells, not Laplace noise on their means.
    """

    paper = "suresh2019"
    reference = (
        "A. T. Suresh. Differentially Private Anonymized Histograms. Advances in Neural "
        "Information Processing Systems 32, 2019. arXiv:1910.03553. Algorithm PrivHist and "
        "Theorem 1."
    )

    epsilon: Fraction = parameter(**EPSILON)
    shares: Shares | None = parameter(
        "Weights of private total, split and smoothed blocks in epsilon.",
        not_given="Weights of private total, split and smoothed blocks in epsilon: the default "
        "ones.",
    )
    sensitivity: int = parameter(**SENSITIVITY)

    def __init__(
        self,
        *,
        epsilon: Exact,
        shares: Sequence[Exact] | None = None,
        sensitivity: int = 1,
    ) -> None:
        self._hold_shared(epsilon, sensitivity)
        self._hold(shares=None if shares is None else _check_shares(shares))
        for part in (self.total_epsilon, self.split_epsilon, self.block_epsilon):
            if part is not None:
                check_cell_epsilon(part, 1)

    def _draw(self, profile: Profile, source: Source | None) -> Drawn:
        """Draw; `total` is the paper's N, on which the decoding depends."""
        noisy = self._measure(profile, source)
        return Drawn(self.decode(noisy), int(noisy["total"][0]), noisy)

    def decode(self, noisy: Mapping[str, IntArray]) -> AnonymizedHistogram:
        """Return the histogram inferred from noisy counts and the private total; post-processing.

        Raises
        ------
        ParameterError
            If `noisy` does not hold the counts of a release of this mechanism.
        """
        if noisy.get("total", np.ones(1)).tolist() == [0]:
            return AnonymizedHistogram([], [])
        names = ("ends", "cells") if self.block_epsilon is not None else ("columns", "rows")
        if any(name not in noisy for name in names):
            raise ParameterError("noisy", _NO_RELEASE)
        first, second = (noisy[name] for name in names)
        if self.block_epsilon is None:
            return decode_split(first, second, self._fakes_in(noisy))
        if len(first) != len(second):
            raise ParameterError("noisy", _NO_RELEASE)
        return decode_blocks(first, second)

    def _fakes_in(self, noisy: Mapping[str, IntArray]) -> int:
        """Return how many fake counts there are on either side of T."""
        if "total" in noisy:
            total = noisy["total"].tolist()
            if len(total) != 1 or total[0] < 1:
                raise ParameterError("noisy", _NO_RELEASE)
            return self._fakes(total[0])
        # Earlier versions did not keep the total here, but counted more rows than labels.
        if not len(noisy["rows"]) or len(noisy.get("above", ())) != 1:
            raise ParameterError("noisy", _NO_RELEASE)
        return len(noisy["rows"]) - int(noisy["above"][0])

    def draws_on(self, public: Diagram) -> int:
        """Return about how many draws of noise a release of such a profile takes."""
        return 2 * math.isqrt(public.total)

    def band(self, release: Release, level: float = 0.95) -> Band:
        """Return histograms that enclose the true one, all ranks and counts at once.

        They follow from the noisy counts if no noise exceeds t
        (`docs/understand/proofs/priv_hist.md`, Lemmas 5 and 6), and are widened where the
        published decoding leaves them.
        """
        missed = self._compute_miss_chance(release, level, 0.998) - _MISSED
        total = release.total or 0
        most = total + geometric_upper_bound(self.total_epsilon, _MISSED)
        noisy = release.noisy
        if total == 0:
            bounds: tuple[Diagram, Diagram] = AnonymizedHistogram([], []), zipf_profile(most)
        elif self.block_epsilon is not None:
            t = geometric_simultaneous_bound(self.block_epsilon, len(noisy["ends"]), missed)
            bounds = bound_blocks(noisy["ends"], noisy["cells"], t, most)
        else:
            # Twice their number, as that depends on one of them (Lemma 5).
            draws = 2 * (1 + len(noisy["columns"]) + len(noisy["rows"]))
            t = geometric_simultaneous_bound(self.split_epsilon, draws, missed)
            above = int(noisy["above"][0])
            bounds = bound_split(
                noisy["columns"], noisy["rows"], above, self._fakes(total), t, most
            )
        return Band(*holding(*bounds, release.value), level, ALL_LABELS)

    def standard_error_of_total(self, release: Release) -> float:
        """Return the standard error of the private total, in records."""
        return geometric_standard_deviation(self.total_epsilon)

    @property
    def description(self) -> str:
        """How a release is made."""
        first, *_ = (weight / sum(self._weights) for weight in self._weights)
        start = Sentence(
            "PrivHist (Suresh 2019). First a private estimate of the number of {records}, which "
            "used {first} of epsilon; from it a threshold T, the square root of the estimate times "
            "epsilon, or of the estimate alone if epsilon is above 1",
            first=first,
        )
        if self.block_epsilon is None:
            return Sentence(
                "{start}. Then how many {labels} have each count or more up to T, and the larger "
                "counts themselves, each with two-sided geometric noise. Noise moves {labels} "
                "across T, so that their number on either side stays hidden; fake counts that "
                "make room for it are taken out at the end. Least squares makes the small part "
                "decrease.",
                start=start,
            )
        return Sentence(
            "{start}. Then, in blocks of counts that are single up to T and grow wider beyond, the "
            "number of {records} that the {labels} have there, each with two-sided geometric "
            "noise; within a block the curve is flat. Least squares makes it non-increasing.",
            start=start,
        )


def _check_shares(shares: Sequence[Exact]) -> Shares:
    problem = ParameterError(
        "shares",
        "must be three numbers, the first two above 0 and the third at least 0, for example (1, "
        "1, 1)",
    )
    if isinstance(shares, str) or not isinstance(shares, Sequence) or len(shares) != 3:
        raise problem
    first, second, third = (exact_number(share, "shares") for share in shares)
    if not (first > 0 and second > 0 and third >= 0):
        raise problem
    return first, second, third
