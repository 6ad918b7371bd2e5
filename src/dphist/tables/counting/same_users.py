"""Whether rows whose users have one hash have one user, compared by their bytes."""

from collections.abc import Sequence
from concurrent.futures import Executor
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.tables.counting.user_records import Removed

_NONE = np.zeros(0, np.int64)


def are_single_users(who: pa.ChunkedArray, found: Sequence[Removed], pool: Executor) -> bool:
    """Whether all rows of each group have the same user.

    Parameters
    ----------
    who : the users of all rows, without nulls, of a type whose values are equal if their bytes are.
    found : the places of the rows of each group, and the sizes of the groups.
    pool : where the work is done.

    Notes
    -----
    The first row found of each group is looked up once. Then each row is compared with that of its
    group, in the order of rows.
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

    def same(chunk: pa.Array, start: int) -> bool:
        own = groups[start : start + len(chunk)]
        rows = np.flatnonzero(own >= 0)
        others = known.take(pa.array(own[rows]))
        alike = pc.equal(chunk.take(pa.array(rows)), others)
        return bool(pc.all(alike, min_count=0).as_py())

    return all(pool.map(same, who.chunks, starts.tolist()))
