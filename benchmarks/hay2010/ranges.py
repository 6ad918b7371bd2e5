"""The experiment of Hay, Rastogi, Miklau and Suciu (2010), Fig. 6, and their Theorem 4 (iv).

    python -m benchmarks.hay2010.ranges [--figure FILE] [--bins N]

Prints Markdown tables of the squared error of ranges by their size, on a network trace and search
logs like theirs: leaves, a binary tree, and the tree made consistent, plain and with their
heuristic for sparse data. Data as `benchmarks.ranges.data` finds them, 4,096 bins each. The
paper's network trace had some 65,000 hosts and was sparser: ours is also shown with empty bins
added, to 65,536.

- L̃: noisy bins. H̃: fewest nodes of a noisy tree. H̄: least squares. All answers are rounded to
  whole numbers of at least 0; in "L̃ cut" the bins are, and not only their sums.
- H̄ zeroed: subtrees whose root is at most 0 set to 0 (sec. 4.2); ranges are sums of the fewest
  nodes or, in "H̄ zeroed, added", of bins.
- H̄ projected: what `HierarchicalTree` makes of the same noisy tree unless told otherwise.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from benchmarks import drawing
from benchmarks.data import folder
from benchmarks.hay2010.__main__ import with_error
from benchmarks.hay2010.errors import ratio, standard_error
from benchmarks.markdown import print_table
from benchmarks.ranges.by_size import RANGES, SYMBOLS, errors_by_size, sizes_of, widened
from benchmarks.ranges.data import Shape, read_shapes
from benchmarks.ranges.theorem4 import advantage
from dphist.arrays import FloatArray
from dphist.lab.comparing.results import number_text

EPSILONS = ("1", "0.1", "0.01")
TRACE, LOGS = "NETTRACE", "SEARCHLOGS"
BINS = 65_536
RUNS = 50  # as in the paper
TREES = ((2, 4), (2, 8), (2, 11), (2, 16), (4, 5), (16, 3), (16, 4))

_COLORS = {
    "leaves": ("#d08a2e", "o"),
    "nodes": ("#8796a5", "D"),
    "fitted": ("#14202b", "s"),
    "zeroed": ("#2f6f8f", "^"),
    "projected": ("#7a9a3a", "v"),
}

Errors = dict[tuple[str, str], dict[str, FloatArray]]


def shapes_of(bins: int) -> list[Shape]:
    """Return the two of the paper's kind, or any two; and the sparser of them with more bins."""
    if folder("ranges") is None:
        return []
    found = read_shapes(1)
    two = [one for one in found if one.name in (TRACE, LOGS)] or found[:2]
    sparser = max(two, key=lambda one: np.mean(one.counts == 0))
    return [*two, widened(sparser, bins)] if bins > len(sparser.counts) else two


def print_errors(shapes: Sequence[Shape], errors: Errors) -> None:
    """Print mean squared errors by size and the two ratios the paper speaks of."""
    gains = {"H̃ / H̄": ("nodes", "fitted"), "L̃ / H̄ zeroed": ("leaves", "zeroed")}
    for shape in shapes:
        sizes = sizes_of(len(shape.counts))
        for epsilon in EPSILONS:
            mine = errors[shape.name, epsilon]
            rows = [
                [f"{size:,}"]
                + [number_text(float(mine[name][:, place].mean())) for name in SYMBOLS]
                + [
                    with_error(ratio(mine[a][:, place], mine[b][:, place]))
                    for a, b in gains.values()
                ]
                for place, size in enumerate(sizes)
            ]
            print()
            print_table([f"{shape.name}, ε = {epsilon}: size", *SYMBOLS.values(), *gains], rows)


def print_claims(shapes: Sequence[Shape], errors: Errors) -> None:
    """Print where each estimate is below another, by size."""
    pairs = {
        f"{SYMBOLS[a]} below {SYMBOLS[b]}": (a, b)
        for a, b in (
            ("fitted", "nodes"),
            ("nodes", "leaves"),
            ("fitted", "leaves"),
            ("zeroed", "nodes"),
            ("zeroed", "leaves"),
            ("zeroed", "cut leaves"),
            ("projected", "leaves"),
        )
    }
    rows = []
    for shape in shapes:
        sizes = sizes_of(len(shape.counts))
        for epsilon in EPSILONS:
            mine = {name: one.mean(axis=0) for name, one in errors[shape.name, epsilon].items()}
            found = [sizes_text(sizes, (mine[a] < mine[b]).tolist()) for a, b in pairs.values()]
            rows.append([shape.name, epsilon, *found])
    print()
    print_table(["at sizes", "ε", *pairs], rows)


