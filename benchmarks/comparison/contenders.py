"""The mechanisms compared: adding one is adding a line to `CONTENDERS`."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dphist import (
    AdaptiveScan,
    CumulativeCounts,
    PartitionSampler,
    PrivHist,
    PureDP,
    RankSplit,
    SortedCounts,
)
from dphist.data.profile import Profile
from dphist.privacy import Guarantee
from dphist.release.release import Release

# What a mechanism is given in advance. A data owner may not know it, and may not look.
NOTHING, LABELS, TOTAL, LARGEST = "nothing", "number of labels", "n", "maximum"

# Okabe and Ito's colours, which colour-blind readers tell apart; a variant of a mechanism has
# its colour and a dashed line.
BLUE, ORANGE, GREEN, VERMILION, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"
BLACK = "#000000"


class Mechanism(Protocol):
    """What the comparison needs of a mechanism."""

    @property
    def guarantee(self) -> Guarantee:
        """What a release costs."""

    def release(self, profile: Profile) -> Release:
        """Release the profile."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A way to make a mechanism for an epsilon and a profile, of which it is given something."""

    name: str
    told: str
    make: Callable[[Fraction, Profile], Mechanism]
    colour: str
    dashed: bool = False


CONTENDERS = (
    Contender("SortedCounts", LABELS,
              lambda e, p: SortedCounts(epsilon=e, labels=_some(p.labels)), BLUE),
    Contender("SortedCounts, only sorted", LABELS,
              lambda e, p: SortedCounts(epsilon=e, labels=_some(p.labels), inference="sort"),
              BLUE, dashed=True),
    Contender("CumulativeCounts", LARGEST,
              lambda e, p: CumulativeCounts(epsilon=e, largest=_some(p.counts.max(initial=0))),
              ORANGE),
    Contender("PrivHist", NOTHING, lambda e, p: PrivHist(epsilon=e), GREEN),
    Contender("PrivHist, equal shares", NOTHING,
              lambda e, p: PrivHist(epsilon=e, shares=(1, 1, 1)), GREEN, dashed=True),
    Contender("RankSplit", NOTHING, lambda e, p: RankSplit(epsilon=e), VERMILION),
    Contender("RankSplit, n known", TOTAL,
              lambda e, p: RankSplit(epsilon=e, total=p.total), VERMILION, dashed=True),
    Contender("AdaptiveScan", NOTHING, lambda e, p: AdaptiveScan(epsilon=e), BLACK),
    Contender("PartitionSampler, δ = 1e-9", NOTHING,
              lambda e, p: PartitionSampler(epsilon=e, delta=1e-9), PURPLE),
)  # fmt: skip


def _some(bound: int) -> int:
    """Return a bound as mechanisms want it: one of nothing at all is told as 1."""
    return max(int(bound), 1)


def guarantee_text(guarantee: Guarantee) -> str:
    """Say in a word or two whether a guarantee is pure."""
    if isinstance(guarantee, PureDP):
        return "pure"
    delta = getattr(guarantee, "delta", 0)
    return f"approximate, δ = {float(delta):g}"
