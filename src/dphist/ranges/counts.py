"""Checked counts for a ranges mechanism, from any supported input."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dphist.arrays import IntArray
from dphist.counting import redact_errors
from dphist.counting.checks import LARGEST, check_counts, check_grid, refuse_other_than_counts
from dphist.data.axis.axis import Axis
from dphist.data.binned_counts import BinnedCounts
from dphist.data.guard import refuse_guarded
from dphist.errors import DataError, ParameterError
from dphist.privacy import PrivacyUnit
from dphist.release.tabular import refuse_released


@dataclass(frozen=True, slots=True, repr=False)
class Counts:
    """Exact counts in the shape of the bins. Secret, unlike their sensitivity and unit."""

    counts: IntArray
    axes: tuple[Axis, ...] | None = None
    outside: Mapping[str, int] = field(default_factory=dict)
    sensitivity: int = 1
    unit: PrivacyUnit | None = None
    counts_users: bool = False
    null_users: str | None = None

    def __repr__(self) -> str:
        return f"Counts(bins={self.counts.shape}, sensitivity={self.sensitivity}; not shown)"


def load_counts(data: Any, bins: tuple[int, ...]) -> Counts:
    """Return the counts of `data`, a copy, each clamped at 2**62 / (number of bins).

    Parameters
    ----------
    data : BinnedCounts, an array or nested sequence of whole numbers of shape `bins`, or an
        iterator of such arrays, to be concatenated along the first axis.
    bins : bins of each axis; public.

    Raises
    ------
    ParameterError
        If `data` are not whole numbers, or have another shape than `bins`.
    DataError
        If a count is negative, missing, or 2**62 or more, or chunks do not add up to the bins.

    Notes
    -----
    Clamping keeps every sum below 2**62, so that nothing wraps, and keeps neighbors neighbors:
    min(x, c) changes by at most 1 if x does. No error message depends on a sum.
    """
    refuse_guarded(data)
    refuse_released(data, "counts")
    if isinstance(data, BinnedCounts):
        counts = _cut_off(_reshape_counts(data.counts, bins), bins)
        bounds = data.sensitivity, data.unit, data.counts_users, data.null_users
        return Counts(counts, data.axes, data.outside, *bounds)
    if isinstance(data, Iterator):
        return Counts(_cut_off(_join_chunks(data, bins), bins))
    return Counts(_cut_off(_reshape_counts(data, bins), bins))


def refuse_other_data(data: Any, bins: tuple[int, ...]) -> None:
    """Refuse what is neither `BinnedCounts` nor can be counts, without a look at any number."""
    if not isinstance(data, BinnedCounts | Iterator):
        refuse_other_than_counts(data, "counts", bins)


def _cut_off(counts: IntArray, bins: tuple[int, ...]) -> IntArray:
    return np.minimum(counts, LARGEST // int(np.prod(bins)), out=counts)


def _reshape_counts(data: Any, bins: tuple[int, ...]) -> IntArray:
    if len(bins) == 1:
        counts = check_counts(data, "counts")
        shape: tuple[int, ...] = counts.shape
    else:
        counts, shape = check_grid(data, "counts")
    if shape != bins:
        raise ParameterError(
            "counts", f"must have the shape of bins, {bins}", "give the mechanism the data's bins"
        )
    return counts.reshape(bins)


def _join_chunks(chunks: Iterator[Any], bins: tuple[int, ...]) -> IntArray:
    """Concatenate chunks along the first axis, without a second copy of all of them."""
    counts = np.empty(bins, np.int64)
    filled = 0
    for chunk in chunks:
        length = _length(chunk)
        if length == 0:
            continue
        if filled + length > bins[0]:
            filled = -1
            break
        counts[filled : filled + length] = _reshape_counts(chunk, (length, *bins[1:]))
        filled += length
    if filled != bins[0]:
        raise DataError("the chunks of counts must add up to the bins of the first axis")
    return counts


def _length(chunk: Any) -> int:
    """Return the number of bins of a chunk along the first axis."""
    problem = ParameterError("counts", "must come in chunks that are arrays of whole numbers")
    shape: tuple[int, ...] = redact_errors(lambda: np.shape(chunk), problem)
    if not shape:
        raise problem
    return shape[0]
