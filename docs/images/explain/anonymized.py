"""Figures of anonymized histograms: Ferrers diagrams, and the regions that are counted."""

import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle
from style import BLUE, GRAY, GREEN, ORANGE, PALE, panels, repeatable, save

import dphist as dh

SMALL = (30, 22, 17, 14, 11, 9, 8, 6, 5, 5, 4, 3, 3, 2, 2, 2, 1, 1, 1, 1)


def _diagram(axes: Any, counts: tuple[int, ...], color: str = PALE) -> None:
    """Draw a row for each label, as long as its count."""
    axes.barh(np.arange(len(counts)) + 0.5, counts, height=1.0, color=color)
    axes.set(ylim=(len(counts) + 0.6, -0.6), xlim=(-0.6, counts[0] + 0.8))
    axes.set(xlabel="records", ylabel="labels, largest first")


def _box(axes: Any, x: float, y: float, width: float, height: float, color: str) -> None:
    axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor=color, linewidth=1.1))


def regions() -> None:
    """Which cells of the diagram each mechanism counts together."""
    figure, axes = panels(10, 3.0, 1, 1, 1, 1)
    titles = ("SortedCounts", "CumulativeCounts", "RankSplit", "PrivHist")
    columns = [sum(count > at for count in SMALL) for at in range(SMALL[0])]
    for each, title in zip(axes, titles, strict=True):
        _diagram(each, SMALL)
        each.set_title(title)
        each.set(yticks=[], ylabel="")
    axes[0].set_ylabel("labels, largest first")
    for row, count in enumerate(SMALL):
        _box(axes[0], 0, row, count, 1, BLUE)
    for at, height in enumerate(columns):
        _box(axes[1], at, 0, 1, height, ORANGE)
    split = 5
    for row, count in enumerate(SMALL[:split]):
        _box(axes[2], 0, row, count, 1, BLUE)
    for at in range(SMALL[split]):
        _box(axes[2], at, split, 1, columns[at] - split, ORANGE)
    for at, height in enumerate(columns[:5]):
        _box(axes[3], at, 0, 1, height, ORANGE)
    for row, count in enumerate(SMALL):
        if count > 5:
            _box(axes[3], 5, row, count - 5, 1, BLUE)
    save(
        figure,
        "regions",
        "What four mechanisms count",
        "Four copies of a Ferrers diagram. SortedCounts counts each row, CumulativeCounts each "
        "column, RankSplit the first five rows and then the columns below them, and PrivHist the "
        "columns of small counts and the rows of large ones.",
    )


def adaptive_scan() -> None:
    """A release of the adaptive scan: its blocks, and what is decoded from them."""
    ranks = np.arange(1, 90)
    counts = tuple(np.maximum(1, np.round(70 / ranks**0.75)).astype(int).tolist())
    released = dh.AdaptiveScan(epsilon=0.5).release(
        dh.Profile.from_counts(counts), source=repeatable("scan 3")
    )
    noisy = _noisy(released)
    figure, (left, right) = panels(10, 3.8, 1.25, 1)
    _diagram(left, counts)
    ends = noisy["column_ends"]
    for begin, end in itertools.pairwise(ends):
        height = sum(min(max(count - begin, 0), end - begin) for count in counts) / (end - begin)
        _box(left, begin, 0, end - begin, height, ORANGE)
    first = ends[-1]
    row_ends = [end for end in noisy["row_ends"] if end <= len(counts)]
    for begin, end in itertools.pairwise(row_ends):
        width = sum(max(count - first, 0) for count in counts[begin:end]) / (end - begin)
        if width:
            _box(left, first, begin, width, end - begin, BLUE)
    left.set_title("What is counted: columns, then rows")
    value = released.value
    shown = np.repeat(value.counts[::-1], value.prevalences[::-1])
    right.step(range(1, len(counts) + 1), counts, where="mid", color=GRAY, label="true")
    right.step(range(1, len(shown) + 1), shown, where="mid", color=GREEN, label="released")
    right.set(title="What is decoded, at ε = 0.5", xlabel="rank of the label", ylabel="records")
    right.set(xscale="log", yscale="log")
    right.legend()
    save(
        figure,
        "adaptive-scan",
        "The adaptive scan on a Ferrers diagram",
        "On the left, a diagram with a row for each of 89 labels. Its first columns are counted "
        "in narrow blocks from the left; what remains on the right is counted row by row. No cell "
        "is counted twice. On the right, the released counts follow the true ones closely.",
    )


def _noisy(release: Any) -> dict[str, Any]:
    """Return the noisy counts that a release keeps."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.json"
        release.save(path)
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["noisy"]
    return found


def partition_sampler() -> None:
    """Whole histograms near the true one, of which one is drawn."""
    counts = (9, 6, 4, 3, 2, 1, 1)
    near = [(9, 6, 4, 3, 2, 1, 1), (9, 6, 5, 3, 2, 1), (8, 6, 4, 3, 2, 2, 1), (11, 5, 4, 3, 1)]
    figure, axes = panels(10, 2.5, 1, 1, 1, 1)
    for each, candidate in zip(axes, near, strict=True):
        _diagram(each, candidate, GREEN if candidate == counts else PALE)
        padded = list(candidate) + [0] * (len(counts) - len(candidate))
        away = sum(abs(a - b) for a, b in zip(counts, padded, strict=True))
        rows = np.repeat(np.arange(len(counts) + 1), 2)[1:-1]
        each.plot(np.repeat(counts, 2), rows, color=GRAY, linewidth=1.2)
        each.set(ylim=(len(counts) + 0.6, -0.6), xlim=(-0.6, 12), yticks=[], ylabel="")
        each.set_title("the true one" if not away else f"{away} records away", fontsize=9.5)
    axes[0].set_ylabel("labels")
    save(
        figure,
        "partition-sampler",
        "Candidates of PartitionSampler",
        "Four Ferrers diagrams: the true one, and three that are two, two and six records away. "
        "A histogram is drawn as a whole, and each candidate has a chance that falls by a factor "
        "with each record that it is away.",
    )
