"""Bin edges as callers give them, converted to one of four NumPy types.

Edges are published with every release, so they must be fixed without looking at the data. Any
choice by the data (a number of bins, "auto", quantiles) is refused here.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

from dphist.arrays import AnyArray
from dphist.counting.date_ranges import dates_of_range
from dphist.data.axis.times import (
    MOMENTS,
    Moment,
    find_zone,
    in_zone,
    moment,
    moments_of_array,
)
from dphist.data.axis.zones import (
    DAY,
    FIRST_DAY,
    LAST_DAY,
    find_instants,
    resolve_zone,
    zone_named,
)
from dphist.errors import ParameterError, phrase

# (n + 1,) int64, float64, datetime64[D] or datetime64[us], strictly increasing.

MOST_BINS = 2**26
_NUMBERS = (Integral, float, np.floating, Decimal, Fraction)


def public_only(name: str) -> ParameterError:
    """Return the error for edges that would depend on the data."""
    return ParameterError(
        name,
        "must be fixed without looking at the data, as edges are published: a number of bins, a "
        "rule such as 'auto', quantiles and columns of a table are refused",
        phrase(
            "write the edges out as a list, tuple, range or NumPy array of numbers, dates or ISO "
            "text, or pd.date_range or pl.date_range, or give {start} and {stop} with {width} or "
            "{bins}"
        ),
    )


Zoned = tuple[AnyArray, str | None]
"""Edges, and the name of their time zone; with a zone they are datetime64[us] of UTC."""


def read_edges(edges: object, tz: object = None) -> Zoned:
    """Return edges as an array, and their time zone.

    Parameters
    ----------
    edges, tz : as for `Axis.from_edges`.

    Raises
    ------
    ParameterError
        If `edges` is none of these, or is not strictly increasing.

    >>> read_edges([0, 18, 65.5])[0], read_edges(["2024-01-01", "2024-01-31"])[0].dtype
    (array([ 0. , 18. , 65.5]), dtype('<M8[D]'))
    """
    if isinstance(edges, np.ma.MaskedArray):
        raise ParameterError("edges", "must not be a masked array")
    zone = None if tz is None else zone_named(tz)
    found = dates_of_range(edges)
    if found is not None:
        given = None if found[1] is None else resolve_zone(found[1])
        return _in_zone(moments_of_array(found[0], "edges"), given, zone)
    if not isinstance(edges, list | tuple | range | np.ndarray):
        raise public_only("edges")
    if isinstance(edges, np.ndarray) and edges.ndim != 1:
        raise ParameterError("edges", "of one axis must be one-dimensional")
    _check_length(len(edges))
    if isinstance(edges, np.ndarray) and edges.dtype.kind not in "OU":
        return _in_zone(_of_array(edges), None, zone)
    items = edges.tolist() if isinstance(edges, np.ndarray) else edges
    return _in_zone(*_of_items(items, zone), zone)


def _in_zone(edges: AnyArray, given: str | None, zone: str | None) -> Zoned:
    """Return checked edges in a zone: those without a `given` one are local times there."""
    if zone is not None and edges.dtype.kind != "M":
        raise ParameterError("tz", phrase("needs {edges} that are dates or times"))
    if zone is not None and given is None:
        edges = find_instants(edges, zone, "edges")
    check_edges(edges)
    return edges, zone or given


def check_edges(edges: AnyArray) -> None:
    """Refuse an array of edges that is not strictly increasing, or is too short or too long.

    Raises
    ------
    ParameterError
    """
    _check_length(len(edges))
    # `not all(<)` also refuses NaN and NaT.
    if not np.all(edges[:-1] < edges[1:]):
        raise ParameterError(
            "edges", "must be strictly increasing, each once, without NaN or missing values"
        )
    if edges.dtype.kind == "f" and not np.all(np.isfinite(edges[1:-1])):
        raise ParameterError("edges", "may be infinite only at both ends")
    if edges.dtype.kind == "M":
        day = 1 if edges.dtype == np.dtype("M8[D]") else DAY
        whole = edges.view(np.int64)
        if not (FIRST_DAY * day <= whole[0] and whole[-1] < (LAST_DAY + 1) * day):
            raise ParameterError("edges", "must be in the years 1 to 9999")


def is_number(value: object) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool | np.bool_)


def _of_array(edges: AnyArray) -> AnyArray:
    """Convert a NumPy array of numbers or datetimes."""
    kind = edges.dtype.kind
    if kind == "M":
        return moments_of_array(edges, "edges")
    if kind == "f" and edges.dtype.itemsize <= 8:
        return edges.astype(np.float64) + 0.0  # turns -0.0 into 0.0
    if kind == "u" and len(edges) and int(edges.max()) >= 2**63:
        raise _too_large()
    if kind in "iu":
        return edges.astype(np.int64)
    raise _not_edges()


def _of_items(items: Sequence[Any], zone: str | None) -> Zoned:
    """Convert a sequence of Python objects; times without a zone are in that one, if there is."""
    if isinstance(items, range):
        if not all(-(2**63) <= end < 2**63 for end in (items[0], items[-1])):
            raise _too_large()
        return np.fromiter(items, np.int64, len(items)), None
    types = set(map(type, items))
    if _all(types, _NUMBERS) and not types & {bool, np.bool_}:
        return _of_numbers(items), None
    if not _all(types, MOMENTS):
        raise _not_edges()
    moments = [moment(item, "edges") for item in items]
    if zone is not None:
        moments = [in_zone(each, zone, "edges") for each in moments]
    return _of_moments(moments), find_zone(moments, "edges")


def _all(types: set[type], wanted: tuple[type, ...]) -> bool:
    return all(issubclass(kind, wanted) for kind in types)


def _of_numbers(items: Sequence[Any]) -> AnyArray:
    """Return int64 if all items are integers by type, float64 otherwise."""
    whole = [isinstance(item, Integral) for item in items]
    if all(whole):
        if not all(-(2**63) <= int(item) < 2**63 for item in items):
            raise _too_large()
        return np.array([int(item) for item in items], np.int64)
    floats = []
    for item, is_whole in zip(items, whole, strict=True):
        try:
            floats.append(float(item))
        except OverflowError:
            floats.append(np.inf)
        except ValueError:
            floats.append(np.nan)
        if np.isinf(floats[-1]) and item != floats[-1]:
            raise ParameterError("edges", "must be within the range of float64")
        if is_whole and floats[-1] != int(item):
            raise ParameterError(
                "edges",
                "that are whole numbers above 2**53 must not be mixed with floats, which cannot "
                "represent them",
                "make all edges whole numbers",
            )
    return np.array(floats, np.float64) + 0.0


def _of_moments(moments: list[Moment]) -> AnyArray:
    """Return moments as dates, or as datetimes if at least one is a datetime."""
    days = all(each.is_date for each in moments)
    unit = DAY if days else 1
    whole = np.array([each.instant // unit for each in moments], np.int64)
    return whole.view("M8[D]" if days else "M8[us]")


def _check_length(length: int) -> None:
    if not 2 <= length <= MOST_BINS + 1:
        raise ParameterError("edges", f"must be at least two, and make at most {MOST_BINS} bins")


def _too_large() -> ParameterError:
    return ParameterError("edges", "that are whole numbers must be within int64")


def _not_edges() -> ParameterError:
    return ParameterError(
        "edges",
        "must be numbers, or dates, datetimes and ISO text; not both kinds, truth values, "
        "missing values or anything else",
    )
