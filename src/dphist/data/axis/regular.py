"""Regular edges, and the edges of each column of a grid, by what a caller gives."""

import math
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

from dphist.arrays import AnyArray, FloatArray, IntArray
from dphist.counting.binning.slots import Grid, value_roles
from dphist.counting.reading.columns import check_name
from dphist.data.axis.edges import (
    MOST_BINS,
    Zoned,
    check_edges,
    is_number,
    public_only,
    read_edges,
)
from dphist.data.axis.times import (
    MOMENTS,
    Moment,
    calendar_edges,
    find_zone,
    in_local_time,
    in_zone,
    moment,
    moment_text,
    read_months,
    read_width,
)
from dphist.data.axis.zones import DAY, UTC, find_instants, local_texts, zone_named
from dphist.errors import Argument, ParameterError, join_arguments, phrase
from dphist.parameters import exact_number, whole_number


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
