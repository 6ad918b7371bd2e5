"""Which rows of each user are dropped: labels ranked in arrays, without an engine.

Users and labels are numbers here, equal exactly if the users or labels are. The rank of a label
among the labels of its user is given, a hash under a key. It is compared, and nothing else: what is
kept is what a window over the same ranks keeps (docs/proofs/bounding.md, Lemma 11).
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from dphist.arrays import AnyArray, BoolArray, IntArray, WordArray
from dphist.tables.counting.radix import order_by

ROW_BYTES = 60
"""About the memory of a row here, in bytes: three numbers, twice at times, and its result."""

_PART_ROWS = 1 << 16  # the arrays of so many rows fit the cache of a processor
_MOST_BITS = 16  # of the number of a part
# The rows of a part are ordered by some bits of the user, and among these by some of the rank.
_KEY_BITS, _RANK_BITS = 48, 24

_ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93))


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


class UserParts:
    """Rows put into parts by their users, so that each part can be ranked by itself.

    Parameters
    ----------
    rows : about how many rows there will be; decides how large parts are, and nothing else.
    """

    __slots__ = ("_bits", "_parts")

    def __init__(self, rows: int) -> None:
        self._bits = min((rows // _PART_ROWS).bit_length(), _MOST_BITS)
        self._parts: list[list[Pairs]] = [[] for _ in range(1 << self._bits)]

    def add(self, pairs: Pairs) -> None:
        """Add rows; all rows of a user get into one part."""
        if not self._bits:
            self._parts[0].append(pairs)
            return
        part = (_stir(pairs.users) >> np.uint64(64 - self._bits)).astype(np.uint16)
        ordered = pairs.take(np.argsort(part, kind="stable"))  # of 16 bits: sorted by counting
        ends = np.cumsum(np.bincount(part, minlength=len(self._parts))).tolist()
        for own, start, end in zip(self._parts, [0, *ends], ends, strict=False):
            if end > start:
                own.append(ordered.take(slice(start, end)))

    def dropped(self, most: int, threads: int) -> Iterator[WordArray]:
        """Yield the labels of rows dropped, part by part; see `drop_rows`. Parts are used up."""

        def ranked(own: list[Pairs]) -> WordArray:
            pairs = Pairs.joined(own)
            own.clear()
            return drop_rows(pairs, most)

        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(ranked, filter(None, self._parts))


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
    new_user, new_label = _changes(users), _changes(labels)
    new_bits = _changes(keys >> np.uint64(_RANK_BITS))
    alike = (new_user & ~new_bits) | (new_label & ~_changes(keys))
    new_label |= new_user
    if not alike.any():
        return labels[_beyond(new_user, new_label, most)]
    exact = _whole_groups(alike, new_bits)
    clear = ~exact
    found = labels[clear][_beyond(new_user[clear], new_label[clear], most)]
    return np.concatenate([found, _drop_exactly(pairs.take(order[exact]), most)])


def _whole_groups(chosen: BoolArray, new_group: BoolArray) -> BoolArray:
    """Return which rows are in a group that has a chosen row."""
    groups = np.cumsum(new_group) - 1
    found = np.zeros(groups[-1] + 1, np.bool_)
    found[groups[chosen]] = True
    rows: BoolArray = found[groups]
    return rows


def _keys_of(pairs: Pairs) -> WordArray:
    """Return some bits of each row's user, followed by the high bits of its rank."""
    keys = _stir(pairs.users)
    keys <<= np.uint64(_MOST_BITS)  # bits that the rows of a part have in common
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
    new_user = _changes(pairs.users)
    new_rank = new_user | _changes(pairs.ranks)
    first = new_rank | _changes(pairs.labels)
    labels_so_far = np.cumsum(first)
    starts, runs = np.flatnonzero(new_user), np.flatnonzero(new_rank)
    before = np.repeat(labels_so_far[starts] - 1, np.diff(starts, append=len(pairs)))
    ends = np.append(runs[1:], len(pairs)) - 1
    place = np.repeat(labels_so_far[ends], np.diff(runs, append=len(pairs))) - before
    found: WordArray = pairs.labels[~(first & (place <= most))]
    return found


def _stir(users: WordArray) -> WordArray:
    """Return numbers whose high bits differ for close, or round, numbers; a bijection."""
    stirred = users * _ODD[0]
    stirred ^= stirred >> np.uint64(32)
    stirred *= _ODD[1]
    return stirred


def _changes(words: AnyArray) -> BoolArray:
    """Return which numbers differ from the one before; the first does."""
    changes = np.empty(len(words), np.bool_)
    changes[:1] = True
    np.not_equal(words[1:], words[:-1], out=changes[1:])
    return changes
