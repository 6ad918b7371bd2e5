"""The exponential mechanism over integer partitions (Blocki, Datta, Bonneau 2016)."""

import contextlib
import os
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.anonymized.band import Band, from_rows_and_columns
from dphist.anonymized.mechanism import (
    EPSILON,
    SENSITIVITY,
    AnonymizedMechanism,
    Drawn,
)
from dphist.anonymized.partition_sampler.paths import Paths
from dphist.anonymized.partition_sampler.radius import log_mass_of_cut, minus_log_above, radius
from dphist.anonymized.partition_sampler.windows import windows_around
from dphist.data.profile import Profile
from dphist.errors import DphistError, ParameterError
from dphist.mechanism import parameter
from dphist.noise import Source
from dphist.parameters import Exact, positive_delta
from dphist.privacy import ApproxDP
from dphist.release.mechanisms import savable
from dphist.release.release import Release
from dphist.tables import redact_errors

# Below this, even an empty table would need gigabytes.
_SMALLEST_EPSILON = Fraction(1, 1000)
# Above this, one cell more is too unlikely for a float, and hardly anything is protected.
_LARGEST_EPSILON = 1000


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class PartitionSampler(AnonymizedMechanism):
    """A random diagram, less likely by exp(-epsilon / 2) for each cell it differs in.

    Parameters
    ----------
    epsilon : number between 1/1000 and 1000, each times `sensitivity`; required.
    delta : number between 0 and 1; required.
        Probability with which the guarantee may fail, because diagrams too far from the true
        one are never drawn. It hardly changes the error; smaller ones take a little longer.
    sensitivity : int
        Cells one privacy unit can change: 1 for a record, 2 for an edge of an undirected
        graph, M for a user with at most M records.

    Guarantee
    ---------
    (epsilon, delta)-DP, however small delta is. Neighbours differ by adding or removing records
    whose cells number at most `sensitivity`. Covered is the whole release; not covered are the
    time and memory it takes, which depend on the data, and the error when memory runs out.

    The law is drawn exactly: tables of floats propose a diagram, and integer arithmetic decides
    whether it is kept, with as many random bits as that takes. Assumed is only that NumPy adds and
    multiplies float64 with relative errors below 2**-52 (`docs/proofs/partition_sampler.md`).
    `PrivHist` is pure, faster, and needs no delta.

    Notes
    -----
    Time and memory, 8 bytes each, are the cells that diagrams within the distance that
    delta sets can differ in: below O(n**1.5 / epsilon). See `docs/comparison.md` for seconds. A
    source that is not random, such as one of all ones, takes longer.
    Source: Blocki, Datta, Bonneau 2016, with a wider window: the published one left out what the
    mechanism draws around an empty diagram, and cost more than the delta it stated.
    """

    reference = (
        "J. Blocki, A. Datta, J. Bonneau. Differentially Private Password Frequency Lists. "
        "Network and Distributed System Security Symposium (NDSS), 2016. IACR ePrint 2016/153."
    )

    epsilon: Fraction = parameter(**EPSILON)
    delta: Fraction = parameter("Probability with which the guarantee may fail.")
    sensitivity: int = parameter(**SENSITIVITY)

    def __init__(self, *, epsilon: Exact, delta: Exact, sensitivity: int = 1) -> None:
        self._hold_shared(epsilon, sensitivity)
        why = "diagrams far from the data are never drawn; AdaptiveScan and PrivHist have no delta"
        self._hold(delta=positive_delta(delta, why))
        if self.epsilon / self.sensitivity < _SMALLEST_EPSILON:
            raise ParameterError(
                "epsilon divided by sensitivity must be at least 1/1000 for this mechanism; "
                "PrivHist takes smaller ones"
            )
        if self.epsilon / self.sensitivity > _LARGEST_EPSILON:
            raise ParameterError(
                "epsilon divided by sensitivity must be at most 1000 for this mechanism; "
                "PrivHist takes larger ones"
            )

    @property
    def guarantee(self) -> ApproxDP:
        """(epsilon, delta)-DP for units that change at most `sensitivity` cells."""
        return ApproxDP(self.epsilon, self.delta, self._unit)

    @property
    def rate(self) -> Fraction:
        """A diagram at distance d has probability proportional to exp(-rate d)."""
        return self.epsilon / self.sensitivity / 2

    @property
    def noise_scale(self) -> Fraction:
        """1 / `rate`: a diagram that many records farther away is less likely by a factor of e."""
        return 1 / self.rate

    def distance(self, profile: Profile) -> int:
        """Return a distance within which all but delta / (1 + exp(epsilon)) of the law lies.

        It depends on the data and is secret, as the window it stands for is.
        """
        cut = log_mass_of_cut(self.delta, self.epsilon)
        return radius(profile.total, self.rate, cut)

    def _drawn(self, profile: Profile, source: Source | None) -> Drawn:
        """Draw a whole profile; nothing estimates the total apart."""
        too_far = DphistError(
            "not enough memory to sample a partition; raise epsilon, or use PrivHist"
        )
        # NumPy's own message would tell how far the windows reach.
        paths = redact_errors(lambda: self._paths(profile), too_far)
        drawn = None
        with contextlib.suppress(MemoryError):  # other errors are those of the source
            drawn = paths.draw(os.urandom if source is None else source)
        if drawn is None:
            raise too_far
        return Drawn(from_rows_and_columns(*drawn))

    def _paths(self, profile: Profile) -> Paths:
        # Much is too small for a float, and raised to a floor; no warning may tell of it.
        with np.errstate(all="ignore"):
            windows = windows_around(profile, self.distance(profile))
            return Paths.within(windows.choices(profile), self.rate)

    def _draws_on(self, public: Profile) -> int:
        return 2**40  # so that it is run once: at small epsilon a run takes seconds

    def band(self, release: Release, level: float = 0.95) -> Band:
        """Return profiles that enclose the true one, all ranks and counts at once.

        Very wide: the bound on the distance of a draw from the truth is all that is known, and
        it may fall on any one count.
        """
        self._check_asked(release, level, 0.999999)
        log_mass = minus_log_above(1 - Fraction(level))
        distance = 0
        # The radius grows with the true total: at most the released one plus the distance.
        while (wider := radius(release.value.total + distance, self.rate, log_mass)) > distance:
            distance = wider
        windows = windows_around(release.value, distance)
        rows, columns, side = windows.rows, windows.columns, windows.largest
        return Band(
            from_rows_and_columns(rows.least, np.maximum(columns.least - side, 0)),
            from_rows_and_columns(rows.most, np.maximum(columns.most - side, 0)),
            level,
            "all labels",
        )

    @property
    def description(self) -> str:
        """How a release is made."""
        return (
            "Partition sampler (Blocki, Datta and Bonneau 2016): the exponential mechanism. A "
            "whole table is drawn at random, less likely the more cells of its Ferrers diagram "
            "differ from the true one; tables too far away are left out, which is what delta "
            "allows for. The draw is exact: no rounding of numbers changes a probability."
        )
