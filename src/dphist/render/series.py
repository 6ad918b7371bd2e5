"""Lines in colors of their own, with their bands, and their names where they end.

The colors can be distinguished by most eyes, and have enough contrast to be read as text.
"""

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator

from dphist.arrays import BoolArray, FloatArray
from dphist.document.chart import Series
from dphist.render.text import count_columns, in_columns
from dphist.visible import harmless

# On white and on the dark background of a page, each has a contrast of at least 4.5 to 1.
LIGHT = (
    *("#17599f", "#b3420a", "#00704a", "#8a2f86"),
    *("#7a5200", "#00707f", "#b8226a", "#56616e"),
)
# The last four are dashed as well: not everybody can distinguish eight lines by color alone.
DASHES: tuple[Any, ...] = (*["-"] * 4, *[(0, (5, 1.4))] * 4)

_COLUMNS = 14  # of a name
_LEADER, _LETTER = 0.07, 0.034  # room for names, as parts of the length of the x axis
_GAP = 0.062  # between two names, as a part of the height
_FEW = 12  # points up to which each is marked


def draw_series(ax: Axes, drawn: Sequence[Series], colors: Sequence[str]) -> None:
    """Draw lines and bands, and mark points that no line shows."""
    for each, color, dashes in zip(drawn, colors, DASHES, strict=False):
        ax.fill_between(each.x, each.low, each.high, facecolor=color, alpha=0.15, linewidth=0)
        ax.plot(each.x, each.y, color=color, linestyle=dashes, linewidth=1.7)
        alone = stand_alone(each.y)
        marked = np.isfinite(each.y) if len(each.x) <= _FEW else alone
        ax.plot(each.x[marked], each.y[marked], "o", color=color, markersize=3.5)
        # A band of one point has no width.
        ax.vlines(each.x[alone], each.low[alone], each.high[alone], color=color, alpha=0.3,
                  linewidth=3)  # fmt: skip


def name_series(ax: Axes, drawn: Sequence[Series], colors: Sequence[str], grid: str) -> None:
    """Write each name at the end of its line, to the right of the axes' grid.

    Names that would overlap are moved, and a leader joins each to its line.
    """
    names = number_names(
        [in_columns(harmless(each.name, _COLUMNS), _COLUMNS).rstrip() for each in drawn]
    )
    (_, end), (low, high) = ax.get_xlim(), ax.get_ylim()
    ticks = MaxNLocator(nbins=4, integer=True).tick_values(0, end)
    ax.xaxis.set_major_locator(FixedLocator([tick for tick in ticks if 0 <= tick <= end]))
    ax.set_xlim(0, end * (1 + _LEADER + _LETTER * max(map(count_columns, names))))
    _draw_grid(ax, grid, end)
    last = [int(np.flatnonzero(np.isfinite(each.y))[-1]) for each in drawn]
    heights = [float(each.y[at]) for each, at in zip(drawn, last, strict=True)]
    gap = _GAP * (high - low)
    places = move_apart(np.array(heights, np.float64), gap, low + gap / 2, high)
    for each, name, at, y, place, color in zip(
        drawn, names, last, heights, places, colors, strict=False
    ):
        start = each.x[at]
        corners = [start, end * 1.015, end * 1.045], [y, y if start == end else place, place]
        ax.plot(*corners, color=color, linewidth=0.7, alpha=0.8)
        ax.text(end * 1.055, place, name, color=color, va="center", parse_math=False)


def _draw_grid(ax: Axes, grid: str, end: float) -> None:
    """Draw the grid as far as the lines, not behind the names."""
    ax.grid(visible=False)
    low, high = ax.get_ylim()
    style: dict[str, Any] = {"color": grid, "alpha": 0.3, "linewidth": 0.7, "zorder": 0.5}
    ax.hlines([tick for tick in ax.get_yticks() if low <= tick <= high], 0, end, **style)
    ax.vlines(ax.get_xticks(), low, high, **style)
    ax.spines["bottom"].set_bounds(0, end)


def stand_alone(y: FloatArray) -> BoolArray:
    """Return which points have no neighbor, so that no line shows them."""
    there = np.isfinite(y)
    beside = np.append(there[1:], False) | np.append(False, there[:-1])
    alone: BoolArray = there & ~beside
    return alone


def move_apart(wanted: FloatArray, gap: float, low: float, high: float) -> FloatArray:
    """Return places near the wanted ones, in the same order, at least `gap` apart.

    They lie between `low` and `high` if there is room for all. Places that would be too close
    form a group around the mean of the wanted ones.

    Parameters
    ----------
    wanted : (k,) float64, in any order.

    >>> move_apart(np.array([5.0, 5.0, 0.0]), 2, 0, 10)
    array([4., 6., 0.])
    """
    order = np.argsort(wanted, kind="stable")
    room = max(high - low - gap * (len(wanted) - 1), 0.0)
    groups: list[tuple[float, int]] = []  # mean of the wanted places less what goes before, size
    for i, want in enumerate(wanted[order].tolist()):
        groups.append((min(max(want - low - gap * i, 0.0), room), 1))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (mean, size), (before, others) = groups.pop(), groups.pop()
            groups.append(((mean * size + before * others) / (size + others), size + others))
    shifts = np.array([mean for mean, size in groups for _ in range(size)], np.float64)
    found = np.empty(len(wanted), np.float64)
    found[order] = low + shifts + gap * np.arange(len(wanted))
    return found


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
    return number_names([_in_two_lines(harmless(label, 10 * letters), letters) for label in labels])


def number_names(names: Sequence[str]) -> list[str]:
    """Return names that were cut, with a number where several look alike.

    >>> number_names(["heart dise…", "heart dise…", "tea"])
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
    if count_columns(name) <= letters:
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
