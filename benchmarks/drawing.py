"""What pictures of comparisons have in common: mechanisms' colors, logarithmic axes, legends.

Only matplotlib's objects are used, never pyplot, so no backend has to be chosen.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.textpath import TextPath
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

GRAY = "#8a94a0"
_MARKERS = {False: "o", True: "s"}
_TEXT = 9.5  # points, of a legend
_LINE = 0.215  # inches, of a line of it
_HANDLE, _GAP = 0.62, 0.3  # inches, beside a name


class Drawn(Protocol):
    """What is drawn: a contender, or a mechanism of a comparison."""

    @property
    def name(self) -> str: ...

    @property
    def told(self) -> str: ...

    @property
    def color(self) -> str: ...

    @property
    def dashed(self) -> bool: ...


D = TypeVar("D", bound=Drawn)


def plain(name: str) -> str:
    """Return a name as matplotlib shows it as it is: no part of it is a formula."""
    return name.replace("$", r"\$")


def line_style(contender: Drawn) -> dict[str, Any]:
    """Return how a mechanism is drawn everywhere: a variant is dashed, with hollow squares."""
    return {
        "color": contender.color,
        "linestyle": (0, (4, 2)) if contender.dashed else "-",
        "linewidth": 1.5,
        "marker": _MARKERS[contender.dashed],
        "markersize": 4,
        "markerfacecolor": "white" if contender.dashed else contender.color,
        "markeredgewidth": 1.1,
    }


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure that lays itself out."""
    return Figure(figsize=(width, height), layout="constrained")


def marker_style(contender: Drawn) -> dict[str, Any]:
    """Return the same without a line, for values that do not follow the x axis smoothly."""
    return {**line_style(contender), "linestyle": "none"}


def legend(
    figure: Figure,
    contenders: Iterable[D],
    style: Callable[[D], dict[str, Any]] = line_style,
    extra: Sequence[Line2D] = (),
) -> None:
    """Name the mechanisms above all panels, with what each was given.

    As many stand side by side as the figure is wide enough for. For each line of them the figure
    becomes taller, and for a name that does not fit wider, so that nothing is cut.
    """
    lines = [
        Line2D([], [], label=plain(f"{c.name} (given {c.told})"), **style(c))
        for c in dict.fromkeys(contenders)
    ]
    handles = [*lines, *extra]
    widest = max((_width(str(handle.get_label())) for handle in handles), default=0.0)
    figure.set_figwidth(max(figure.get_figwidth(), widest + _HANDLE + 2 * _GAP))
    fitting = int((figure.get_figwidth() - _GAP) / (widest + _HANDLE + _GAP))
    columns = max(1, min(fitting, len(handles)))
    figure.set_figheight(figure.get_figheight() + _LINE * math.ceil(len(handles) / columns))
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        fontsize=_TEXT,
        handlelength=3.2,
    )


def _width(text: str) -> float:
    """Return the width of a text in a legend, in inches."""
    return float(TextPath((0, 0), text, size=_TEXT).get_extents().width) / 72 if text else 0.0


def clean(ax: Axes, title: str = "") -> None:
    """Leave of the frame what helps reading."""
    ax.set_title(title, loc="left", fontsize=10.5)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, which="major", color=GRAY, alpha=0.25, linewidth=0.6)
    ax.tick_params(labelsize=9)


def epsilon_axis(ax: Axes, epsilons: Iterable[float]) -> None:
    """Make the x axis logarithmic with a tick at each epsilon measured."""
    ticks = sorted(set(epsilons))
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if len(ticks) > 1:
        ax.set_xlim(ticks[0] / 1.25, ticks[-1] * 1.25)


def time_axis(ax: Axes, seconds: Iterable[float]) -> None:
    """Make the x axis logarithmic, with plain numbers where a few decades are all there is."""
    known = [value for value in seconds if value > 0]
    ax.set_xscale("log")
    ax.xaxis.set_minor_formatter(NullFormatter())
    if known and max(known) / min(known) < 100:
        ax.set_xlim(min(known) / 1.6, max(known) * 1.6)
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def log_y_axis(ax: Axes, values: Iterable[float], at_least: float = 1.0) -> None:
    """Make the y axis logarithmic, over `at_least` so many decades around the values."""
    known = [value for value in values if value > 0]
    if not known:
        return
    low, high = math.log10(min(known)), math.log10(max(known))
    margin = max(0.06 * (high - low), (at_least - (high - low)) / 2, 0.05)
    ax.set_yscale("log")
    ax.set_ylim(10 ** (low - margin), 10 ** (high + margin))
    # A few plain numbers serve a short axis better than one or two powers of ten.
    if high - low + 2 * margin < 2.5 and low > -2:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
