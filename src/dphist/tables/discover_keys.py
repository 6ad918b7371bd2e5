"""DiscoverKeys: a key whose values nobody listed, which are found first."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dphist.errors import ParameterError
from dphist.parameters import Exact, decimal_text, exact_number, short_number, whole_number

MAX_FOUND = 1000
MOST_FOUND = 10**7


@dataclass(frozen=True, slots=True, init=False, repr=False)
class DiscoverKeys:
    """Stands for the values of a key that nobody listed: `Tables` finds them first, then counts.

    Values are texts that enough records have. All other rows are counted as "other", those without
    a value included.

    Parameters
    ----------
    share : number above 0 and below 1; required.
        The share of the rho of a release with which values are found; the tables get the rest.
    max_found : whole number
        Values that are counted by at most (default: 1000). If more are found, those with the
        largest noisy counts are kept.

    >>> DiscoverKeys(share="0.3")
    DiscoverKeys(share='0.3', max_found=1000)
    """

    share: Fraction
    max_found: int

    def __init__(self, *, share: Exact, max_found: int = MAX_FOUND) -> None:
        exact = short_number(exact_number(share, "share"), "share")
        if not 0 < exact < 1:
            raise ParameterError("share", "must be above 0 and below 1")
        object.__setattr__(self, "share", exact)
        object.__setattr__(self, "max_found", whole_number(max_found, "max_found", 1, MOST_FOUND))

    def to_content(self) -> dict[str, Any]:
        """Return what JSON can hold, and the constructor takes."""
        return {"share": decimal_text(self.share), "max_found": self.max_found}

    def __repr__(self) -> str:
        return f"DiscoverKeys(share={decimal_text(self.share)!r}, max_found={self.max_found})"
