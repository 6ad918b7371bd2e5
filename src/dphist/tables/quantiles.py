"""Quantiles of a key of bins: where shares of the records lie below."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dphist.arrays import FloatArray
from dphist.data.axis.axis import Axis
from dphist.errors import ParameterError
from dphist.parameters import check_level
from dphist.release.interval_estimate import IntervalEstimate
from dphist.release.quantiles import note_of_several, several, spread

if TYPE_CHECKING:
    from dphist.tables.keyed_tables import KeyedTables

_UNKNOWN = "the noise is as large as all records"


def estimate_quantiles(
    tables: "KeyedTables",
    name: str,
    shares: Sequence[Any],
    level: float,
    where: Mapping[str, Any],
    simultaneous: bool,
) -> list[IntervalEstimate]:
    """Return quantiles of the records in the bins of a key that satisfy conditions.

    For each edge, the records below it less a share of all have an exact error. The interval
    goes from the edge before the first that is not surely below 0 to the one after the last that
    is not surely above: it misses the quantile only if one of the two edges around it is misjudged.
    Of k intervals that hold at once, each misses with the k-th part of the probability. Within a
    bin, records are taken to be spread evenly.

    Raises
    ------
    ParameterError
        If the key has no bins, or is among the conditions.
    """
    asked = np.array([check_level(share, "share") for share in shares])
    number = several(simultaneous, len(asked))
    wide = tables.reach.of(1 - (1 - check_level(level)) / number)
    axis = _find_axis(tables, name, where)
    below, errors = _sums_at_edges(tables, name, axis, where)
    total = below[-1]
    if not total > wide * errors[0, -1]:
        first, last = axis.at(np.array([0.0, float(axis.bins)]))
        missing = np.datetime64("NaT") if axis.edges.dtype.kind == "M" else math.nan
        return [IntervalEstimate(missing, first, last, level, _UNKNOWN) for _ in shares]
    reached, spots = np.maximum.accumulate(below), []
    ends = np.zeros((2, len(asked)), np.int64)
    for at, share in enumerate(asked.tolist()):
        # The variance of sum below - share * all, from those of both sides and of all.
        squared = (1 - share) * (errors[0] ** 2 - share * errors[0, -1] ** 2)
        squared += share * errors[1] ** 2
        gaps, wide_errors = below - share * total, wide * np.sqrt(np.maximum(squared, 0))
        under, over = gaps + wide_errors < 0, gaps - wide_errors > 0
        ends[0, at] = np.argmin(under) - 1
        ends[1, at] = axis.bins - np.argmin(over[::-1]) + 1
        place = int(np.argmax(reached >= share * total))
        step = reached[place] - reached[place - 1]
        spots.append(place - 1 + (share * total - reached[place - 1]) / step)
    ends = np.clip(ends, 0, axis.bins)
    low, high = spread(asked, ends)
    note = note_of_several(number)
    estimates = []
    for spot, start, stop in zip(spots, low.tolist(), high.tolist(), strict=True):
        value, lowest, highest = axis.at(np.array([spot, min(start, spot), max(stop, spot)]))
        estimates.append(IntervalEstimate(value, lowest, highest, level, note))
    return estimates


def _find_axis(tables: "KeyedTables", name: str, where: Mapping[str, Any]) -> Axis:
    """Return the bins of a key that is not among the conditions."""
    axis = tables.keys[name].axis if name in tables.keys.names else None
    if axis is None:
        raise ParameterError("name", f"must be a key of bins between edges: {name!r} is none")
    if name in where:
        raise ParameterError(name, "must not be a condition too")
    return axis


def _sums_at_edges(
    tables: "KeyedTables", name: str, axis: Axis, where: Mapping[str, Any]
) -> tuple[FloatArray, FloatArray]:
    """Return the records below each edge, (bins + 1,), and the errors of both sides, (2, ...)."""
    edges = [_to_condition(edge) for edge in axis.edges]
    below, errors = np.zeros(axis.bins + 1), np.zeros((2, axis.bins + 1))
    for place in range(axis.bins + 1):
        for side, ends in enumerate([(0, place), (place, axis.bins)]):
            if ends[0] < ends[1]:
                part = {**where, name: (edges[ends[0]], edges[ends[1]])}
                errors[side, place] = tables.error(**part)
                if side == 0:
                    below[place] = tables.count(**part)
    return below, errors


def _to_condition(edge: Any) -> Any:
    """Return an edge as conditions take it."""
    return edge if isinstance(edge, np.datetime64) else edge.item()
