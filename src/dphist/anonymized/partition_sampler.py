"""The exponential mechanism over integer partitions (Blocki, Datta, Bonneau 2016)."""

import math
import os
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.anonymized.band import Band, from_rows_and_columns
from dphist.anonymized.mechanism import (
    AnonymizedMechanism,
    Drawn,
    checked_epsilon,
    checked_level,
    checked_sensitivity,
)
from dphist.anonymized.partition_paths import Paths
from dphist.anonymized.partition_windows import radius, windows_around
from dphist.anonymized.reference import Shape, error_on, public_profile
from dphist.errors import DphistError, ParameterError
from dphist.noise import Source
from dphist.parameters import Exact, probability
from dphist.privacy import ApproxDP
from dphist.profile import Profile
from dphist.release import Release, savable
from dphist.tables import redact_errors

# Below this, even an empty table would need gigabytes.
_SMALLEST_EPSILON = Fraction(1, 1000)


@savable
@dataclass(frozen=True, slots=True, init=False, repr=False)
class PartitionSampler(AnonymizedMechanism):
    """A random diagram, less likely by exp(-epsilon / 2) for each cell it differs in.

    Parameters
    ----------
    epsilon : number from 1/1000 times `sensitivity` on; required.
    delta : number between 0 and 1; required.
        Probability with which the guarantee may fail, because diagrams too far from the true
        one are never drawn. It hardly changes the error; smaller ones take a little longer.
    sensitivity : int
        Cells one privacy unit can change: 1 for a record, 2 for an edge of an undirected
        graph, M for a user with at most M records.

    Guarantee
    ---------
    (epsilon, delta)-DP for real arithmetic. Neighbours differ by adding or removing records
    whose cells number at most `sensitivity`. Covered is the whole release; not covered are the
    time and memory it takes, which depend on the data, and the error when memory runs out.

    This mechanism, unlike the others, draws with floating point: logarithms of sums of
    weights in float64, with 64 random bits a draw. As measured on three profiles, not proved,
    a release's law is off by up to 1e-9 at epsilon 1 and 1e-7 at epsilon 0.01, which is more
    than a delta of 1e-9 (`docs/proofs/partition_sampler.md`). Where that matters, use a
    mechanism with integer noise, such as `PrivHist`: pure, faster, and without a delta.

    Notes
    -----
    Time and memory, 8 bytes each, are the cells that diagrams within the distance that
    delta sets can differ in: below O(n**1.5 / epsilon). See `docs/comparison.md` for seconds.
    Source: Blocki, Datta, Bonneau 2016, with a wider window: the published one left out what the
    mechanism draws around an empty diagram, and cost more than the delta it stated.
    """

    epsilon: Fraction
    delta: Fraction
    sensitivity: int

    def __init__(self, *, epsilon: Exact, delta: Exact, sensitivity: int = 1) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(epsilon))
        object.__setattr__(self, "delta", probability(delta, "delta"))
        object.__setattr__(self, "sensitivity", checked_sensitivity(sensitivity))
        if not self.delta > 0:
            raise ParameterError("delta must be greater than 0; PrivHist needs none")
        if self.epsilon / self.sensitivity < _SMALLEST_EPSILON:
            raise ParameterError(
                "epsilon divided by sensitivity must be at least 1/1000 for this mechanism; "
                "PrivHist takes smaller ones"
            )

    @property
    def guarantee(self) -> ApproxDP:
        """(epsilon, delta)-DP for units that change at most `sensitivity` cells."""
        return ApproxDP(self.epsilon, self.delta, self._unit)

    @property
    def rate(self) -> float:
        """A diagram at distance d has probability proportional to exp(-rate d)."""
        return float(self.epsilon / self.sensitivity / 2)

    def distance(self, profile: Profile) -> int:
        """Return a distance within which all but delta / (1 + exp(epsilon)) of the law lies.

        It depends on the data and is secret, as the window it stands for is.
        """
        # Of numerator and denominator apart: the smallest deltas are no floats.
        log_delta = math.log(self.delta.numerator) - math.log(self.delta.denominator)
        log_mass = float(np.logaddexp(0, float(self.epsilon))) - log_delta
        return radius(profile.total, self.rate, log_mass)

    def _drawn(self, profile: Profile, source: Source | None) -> Drawn:
        """Draw a whole profile; nothing estimates the total apart."""
        draw = os.urandom if source is None else source
        too_far = DphistError(
            "not enough memory to sample a partition; raise epsilon, or use PrivHist"
        )
        # NumPy's own message would tell how far the windows reach.
        paths = redact_errors(lambda: self._paths(profile), too_far)
        return Drawn(from_rows_and_columns(*paths.draw(draw)))

    def _paths(self, profile: Profile) -> Paths:
        windows = windows_around(profile, self.distance(profile))
        return Paths.within(windows, profile, self.rate)

    def expected_error(self, total: int | None = None, shape: Shape = 1) -> float:
        """Return the sorted L1 error to expect, in records, from public numbers alone.

        The mechanism is tried, once, on a public profile that follows Zipf's law.

        Parameters
        ----------
        total : public guess of the number of records; required but with a release.
        shape : exponent s of the public profile, whose i-th count falls like 1 / i^s; or an
            older release that is likely to be alike (then without `total`).
        """
        public = public_profile(total, shape)
        # As many draws as allow for one run: at small epsilon a run takes seconds.
        return error_on(public, lambda source: self.release(public, source).value, 2**40)

    def band(self, release: Release, level: float = 0.95) -> Band:
        """Return profiles that enclose the true one, all ranks and counts at once.

        Very wide: the bound on the distance of a draw from the truth is all that is known, and
        it may fall on any one count.
        """
        log_mass = -math.log(1 - checked_level(level, 0.999999))
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

    def in_words(self) -> str:
        """Say how a release is made."""
        return (
            "Partition sampler (Blocki, Datta and Bonneau 2016): the exponential mechanism. A "
            "whole table is drawn at random, less likely the more cells of its Ferrers diagram "
            "differ from the true one; tables too far away, of probability delta in all, are left "
            "out. It is drawn with floating point, while its guarantee is one of real arithmetic."
        )
