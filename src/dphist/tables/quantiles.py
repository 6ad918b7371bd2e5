"""Quantiles of a key of bins: where a share of the records lies below."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dphist.errors import ParameterError
from dphist.parameters import checked_level
from dphist.release.interval_estimate import IntervalEstimate

if TYPE_CHECKING:
    from dphist.tables.keyed_tables import KeyedTables

_UNKNOWN = "the noise is as large as all records"


def estimate_quantile(
    tables: "KeyedTables", name: str, share: float, level: float, where: Mapping[str, Any]
) -> IntervalEstimate:
    """Return a quantile of the records in the bins of a key that satisfy conditions.

    For each edge, the records below it less that share of all have an exact error. The interval
    goes from the edge before the first that is not surely below 0 to the one after the last that
    is not surely above: it misses the quantile only if one of the two edges around it is misjudged.
    Within a bin, records are taken to be spread evenly.

    Raises
    ------
    ParameterError
        If the key has no bins, or is among the conditions.
    """
    checked = checked_level(share, "share")
    wide = tables.reach.of(checked_level(level))
    if name not in tables.keys.names or tables.keys[name].axis is None:
        raise ParameterError("name", f"must be a key of bins between edges: {name!r} is none")
    if name in where:
        raise ParameterError(name, "must not be a condition too")
    axis = tables.keys[name].axis
    assert axis is not None  # noqa: S101 - found above
    edges = axis.edges
    ends = [edges[0], *edges[1:]]
    whole = {**where, name: (_to_condition(ends[0]), _to_condition(ends[-1]))}
    total, off = tables.count(**whole), tables.error(**whole)
    missing = np.datetime64("NaT") if edges.dtype.kind == "M" else math.nan
    first, last = axis.at(np.array([0.0, float(axis.bins)]))
    if not total > wide * off:
        return IntervalEstimate(missing, first, last, level, _UNKNOWN)
    below, gaps, errors = [0.0], [-checked * total], [checked * off]
    for edge in ends[1:]:
        part = {**where, name: (_to_condition(ends[0]), _to_condition(edge))}
        found = tables.combine([(1.0, part), (-checked, whole)], 0.5)
        below.append(tables.count(**part))
        gaps.append(found.value)
        errors.append((found.high - found.low) / (2 * tables.reach.of(0.5)))
    under = [g + wide * e < 0 for g, e in zip(gaps, errors, strict=True)]
    over = [g - wide * e > 0 for g, e in zip(gaps, errors, strict=True)]
    low = max(under.index(False) - 1, 0)
    high = min(axis.bins - over[::-1].index(False) + 1, axis.bins)
    reached = np.maximum.accumulate(np.array(below))
    place = int(np.flatnonzero(reached >= checked * total)[0]) if reached[-1] > 0 else axis.bins
    step = reached[place] - reached[place - 1]
    spot = place - 1 + (checked * total - reached[place - 1]) / step
    value, start, stop = axis.at(np.array([spot, float(min(low, spot)), float(max(high, spot))]))
    return IntervalEstimate(value, start, stop, level)


def _to_condition(edge: Any) -> Any:
    """Return an edge as conditions take it."""
    return edge if isinstance(edge, np.datetime64) else edge.item()
