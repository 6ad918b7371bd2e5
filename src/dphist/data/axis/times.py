"""Dates, times and durations in whole microseconds, and months of the calendar."""

import datetime
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dphist.arrays import AnyArray
from dphist.data.axis.zones import DAY, UTC, find_instant, local_times, zone_of_clock
from dphist.errors import Argument, ParameterError, phrase

_MICROSECONDS = {
    **{"us": 1, "ms": 1000, "s": 10**6, "m": 60 * 10**6, "min": 60 * 10**6},
    **{"h": 3600 * 10**6, "d": DAY, "w": 7 * DAY},
}
_NUMPY_UNITS = {
    **{unit: Fraction(_MICROSECONDS[unit]) for unit in ("us", "ms", "s", "m", "h")},
    **{"D": Fraction(DAY), "W": Fraction(7 * DAY), "ns": Fraction(1, 1000)},
}
_WIDTH_TEXT = re.compile(r"([0-9]{1,18}) ?(us|ms|s|min|m|h|d|w)")
_ISO_TEXT = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d(:?\d\d)?)?)?", re.ASCII
)
_MONTHS = {"mo": 1, "q": 3, "y": 12}
_MONTHS_TEXT = re.compile(r"([0-9]{1,6}) ?(mo|q|y)")
_LATEST_DAY = 28  # every month has it
_EPOCH = datetime.datetime(1970, 1, 1)

MOMENTS = (str, datetime.date, np.datetime64)


class Moment(NamedTuple):
    """Microseconds since 1970, whether the input was a date, and its time zone.

    They are those of UTC if there is a zone, and otherwise of local time. The zone of an input with
    an offset alone is "UTC".
    """

    instant: int
    is_date: bool
    zone: str | None


