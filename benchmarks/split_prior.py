"""How splits depend on their parents': `python -m benchmarks.split_prior`.

Counts the splits of the one-dimensional shapes there are, by the kind of their parent's split, and
prints the table that `dphist.ranges.adaptive_tree.share_prior` holds, in thousandths, beside what
it holds.

Each shape's splits are counted over all nodes of its binary tree with at least 100 records and
1e-5 of all. Shapes weigh as the root of their numbers of splits. One split of the overall prior is
added to each kind. What is taken from the shapes is only how a kind differs from the mean of all
kinds: the overall prior is that of a first version, which knew no kinds and was fitted by trying.
"""

import numpy as np

from benchmarks.markdown import print_table
from benchmarks.ranges.data import Shape, read_shapes
from dphist.arrays import FloatArray
from dphist.ranges.adaptive_tree import share_prior

# Both halves together: one half empty, sixteen pieces from 0 to 1/2, equal halves.
OVERALL = np.array([190, 12, 10, 14, 18, 20, 28, 36, 50, 62, 72, 110, 114, 94, 44, 28, 18, 80.0])
CENTER = slice(15, 18)  # too few splits tell these pieces apart: they keep the overall proportions
LEAST_RECORDS, LEAST_SHARE = 100, 1e-5


def splits_of(shape: Shape) -> FloatArray:
    """Count the splits of a shape: (4 kinds of the parent's split, 18 components)."""
    levels = [shape.counts / shape.counts.sum()]
    while len(levels[-1]) > 1:
        padded = np.append(levels[-1], np.zeros(len(levels[-1]) % 2))
        levels.append(padded.reshape(-1, 2).sum(axis=1))
    levels.reverse()
    total, counted = shape.counts.sum(), np.zeros((4, 18))
    for above, own, below in zip(levels, levels[1:], levels[2:], strict=False):
        first = below[::2][: len(own)] / np.maximum(own, 1e-300)
        parents = np.repeat(own[::2][: len(above)] / np.maximum(above, 1e-300), 2)[: len(own)]
        smaller = np.minimum(first, 1 - first)
        component = np.where(
            smaller <= 1e-12, 0, np.digitize(smaller, share_prior._EDGES[1:-1]) + 1
        )
        component[np.abs(first - 0.5) < 1e-9] = 17
        kind = np.digitize(np.abs(parents - 0.5), share_prior._KIND_EDGES)
        seen = (own * total >= LEAST_RECORDS) & (own >= LEAST_SHARE)
        np.add.at(counted, (kind[seen], component[seen]), 1)
    return counted


def table_of(shapes: list[Shape]) -> FloatArray:
    """Return the table, (4, 18), each row adding up to 1."""
    overall = OVERALL / OVERALL.sum()
    counted = [splits_of(shape) for shape in shapes]
    mean = np.mean([one / np.sqrt(max(one.sum(), 1)) for one in counted], axis=0) + overall
    mean[:, CENTER] = mean[:, CENTER].sum(axis=1, keepdims=True) * (
        overall[CENTER] / overall[CENTER].sum()
    )
    mean /= mean.sum(axis=1, keepdims=True)
    found = overall * mean / mean.mean(axis=0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def main() -> None:
    """Print the table beside the one in use."""
    found = np.rint(1000 * table_of(read_shapes(axes=1))).astype(int)
    kinds = ("even", "nearly even", "rough", "very rough")
    rows = []
    for kind, counted, held in zip(kinds, found, share_prior._SMALLER_HALF, strict=True):
        rows += [[f"{kind}, counted", *counted], [f"{kind}, in use", *held]]
    print_table(["parent's split", "empty", *map(str, range(1, 17)), "equal"], rows)


if __name__ == "__main__":
    main()
