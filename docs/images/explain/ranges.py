"""Figures of ranges: trees of sums over bins."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle
from style import BLUE, GRAY, ORANGE, PALE, panels, repeatable, save

import dphist as dh

BINS = 64


def _nodes(axes: Any, levels: int, bins: int, chosen: dict[int, str]) -> None:
    """Draw a tree as layers of boxes, the whole on top; heap numbers name the nodes."""
    for level in range(levels):
        width = bins >> level
        for place in range(1 << level):
            node = (1 << level) + place
            axes.add_patch(
                Rectangle(
                    (place * width, -level - 0.9),
                    width,
                    0.8,
                    facecolor=chosen.get(node, "white"),
                    edgecolor=GRAY,
                    linewidth=0.5,
                )
            )
    axes.set(xlim=(-0.3, bins + 0.3), ylim=(-levels - 0.1, 0.1), yticks=[])
    axes.spines[["left", "bottom"]].set_visible(False)


def tree() -> None:
    """A range is the sum of few nodes."""
    figure, (axes,) = panels(9, 2.8, 1)
    low, high = 3, 14
    parts = {}
    begin, end = low + 16, high + 16
    while begin < end:
        if begin & 1:
            parts[begin] = BLUE
            begin += 1
        if end & 1:
            end -= 1
            parts[end] = BLUE
        begin, end = begin >> 1, end >> 1
    _nodes(axes, 5, 16, parts)
    axes.set(title="Bins 3 to 13 are the sum of four nodes, not of eleven bins", xlabel="bins")
    axes.set_xticks([each + 0.5 for each in range(16)], [str(each) for each in range(16)])
    axes.tick_params(length=0)
    axes.plot([low, high], [-5.02, -5.02], color=ORANGE, linewidth=4, solid_capstyle="butt")
    save(
        figure,
        "tree",
        "A tree of sums over sixteen bins",
        "Five layers of boxes: the whole, halves, quarters, eighths and single bins. The range of "
        "bins 3 to 13 is made of four boxes, so that it has the noise of four "
        "counts, not of eleven.",
    )


def adaptive_tree() -> None:
    """Where the adaptive tree opens nodes."""
    at = np.arange(BINS)
    counts = np.round(90 * np.exp(-(((at - 27) / 5.0) ** 2)) + 300 * (np.abs(at - 49) < 1.5))
    released = dh.AdaptiveTree(epsilon=1, bins=BINS).release(
        counts.astype(int).tolist(), source=repeatable("tree 1")
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.json"
        released.save(path)
        noisy = json.loads(path.read_text(encoding="utf-8"))["noisy"]
    figure, (upper, lower) = panels(10, 3.2, 1, 1)
    measured = dict.fromkeys(noisy["nodes"], ORANGE)
    _nodes(lower, 7, BINS, measured)
    lower.set(title="Nodes that are measured (orange)", xlabel="bins")
    upper.bar(at + 0.5, counts, 1.0, color=PALE, label="true")
    upper.step(
        np.arange(BINS + 1),
        [*(released.value.count_bins(i, i + 1) for i in range(BINS)), 0],
        where="post",
        color=BLUE,
    )
    upper.plot([], [], color=BLUE, label="released")
    upper.set(title="Counts, at ε = 1", xlabel="bins", ylabel="records")
    upper.legend()
    save(
        figure,
        "adaptive-tree",
        "The adaptive tree opens where it pays",
        "On the left, a histogram of 64 bins with a wide hill and a narrow peak, and the released "
        "counts. On the right, the tree over the bins. Every node of the fifth layer is measured; "
        "single bins are measured at the hill and the peak only, and empty parts once more as "
        "wholes.",
    )
