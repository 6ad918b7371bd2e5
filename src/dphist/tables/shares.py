"""Shares of released counts, with intervals by Fieller's theorem."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dphist.errors import ParameterError
from dphist.parameters import check_level
from dphist.release.interval_estimate import IntervalEstimate

if TYPE_CHECKING:
    from dphist.tables.keyed_tables import KeyedTables


def estimate_share(
    tables: "KeyedTables", part: Mapping[str, Any], whole: Mapping[str, Any], level: float
) -> IntervalEstimate:
    """Return one count as a share of another: see `KeyedTables.share`.

    Raises
    ------
    ParameterError
    """
    squared = tables.reach.of(check_level(level)) ** 2
    for name, given in (("part", part), ("whole", whole)):
        if not isinstance(given, Mapping):
            raise ParameterError(name, "must be the conditions of a count: {'sex': 'f'}")
    top, below = tables.make_terms([(1.0, part)]), tables.make_terms([(1.0, whole)])
    for place, held in below[0].weights.items():
        if (held < top[0].weights.get(place, np.ones(held.size))).any():
            raise ParameterError(
                "part",
                f"must be part of the whole, which has not all its values of "
                f"{tables.keys.names[place]!r}",
                "give it the conditions of the whole, and others besides",
            )
    a, b = tables.estimate(top), tables.estimate(below)
    both = tables.covariance(top, below)
    square, slope, rest = (
        b * b - squared * tables.covariance(below, below),
        a * b - squared * both,
        a * a - squared * tables.covariance(top, top),
    )
    if square <= 0 or b <= 0:
        return IntervalEstimate(None, 0.0, 1.0, level, "the whole may be empty")
    wide = math.sqrt(max(slope * slope - square * rest, 0.0))
    low, high = ((slope + sign * wide) / square for sign in (-1, 1))
    return IntervalEstimate(
        min(max(a / b, 0.0), 1.0), min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0), level
    )
