"""What every mechanism for anonymized histograms shares."""

from abc import ABC, abstractmethod
from fractions import Fraction

from dphist.anonymized.band import Band
from dphist.anonymized.reference import Shape
from dphist.errors import BoundsError, ParameterError
from dphist.noise.geometric import SMALLEST_EPSILON
from dphist.noise.inversion import Source
from dphist.parameters import Exact, positive_number, whole_number
from dphist.privacy import Guarantee, PureDP
from dphist.profile import Profile
from dphist.release import Release

_LONGEST = 10**150


class AnonymizedMechanism(ABC):
    """A frozen mechanism: parameters and guarantee before data, then `release`."""

    __slots__ = ()

    epsilon: Fraction
    sensitivity: int

    @property
    def guarantee(self) -> Guarantee:
        """What a release costs units that change at most `sensitivity` cells: pure epsilon-DP."""
        return PureDP(self.epsilon)

    @abstractmethod
    def release(self, profile: Profile, source: Source | None = None) -> Release:
        """Release the profile: the only place that sees data and draws noise."""

    @abstractmethod
    def expected_error(self, total: int | None = None, shape: Shape = 1) -> float:
        """Return the sorted L1 error to expect, in records, from public numbers alone."""

    @abstractmethod
    def band(self, release: Release, level: float = 0.95) -> Band:
        """Return profiles that enclose the true one with probability `level` or more."""

    def pointwise_band(self, release: Release, level: float = 0.95) -> Band | None:
        """Return error bars, estimated for each point by itself; None where there are none."""
        checked_level(level, 0.999999)
        return None

    @abstractmethod
    def in_words(self) -> str:
        """Say how a release is made, for its summary and report."""

    def _accept(self, profile: Profile) -> None:
        """Refuse data whose stated bound this mechanism does not protect; both are public."""
        if checked_profile(profile).sensitivity > self.sensitivity:
            raise BoundsError(
                f"the profile was made with sensitivity {profile.sensitivity}, more than the "
                f"mechanism's {self.sensitivity}; give the mechanism "
                f"sensitivity={profile.sensitivity}"
            )


def checked_profile(profile: Profile) -> Profile:
    """Refuse anything but a profile."""
    if not isinstance(profile, Profile):
        raise ParameterError("profile must be a dphist.Profile; see Profile.from_table")
    return profile


def checked_epsilon(epsilon: Exact) -> Fraction:
    """Return the release's epsilon, exactly."""
    exact = positive_number(epsilon, "epsilon")
    if max(exact.numerator, exact.denominator) > _LONGEST:
        raise ParameterError("epsilon must have fewer than 150 digits, so that it can be saved")
    return exact


def checked_sensitivity(sensitivity: int) -> int:
    """Return the number of cells one privacy unit can change."""
    return whole_number(sensitivity, "sensitivity", 1)


def checked_level(level: float, most: float) -> float:
    """Return the probability with which a band should hold."""
    if not 0 < level <= most:
        raise ParameterError(f"level must be above 0 and at most {most}")
    return level


def checked_cell_epsilon(epsilon: Fraction, sensitivity: int) -> Fraction:
    """Return epsilon a cell, refusing at construction what the noise could not sample."""
    each = epsilon / sensitivity
    if each < SMALLEST_EPSILON:
        raise ParameterError("epsilon divided by sensitivity is too small to sample; raise epsilon")
    return each
