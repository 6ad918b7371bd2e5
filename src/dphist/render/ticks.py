"""What is marked along an axis: released labels, short and all different, or dates."""

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

from matplotlib import dates
from rich.cells import cell_len

from dphist.render.text_table import in_columns
from dphist.visible import harmless

_dates: Any = dates  # it has no types
_CYCLES = ((dates.MONTHLY, 12), (dates.HOURLY, 24), (dates.MINUTELY, 60), (dates.SECONDLY, 60))


def distinct_names(labels: Sequence[str], letters: int = 26) -> list[str]:
    """Return labels in up to two lines each, for the axis of a picture.

    Of a long label the end is kept as well as the beginning; labels that still look alike get a
    number.

    >>> distinct_names(["International classification of diseases", "tea"])
    ['International\\nclassification of diseases', 'tea']
    >>> distinct_names(["a" * 60 + "x" + "b" * 60, "a" * 60 + "y" + "b" * 60], 6)
    ['aaaaaa\\n…aaa… 1', 'aaaaaa\\n…aaa… 2']
    """
    return numbered([_in_two_lines(harmless(label, 10 * letters), letters) for label in labels])


def numbered(names: Sequence[str]) -> list[str]:
    """Return names that were cut, with a number where several look alike.

    >>> numbered(["heart dise…", "heart dise…", "tea"])
    ['heart dis… 1', 'heart dis… 2', 'tea']
    """
    found, alike = list(names), Counter(names)
    seen: Counter[str] = Counter()
    for at, name in enumerate(names):
        if alike[name] > 1:
            seen[name] += 1
            found[at] = f"{name[:-2]}… {seen[name]}" if len(name) > 3 else f"{name} {seen[name]}"
    return found


def _in_two_lines(name: str, letters: int) -> str:
    if cell_len(name) <= letters:
        return name
    lines = textwrap.wrap(name, letters, break_on_hyphens=False) or [name]
    if len(lines) == 1:
        return in_columns(lines[0], letters)
    last = lines[1]
    if len(lines) > 2:  # keep the end: it is what sets long names apart
        last = "…" + name[1 - letters :].lstrip()
    return f"{in_columns(lines[0], letters).rstrip()}\n{in_columns(last, letters).rstrip()}"


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
