"""Bins of whole months, quarters and years, which have different numbers of days."""

import re

import numpy as np

from dphist.arrays import AnyArray
from dphist.data.axis.times import DAY, Moment
from dphist.errors import Argument, ParameterError

_MONTHS = {"mo": 1, "q": 3, "y": 12}
_WIDTH = re.compile(r"([0-9]{1,6}) ?(mo|q|y)")
_LATEST_DAY = 28  # every month has it


def months_of(width: object) -> int | None:
    """Return the months in a width such as "1mo", "1q" or "1y"; None for other widths.

    >>> months_of("3mo"), months_of("1y"), months_of("1d")
    (3, 12, None)
    """
    matched = _WIDTH.fullmatch(width) if isinstance(width, str) else None
    months = int(matched[1]) * _MONTHS[matched[2]] if matched else None
    if months == 0:
        raise ParameterError("width", "must be at least one month, such as '1mo', '1q' or '1y'")
    return months


def calendar_edges(first: Moment, last: Moment, months: int) -> AnyArray:
    """Return the edges from `first` to `last`, each on the same day of the month, at the same time.

    Parameters
    ----------
    first, last : without a time zone, because months begin at different instants in each zone.
    months : months of a bin, at least 1.

    Returns
    -------
    (bins + 1,) datetime64[D], or datetime64[us] if `first` or `last` is not a date.

    Raises
    ------
    ParameterError
        If there is a zone, `first` is after the 28th of its month, or `last` is no edge.
    """
    if first.zoned or last.zoned:
        raise ParameterError(
            ("start", "stop"),
            "must have no time zone where " + Argument("width") + " is in months",
            "give "
            + Argument("edges")
            + " instead, such as pd.date_range(start, stop, freq='MS', tz=...)",
        )
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
        raise ParameterError("stop", "must be greater than " + Argument("start"))
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
