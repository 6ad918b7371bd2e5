"""Data that their owner may look at, opened: the only door for modules outside the trusted base.

Properties of a profile, audits and comparisons look at data. What they print is not private, and
they say so. No other module imports this one (`tests/base/test_list.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from dphist.arrays import IntArray
from dphist.data.diagram import Diagram
from dphist.data.label_counts import LabelCounts
from dphist.data.listed_counts import look_up
from dphist.data.profile import Profile


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class OpenProfile(Diagram):
    """The counts of a profile, to be looked at.

    Attributes
    ----------
    sensitivity : that of the profile.
    """

    sensitivity: int

    def __init__(self, counts: IntArray, prevalences: IntArray, sensitivity: int) -> None:
        self._hold_pairs(counts, prevalences)
        object.__setattr__(self, "sensitivity", sensitivity)

    def _with_pairs(self, counts: IntArray, prevalences: IntArray) -> "OpenProfile":
        return OpenProfile(counts, prevalences, self.sensitivity)


@dataclass(frozen=True, slots=True)
class OpenBins:
    """The counts of bins, to be looked at.

    Attributes
    ----------
    counts : int64, records per bin; a copy.
    sensitivity : that of the counts.
    """

    counts: IntArray
    sensitivity: int


class _Binned(Protocol):
    """Counts of bins, as a mechanism measures them."""

    @property
    def counts(self) -> IntArray: ...
    @property
    def sensitivity(self) -> int: ...


def open_profile(profile: Profile) -> OpenProfile:
    """Return the counts of a profile."""
    return OpenProfile(profile.counts, profile.prevalences, profile.sensitivity)


def open_bins(
    load: Callable[[Any, tuple[int, ...]], _Binned], data: Any, bins: tuple[int, ...]
) -> OpenBins:
    """Return the counts of bins; `load` makes of data and bins what a mechanism measures."""
    held = load(data, bins)
    return OpenBins(held.counts.copy(), held.sensitivity)


def open_largest(counts: LabelCounts, number: int) -> pa.Table:
    """Return the labels with the `number` largest counts: columns label and count."""
    return counts.largest(number)


def open_labels(counts: LabelCounts) -> pa.Table:
    """Return all labels in the order in which a mechanism meets them: columns label and count."""
    return counts.filter_batches(lambda batch: batch)


def open_listed(counts: LabelCounts, labels: Sequence[Any]) -> list[int]:
    """Return the counts of listed labels, 0 where a label does not occur."""
    return look_up(counts, labels)[1]
