"""Edges as JSON values, and the widths of regular edges."""

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.arrays import AnyArray
from dphist.data.axis.edges import nearest_floats
from dphist.data.axis.times import DAY, moment, moment_text, width_text
from dphist.parameters import whole_number

_LONGEST_WIDTH = 60


def edge_text(edge: Any) -> str:
    """Return an edge, or a value like one, for an error."""
    if isinstance(edge, np.datetime64):
        return moment_text(int(edge.astype("M8[us]").astype(np.int64)))
    return str(edge).removesuffix(".0")


def written(edge: Any) -> Any:
    """Return an edge as a JSON value: a number, ISO text, "inf" or "-inf"."""
    if isinstance(edge, datetime.date):
        return edge.isoformat()
    return str(edge) if edge in (np.inf, -np.inf) else edge


def read(edge: Any, kind: str) -> Any:
    """Check the type of a JSON value of an edge, and return it as an element of the array."""
    if kind == "whole":
        return whole_number(edge, "an edge", -(2**63), 2**63 - 1)
    if kind == "real":
        if edge in ("inf", "-inf"):
            return float(edge)
        if not isinstance(edge, float) or edge != edge:
            raise TypeError("an edge of kind real must be a number with a point, inf or -inf")
        return edge
    if not isinstance(edge, str):
        raise TypeError("an edge must be ISO text")
    read = moment(edge, "an edge")
    if read.zoned or read.is_date != (kind == "dates"):
        raise ValueError("an edge must be a date, or for datetimes, a date with a time in UTC")
    return read.instant // DAY if kind == "dates" else read.instant


def width_of_edges(edges: AnyArray, kind: str) -> Any:
    """Return the width of equal bins between integers, dates or datetimes; None if they differ."""
    whole = edges.view(np.int64)
    if int(whole[-1]) - int(whole[0]) >= 2**63:  # a difference could wrap
        return None
    widths = np.diff(whole)
    if not np.all(widths == widths[0]):
        return None
    step = int(widths[0])
    return step if kind == "whole" else width_text(step * (DAY if kind == "dates" else 1))


def width_of_floats(edges: AnyArray) -> Any:
    """Return a width that reproduces all edges bit by bit, or None."""
    if not np.all(np.isfinite(edges)):
        return None
    start, stop = (Fraction(Decimal(repr(edge))) for edge in edges[[0, -1]].tolist())
    width = (stop - start) / (len(edges) - 1)
    text = f"{width.numerator}/{width.denominator}"
    # The second edge rules out most irregular axes at low cost. Edges of very different magnitude
    # give a width whose text is longer than the edges.
    if len(text) > _LONGEST_WIDTH or float(start + width) != edges[1]:
        return None
    if not np.array_equal(nearest_floats(start, width, len(edges) - 1), edges):
        return None
    shortest = float(width)
    is_short = Fraction(Decimal(repr(shortest))) == width
    return shortest if is_short else text
