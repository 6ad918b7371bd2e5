"""What is marked along an axis of dates."""

from typing import Any

from matplotlib import dates

_dates: Any = dates  # it has no types
_CYCLES = ((dates.MONTHLY, 12), (dates.HOURLY, 24), (dates.MINUTELY, 60), (dates.SECONDLY, 60))


def date_ticks(low: float, high: float, most: int) -> tuple[list[float], list[str], str]:
    """Return places between two dates, their texts, and what these leave out.

    Parameters
    ----------
    low, high : days since 1970.
    most : of the places; twice as many where that leaves fewer than two.

    >>> date_ticks(19723, 19783, 5)[1:]
    (['Jan', '15', 'Feb', '15', 'Mar'], '2024-Mar')
    """
    start, stop = _dates.num2date([low, high])
    for number in (most, 2 * most):
        locator = _dates.AutoDateLocator(minticks=3, maxticks=number)
        # Its longest steps are too short for two and a half days, or years: it would warn.
        for frequency, cycle in _CYCLES:
            locator.intervald[frequency] = [*locator.intervald[frequency], cycle]
        inside = [float(at) for at in locator.tick_values(start, stop) if low <= at <= high]
        if len(inside) > 1:
            break
    formatter = _dates.ConciseDateFormatter(locator)
    return inside, list(formatter.format_ticks(inside)), formatter.get_offset()
