"""The noise of a mechanism: its law, its scale, and how exactly it is drawn."""

from dataclasses import dataclass

from dphist.anonymized import PartitionSampler
from dphist.anonymized.mechanism import GeometricMechanism
from dphist.labels import (
    DiscoverLabels,
    PayWhatYouGet,
    ThresholdHistogram,
    TopLabels,
    TopThreshold,
)
from dphist.privacy.as_text import down, plain
from dphist.ranges.mechanism import RangesMechanism
from dphist.release.maker import Maker
from dphist.release.mechanisms import package_of
from dphist.report.labels_shown import harmless
from dphist.streams import ContinualMechanism

_INTEGERS = (
    "The noise is drawn exactly: integer arithmetic on random bits decides every value, so attacks "
    "on the rounding of floating-point noise do not apply."
)
_ROUNDED = (
    "The sum of count and noise is rounded exactly: floating point proposes an integer, and "
    "integer arithmetic decides where it is uncertain. This assumes that float64 is added and "
    "multiplied with relative errors of at most 2^-53 (IEEE 754)."
)
_SHARED = (
    "Each label's own part and the part in common are whole numbers of small units, so sums are "
    "exact, and rounding costs nothing. Floating point proposes each part, and integer arithmetic "
    "decides where it is uncertain. This assumes that float64 is added and multiplied with "
    "relative errors of at most 2^-53 (IEEE 754)."
)
_STREAM = (
    "Noise is a whole number of small units, so sums and comparisons are exact, and what rounding "
    "costs is in the guarantee. This assumes that float64 is added and multiplied with relative "
    "errors of at most 2^-53 (IEEE 754). Delta leaves out two events of probability below 2^-100: "
    "that a random salt repeats, and that two users have one hash."
)
_COMPARED = (
    "Comparisons of noisy counts are decided exactly: floating point proposes, and further random "
    "bits decide what is uncertain. This assumes that NumPy's log and log1p and SciPy's inverse "
    "normal distribution function err by less than 2^-37 (1 + |x|)."
)
_PROPOSED = (
    "The draw is exact: floating point proposes values and integers decide them. This assumes "
    "that float64 is added and multiplied with relative errors below 2^-52 (IEEE 754)."
)
_UNKNOWN = (
    "The noise is that of another package. dphist has not checked its law, or how exactly it is "
    "drawn."
)
_GAUSSIAN = "Gaussian, rounded to integers"


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of a mechanism, in words.

    Attributes
    ----------
    law : name of the distribution.
    scale : the scale in records, rounded down; empty where there is no noise on counts.
    exactness : what was done against errors of floating point, and what that assumes.
    """

    law: str
    scale: str
    exactness: str


def noise_of(mechanism: Maker) -> Noise:
    """Describe the noise of a mechanism.

    >>> from dphist.ranges import LeafCounts
    >>> noise_of(LeafCounts(epsilon="0.1", bins=8)).law, noise_of(LeafCounts(rho=1, bins=8)).law
    ('two-sided geometric (integer Laplace)', 'Gaussian, rounded to integers')
    """
    package = package_of(type(mechanism))
    if package is not None:
        return Noise(f"of the package {harmless(package, 60)}", "", _UNKNOWN)
    if isinstance(mechanism, PartitionSampler):
        return Noise("none on counts: the exponential mechanism", "", _PROPOSED)
    scale = plain(down(mechanism.noise_scale))
    if isinstance(mechanism, DiscoverLabels):
        return Noise("Gaussian, rounded to multiples of 2^-20", scale, _ROUNDED)
    if isinstance(mechanism, ContinualMechanism) and mechanism.method == "laplace":
        return Noise("two-sided geometric (integer Laplace), sums of blocks", scale, _INTEGERS)
    if isinstance(mechanism, ContinualMechanism):
        return Noise("Gaussian, in small units", scale, _STREAM)
    if isinstance(mechanism, TopLabels | PayWhatYouGet):
        return Noise("Gumbel", scale, _COMPARED)
    if isinstance(mechanism, TopThreshold):
        return Noise(_GAUSSIAN, scale, _COMPARED)
    if _is_geometric(mechanism):
        return Noise("two-sided geometric (integer Laplace)", scale, _INTEGERS)
    if isinstance(mechanism, ThresholdHistogram) and mechanism.correlated:
        return Noise("Gaussian, in part the same for all labels", scale, _SHARED)
    return Noise(_GAUSSIAN, scale, _ROUNDED)


def _is_geometric(mechanism: Maker) -> bool:
    if isinstance(mechanism, ThresholdHistogram):
        return mechanism.noise == "laplace"
    if isinstance(mechanism, RangesMechanism):
        return mechanism.rho is None
    return isinstance(mechanism, GeometricMechanism)
