"""The picture: errors of entropy by records, and what privacy adds to that of each property."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from benchmarks import drawing
from benchmarks.properties import entropy_errors, noise_errors
from benchmarks.properties.noise_errors import EXACT, PROFILE, REPLACED, SPLIT, WHOLE
from benchmarks.properties.populations import LABELS, NAMES

_RESOLUTION = 110
# Okabe and Ito's colors, told apart by all eyes; markers differ as well.
_METHODS = {
    "plug-in": ("plug-in", "#8a94a0", "o"),
    "miller-madow": ("Miller–Madow", "#e69f00", "v"),
    "wu-yang": ("Wu–Yang", "#0072b2", "s"),
    "jvhw": ("JVHW", "#009e73", "D"),
    "apml": ("APML", "#cc79a7", "^"),
}
_NONE = 1e-6
_PRIVATE = "1"  # epsilon of the dashed lines
_DASHED: Any = (0, (2, 1.5))
_LINES: dict[Any, str] = {"-": "exact", _DASHED: f"released, ε = {_PRIVATE}"}
_WAYS: dict[str, dict[str, Any]] = {
    PROFILE: {"color": "#0072b2", "marker": "s", "markersize": 7},
    WHOLE: {"color": "#e69f00", "marker": "v", "markersize": 7},
    SPLIT: {"color": "#d55e00", "marker": "X", "markersize": 7},
    REPLACED: {"color": "#5b6570", "marker": "o", "markersize": 6.5, "markerfacecolor": "white"},
}
_TOLD = {
    PROFILE: "one release of the profile, for all five",
    WHOLE: "noise on the estimate, all of ε for it alone",
    SPLIT: "noise on the estimate, ε split over all five",
    REPLACED: "noise on the estimate, all of ε; n public, one record replaced",
}


def draw(path: Path, errors: entropy_errors.Errors, noises: noise_errors.Errors) -> None:
    """Draw both into one file."""
    figure = drawing.new_figure(10, 7.6)
    parts: Any = figure.subfigures(2, 1, height_ratios=[1.05, 1])
    upper, lower = parts
    axes: list[Axes] = upper.subplots(1, 3, sharey=True).tolist()
    for place, (ax, law) in enumerate(zip(axes, NAMES, strict=True)):
        _entropy(ax, errors, place)
        drawing.clean(ax, law)
    axes[0].set_ylabel("Error of entropy (RMSE), bits", fontsize=9.5)
    handles = [
        Line2D([], [], color=color, marker=marker, markersize=5, linewidth=1.6, label=name)
        for name, color, marker in _METHODS.values()
    ]
    handles += [
        Line2D([], [], color="#14202b", linestyle=style, linewidth=1.6, label=said)
        for style, said in _LINES.items()
    ]
    upper.suptitle(f"Entropy of {LABELS:,} labels (their number is known)", x=0.01, ha="left")
    upper.legend(handles=handles, loc="outside lower left", ncols=7, frameon=False, fontsize=9)
    _panels(lower, noises)
    figure.savefig(path, dpi=_RESOLUTION, facecolor="white")


def _entropy(ax: Axes, errors: entropy_errors.Errors, place: int) -> None:
    records = entropy_errors.RECORDS
    for method, (_, color, marker) in _METHODS.items():
        for epsilon, style in ((None, "-"), (_PRIVATE, _DASHED)):
            values = [
                errors[entropy_errors.Cell(method, n, epsilon, LABELS)][place] for n in records
            ]
            shown: dict[str, Any] = {"marker": marker, "markersize": 5} if epsilon is None else {}
            ax.plot(records, values, color=color, linestyle=style, linewidth=1.6, **shown)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.xaxis.set_major_locator(FixedLocator(list(records)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.yaxis.set_major_locator(FixedLocator([0.01, 0.03, 0.1, 0.3, 1, 3]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xlim(records[0] / 1.2, records[-1] * 1.25)
    ax.set_xlabel("Records", fontsize=9.5)


def _panels(lower: Any, noises: noise_errors.Errors) -> None:
    axes: list[Axes] = lower.subplots(1, 2, sharey=True, width_ratios=[1, 1.7]).tolist()
    names = noise_errors.names(noises)
    for ax, epsilon in zip(axes, noise_errors.EPSILONS, strict=True):
        for line, (way, style) in enumerate(_WAYS.items()):
            ratios = [_ratio(noises, name, epsilon, way) for name in names]
            # One below the other, as many are nearly the same.
            y = [place + 0.21 * (line - 1.5) for place in range(len(names))]
            ax.plot(ratios, y, linestyle="none", label=_TOLD[way], **style)
        drawing.clean(ax, f"ε = {epsilon}")
        ax.set_xlabel("Error divided by that of the exact profile", fontsize=9.5)
        ax.grid(False, axis="y")
        for place in range(0, len(names), 2):
            ax.axhspan(place - 0.5, place + 0.5, color="#f0f3f6", zorder=0)
        ax.axvline(1, color="#14202b", linewidth=1)
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(FixedLocator([1, 1.5, 2, 3, 5, 10, 20, 50]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.xaxis.set_minor_locator(NullLocator())
    axes[0].set_yticks(range(len(names)), [name.split(", b")[0].split(", l")[0] for name in names])
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    handles, labels = axes[0].get_legend_handles_labels()
    of = f"{noise_errors.RECORDS:,} records of {LABELS:,} labels"
    title = f"What privacy adds: {of}, geometric mean of the three laws"
    lower.suptitle(title, x=0.01, ha="left")
    lower.legend(handles, labels, loc="outside lower left", ncols=2, frameon=False, fontsize=9)


def _ratio(noises: noise_errors.Errors, name: str, epsilon: str, way: str) -> float:
    """Geometric mean over the laws of the error over that of the exact profile."""

    def of(how: str) -> Sequence[float]:
        return noises[noise_errors.Cell(name, epsilon, how)]

    # Of a few samples, all errors may be 0: the limit log k is the uniform law's entropy.
    logs = [
        math.log(max(a, _NONE) / max(b, _NONE)) for a, b in zip(of(way), of(EXACT), strict=True)
    ]
    return math.exp(sum(logs) / len(logs))
