"""A uniform choice of labels from each of many sets: of a user's labels, or of an event's."""

import numpy as np

from dphist.arrays import BoolArray, IntArray
from dphist.noise.inversion import Source, check_source

_BYTES = 8  # of randomness per label; ties are rare, and are drawn again


def compute_starts(lengths: IntArray) -> IntArray:
    """Return the starts of sets with these numbers of labels, and the end of the last set."""
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def choose_labels(starts: IntArray, most: int, source: Source | None = None) -> BoolArray:
    """Choose at most `most` labels of each set, uniformly at random, without replacement.

    Parameters
    ----------
    starts : (sets + 1,) int64
    most : maximum number of labels of a set
    source : `source(n)` returns n random bytes. For tests only (default: the operating system's
        randomness).

    Returns
    -------
    (labels,) bool, true for the labels to keep.

    Notes
    -----
    Each label gets a random number, and a set keeps the labels with the smallest numbers. If no
    two numbers of a set are equal, all orders are equally likely and independent of other
    sets. If two are equal, all numbers are drawn again, so the choice is exactly uniform.
    """
    lengths = np.diff(starts)
    large = lengths > most
    keep = np.ones(int(starts[-1]), np.bool_)
    if not large.any():
        return keep
    draw = check_source(source)
    sizes = lengths[large]
    firsts = compute_starts(sizes)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    while True:
        keys = np.frombuffer(draw(_BYTES * len(owners)), "<u8")
        order = np.lexsort((keys, owners))  # moves labels within their sets only
        ordered = keys[order]
        tied = (ordered[1:] == ordered[:-1]) & (owners[1:] == owners[:-1])
        if not tied.any():
            break
    rank = np.arange(len(owners)) - firsts[:-1][owners]
    stays = np.empty(len(owners), np.bool_)
    stays[order] = rank < most
    keep[np.repeat(large, lengths)] = stays
    return keep
