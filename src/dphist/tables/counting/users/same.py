"""Whether rows whose users have one hash have one user, compared by their bytes."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import AnyArray
from dphist.tables.counting.users.records import Removed
from dphist.tables.engine.threads import in_threads

_NONE = np.zeros(0, np.int64)


def are_single_users(who: pa.ChunkedArray, found: Sequence[Removed], threads: int) -> bool:
    """Whether all rows of each group have the same user.

    Parameters
    ----------
    who : the users of all rows, without nulls, of a type whose values are equal if their bytes are.
    found : the places of the rows of each group, and the sizes of the groups.
    threads : how many may work.

    Notes
    -----
    The first row found of each group is looked up once. Then each row is compared with that of its
    group, in the order of rows. Lengths are compared first: otherwise one long text would be copied
    for each row of its group, whatever text these have.
    """
    places = np.concatenate([_NONE, *(own.places for own in found if own.places is not None)])
    sizes = np.concatenate([_NONE, *(own.sizes for own in found)])
    if not len(sizes):
        return True
    firsts, numbers = np.unique(places[np.cumsum(sizes) - sizes], return_inverse=True)
    groups = np.full(len(who), -1, np.int32)  # the group of each row
    groups[places] = np.repeat(numbers, sizes)
    starts = np.cumsum([0, *map(len, who.chunks)])
    cuts = np.searchsorted(firsts, starts)
    known = pa.concat_arrays(
        [
            chunk.take(pa.array(firsts[first:last] - start))
            for chunk, start, (first, last) in zip(
                who.chunks, starts.tolist(), pairwise(cuts.tolist()), strict=False
            )
        ]
    )

    lengths = _lengths(known)

    def same(place: tuple[pa.Array, int]) -> bool:
        chunk, start = place
        own = groups[start : start + len(chunk)]
        rows = np.flatnonzero(own >= 0)
        own = own[rows]
        if (_lengths(chunk)[rows] != lengths[own]).any():
            return False
        alike = pc.equal(chunk.take(pa.array(rows)), known.take(pa.array(own)))
        return bool(pc.all(alike, min_count=0).as_py())

    return all(in_threads(same, zip(who.chunks, starts.tolist(), strict=False), threads))


def _lengths(values: pa.Array) -> AnyArray:
    """Return the number of bytes of each text; 0 for values that all have as many."""
    types, kind = pa.types, values.type
    if not any(
        each(kind)
        for each in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    ):
        return np.zeros(len(values), np.int8)
    found: AnyArray = pc.binary_length(values).to_numpy()
    return found
