"""Pictures like Fig. 5 and Fig. 7 of Hay et al. (2010)."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

from benchmarks import drawing
from benchmarks.hay2010.errors import FloatArray, Histogram

_RESOLUTION = 110
_COLUMNS = 3
# An overview of more positions than this shows means of neighbors, or it would be a blot.
_MOST_POSITIONS = 500
_POINTS = 60
# As in the paper: the better, the darker.
_BARS = {
    "raw": (r"$\tilde{S}$, the noisy counts", "#cfd6dd"),
    "sorted": (r"$\tilde{S}_r$, sorted and rounded", "#8796a5"),
    "projected": (r"$\bar{S}$, projected", "#14202b"),
}
_LINES: dict[str, dict[str, Any]] = {
    "sorted": {"color": "#d08a2e", "linewidth": 0.9, "label": _BARS["sorted"][0]},
    "projected": {"color": "#14202b", "linewidth": 1.3, "label": _BARS["projected"][0]},
}


def draw_errors(
    path: Path,
    found: Sequence[Histogram],
    errors: Mapping[tuple[str, str], Mapping[str, FloatArray]],
    epsilons: Sequence[str],
) -> None:
    """Draw, a panel a sequence, three bars an epsilon on a logarithmic axis (Fig. 5)."""
    columns = min(_COLUMNS, len(found))
    lines = math.ceil(len(found) / columns)
    figure = drawing.new_figure(max(3.5 * columns, 6), 2.4 * lines + 0.7)
    axes: list[Axes] = figure.subplots(lines, columns, squeeze=False, sharey=True).ravel().tolist()
    for ax in axes[len(found) :]:
        ax.set_axis_off()
    for place, (ax, histogram) in enumerate(zip(axes, found, strict=False)):
        means = {
            name: [float(errors[histogram.name, e][name].mean()) for e in epsilons]
            for name in _BARS
        }
        _triplets(ax, means)
        drawing.clean(ax, f"{histogram.name}\nn = {histogram.labels:,} labels")
        ax.grid(False, axis="x")
        ax.set_axisbelow(True)
        ax.set_xticks(range(len(epsilons)), [f"ε = {e}" for e in epsilons])
        ax.tick_params(axis="x", length=0)
        if place % columns == 0:
            ax.set_ylabel("Squared error, records²", fontsize=9)
    _whole_decades(axes[0], [float(one[name].mean()) for one in errors.values() for name in _BARS])
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=3, frameon=False, fontsize=9.5)
    figure.savefig(path, dpi=_RESOLUTION)


def _triplets(ax: Axes, means: Mapping[str, Sequence[float]]) -> None:
    width = 0.26
    for place, (name, values) in enumerate(means.items()):
        label, color = _BARS[name]
        x = np.arange(len(values)) + (place - 1) * width
        ax.bar(x, values, width, color=color, label=label)


def _whole_decades(ax: Axes, values: Sequence[float]) -> None:
    ax.set_yscale("log")
    # A bar or a line should not end close to the edge.
    low, high = math.floor(math.log10(min(values) / 1.5)), math.ceil(math.log10(max(values) * 1.2))
    ax.set_ylim(10.0**low, 10.0**high)
    ax.yaxis.set_major_locator(LogLocator(numticks=high - low + 1))
    ax.yaxis.set_minor_locator(NullLocator())


def parts(histogram: Histogram) -> dict[str, tuple[int, int]]:
    """Return the first and last position, from 1, of the parts worth a look.

    The head, where counts are rare; the longest run of equal counts above 0, its ends and
    its middle; and, where there is one, the middle of the run of zeros.
    """
    found = {"head": (1, 20)}
    first, last = longest_run(histogram)
    quarter = (last - first + 1) // 4
    count = histogram.counts[first - 1]
    found[f"the run of {count}s, first"] = (first, first)
    found[f"the run of {count}s, middle half"] = (first + quarter, last - quarter)
    found[f"the run of {count}s, last"] = (last, last)
    zeros = int(np.count_nonzero(histogram.counts == 0))
    if zeros > 8:
        start = histogram.labels - zeros + 1
        found["zeros, middle half"] = (start + zeros // 4, histogram.labels - zeros // 4)
    return found


def longest_run(histogram: Histogram) -> tuple[int, int]:
    """Return the first and last position, from 1, of the longest run of equal counts above 0."""
    counts = histogram.counts
    values, lengths = np.unique(counts[counts > 0], return_counts=True)
    count = values[np.argmax(lengths)]
    first = int(np.count_nonzero(counts > count)) + 1
    return first, first + int(lengths.max()) - 1


def draw_positions(
    path: Path, histogram: Histogram, errors: Mapping[str, FloatArray], expected: float
) -> None:
    """Draw true counts and errors by position: an overview, the head, a long run (Fig. 7)."""
    first, last = longest_run(histogram)
    around = max(8, (last - first) // 3)
    nonzero = int(np.count_nonzero(histogram.counts))
    windows = {
        # Zeros are alike: the paper's figure, too, leaves most of them out.
        "Overview": (1, min(histogram.labels, nonzero + nonzero // 2)),
        "Head": (1, 30),
        f"Longest run: {last - first + 1} counts of {histogram.counts[first - 1]}": (
            max(1, first - around),
            min(histogram.labels, last + around),
        ),
    }
    figure = drawing.new_figure(10.5, 5.2)
    axes = figure.subplots(2, 3, sharex="col", width_ratios=[1.5, 1, 1.2])
    for place, (title, window) in enumerate(windows.items()):
        upper, lower = axes[0, place], axes[1, place]
        _true(upper, histogram, window, title)
        size = _errors(lower, errors, expected, window)
        if size > 1:
            lower.set_title(f"means of {size} neighbors", loc="right", fontsize=8.5)
        if place == 0:
            upper.set_ylabel("True count, records", fontsize=9)
            lower.set_ylabel("Mean squared error, records²", fontsize=9)
    drawn = np.concatenate([line.get_ydata() for ax in axes[1] for line in ax.get_lines()])
    for ax in axes[1]:
        _whole_decades(ax, [float(drawn[drawn > 0].min()), float(drawn.max())])
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=3, frameon=False, fontsize=9.5)
    figure.savefig(path, dpi=_RESOLUTION)


def _true(ax: Axes, histogram: Histogram, window: tuple[int, int], title: str) -> None:
    first, last = window
    shown = histogram.counts[first - 1 : last]
    ax.step(np.arange(first, last + 1), shown, where="mid", color=drawing.GRAY, linewidth=1.6)
    drawing.clean(ax, title)
    if shown[0] > 20 * max(shown[-1], 1):
        ax.set_yscale("symlog", linthresh=1)
        ax.set_ylim(0, 2 * shown[0])
        ax.yaxis.set_minor_formatter(NullFormatter())


def _errors(
    ax: Axes, errors: Mapping[str, FloatArray], expected: float, window: tuple[int, int]
) -> int:
    """Draw the errors of a window; return of how many neighbors each point is the mean."""
    first, last = window
    shown = last - first + 1
    size = shown // _POINTS if shown > _MOST_POSITIONS else 1
    label = r"$\tilde{S}$, the noisy counts (expected)"
    ax.axhline(expected, color="#68737e", linestyle=":", linewidth=1.4, label=label)
    for name, style in _LINES.items():
        # The last neighbors, fewer than a group, are left out.
        grouped = errors[name][first - 1 : last][: shown // size * size].reshape(-1, size)
        middles = first + (size - 1) / 2 + size * np.arange(len(grouped))
        ax.plot(middles, grouped.mean(axis=1), **style)
    drawing.clean(ax)
    ax.set_xlabel("Position in the sorted sequence", fontsize=9)
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.set_xlim(first - 0.02 * (last - first), last + 0.02 * (last - first))
    return size
