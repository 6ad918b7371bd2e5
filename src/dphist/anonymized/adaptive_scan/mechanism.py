"""The adaptive scan: blocks of columns, then blocks of rows, each chosen from noisy counts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice, tee
from statistics import NormalDist

import numpy as np

from dphist.anonymized.adaptive_scan.bands import bound_scans, curve_between
from dphist.anonymized.adaptive_scan.decoding import (
    compute_kept_heights,
    decode_curve,
    join_curves,
    level_start,
    make_agree,
)
from dphist.anonymized.adaptive_scan.trend import of_columns, of_rows
from dphist.anonymized.band import ALL_LABELS, Band, holding
from dphist.anonymized.measuring import (
    AdaptiveScanMeasuring,
    Drawn,
    check_profile,
    draw_noise,
    scan_profile,
)
from dphist.anonymized.mechanism import (
    EPSILON,
    SENSITIVITY,
    AnonymizedMechanism,
    check_cell_epsilon,
)
from dphist.anonymized.reference import Guess, Shape, check_guess, make_profile
from dphist.arrays import IntArray
from dphist.data.diagram import Diagram
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.mechanism import parameter
from dphist.noise import Source
from dphist.noise.geometric import SMALLEST_EPSILON
from dphist.noise.magnitude import (
    geometric_log_magnitude,
    geometric_standard_deviation,
    geometric_stopped_bound,
)
from dphist.noise.repeatable import repeatable_source
from dphist.parameters import Exact
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.mechanisms import savable
from dphist.release.release import Release
from dphist.sentence import Sentence

# An expected error is that of runs which together draw noise this many times.
_DRAWS = 2500
# The error of a run grows with about this power of the mean magnitude of its noise. The power that
# removes the most variance is 0.9 at a cell's epsilon of 1 / 1024, and 0.6 at 1.
_POWER_OF_NOISE = 0.7


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class AdaptiveScan(AdaptiveScanMeasuring, AnonymizedMechanism):
    """Every cell counted once, in blocks as wide as the noisy counts so far suggest.

    Parameters
    ----------
    epsilon : number above 0; required.
    sensitivity : int
        Cells one privacy unit can change: 1 for a record, 2 for an edge of an undirected
        graph, M for a user with at most M records.

    Guarantee
    ---------
    - Neighbors differ by adding or removing records with at most `sensitivity` cells in all.
    - Pure epsilon-DP.
    - Covered: the whole release, also its lengths and blocks.
    - Not covered: the time it takes.

    Notes
    -----
    Blocks of columns from the left for as long as they cost less than rows would, then blocks
    of the rows of what lies right of them. Each block's number of cells gets noise with the
    whole of epsilon: given the noisy counts so far the blocks are fixed and disjoint, so a
    record changes one of them (`docs/understand/proofs/adaptive_scan.md`). Nothing needs to be
    known in advance. Time and memory O(sqrt(total) + 1 / epsilon).
    Source: this library (docs/understand/adaptive-scan.md).
    """

    reference = "This library's own; see docs/understand/adaptive-scan.md in its repository."

    epsilon: Fraction = parameter(**EPSILON)
    sensitivity: int = parameter(**SENSITIVITY)

    def __init__(self, *, epsilon: Exact, sensitivity: int = 1) -> None:
        self._hold_shared(epsilon, sensitivity)
        check_cell_epsilon(self.epsilon, self.sensitivity)

    def _draw(self, profile: Profile, source: Source | None) -> Drawn:
        """Draw; `noisy` holds all that the profile is decoded from.

        `total` is the sum of all noisy counts, or 0 if that is negative.
        """
        noisy = self._measure(profile, source)
        # All cells are counted once, so the sum of all counts is an estimate of their number.
        total = max(sum(noisy["columns"].tolist()) + sum(noisy["rows"].tolist()), 0)
        return Drawn(self.decode(noisy), total, noisy)

    def decode(self, noisy: Mapping[str, IntArray]) -> AnonymizedHistogram:
        """Return the histogram inferred from the blocks' noisy counts; post-processing.

        Raises
        ------
        ParameterError
            If `noisy` does not hold the blocks of a release of this mechanism.
        """
        for after, of in (("column_ends", "columns"), ("row_ends", "rows")):
            if len(noisy.get(after, ())) != len(noisy.get(of, ())) + 1:
                raise ParameterError(
                    "noisy", "must hold the blocks of a release and where they end"
                )
        epsilon = float(self.cell_epsilon)
        width = int(noisy["column_ends"][-1])
        ends, counts = noisy["column_ends"], noisy["columns"]
        columns = decode_curve(ends, counts, epsilon, of_columns, width).curve
        row_ends, row_counts = noisy["row_ends"], noisy["rows"]
        length = int(row_ends[_reaching(row_ends, row_counts, epsilon)])
        rows = decode_curve(row_ends, row_counts, epsilon, of_rows, length, base=width).curve
        columns, rows = make_agree(columns, rows)
        return join_curves(level_start(columns, rows, epsilon), rows)

    def expected_error(self, total: int | None = None, shape: Shape = 1) -> float:
        """Return the sorted L1 error to expect, in records, from public numbers alone.

        The mechanism is tried on a public profile that follows Zipf's law, at the powers of 2 below
        and above epsilon a cell. Between them, the error is a power of the noise's mean magnitude.
        So many settings, in a plan or a search, share few trials.

        Parameters
        ----------
        total : public guess of the number of records; required but with a release.
        shape : exponent s of the public profile: its i-th count falls like 1 / i^s. Or an older
            release that is likely to be alike (then without `total`).
        """
        guess, epsilon = check_guess(total, shape), self.cell_epsilon
        below = max(Fraction(2) ** math.floor(math.log2(epsilon)), SMALLEST_EPSILON)
        error = _error_at(below, guess)
        if epsilon != below:
            above = _error_at(2 * below, guess)
            start, here, end = map(geometric_log_magnitude, (below, epsilon, 2 * below))
            part = (here - start) / (end - start)
            if above == 0:  # noise is so rare that errors are in proportion to it
                error *= math.exp(here - start)
            else:
                error = math.pow(error, 1 - part) * math.pow(above, part)
        return float(f"{error:.4g}")  # further digits would be chance

    def draws_on(self, public: Diagram) -> int:
        """Return about how many draws of noise a release of such a profile takes."""
        return 50 * math.isqrt(public.total)  # a run takes as long as this number of records

    def band(self, release: Release, level: float = 0.95) -> Band:
        """Return histograms that enclose the true one, all ranks and counts at once.

        They follow from the noisy counts if no noise exceeds t
        (`docs/understand/proofs/adaptive_scan.md`, Lemma 4), and are widened where the decoding
        leaves them.
        """
        missed, noisy = self._compute_miss_chance(release, level), release.noisy
        draws = len(noisy["columns"]) + len(noisy["rows"])
        t = geometric_stopped_bound(self.cell_epsilon, draws, missed)
        return Band(*holding(*bound_scans(noisy, t), release.value), level, ALL_LABELS)

    def pointwise_band(self, release: Release, level: float = 0.95) -> Band:
        """Return error bars: histograms that enclose the true one at about `level` of the points.

        Far narrower than `band`, and no bound: they are the decoding's own estimate of how
        far it is off at each rank (`docs/understand/adaptive-scan.md#error-bars` has measured
        coverage).
        """
        z = NormalDist().inv_cdf(1 - self._compute_miss_chance(release, level) / 2)
        noisy, epsilon = release.noisy, float(self.cell_epsilon)
        columns = curve_between(noisy["column_ends"], noisy["columns"], epsilon, of_columns, z)
        rows = curve_between(noisy["row_ends"], noisy["rows"], epsilon, of_rows, z)
        width = int(noisy["column_ends"][-1])
        low, high = (join_curves(*curves) for curves in zip(_to(width, columns), rows, strict=True))
        return Band(*holding(low, high, release.value), level, "each point by itself")

    def standard_error_of_total(self, release: Release) -> float:
        """Return the standard error of the total: the noise of all blocks together, in records."""
        draws = len(release.noisy["columns"]) + len(release.noisy["rows"])
        return math.sqrt(draws) * geometric_standard_deviation(self.cell_epsilon)

    @property
    def description(self) -> str:
        """How a release is made."""
        return Sentence(
            "Adaptive scan (this library). How many {labels} have each count or more, in blocks of "
            "counts from 1 on, then the larger counts in blocks of ranks, each block's number of "
            "{records} with two-sided geometric noise; where a block ends, and where ranks begin, "
            "depends on the noisy numbers before it. A falling curve is then fitted."
        )


@lru_cache(maxsize=32)
def _error_at(epsilon: Fraction, guess: Guess) -> float:
    """Return the mean distance of releases from a public profile, from a fixed stream of bytes.

    The magnitude of the noise drawn differs by chance from its mean, which is known: blocks depend
    on earlier noise only. Scaling the error accordingly removes a third to a half of its variance.
    """
    mechanism, source = AdaptiveScan(epsilon=epsilon), repeatable_source()
    public, off, drawn = make_profile(guess), list[int](), list[int]()
    while len(drawn) < _DRAWS:
        used, noise = tee(draw_noise(mechanism, source))
        noisy = scan_profile(mechanism, public, used)
        off.append(public.distance(mechanism.decode(noisy)))
        drawn += islice(noise, len(noisy["columns"]) + len(noisy["rows"]))
    error, magnitude = sum(off) / len(off), sum(map(abs, drawn)) / len(drawn)
    if magnitude == 0:
        return error
    usual = math.exp(geometric_log_magnitude(epsilon))
    return error * math.pow(usual / magnitude, _POWER_OF_NOISE)


def _to(width: int, curves: tuple[IntArray, IntArray]) -> list[IntArray]:
    """Return curves of columns with all columns up to `width`."""
    return [np.append(curve, np.zeros(width - len(curve), np.int64)) for curve in curves]


def _reaching(ends: IntArray, counts: IntArray, epsilon: float) -> int:
    """Return which block of rows to look into last: two after the last that holds whole rows."""
    heights = compute_kept_heights(ends, counts, epsilon, of_rows)
    some = np.flatnonzero(heights >= 0.5)
    return min(len(heights), int(some[-1]) + 2 if len(some) else 1)


def anonymize(
    profile: Profile,
    *,
    epsilon: Exact,
    sensitivity: int | None = None,
    source: Source | None = None,
) -> Release:
    """Release an anonymized histogram with the adaptive scan, whatever the data.

    It has the lowest error of the mechanisms that need to know nothing in advance, at every epsilon
    (`docs/understand/comparison.md`).

    Parameters
    ----------
    profile : the data.
    epsilon : number above 0; required.
    sensitivity : int, optional
        Cells one privacy unit can change; the bound `profile` carries when omitted.
    source : randomness, for tests only.

    Returns
    -------
    Release
        With `value` an AnonymizedHistogram and `total` a private estimate of the number of records.

    Guarantee
    ---------
    Pure epsilon-DP for neighbors that differ by adding or removing records whose cells
    number at most `sensitivity`: see `AdaptiveScan`, the mechanism this uses.
    """
    bound = check_profile(profile).sensitivity if sensitivity is None else sensitivity
    return AdaptiveScan(epsilon=epsilon, sensitivity=bound).release(profile, source)
