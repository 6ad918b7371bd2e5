"""The exponential mechanism over integer partitions (Blocki, Datta, Bonneau 2016)."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.anonymized.band import ALL_LABELS, Band, from_rows_and_columns
from dphist.anonymized.measuring import Drawn
from dphist.anonymized.mechanism import (
    EPSILON,
    SENSITIVITY,
    AnonymizedMechanism,
)
from dphist.anonymized.partition_sampler.measuring import PartitionSamplerMeasuring
from dphist.anonymized.partition_sampler.radius import minus_log_above, radius
from dphist.anonymized.partition_sampler.windows import find_windows
from dphist.data.diagram import Diagram
from dphist.data.profile import Profile
from dphist.errors import Argument, ParameterError
from dphist.mechanism import parameter
from dphist.noise.inversion import Source
from dphist.noise.law import Drawing, NoiseLaw
from dphist.parameters import Exact, probability
from dphist.release.mechanisms import savable
from dphist.release.release import Release

# Below this, even an empty table would need gigabytes.
_SMALLEST_EPSILON = Fraction(1, 1000)
# Above this, the probability of one more cell is too small for a float, and privacy is negligible.
_LARGEST_EPSILON = 1000


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class PartitionSampler(PartitionSamplerMeasuring, AnonymizedMechanism):
    """A random diagram; each cell that differs multiplies its probability by exp(-epsilon / 2).

    Parameters
    ----------
    epsilon : number from 1/1000 to 1000, both times `sensitivity`; required.
    delta : number above 0 and below 1; required.
        Probability with which the guarantee may fail, because diagrams too far from the true
        one are never drawn. It hardly changes the error; a smaller delta takes a little longer.
    sensitivity : int
        Number of cells that one privacy unit can change: 1 for a record, 2 for an edge of an
        undirected graph, M for a user with at most M records.

    Guarantee
    ---------
    - Neighbors differ by adding or removing records that change at most `sensitivity` cells.
    - (epsilon, delta)-DP for every delta above 0.
    - Covered: the whole release.
    - Not covered: time and memory, which depend on the data, and the error that is raised if memory
      runs out.

    The sampler is exact. Tables of floats propose a diagram, and integer arithmetic decides whether
    to keep it, with as many random bits as needed. The only assumption is that NumPy adds and
    multiplies float64 with relative errors below 2**-52
    (`docs/understand/proofs/partition_sampler.md`). `PrivHist` is faster and needs no delta.

    Notes
    -----
    Delta sets a maximum distance from the true diagram. Time and memory are proportional to the
    number of cells in which diagrams within this distance can differ, with 8 bytes per cell. This
    number is below O(n**1.5 / epsilon). `docs/understand/comparison.md` has running times. A
    source of bits that is not random, such as one of all ones, takes longer.

    Source: Blocki, Datta, Bonneau 2016, with a wider window. The published window left out draws
    around an empty diagram, so its true delta was larger than stated.
    """

    paper = "blocki2016"
    reference = (
        "J. Blocki, A. Datta, J. Bonneau. Differentially Private Password Frequency Lists. "
        "Network and Distributed System Security Symposium (NDSS), 2016. IACR ePrint 2016/153."
    )

    epsilon: Fraction = parameter(**EPSILON)
    delta: Fraction = parameter("Probability with which the guarantee may fail.")
    sensitivity: int = parameter(**SENSITIVITY)

    def __init__(self, *, epsilon: Exact, delta: Exact, sensitivity: int = 1) -> None:
        self._hold_shared(epsilon, sensitivity)
        exact = probability(delta, "delta")
        if not exact > 0:
            raise ParameterError(
                "delta",
                "must be above 0: diagrams far from the data are never drawn; AdaptiveScan and "
                "PrivHist have no delta",
            )
        self._hold(delta=exact)
        if self.epsilon / self.sensitivity < _SMALLEST_EPSILON:
            raise ParameterError(
                "epsilon",
                "divided by "
                + Argument("sensitivity")
                + " must be at least 1/1000 for this mechanism; PrivHist takes smaller ones",
            )
        if self.epsilon / self.sensitivity > _LARGEST_EPSILON:
            raise ParameterError(
                "epsilon",
                "divided by "
                + Argument("sensitivity")
                + " must be at most 1000 for this mechanism; PrivHist takes larger ones",
            )

    @property
    def noise_scale(self) -> Fraction:
        """1 / `rate`, in records: at this additional distance a diagram is e times less likely."""
        return 1 / self.rate

    @property
    def law(self) -> NoiseLaw:
        """That of the exponential mechanism: counts get no noise."""
        return NoiseLaw(None, None, Drawing.PROPOSED)

    def _draw(self, profile: Profile, source: Source | None) -> Drawn:
        """Draw a profile; its total is part of the draw."""
        return Drawn(from_rows_and_columns(*self._measure(profile, source)))

    def draws_on(self, public: Diagram) -> None:
        """None: a release is one draw, of a time that nothing foretells."""

    def band(self, release: Release, level: float = 0.95) -> Band:
        """Return histograms that enclose the true one, all ranks and counts at once.

        The band is very wide. Only the total distance of a draw from the true profile is bounded,
        and the whole distance may be in any single count.
        """
        self._check_asked(release, level, 0.999999)
        log_mass = minus_log_above(1 - Fraction(level))
        distance = 0
        # The radius grows with the true total: at most the released one plus the distance.
        while (wider := radius(release.value.total + distance, self.rate, log_mass)) > distance:
            distance = wider
        windows = find_windows(release.value, distance)
        rows, columns, side = windows.rows, windows.columns, windows.largest
        return Band(
            from_rows_and_columns(rows.least, np.maximum(columns.least - side, 0)),
            from_rows_and_columns(rows.most, np.maximum(columns.most - side, 0)),
            level,
            ALL_LABELS,
        )

    @property
    def description(self) -> str:
        """How a release is made."""
        return (
            "Partition sampler (Blocki, Datta and Bonneau 2016): the exponential mechanism. A "
            "whole table is drawn at random; the more cells of its Ferrers diagram differ from the "
            "true one, the less likely it is. Tables that are too far away are never drawn, which "
            "delta accounts for. The draw is exact: rounding changes no probability."
        )