def sizes_text(sizes: Sequence[int], holds: Sequence[bool]) -> str:
    """Say at which sizes something holds, in runs of them."""
    if all(holds):
        return "all"
    runs: list[list[int]] = []
    for place, (size, one) in enumerate(zip(sizes, holds, strict=True)):
        if one and (place == 0 or not holds[place - 1]):
            runs.append([])
        if one:
            runs[-1].append(size)
    texts = [f"{run[0]:,}" + (f" to {run[-1]:,}" if len(run) > 1 else "") for run in runs]
    return ", ".join(texts) or "none"


def print_theorem() -> None:
    """Print how much less H- errs than H~ on all bins but two."""
    rows = []
    for branching, levels in TREES:
        one = advantage(branching, levels)
        solved = "" if one.solved is None else f"{one.solved:.3f}"
        rows.append(
            [
                f"{branching}, {levels}",
                f"{branching ** (levels - 1):,}",
                one.nodes,
                solved,
                f"{one.passes:.3f}",
                f"{one.factor:.2f}",
                f"{one.nodes / one.passes:.2f}",
                with_error(one.simulated),
            ]
        )
    head = ["children k, levels ℓ", "bins", "variance of H̃", "of H̄, solved", "by passes"]
    head += ["factor stated", "factor", "simulated"]
    print()
    print_table(head, rows)


def draw(path: Path, shapes: Sequence[Shape], errors: Errors) -> None:
    """Draw errors by size, a row a histogram, a column an epsilon, as in the paper."""
    figure = drawing.new_figure(10.5, 3.1 * len(shapes) + 0.6)
    axes = figure.subplots(len(shapes), len(EPSILONS), squeeze=False, sharey="row")
    for row, shape in zip(axes, shapes, strict=True):
        sizes = sizes_of(len(shape.counts))
        for ax, epsilon in zip(row, EPSILONS, strict=True):
            _panel(ax, sizes, errors[shape.name, epsilon])
            drawing.clean(ax, f"{shape.name}, ε = {epsilon}")
        row[0].set_ylabel("Mean squared error, records²", fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("Size of the range, bins", fontsize=9)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=5, frameon=False, fontsize=9.5)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _panel(ax: Axes, sizes: Sequence[int], errors: dict[str, FloatArray]) -> None:
    for name, (color, marker) in _COLORS.items():
        means = errors[name].mean(axis=0)
        style: dict[str, Any] = {
            "color": color,
            "marker": marker,
            "markersize": 4,
            "linewidth": 1.4,
        }
        ax.plot(sizes, means, label=SYMBOLS[name], **style)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and, if asked, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--runs", type=int, default=RUNS, help=f"noisy trees a cell, default {RUNS}")
    add("--bins", type=int, default=BINS, help=f"of the wider trace, default {BINS}; 0: none")
    add("--figure", type=Path, metavar="FILE", help="draw to this PNG")
    chosen = parser.parse_args(arguments)
    if chosen.runs < 2:
        parser.error("--runs must be at least 2: one run has no standard error")
    shapes = shapes_of(chosen.bins)
    print(f"Means of {chosen.runs} noisy trees and of {RANGES:,} ranges of a size for each.")
    if not shapes:
        print("No folder of data (see benchmarks/data.py): only the theorem is checked.")
    errors = {
        (shape.name, epsilon): errors_by_size(shape, epsilon, chosen.runs)
        for shape in shapes
        for epsilon in EPSILONS
    }
    if shapes:
        print_errors(shapes, errors)
        print_claims(shapes, errors)
        worst = max(
            standard_error(one[:, place]) / max(one[:, place].mean(), 1e-9)
            for cell in errors.values()
            for one in cell.values()
            for place in range(one.shape[1])
        )
        print(f"\nLargest relative standard error of a mean: {100 * worst:.0f} %.")
        if chosen.figure:
            draw(chosen.figure, shapes, errors)
    print_theorem()


if __name__ == "__main__":
    main()
