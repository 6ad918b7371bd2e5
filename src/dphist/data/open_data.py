"""Data that their owner may look at, opened: the only door for modules outside the trusted base.

Properties of a profile, audits, comparisons and tests of disclosure rules look at data. What they
print is not private, and they say so. No other module imports this one (`tests/base/test_list.py`).
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.counting.reading.columns import key_column
from dphist.counting.reading.gate import list_columns, open_source
from dphist.data.binned_counts import BinnedCounts
from dphist.data.diagram import Diagram, merge_pairs
from dphist.data.label_counts import LabelCounts
from dphist.data.listed_counts import look_up
from dphist.data.profile import Profile
from dphist.data.region_tree import RegionPath, RegionTree
from dphist.data.regional_profile import RegionalProfile

_ALL = 2**31 - 1  # as many rows as Spark can be asked for


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
class OpenRegions:
    """The counts of a regional profile, to be looked at.

    Attributes
    ----------
    regions, sensitivity : those of the profile.
    leaves : the counts of each leaf, in the order of the tree.
    """

    regions: RegionTree
    leaves: tuple[OpenProfile, ...]
    sensitivity: int

    def unite(self, path: RegionPath) -> OpenProfile:
        """Return the counts of a region by its path; of the empty path, of all regions."""
        span = self.regions.span(path)
        held = self.leaves[span.start : span.stop]
        pairs = (np.concatenate([getattr(leaf, n) for leaf in held]) for n in _PAIRS)
        return OpenProfile(*merge_pairs(*pairs), self.sensitivity)


_PAIRS = ("counts", "prevalences")


def open_regions(profile: RegionalProfile) -> OpenRegions:
    """Return the counts of a regional profile."""
    leaves = tuple(map(open_profile, profile.leaves))
    return OpenRegions(profile.regions, leaves, profile.sensitivity)


def open_profile(profile: Profile) -> OpenProfile:
    """Return the counts of a profile."""
    return OpenProfile(profile.counts, profile.prevalences, profile.sensitivity)


def open_data(data: Any) -> Any:
    """Return what data hold; data that are not of a secret type, as they are.

    Returns
    -------
    Of a Profile an `OpenProfile`; of a RegionalProfile `OpenRegions`; of BinnedCounts a copy of
    the counts, records per bin; of LabelCounts all labels by descending count, then by label:
    columns label and count; of data of other rooms what `open_counts` returns, if they have it.
    """
    if isinstance(data, Profile):
        return open_profile(data)
    if isinstance(data, RegionalProfile):
        return open_regions(data)
    if isinstance(data, BinnedCounts):
        return data.counts.copy()
    if isinstance(data, LabelCounts):
        return data.largest(_ALL)
    return data.open_counts() if hasattr(data, "open_counts") else data


def open_labels(counts: LabelCounts) -> pa.Table:
    """Return all labels in the order in which a mechanism meets them: columns label and count."""
    return counts.filter_batches(lambda batch: batch)


def open_listed(counts: LabelCounts, labels: Sequence[Any]) -> list[int]:
    """Return the counts of listed labels, 0 where a label does not occur."""
    return look_up(counts, labels)[1]


def open_users(counts: LabelCounts) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return how many users have how many labels, and which totals; empty if none were counted."""
    return counts.users or (), counts.numbers_by_totals or ()


def open_rows(
    frame: object,
    columns: Sequence[str],
    *,
    others: bool = True,
    parameter: str = "table",
    delimiter: str | None = None,
) -> pa.Table:
    """Return columns of a table or file as text, a missing value as null.

    Parameters
    ----------
    frame : as for `open_source`.
    columns : to be read, in this order.
    others : whether all others follow.
    parameter : the parameter that names columns, for errors.
    delimiter : of a text file.

    Raises
    ------
    ColumnError
        If a column is missing, or of a type whose values have no exact text, such as floats.
    """
    names = [*columns]
    if others:
        names += [each for each in list_columns(frame, delimiter) if each not in columns]
    wanted = [key_column(f"column{place}", name, parameter) for place, name in enumerate(names)]
    with ExitStack() as stack:
        source = open_source(stack, frame, wanted, delimiter=delimiter)
        read = source.run(lambda: pa.Table.from_batches(list(source.batches())))
        return pa.table(
            {
                column.name: read[column.role].combine_chunks().cast(pa.string())
                for column in source.wanted
            }
        )
