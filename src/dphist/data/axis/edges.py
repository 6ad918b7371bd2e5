"""Bin edges as callers give them, converted to one of four NumPy types.

Edges are published with every release, so they must be fixed without looking at the data. Any
choice by the data (a number of bins, "auto", quantiles) is refused here.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

from dphist.arrays import AnyArray, FloatArray, IntArray
from dphist.counting.binning.slots import Grid, value_roles
from dphist.counting.date_ranges import dates_of_range
from dphist.counting.reading.columns import check_name
from dphist.data.axis.times import (
    MOMENTS,
    Moment,
    calendar_edges,
    find_zone,
    in_local_time,
    in_zone,
    moment,
    moment_text,
    moments_of_array,
    read_months,
    read_width,
)
from dphist.data.axis.zones import (
    DAY,
    FIRST_DAY,
    LAST_DAY,
    UTC,
    find_instants,
    local_texts,
    resolve_zone,
    zone_named,
)
from dphist.errors import Argument, ParameterError, join_arguments, phrase
from dphist.parameters import exact_number, whole_number

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


def regular_edges(
    start: object, stop: object, width: object, tz: object = None, bins: object = None
) -> Zoned:
    """Return the edges ``start + i * width`` up to `stop`, and their time zone.

    Parameters
    ----------
    start, stop, width, tz, bins : as for `Axis.regular`.

    Raises
    ------
    ParameterError
        If one of them is missing, or `stop` is not a whole number of widths after `start`.

    >>> regular_edges(0, 1, 0.1)[0][3], regular_edges("2013-01-01", "2013-01-02", "1h")[0].shape
    (np.float64(0.3), (25,))
    """
    for name, value in (("start", start), ("stop", stop)):
        if value is None:
            raise public_only(name)
    if (width is None) == (bins is None):
        raise ParameterError(("width", "bins"), "must be given, one of the two, and not both")
    if bins is not None:
        width = _compute_width(start, stop, whole_number(bins, "bins", 1, MOST_BINS), tz)
    if is_number(start) and is_number(stop):
        if not is_number(width):
            raise ParameterError("width", phrase("must be a number, as {start} and {stop} are"))
        if tz is not None:
            raise ParameterError("tz", phrase("needs {start} and {stop} that are dates or times"))
        return _regular_numbers(start, stop, width), None
    if not isinstance(start, MOMENTS) or not isinstance(stop, MOMENTS):
        raise ParameterError(
            ("start", "stop"), "must both be numbers, or both dates, datetimes or ISO text"
        )
    months = read_months(width)
    step = 0 if months else read_width(width)
    first, last = moment(start, "start"), moment(stop, "stop")
    zone = zone_named(tz) if tz is not None else find_zone([first, last], "start and stop")
    if months and tz is None and zone == UTC:
        raise ParameterError(
            "tz",
            phrase("must be given where {width} is in months and {start} has an offset to UTC"),
        )
    if zone is None:
        edges = calendar_edges(first, last, months) if months else _steps(first, last, step)
    elif months or step % DAY == 0:
        edges = _calendar_in_zone(first, last, months, step, zone)
    else:
        edges = _steps(in_zone(first, zone, "start"), in_zone(last, zone, "stop"), step, zone)
    check_edges(edges)
    return edges, zone


def _compute_width(start: Any, stop: Any, bins: int, tz: Any) -> Any:
    """Return the width of a number of equal bins; that of other types is refused later."""
    if is_number(start) and is_number(stop):
        span = exact_number(stop, "stop") - exact_number(start, "start")
        width = span / bins
        are_whole = isinstance(start, Integral) and isinstance(stop, Integral)
        found: Any = int(width) if are_whole and width.denominator == 1 else width
    elif isinstance(start, MOMENTS) and isinstance(stop, MOMENTS):
        ends = moment(start, "start"), moment(stop, "stop")
        span = Fraction(ends[1].instant - ends[0].instant)
        if tz is not None and span % (DAY * bins):  # no whole days: elapsed time
            first, last = (
                in_zone(end, zone_named(tz), name).instant
                for end, name in zip(ends, ("start", "stop"), strict=True)
            )
            span = Fraction(last - first)
        if span % bins:
            said = "must divide the time from {start} to {stop} into whole microseconds"
            raise ParameterError("bins", phrase(said))
        found = np.timedelta64(int(span) // bins, "us")
    else:
        return 1
    if not span > 0:
        raise ParameterError("stop", phrase("must be greater than {start}"))
    return found


def _steps(first: Moment, last: Moment, step: int, zone: str | None = None) -> AnyArray:
    """Return edges from one moment to another, `step` microseconds apart.

    Parameters
    ----------
    zone : of the clock that shows the moments, for a message; None without one.
    """
    widths = Fraction(last.instant - first.instant, step)
    near = [first.instant + (int(widths) + more) * step for more in (0, 1)]
    if first.zone is None:
        texts = list(map(moment_text, near))
    else:
        texts = local_texts(np.array(near, "M8[us]"), first.zone)
    bins = _whole_widths(widths, " or ".join(texts) + (f" in {zone}" if zone else ""))
    days = first.is_date and last.is_date and step % DAY == 0
    unit = DAY if days else 1
    offsets = np.arange(bins + 1, dtype=np.int64) * (step // unit)
    return (offsets + first.instant // unit).view("M8[D]" if days else "M8[us]")


def _calendar_in_zone(
    first: Moment, last: Moment, months: int | None, step: int, zone: str
) -> AnyArray:
    """Return edges that are whole days or months apart in local time: days of 23 to 25 hours."""
    ends = [in_zone(first, zone, "start").instant, in_zone(last, zone, "stop").instant]
    local = in_local_time(first, zone), in_local_time(last, zone)
    steps = calendar_edges(*local, months) if months else _steps(*local, step, zone)
    edges = find_instants(steps[1:-1], zone, ("start", "stop"), are_steps=True)
    # An end with an offset may be one of two instants that clocks show alike.
    return np.concatenate([ends[:1], edges.view(np.int64), ends[1:]]).view("M8[us]")


def make_grid(column: Any, **public: Any) -> Grid:
    """Return the columns and their edges.

    Parameters
    ----------
    column, **public : as for `bin_counts`: edges, width, bins, start, stop and tz.

    Raises
    ------
    ParameterError
    """
    single = not isinstance(column, list | tuple)
    names = (column,) if single else tuple(column)
    if not names:
        raise ParameterError("column", "must be the name of a column, or a list of names")
    for name, role in zip(names, value_roles(len(names)), strict=True):
        check_name(name, role)
    if single:
        parts = [_edges_of_axis(**public)]
    else:
        each = [_for_each(name, value, len(names)) for name, value in public.items()]
        parts = [
            _edges_of_axis(**dict(zip(public, values, strict=True)))
            for values in zip(*each, strict=True)
        ]
    grid = Grid(names, tuple(part[0] for part in parts), tuple(part[1] for part in parts))
    if math.prod(grid.shape) > MOST_BINS:
        given = next(name for name in ("edges", "bins", "width") if public[name] is not None)
        raise ParameterError(given, f"must make at most {MOST_BINS} bins on all axes together")
    return grid


def _for_each(name: str, value: Any, axes: int) -> list[Any]:
    """Return a parameter as a list with one value for each axis."""
    if name == "edges" and value is not None and not isinstance(value, list | tuple):
        raise public_only("edges")
    if not isinstance(value, list | tuple):
        return [value] * axes
    if len(value) != axes:
        raise ParameterError(name, "must be a list with one item for each column")
    return list(value)


def _edges_of_axis(edges: Any, tz: Any, **regular: Any) -> Zoned:
    """Return the edges of one axis, and their time zone."""
    given = any(value is not None for value in regular.values())
    if edges is None:
        if not given:
            raise public_only("edges")
        return regular_edges(tz=tz, **regular)
    if given:
        raise ParameterError("edges", "must be given alone, without " + join_arguments([*regular]))
    if hasattr(edges, "local_edges"):  # an Axis, whose module imports this one
        if tz is not None:
            raise ParameterError("tz", phrase("must be left out: {edges} have a time zone or none"))
        return edges.edges, edges.zone
    return read_edges(edges, tz)


def _regular_numbers(start: Any, stop: Any, width: Any) -> AnyArray:
    """Return regular edges that are numbers: int64 if all three parameters are integers."""
    first, last, step = (
        exact_number(value, name)
        for value, name in ((start, "start"), (stop, "stop"), (width, "width"))
    )
    if not step > 0:
        raise ParameterError("width", "must be greater than 0")
    bins = _whole_widths((last - first) / step)
    if all(isinstance(value, Integral) for value in (start, stop, width)):
        if first < -(2**63) or last >= 2**63:
            raise ParameterError(("start", "stop"), "must be within int64: at most 2**63 - 1")
        return whole_edges(int(first), int(step), bins)
    edges = nearest_floats(first, step, bins)
    if not np.all(edges[:-1] < edges[1:]):
        raise ParameterError(
            "width", phrase("is too small: floats near {start} or {stop} are further apart")
        )
    return edges


def whole_edges(start: int, width: int, bins: int) -> IntArray:
    """Return each ``start + i * width``, i up to `bins`, where all are within int64."""
    # Offsets may exceed int64, though the edges do not: add modulo 2**64.
    offsets = np.arange(bins + 1, dtype=np.uint64) * np.uint64(width)
    return (offsets + np.uint64(start % 2**64)).view(np.int64)


def nearest_floats(start: Fraction, width: Fraction, bins: int) -> FloatArray:
    """Return the float64 nearest to each ``start + i * width``, i up to `bins`."""
    below = start.denominator * width.denominator
    first = start.numerator * width.denominator
    step = width.numerator * start.denominator
    if max(abs(first), abs(first + bins * step), below) <= 2**53:
        # Dividing two exact floats rounds once, to nearest.
        return (np.arange(bins + 1, dtype=np.int64) * step + first) / np.float64(below)
    numbers = (first + i * step for i in range(bins + 1))
    try:
        # Python's division of integers of any length also rounds once.
        return np.fromiter((number / below for number in numbers), np.float64, bins + 1)
    except OverflowError:
        pass
    raise ParameterError(("start", "stop"), "must be within the range of float64")


def _whole_widths(widths: Fraction, near: str = "") -> int:
    """Return the checked number of bins; `near` are the values next to `stop` that would do."""
    if not widths > 0:
        raise ParameterError("stop", phrase("must be greater than {start}"))
    if widths.denominator != 1:
        near = near or f"{int(widths)} or {int(widths) + 1} widths after start"
        raise ParameterError(
            ("start", "stop"),
            "must be a whole number of widths apart",
            "move " + Argument("stop") + f" to {near}",
        )
    if not widths <= MOST_BINS:
        raise ParameterError("width", f"must make at most {MOST_BINS} bins", "make it larger")
    return int(widths)


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