def moment(value: Any, name: str) -> Moment:
    """Read a date, datetime, numpy.datetime64 or ISO text.

    Raises
    ------
    ParameterError
        If it is of another type, missing, finer than a microsecond, or outside the years 1 to
        9999. The message names the parameter `name`.

    >>> moment("1970-01-02", "start")
    Moment(instant=86400000000, is_date=True, zone=None)
    """
    if isinstance(value, np.datetime64):
        array = moments_of_array(np.array([value]), name)
        return Moment(int(array.astype("M8[us]").view(np.int64)[0]), array.dtype == "M8[D]", None)
    if isinstance(value, str):
        value = _read_iso_text(value, name)
    if not isinstance(value, datetime.date) or value != value:  # pandas' NaT is not itself
        raise _unreadable(name)
    if not isinstance(value, datetime.datetime):
        return Moment((value.toordinal() - _EPOCH.toordinal()) * DAY, True, None)
    if getattr(value, "nanosecond", 0):
        raise _too_fine(name)
    offset = value.utcoffset()
    local = value.replace(tzinfo=None) - _EPOCH
    instant = local if offset is None else local - offset
    zone = None if offset is None or value.tzinfo is None else zone_of_clock(value.tzinfo)
    return Moment(instant // datetime.timedelta(microseconds=1), False, zone)


def moments_of_array(values: AnyArray, name: str) -> AnyArray:
    """Convert an array of datetime64 to datetime64[D] or, if finer, datetime64[us].

    Raises
    ------
    ParameterError
        As for `moment`.
    """
    unit = np.datetime_data(values.dtype)[0]
    if np.isnat(values).any() or unit == "generic":
        raise _unreadable(name)
    years = values.astype("M8[Y]").view(np.int64) + 1970  # cannot overflow for any unit
    if np.any((years < 1) | (years > 9999)):
        raise ParameterError(name, "must be in the years 1 to 9999")
    if unit in ("Y", "M", "W", "D"):
        return values.astype("M8[D]")
    whole = values.astype("M8[us]")
    if np.any(whole != values):
        raise _too_fine(name)
    return whole


def find_zone(moments: Sequence[Moment], name: str) -> str | None:
    """Return the time zone of moments, "UTC" if they have several; None if none has one."""
    zones = {each.zone for each in moments}
    if None in zones and len(zones) > 1:
        raise ParameterError(
            name,
            "must all have a time zone, or none of them",
            phrase("give {tz}, the zone of those without one"),
        )
    return zones.pop() if len(zones) == 1 else UTC


def in_zone(time: Moment, zone: str, name: str) -> Moment:
    """Return a moment as an instant: without a zone of its own, it is local time of this one.

    Raises
    ------
    ParameterError
        If clocks there never show it, or show it twice.
    """
    if time.zone is not None:
        return time
    return Moment(find_instant(time.instant, zone, name, time.is_date), False, zone)


def in_local_time(time: Moment, zone: str) -> Moment:
    """Return a moment as clocks of the zone show it."""
    if time.zone is None:
        return time
    local = local_times(np.array([time.instant], "M8[us]"), zone)
    return Moment(int(local.view(np.int64)[0]), False, None)


def read_width(width: object) -> int:
    """Return a duration in microseconds, at least 1.

    >>> read_width("15m"), read_width(datetime.timedelta(days=1))
    (900000000, 86400000000)
    """
    step = Fraction(0)
    if isinstance(width, str):
        matched = _WIDTH_TEXT.fullmatch(width)
        step = Fraction(int(matched[1]) * _MICROSECONDS[matched[2]] if matched else 0)
    elif isinstance(width, datetime.timedelta) and width == width:  # pandas' NaT is not itself
        step = Fraction(width // datetime.timedelta(microseconds=1))
        if getattr(width, "nanoseconds", 0):
            step = Fraction(0)
    elif isinstance(width, np.timedelta64) and not np.isnat(width):
        unit, per = np.datetime_data(width.dtype)
        step = int(width.astype(np.int64)) * per * _NUMPY_UNITS.get(unit, Fraction(0))
    if not 0 < step <= 10_000 * 366 * DAY or step.denominator != 1:
        raise ParameterError(
            "width",
            "must be a positive time in whole microseconds: a datetime.timedelta, a "
            "numpy.timedelta64, or text such as '15m', '1h', '1d' or '1w', or '1mo', '1q' or "
            "'1y' for months of the calendar",
        )
    return int(step)


def width_text(step: int) -> str:
    """Return text for a width in microseconds that `read_width` reads back.

    >>> width_text(900_000_000), width_text(7 * DAY)
    ('15m', '1w')
    """
    unit = next(u for u in ("w", "d", "h", "m", "s", "ms", "us") if step % _MICROSECONDS[u] == 0)
    return f"{step // _MICROSECONDS[unit]}{unit}"


def moment_text(instant: int) -> str:
    """Return text for microseconds since 1970: a date, and the time unless it is midnight.

    >>> moment_text(DAY), moment_text(DAY + 90_000_000)
    ('1970-01-02', '1970-01-02T00:01:30')
    """
    whole = np.datetime64(instant, "us")
    unit = next(unit for unit in ("D", "s", "us") if whole.astype(f"M8[{unit}]") == whole)
    return str(whole.astype(f"M8[{unit}]"))


def read_months(width: object) -> int | None:
    """Return the months in a width such as "1mo", "1q" or "1y"; None for other widths.

    >>> read_months("3mo"), read_months("1y"), read_months("1d")
    (3, 12, None)
    """
    matched = _MONTHS_TEXT.fullmatch(width) if isinstance(width, str) else None
    months = int(matched[1]) * _MONTHS[matched[2]] if matched else None
    if months == 0:
        raise ParameterError("width", "must be at least one month, such as '1mo', '1q' or '1y'")
    return months


def calendar_edges(first: Moment, last: Moment, months: int) -> AnyArray:
    """Return the edges from `first` to `last`, each on the same day of the month, at the same time.

    Parameters
    ----------
    first, last : of local time, because months begin at different instants in each zone.
    months : months of a bin, at least 1.

    Returns
    -------
    (bins + 1,) datetime64[D], or datetime64[us] if `first` or `last` is not a date.

    Raises
    ------
    ParameterError
        If `first` is after the 28th of its month, or `last` is no edge.
    """
    start, stop = (np.datetime64(each.instant, "us") for each in (first, last))
    month = start.astype("M8[M]")
    offset = start - month.astype("M8[us]")
    if offset >= np.timedelta64(_LATEST_DAY * DAY, "us"):
        raise ParameterError(
            "start",
            f"must be at most the {_LATEST_DAY}th of its month where "
            + Argument("width")
            + " is in months, so that every month has this day",
        )
    if not stop > start:
        raise ParameterError("stop", phrase("must be greater than {start}"))
    bins = int((stop.astype("M8[M]") - month).astype(np.int64)) // months
    steps = month + np.arange(bins + 2) * np.timedelta64(months, "M")
    edges = steps.astype("M8[us]") + offset
    if stop not in edges[1:]:
        place = int(np.searchsorted(edges, stop))
        kind = "D" if first.is_date else "s"
        near = " or ".join(str(edge.astype(f"M8[{kind}]")) for edge in edges[place - 1 : place + 1])
        raise ParameterError(
            ("start", "stop"),
            "must be a whole number of widths apart",
            "move " + Argument("stop") + f" to {near}",
        )
    kept: AnyArray = edges[: int(np.searchsorted(edges, stop)) + 1]
    return kept.astype("M8[D]") if first.is_date and last.is_date else kept


def _read_iso_text(text: str, name: str) -> datetime.date:
    """Read ISO text: a date, or a date with a time and optionally a zone."""
    if _ISO_TEXT.fullmatch(text):
        kind = datetime.date if len(text) == 10 else datetime.datetime
        try:
            return kind.fromisoformat(text)
        except ValueError:
            pass
    raise _unreadable(name)


def _unreadable(name: str) -> ParameterError:
    return ParameterError(
        name,
        "must be numbers, dates, datetimes or ISO text such as '2024-01-31' or "
        "'2024-01-31T12:30', without missing values",
    )


def _too_fine(name: str) -> ParameterError:
    return ParameterError(name, "must be in whole microseconds")
