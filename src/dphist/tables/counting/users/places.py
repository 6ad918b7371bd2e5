"""Which rows of each user are dropped: labels ranked in arrays, without an engine.

Users and labels are numbers here, equal exactly if the users or labels are. The rank of a label
among the labels of its user is given, a hash under a key. It is compared, and nothing else: what is
kept is what a window over the same ranks keeps (docs/understand/proofs/bounding.md, Lemma 11).
"""

from dataclasses import dataclass

import numpy as np

from dphist.arrays import BoolArray, IntArray, WordArray
from dphist.tables.counting.radix import order_by
from dphist.tables.counting.users.parts import MOST_BITS, changes, stir, whole_groups

ROW_BYTES = 60
"""About the memory of a row here, in bytes: three numbers, twice at times, and its result."""

# The rows of a part are ordered by some bits of the user, and among these by some of the rank.
_KEY_BITS, _RANK_BITS = 48, 24


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of a user and a label.

    Attributes
    ----------
    users, labels : (rows,) uint64, equal exactly if users, or labels, are equal.
    ranks : (rows,) uint64, a function of the user and the label.
    """

    users: WordArray
    labels: WordArray
    ranks: WordArray

    def __len__(self) -> int:
        return len(self.users)

    def take(self, places: IntArray | slice) -> "Pairs":
        """Return some of the rows."""
        return Pairs(self.users[places], self.labels[places], self.ranks[places])

    @staticmethod
    def joined(parts: "list[Pairs]") -> "Pairs":
        """Return the rows of all parts."""
        return Pairs(
            np.concatenate([part.users for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.ranks for part in parts]),
        )


def drop_rows(pairs: Pairs, most: int) -> WordArray:
    """Return the labels of the rows that are dropped, in any order.

    A label's place is the number of labels of its user with a rank up to its own. Of each label
    with a place up to `most`, one row is kept. All other rows are dropped.

    Parameters
    ----------
    pairs : rows, in any order.
    most : maximum number of labels of a user, at least 1.

    Returns
    -------
    (dropped,) uint64, from `pairs.labels`

    Notes
    -----
    Rows are ordered by some bits of the user and the high bits of the rank. Where these do not
    distinguish two users, or two labels of a user, all rows with these bits of the user are
    compared exactly.
    """
    if not len(pairs):
        return pairs.labels
    keys = _keys_of(pairs)
    order = order_by(keys, _KEY_BITS)
    keys, users, labels = keys[order], pairs.users[order], pairs.labels[order]
    new_user, new_label = changes(users), changes(labels)
    new_bits = changes(keys >> np.uint64(_RANK_BITS))
    alike = (new_user & ~new_bits) | (new_label & ~changes(keys))
    new_label |= new_user
    if not alike.any():
        return labels[_beyond(new_user, new_label, most)]
    exact = whole_groups(alike, new_bits)
    clear = ~exact
    found = labels[clear][_beyond(new_user[clear], new_label[clear], most)]
    return np.concatenate([found, _drop_exactly(pairs.take(order[exact]), most)])


def _keys_of(pairs: Pairs) -> WordArray:
    """Return some bits of each row's user, followed by the high bits of its rank."""
    keys = stir(pairs.users)
    keys <<= np.uint64(MOST_BITS)  # bits that the rows of a part have in common
    keys >>= np.uint64(64 - _KEY_BITS + _RANK_BITS)
    keys <<= np.uint64(_RANK_BITS)
    keys |= pairs.ranks >> np.uint64(64 - _RANK_BITS)
    return keys


def _beyond(new_user: BoolArray, new_label: BoolArray, most: int) -> BoolArray:
    """Return which rows are dropped, ordered by user, and by labels with different ranks.

    Parameters
    ----------
    new_user, new_label : whether a row is the first of its user, or of its user and label.
    """
    starts = np.flatnonzero(new_label)
    first = np.flatnonzero(new_user[starts])
    last = np.append(first[1:], len(starts))
    kept = np.minimum(first + most, last)
    rows = np.append(starts, len(new_label))
    lengths = np.stack([rows[kept] - rows[first], rows[last] - rows[kept]], axis=1)
    beyond = np.repeat(np.tile([False, True], len(first)), lengths.ravel())
    beyond |= ~new_label
    return beyond


def _drop_exactly(pairs: Pairs, most: int) -> WordArray:
    """As `drop_rows`, also where labels of a user have equal ranks."""
    pairs = pairs.take(np.lexsort((pairs.labels, pairs.ranks, pairs.users)))
    new_user = changes(pairs.users)
    new_rank = new_user | changes(pairs.ranks)
    first = new_rank | changes(pairs.labels)
    labels_so_far = np.cumsum(first)
    starts, runs = np.flatnonzero(new_user), np.flatnonzero(new_rank)
    before = np.repeat(labels_so_far[starts] - 1, np.diff(starts, append=len(pairs)))
    ends = np.append(runs[1:], len(pairs)) - 1
    place = np.repeat(labels_so_far[ends], np.diff(runs, append=len(pairs))) - before
    found: WordArray = pairs.labels[~(first & (place <= most))]
    return found
