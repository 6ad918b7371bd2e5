"""Mechanisms for ranges: those of dphist, and published ones that are for comparison only."""

from functools import partial

from dphist.document.compared import (
    BLACK,
    BLUE,
    GRAY,
    GREEN,
    NOTHING,
    ORANGE,
    PURPLE,
    SKY,
    TOTAL,
    VERMILION,
    Case,
    Contender,
)
from dphist.ranges import AdaptiveTree, HierarchicalTree, LeafCounts
from dphist.ranges.comparing.case import Estimating, ForComparison
from dphist.ranges.comparing.published.dawa import dawa
from dphist.ranges.comparing.published.hb import hb
from dphist.ranges.comparing.published.mwem import mwem
from dphist.ranges.comparing.published.priv_tree import priv_tree
from dphist.ranges.comparing.published.privelet import privelet

PUBLISHED: dict[str, Estimating] = {"HB": hb, "DAWA": dawa, "MWEM": mwem, "PrivTree": priv_tree}
"""For comparison only; MWEM is told the number of records, as in its paper."""

_COLORS = {"HB": VERMILION, "DAWA": GREEN, "MWEM": PURPLE, "PrivTree": ORANGE}


def contenders(case: Case, bins: tuple[int, ...], sensitivity: int) -> list[Contender]:
    """Return all for a domain of this shape."""
    line = len(bins) == 1
    tree = HierarchicalTree
    found = [
        case.contender("LeafCounts", LeafCounts, GRAY),
        _published("Privelet", privelet, sensitivity, SKY),
        *(
            _published(name, one, sensitivity, _COLORS[name])
            for name, one in PUBLISHED.items()
            if _takes(name, bins)
        ),
    ]
    if line:
        uneven = partial(tree, branching=2, consistent=False)
        found.append(case.contender("H~ binary", uneven, BLUE, dashed=True))
    found.append(case.contender("H- binary", partial(tree, branching=2, nonnegative=False), BLUE))
    found.append(case.contender("HierarchicalTree", tree, GRAY, dashed=True))
    found.append(case.contender("AdaptiveTree", AdaptiveTree, BLACK))
    if line:
        prefix = partial(AdaptiveTree, workload="prefix")
        found.append(case.contender("AdaptiveTree, prefix", prefix, BLACK, dashed=True))
    return found


def _published(name: str, estimating: Estimating, sensitivity: int, color: str) -> Contender:
    told = TOTAL if name == "MWEM" else NOTHING

    def make(epsilon: object, _: object) -> ForComparison:
        return ForComparison(estimating, epsilon=epsilon, sensitivity=sensitivity)  # type: ignore[arg-type]

    return Contender(name, told, make, color, parameters="for comparison only")


def _takes(name: str, bins: tuple[int, ...]) -> bool:
    """Whether a published mechanism is for such a domain."""
    if name == "DAWA" and len(bins) == 2:  # along a Hilbert curve
        return bins[0] == bins[1] and bins[0] & (bins[0] - 1) == 0
    return len(bins) <= 2 or name == "PrivTree"
