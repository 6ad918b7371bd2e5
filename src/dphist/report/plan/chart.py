"""What each epsilon gives, as charts."""

from collections.abc import Mapping
from fractions import Fraction

from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from dphist.planning.plan import Plan
from dphist.privacy.as_text import short_exact
from dphist.render.charts import Drawing, Palette, finish, log_ticks, short_number
from dphist.report.plan.cells import groups, measured, title

MOST_LINES = 6
_STYLES = ("-", "--", ":", "-.", (0, (6, 2, 1, 2, 1, 2)), (0, (1, 3)))
_MARKS = ("o", "s", "^", "D", "v", "x")

Line = list[tuple[Fraction, float]]


def error_chart(plan: Plan) -> Drawing:
    """Return the chart of the error by epsilon, a line for each combination of bounds."""
    lines = dict(list(groups(plan).items())[:MOST_LINES])
    heading = {
        "appears_from": "Smallest count that appears",
        "half_width": "Error of a count",
        "prefix_error": "Error of a range from the first bin on",
        "range_error": "Error of a range",
        "profile_error": "Error of the whole profile",
    }[measured(plan)]
    return Drawing(heading, lambda ax, palette: _draw_errors(ax, palette, lines))


def odds_chart(plan: Plan) -> Drawing:
    """Return the chart of how many of 100 guess right, by epsilon."""
    found = dict(zip(plan.column("epsilon"), plan.column("guessed_right"), strict=True))
    points = sorted(found.items())
    return Drawing(f"{title(plan, 'guessed_right')}, of 100",
                 lambda ax, palette: _draw_odds(ax, palette, points))  # fmt: skip


def _draw_errors(ax: Axes, palette: Palette, lines: Mapping[str, Line]) -> None:
    for at, (name, line) in enumerate(lines.items()):
        ax.plot(
            [float(epsilon) for epsilon, _ in line],
            [error for _, error in line],
            label=name or "error",
            linestyle=_STYLES[at],
            marker=_MARKS[at],
            markersize=4.5,
            linewidth=1.8,
            color=palette.line,
        )
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ticks = log_ticks(low, high)
    if len(ticks) >= 2:
        ax.yaxis.set_major_locator(FixedLocator(ticks))
        ax.yaxis.set_major_formatter(FixedFormatter([short_number(tick) for tick in ticks]))
        ax.yaxis.set_minor_locator(NullLocator())
    ax.set_ylabel("Records")
    _epsilon_axis(ax, [epsilon for line in lines.values() for epsilon, _ in line])
    finish(ax, palette)
    legend = ax.get_legend()
    if legend is not None and len(lines) == 1:
        legend.remove()


def _draw_odds(ax: Axes, palette: Palette, points: list[tuple[Fraction, int]]) -> None:
    epsilons = [float(epsilon) for epsilon, _ in points]
    right = [count for _, count in points]
    ax.plot(epsilons, right, marker="o", markersize=5, linewidth=1.8, color=palette.line,
            label="with the release, at most")  # fmt: skip
    ax.axhline(50, color=palette.grid, linestyle="--", linewidth=1.4, label="without it")
    for epsilon, count in zip(epsilons, right, strict=True):
        ax.annotate(f"{count}", (epsilon, count), textcoords="offset points", xytext=(0, 7),
                    ha="center", color=palette.text)  # fmt: skip
    ax.set_ylim(45, 108)
    ax.set_ylabel("People")
    _epsilon_axis(ax, [epsilon for epsilon, _ in points])
    finish(ax, palette)


def _epsilon_axis(ax: Axes, epsilons: list[Fraction]) -> None:
    """Mark the epsilons of the plan on a logarithmic axis, as many as have room."""
    held = sorted(set(epsilons))
    kept = held[:: -(-len(held) // 7)]
    ax.set_xscale("log")
    ax.set_xlim(float(held[0]) / 1.25, float(held[-1]) * 1.25)
    ax.xaxis.set_major_locator(FixedLocator([float(epsilon) for epsilon in kept]))
    ax.xaxis.set_major_formatter(FixedFormatter([short_exact(epsilon) for epsilon in kept]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("ε")
