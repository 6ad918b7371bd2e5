"""Public data on which the expected error of a mechanism is computed."""

import numpy as np

from dphist.arrays import IntArray

_BOXES = 2000


def uneven(bins: tuple[int, ...], total: int, number: int = 0) -> IntArray:
    """Return `total` records in uneven parts, as whole numbers, the same for each `number`.

    Every half of an interval, from the whole axis down to single bins, has a share of its records
    that is drawn from the law Beta(2, 2), in several axes by turns. Real histograms are about as
    rough, where a bell curve is so smooth that mechanisms for ranges are too good at it
    (`docs/guides/planning.md`).

    >>> uneven((4,), 100)
    array([ 9, 32, 28, 31])
    """
    rng = np.random.default_rng(number)  # public: it protects nobody
    density = np.ones((1,) * len(bins))
    while any(held < wanted for held, wanted in zip(density.shape, bins, strict=True)):
        for axis, wanted in enumerate(bins):
            if density.shape[axis] < wanted:
                share = rng.beta(2, 2, density.shape)
                halves = np.stack([density * share, density * (1 - share)], axis + 1)
                doubled = list(density.shape)
                doubled[axis] *= 2
                density = halves.reshape(doubled)
    density = density[tuple(slice(wanted) for wanted in bins)]
    # Round cumulative sums, so that the total is exact however few records a bin has.
    sums = np.rint(np.cumsum(density.ravel()) / density.sum() * total).astype(np.int64)
    counts: IntArray = np.diff(sums, prepend=0).reshape(bins)
    return counts


def random_boxes(bins: tuple[int, ...]) -> tuple[list[IntArray], list[IntArray]]:
    """Return 2,000 boxes with uniformly random ends, always the same: lo and hi by axis."""
    rng = np.random.default_rng(0)  # the ranges on public data are not secret
    ends = [np.sort(rng.integers(0, n + 1, (2, _BOXES)), axis=0) for n in bins]
    return [lo for lo, _ in ends], [hi for _, hi in ends]
