"""Which labels each user has, with whole numbers in place of users and labels."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import IntArray
from dphist.counting.reading.types import decoded_type, plain


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sets:
    """The labels of each user, bounded. Secret, and never shown.

    Attributes
    ----------
    labels : (k,) Arrow array, ascending, each label once.
    starts : (users + 1,) int64; user i has the labels from starts[i] to starts[i + 1].
    members : (pairs,) int64, places in `labels`; a user has no label twice.
    singles : (k,) int64, users of each label who have this label alone and are not in `members`:
        rows that are users of their own.
    """

    labels: pa.Array
    starts: IntArray
    members: IntArray
    singles: IntArray

    def counts(self) -> pa.Table:
        """Return the number of users of each label: columns label and count."""
        users = np.bincount(self.members, minlength=len(self.labels)) + self.singles
        return pa.table({"label": self.labels, "count": pa.array(users, pa.int64())})


def sets_of(pairs: pa.Table, kind: pa.DataType) -> Sets:
    """Return sets from pairs of a user and a label.

    Values are told apart by their bytes, as the engine told them apart: numbers take the place of
    equal bytes only.

    Parameters
    ----------
    pairs : columns who, term, amount, as `bounded_pairs` returns them.
    kind : Arrow type of the labels; the engine may hold them as integers or bytes.
    """
    places, held = _encoded(pairs["term"])
    labels = _as_labels(held, plain(decoded_type(kind)))
    order = pc.sort_indices(pa.table({"label": labels}), sort_keys=[("label", "ascending")])
    labels, order = labels.take(order), order.to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    members = rank[places]
    alone = pairs["who"].is_null().to_numpy()
    singles = np.zeros(len(order), np.int64)
    np.add.at(singles, members[alone], pairs["amount"].to_numpy()[alone])
    users, distinct = _encoded(pairs["who"].filter(pc.invert(pairs["who"].is_null())))
    by_user = np.lexsort((members[~alone], users))
    starts = np.zeros(len(distinct) + 1, np.int64)
    np.cumsum(np.bincount(users, minlength=len(distinct)), out=starts[1:])
    return Sets(labels, starts, members[~alone][by_user], singles)


def _encoded(column: pa.ChunkedArray) -> tuple[IntArray, pa.Array]:
    """Return a column as places in an array of its distinct values, and this array."""
    if not len(column):
        return np.zeros(0, np.int64), pa.array([], column.type)
    encoded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary


def _as_labels(held: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values of the engine as labels; Spark holds text as bytes."""
    if pa.types.is_string(kind) and not pa.types.is_string(held.type):
        held = held.cast(pa.string())
    return held.cast(kind)
