"""Drawing of noise for the contrasts of a table: each contrast gets one draw of its own scale."""

from fractions import Fraction
from functools import lru_cache

import numpy as np

from dphist.arrays import AnyArray, IntArray
from dphist.noise import Source, rounded_gaussian, two_sided_geometric
from dphist.tables.key_noise import KeyNoise
from dphist.tables.lattice import Lattice, Table


def add_noise(
    exact: IntArray,
    lattice: Lattice,
    table: Table,
    scale: Fraction,
    source: Source | None,
    geometric: bool,
) -> IntArray:
    """Return the contrasts of a table with rounded Gaussian noise, or geometric noise.

    A contrast gets standard deviation, or 1 / rate, `scale` times the lengths of its rows, rounded
    up, or what stands in place of lengths where ranges are asked.

    Parameters
    ----------
    exact : int64 with a dimension for each key of the table, of n - 1.
    """
    flat, noisy = exact.ravel(), np.empty(exact.size, np.int64)
    for length, places in sort_by_length(lattice, table):
        if geometric:
            drawn = two_sided_geometric(1 / (scale * length), len(places), source)
        else:
            drawn = rounded_gaussian(scale * length, len(places), source)
        noisy[places] = drawn + flat[places]
    return noisy.reshape(exact.shape)


def sort_by_length(lattice: Lattice, table: Table) -> list[tuple[Fraction, IntArray]]:
    """Return the products of the lengths of rows, and the places of the contrasts that have each.

    Every contrast of the table, of which the last key is fastest, is in exactly one list.
    """
    noises = tuple(lattice.noise(i) for i in table)
    lengths, kinds, ranks = combine_lengths(noises)
    codes = np.zeros(1, ranks.dtype)  # the combination of groups that each contrast is in
    for noise in noises:
        own = np.empty(noise.size - 1, ranks.dtype)
        for number, (_, rows) in enumerate(noise.groups):
            own[rows - 1] = number
        codes = np.add.outer(codes * ranks.dtype.type(len(noise.groups)), own).ravel()
    order = np.argsort(ranks[codes], kind="stable")  # of 16 bits in linear time
    ends = np.cumsum(np.bincount(kinds[codes], minlength=len(lengths)))
    return list(zip(lengths, np.split(order, ends[:-1]), strict=True))


@lru_cache(maxsize=64)
def combine_lengths(
    noises: tuple[KeyNoise, ...],
) -> tuple[tuple[Fraction, ...], IntArray, AnyArray]:
    """Return the different products of lengths, one a key, and which one each combination has.

    Combinations of groups of rows, one a key, of which the last key is fastest, may be many and
    small; their products are few.

    Returns
    -------
    The lengths; their numbers by combination; and the places of combinations if sorted by these.
    """
    lengths: tuple[Fraction, ...] = (Fraction(1),)
    kinds: IntArray = np.zeros(1, np.int64)
    if noises:
        before, numbers, _ = combine_lengths(noises[:-1])
        groups = noises[-1].groups
        products = [each * own for each in before for own, _ in groups]
        lengths = tuple(dict.fromkeys(products))
        found = {length: number for number, length in enumerate(lengths)}
        own_kinds = np.array([found[product] for product in products])
        kinds = own_kinds.reshape(-1, len(groups))[numbers].ravel()
    ranks = np.empty(len(kinds), np.min_scalar_type(len(kinds)))
    ranks[np.argsort(kinds, kind="stable")] = np.arange(len(kinds))
    kinds.setflags(write=False)  # tables of the same keys share them
    ranks.setflags(write=False)
    return lengths, kinds, ranks
