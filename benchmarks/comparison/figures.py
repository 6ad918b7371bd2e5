"""The comparison in three pictures: error by profile, means over profiles, time."""

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from benchmarks import drawing
from benchmarks.comparison.ranking import Row, Summary, grouped, summaries
from dphist.lab.comparing.results import epsilon_text

_COLUMNS = 4
_RESOLUTION = 130


def write_figures(folder: Path, rows: Sequence[Row]) -> None:
    """Write `errors.png`, `summary.png` and `seconds.png`."""
    _errors(folder / "errors.png", rows)
    _summary(folder / "summary.png", rows)
    _seconds(folder / "seconds.png", rows)


def _errors(path: Path, rows: Sequence[Row]) -> None:
    """Error over n against epsilon, a panel a profile."""
    panels = grouped(rows, lambda row: row.cell.dataset.name)
    columns = min(_COLUMNS, len(panels))
    lines = math.ceil(len(panels) / columns)
    figure = drawing.new_figure(max(3.4 * columns, 10), 2.7 * lines + 1.2)
    axes: list[Axes] = figure.subplots(lines, columns, squeeze=False).ravel().tolist()
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    for place, (name, some) in enumerate(panels.items()):
        ax = axes[place]
        drawing.clean(ax, f"{name}\nn = {some[0].cell.dataset.profile.total:,}")
        for mine in grouped(some, lambda row: row.cell.contender).values():
            # An error of 0 in all runs has no place on a logarithmic axis.
            seen = [row for row in mine if row.measured.error > 0]
            ax.plot(
                [float(row.cell.epsilon) for row in seen],
                [row.per_record for row in seen],
                **drawing.line_style(mine[0].cell.contender),
            )
        drawing.epsilon_axis(ax, (float(row.cell.epsilon) for row in rows))
        drawing.log_y_axis(ax, (row.per_record for row in some))
        if place % columns == 0:
            ax.set_ylabel("Sorted L1 error / n")
        if place + columns >= len(panels):
            ax.set_xlabel("ε")
    drawing.legend(figure, (row.cell.contender for row in rows))
    figure.savefig(path, dpi=_RESOLUTION)


def _summary(path: Path, rows: Sequence[Row]) -> None:
    """Relative error and rank, means over profiles, against epsilon."""
    means = summaries(rows)
    figure = drawing.new_figure(11, 5)
    left, right = figure.subplots(1, 2).tolist()
    drawing.clean(left, "Error relative to the best pure mechanism given nothing")
    drawing.clean(right, "Rank, 1 is the lowest error")
    for contender in dict.fromkeys(summary.contender for summary in means):
        mine = [summary for summary in means if summary.contender == contender]
        relative = [summary for summary in mine if summary.relative is not None]
        style = drawing.line_style(contender)
        left.plot(_epsilons(relative), [summary.relative for summary in relative], **style)
        right.plot(_epsilons(mine), [summary.rank for summary in mine], **style)
    drawing.log_y_axis(left, (summary.relative or 0 for summary in means))
    left.axhline(1, color=drawing.GRAY, linewidth=1, zorder=1)
    left.set_ylabel("Geometric mean over profiles")
    right.set_ylabel("Mean over profiles")
    right.invert_yaxis()
    for ax in (left, right):
        drawing.epsilon_axis(ax, (float(summary.epsilon) for summary in means))
        ax.set_xlabel("ε")
    drawing.legend(figure, (summary.contender for summary in means))
    figure.savefig(path, dpi=_RESOLUTION)


def _epsilons(means: Sequence[Summary]) -> list[float]:
    return [float(summary.epsilon) for summary in means]


def _seconds(path: Path, rows: Sequence[Row]) -> None:
    """Seconds of a release against n, a panel an epsilon."""
    panels = grouped(rows, lambda row: row.cell.epsilon)
    columns = min(3, len(panels))
    lines = math.ceil(len(panels) / columns)
    figure = drawing.new_figure(max(4 * columns, 10), 3 * lines + 1.2)
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True).ravel().tolist()
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    for place, (epsilon, ax) in enumerate(zip(sorted(panels, reverse=True), axes, strict=False)):
        drawing.clean(ax, f"ε = {epsilon_text(epsilon)}")
        for mine in grouped(panels[epsilon], lambda row: row.cell.contender).values():
            style = drawing.marker_style(mine[0].cell.contender)
            totals = [max(row.cell.dataset.profile.total, 1) for row in mine]
            ax.plot(totals, [row.measured.seconds for row in mine], **style)
        ax.set_xscale("log")
        if place % columns == 0:
            ax.set_ylabel("Seconds per release")
        if place + columns >= len(panels):
            ax.set_xlabel("n, records")
            ax.xaxis.set_tick_params(labelbottom=True)
    drawing.log_y_axis(axes[0], (row.measured.seconds for row in rows))
    drawing.legend(figure, (row.cell.contender for row in rows), drawing.marker_style)
    figure.savefig(path, dpi=_RESOLUTION)
