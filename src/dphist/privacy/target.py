"""Target: the total cost a mechanism is calibrated to."""

from dataclasses import dataclass
from typing import TypeAlias

from dphist.errors import ParameterError
from dphist.parameters import whole_number
from dphist.privacy.guarantees import ApproxDP, PureDP

MOST_RELEASES = 2**40

Total: TypeAlias = PureDP | ApproxDP


@dataclass(frozen=True, slots=True, repr=False)
class Target:
    """The maximum total cost requested for `releases` releases of a mechanism.

    Attributes
    ----------
    guarantee : PureDP or ApproxDP
        Total for all releases.
    releases : int
        Number of releases covered.

    >>> Target(ApproxDP(1, "1e-6"), 52)
    (1, 1e-6)-differential privacy for 52 releases together
    """

    guarantee: Total
    releases: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, PureDP | ApproxDP):
            raise ParameterError("guarantee", "of a target must be a PureDP or an ApproxDP")
        whole_number(self.releases, "releases", 1, MOST_RELEASES)

    def __repr__(self) -> str:
        many = "" if self.releases == 1 else f" for {self.releases:,} releases together"
        return f"{self.guarantee}{many}"
