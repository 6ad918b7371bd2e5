"""The noise of a mechanism as readers are told of it; nothing is claimed of other packages."""

from dataclasses import dataclass

from dphist.privacy.as_text import down, plain
from dphist.release.maker import Maker
from dphist.release.mechanisms import package_of
from dphist.visible import harmless

_UNKNOWN = (
    "The noise is that of another package. dphist has not checked its law, or how exactly it is "
    "drawn."
)


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of a mechanism, in words.

    Attributes
    ----------
    law : name of the distribution.
    scale : the scale in records, rounded down; empty if there is no noise on counts.
    exactness : what was done against errors of floating point, and what that assumes.
    """

    law: str
    scale: str
    exactness: str


def describe_noise(mechanism: Maker) -> Noise:
    """Describe the noise of a mechanism.

    >>> from dphist.ranges import LeafCounts
    >>> mechanisms = LeafCounts(epsilon="0.1", bins=8), LeafCounts(rho=1, bins=8)
    >>> [describe_noise(mechanism).law for mechanism in mechanisms]
    ['two-sided geometric (integer Laplace)', 'Gaussian, rounded to integers']
    """
    package = package_of(type(mechanism))
    if package is not None:
        return Noise(f"of the package {harmless(package, 60)}", "", _UNKNOWN)
    law = mechanism.law  # type: ignore[attr-defined]
    return Noise(str(law), "" if law.scale is None else plain(down(law.scale)), law.drawing.value)
