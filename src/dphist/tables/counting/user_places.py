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

ROW_BYTES = 60
"""About the memory of a row here, in bytes: three numbers, twice at times, and its result."""

_PART_ROWS = 1 << 17  # the arrays of so many rows fit the cache of a processor
_MOST_BITS = 16  # of the number of a part

_SHORT = np.int32  # of places, which are added up faster than in 64 bits

# Multiplied by this odd number, the high bits of close whole numbers differ (Knuth 6.4).
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)


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
        part = ((pairs.users * _GOLDEN) >> np.uint64(64 - self._bits)).astype(np.uint16)
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
    """
    if not len(pairs):
        return pairs.labels
    pairs = pairs.take(_by_user(pairs.users))
    starts = np.append(0, np.flatnonzero(pairs.users[1:] != pairs.users[:-1]) + 1)
    sizes = np.diff(starts, append=len(pairs))
    found = [pairs.labels[:0]]
    widths = _widths(int(sizes.max()))
    of_width = np.searchsorted(widths, sizes)
    for number, width in enumerate(widths.tolist()):
        chosen = np.flatnonzero(of_width == number)
        if width > 1 and len(chosen):  # a single row is always kept
            gone = _drop_similar(pairs, starts[chosen], sizes[chosen], width, most)
            if gone is None:
                return _drop_exactly(pairs, most)
            found.append(gone)
    return np.concatenate(found)


def _by_user(users: WordArray) -> IntArray:
    """Return an order of rows in which all rows of a user stand together.

    Rows are sorted by 32 bits of the user, stirred: twice by 16 bits, which NumPy does by counting,
    four times as fast as it sorts words. If two users agree in these bits, their rows may
    alternate; then whole numbers are sorted, which takes longer.
    """
    stirred = users * _GOLDEN
    low, high = ((stirred >> np.uint64(place)).astype(np.uint16) for place in (16, 32))
    order: IntArray = np.argsort(low, kind="stable")
    order = order[np.argsort(high[order], kind="stable")]
    noticed = _changes(low[order]) | _changes(high[order])
    if (_changes(users[order]) & ~noticed).any():
        return np.argsort(users, kind="stable")
    return order


def _drop_similar(
    pairs: Pairs, starts: IntArray, sizes: IntArray, width: int, most: int
) -> WordArray | None:
    """Return the labels of dropped rows of users with about as many rows, at most `width` each.

    The users are the rows of a matrix, in which each is sorted by itself: by the high bits of the
    rank, then the column. None if these bits do not tell two labels of a user apart.
    """
    columns = np.arange(width)
    low = (_ONE << np.uint64((width - 1).bit_length())) - _ONE
    present = columns < sizes[:, None]
    packed = pairs.ranks[np.minimum(starts[:, None] + columns, len(pairs) - 1)]
    packed &= ~low
    packed |= columns.astype(np.uint64)
    packed[~present] = ~np.uint64(0)  # at the end: a column that is present is never larger
    packed.sort(axis=1)

    def labels_at(users: IntArray, places: IntArray) -> WordArray:
        found: WordArray = pairs.labels[
            starts[users] + (packed[users, places] & low).view(np.int64)
        ]
        return found

    # Rows of one label have one rank.
    repeated = np.zeros(packed.shape, np.bool_)
    np.less_equal(packed[:, 1:] ^ packed[:, :-1], low, out=repeated[:, 1:])
    repeated &= present
    users, places = np.nonzero(repeated)
    if (labels_at(users, places) != labels_at(users, places - 1)).any():
        return None
    gone = repeated
    if width > most:
        # A place that wrapped would be below the bound, and its label kept.
        kind = _SHORT if width <= np.iinfo(_SHORT).max else np.int64
        gone = repeated | np.greater(np.cumsum(~repeated, axis=1, dtype=kind), most)
        gone &= present
    return labels_at(*np.nonzero(gone))


def _drop_exactly(pairs: Pairs, most: int) -> WordArray:
    """As `drop_rows`, also where labels of a user have equal ranks, or nearly so."""
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


def _changes(words: AnyArray) -> BoolArray:
    """Return which numbers differ from the one before; the first does."""
    return np.append(True, words[1:] != words[:-1])


def _widths(largest: int) -> IntArray:
    """Return widths of matrices from 1 on: powers of two and the middles between them."""
    found = [1, 2]
    while found[-1] < largest:
        found += [found[-1] * 3 // 2, found[-1] * 2]
    return np.array(found)
