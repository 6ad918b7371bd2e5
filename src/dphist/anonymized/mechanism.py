"""What every mechanism for anonymized histograms shares, beside measuring."""

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dphist.anonymized.band import Band
from dphist.anonymized.measuring import AnonymizedMeasuring
from dphist.anonymized.reference import Shape, error_on, public_profile
from dphist.arrays import IntArray
from dphist.data.diagram import Diagram
from dphist.data.profile import Profile
from dphist.errors import Argument, ParameterError
from dphist.mechanism import Meaning, check_kind
from dphist.noise.geometric import SMALLEST_EPSILON
from dphist.noise.law import Drawing, NoiseLaw
from dphist.parameters import Exact, privacy_parameter, whole_number
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import Release
from dphist.sentence import Sentence

EPSILON = Meaning(
    meaning="Privacy parameter of the whole release; smaller is more private.", symbol="E"
)
SENSITIVITY = Meaning(
    meaning=Sentence("{Records} that one protected unit can change in the histogram, at most."),
    symbol="M",
)


class AnonymizedMechanism(AnonymizedMeasuring):
    """What every mechanism says of its releases, from noisy and public numbers alone.

    A mechanism derives from this and from its measuring half.
    """

    __slots__ = ()

    @property
    def noise_scale(self) -> Fraction:
        """Scale of the geometric noise on what the histogram is inferred from, in records."""
        return 1 / self.cell_epsilon

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise."""
        return NoiseLaw("two-sided geometric", self.noise_scale, Drawing.WHOLE)

    def expected_error(self, total: int | None = None, shape: Shape = 1) -> float:
        """Return the sorted L1 error to expect, in records, from public numbers alone.

        The mechanism is tried on a public profile that follows Zipf's law.

        Parameters
        ----------
        total : public guess of the number of records; required but with a release. Where a
            mechanism has a public total, number of labels or largest count, the profile follows
            from it when `total` is omitted; a guess comes much nearer on real data.
        shape : exponent s of the public profile: its i-th count falls like 1 / i^s. Or an older
            release that is likely to be alike (then without `total`).
        """
        public = self._public(total, shape)
        draws = self.draws_on(public)
        return error_on(public, lambda source: self.release(public, source).value, draws)

    def quick_error(self, total: int) -> float:
        """Return about the `expected_error`, from a single run on the public profile."""
        public = self._public(total, 1)
        return error_on(public, lambda source: self.release(public, source).value, None)

    def error_after_cut(self, noise: float, total: int, kept: int) -> float:
        """Return the sorted L1 error to expect, in records, where a bound dropped some of them.

        Dropping records lowers counts only, so the sorted distance is their number. Noise may add
        up with it or not: this is the upper bound.

        Parameters
        ----------
        noise : the error to expect of the records that are kept, as of `expected_error`.
        total, kept : public numbers of records, before and after the bound.
        """
        return noise + (whole_number(total, "total", 0) - whole_number(kept, "kept", 0))

    @abstractmethod
    def draws_on(self, public: Diagram) -> int | None:
        """Return about how many draws of noise a release of such a profile takes.

        None if they say nothing of the time that it takes.
        """

    def _public(self, total: int | None, shape: Shape) -> Profile:
        """Return the public profile on which the mechanism is tried."""
        return public_profile(total, shape)

    @abstractmethod
    def band(self, release: Release, level: float = 0.95) -> Band:
        """Return histograms that enclose the true one with probability `level` or more."""

    def pointwise_band(self, release: Release, level: float = 0.95) -> Band | None:
        """Return error bars, estimated for each point by itself; None if there are none."""
        self._check_asked(release, level, 0.999999)
        return None

    def standard_error_of_total(self, release: Release) -> float | None:
        """Return the standard error of `release.total`, in records; None without such a total."""
        return None

    def intervals(self, release: Release, level: float = 0.95) -> Band:
        """Return histograms that enclose the true one: `band`, by the name all mechanisms have."""
        return self.band(release, level)

    def restore(self, value: Any, noisy: Mapping[str, IntArray]) -> AnonymizedHistogram:
        """Return a histogram that was read from a file; ValueError if it is none."""
        check_kind(value, AnonymizedHistogram)
        histogram: AnonymizedHistogram = value
        return histogram

    def _hold_shared(self, epsilon: Exact, sensitivity: int) -> None:
        """Check and set the fields that all mechanisms have."""
        self._hold(
            epsilon=privacy_parameter(epsilon, "epsilon"),
            sensitivity=whole_number(sensitivity, "sensitivity", 1),
        )

    def _compute_miss_chance(self, release: Release, level: float, most: float = 0.999999) -> float:
        """Return the probability with which a band may miss; refuse releases of other kinds."""
        self._check_asked(release, level, most)
        return 1 - level


def check_cell_epsilon(epsilon: Fraction, sensitivity: int) -> Fraction:
    """Return epsilon a cell, refusing at construction what the noise could not sample."""
    each = epsilon / sensitivity
    if each < SMALLEST_EPSILON:
        raise ParameterError(
            "epsilon",
            "divided by " + Argument("sensitivity") + " is too small to sample",
            "raise " + Argument("epsilon"),
        )
    return each
