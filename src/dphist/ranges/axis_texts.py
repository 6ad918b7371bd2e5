"""Edges and places of an axis as text: exact for tables, short for people."""

import math
from typing import Any

import numpy as np

from dphist.arrays import AnyArray
from dphist.release.range_histogram import RangeHistogram
from dphist.visible import harmless

_LONGEST_NAME = 40


def edge_texts(edges: AnyArray) -> list[str]:
    """Write edges so that they can be read back: numbers, or ISO dates and times of UTC.

    >>> edge_texts(np.array([0.1, 2.0, np.inf])), edge_texts(np.array(["2024-01-31"], "M8[D]"))
    (['0.1', '2.0', 'inf'], ['2024-01-31'])
    >>> edge_texts(np.array(["2024-01-31T12:30"], "M8[us]"))
    ['2024-01-31T12:30:00']
    """
    if edges.dtype.kind != "M":
        return [repr(edge) for edge in edges.tolist()]
    if edges.dtype == np.dtype("M8[D]"):
        return list(np.datetime_as_string(edges).tolist())
    whole = bool((edges == edges.astype("M8[s]")).all())
    return list(np.datetime_as_string(edges, unit="s" if whole else "us").tolist())


def short_edges(edges: AnyArray) -> list[str]:
    """Write edges for people: times to the minute where that is exact.

    >>> short_edges(np.array([0.0, 0.25, np.inf])), short_edges(np.array([2013, 10**6]))
    (['0', '0.25', 'inf'], ['2013', '1000000'])
    >>> short_edges(np.array(["2024-01-31T12:30"], "M8[us]"))
    ['2024-01-31 12:30']
    """
    if edges.dtype.kind == "f":
        return [f"{edge:.12g}" for edge in edges.tolist()]
    if edges.dtype != np.dtype("M8[us]"):
        return edge_texts(edges)
    minutes = bool((edges == edges.astype("M8[m]")).all())
    texts = np.datetime_as_string(edges, unit="m").tolist() if minutes else edge_texts(edges)
    return [text.replace("T", " ") for text in texts]


def place_text(edges: AnyArray, place: Any) -> str:
    """Write a place between edges with as many digits as the width of its bin justifies.

    Parameters
    ----------
    place : float or numpy.datetime64, as `RangeHistogram.quantile` returns it.

    >>> place_text(np.array([0, 18, 65]), 18.1234), place_text(np.array([0, 0.5, 1]), 0.1234)
    ('18', '0.12')
    >>> place_text(np.array(["2024-01-01", "2024-02-01"], "M8[D]"), np.datetime64("2024-01-09T20"))
    '2024-01-09'
    """
    if edges.dtype.kind == "M":
        by_day = edges.dtype == np.dtype("M8[D]")
        rounded = np.datetime64(place, "D" if by_day else "m")
        return str(rounded).replace("T", " ")
    if not math.isfinite(place):
        return f"{place:g}"
    widths = np.diff(edges.astype(np.float64))
    at = min(max(int(np.searchsorted(edges, place, side="right")) - 1, 0), len(widths) - 1)
    width = float(widths[at])
    digits = 2 if not math.isfinite(width) else max(0, 1 - math.floor(math.log10(width)))
    return f"{place:.{digits}f}" if digits < 12 else f"{place:.12g}"


def axis_text(histogram: RangeHistogram, axis: int) -> str:
    """Name an axis by its column, made safe for terminals and pages.

    >>> axis_text(RangeHistogram(np.array([[1, 2]])), 1)
    'axis 2'
    """
    named = histogram.axes[axis].name
    if named is not None:
        return harmless(named, _LONGEST_NAME)
    return "bin" if histogram.bins.ndim == 1 else f"axis {axis + 1}"
