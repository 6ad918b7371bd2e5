"""Users that may have more records than a bound, found without telling all users apart.

Records are counted by some bits of their users. A user has at most as many records as there are
with the same bits, so most users are known to stay within the bound, and only the records of the
others need more work.
"""

from collections.abc import Sequence

import numpy as np

from dphist.arrays import BoolArray, IntArray, WordArray
from dphist.tables.engine.threads import in_threads

_BLOCK = 1 << 14  # arrays so small are not mapped anew each time
_ONE = np.int64(1)  # NumPy adds a number of the same type forty times as fast
_LEAST_BITS, _MOST_BITS = 4, 22
_MOST_THREADS = 4  # each has counts of its own


class PerhapsAbove:
    """Finds all records of users above a bound, and some of others.

    Parameters
    ----------
    users : arrays (n,) uint64, integers or hashes of all users; equal if the users are equal.
    most : maximum number of records of a user.
    threads : how many may work.

    Attributes
    ----------
    records : the number of records that are found.
    """

    __slots__ = ("_many", "_mask", "_shift", "records")

    def __init__(self, users: Sequence[WordArray], most: int, threads: int) -> None:
        rows = sum(map(len, users))
        bits = min(max(rows.bit_length() - 2, _LEAST_BITS), _MOST_BITS)
        self._shift, self._mask = np.uint64(bits), np.uint64((1 << bits) - 1)

        def counted(first: int) -> IntArray:
            counts: IntArray = np.zeros(1 << bits, np.int64)
            for own in users[first::pieces]:
                for start in range(0, len(own), _BLOCK):
                    np.add.at(counts, self._bits_of(own[start : start + _BLOCK]), _ONE)
            return counts

        pieces = max(min(threads, len(users), _MOST_THREADS), 1)
        counts, *others = in_threads(counted, range(pieces), pieces)
        for each in others:
            counts += each
        self._many: BoolArray = counts > most
        self.records = int(counts[self._many].sum())

    def find(self, users: WordArray) -> IntArray:
        """Return the places of records of which the user is perhaps above the bound."""
        blocks = []
        for start in range(0, len(users), _BLOCK):
            found = np.flatnonzero(self._many[self._bits_of(users[start : start + _BLOCK])])
            found += start
            blocks.append(found)
        return np.concatenate(blocks) if blocks else np.zeros(0, np.int64)

    def _bits_of(self, users: WordArray) -> IntArray:
        """Return low bits, so that integers close to each other have different ones."""
        bits = users >> self._shift
        bits ^= users
        bits &= self._mask
        found: IntArray = bits.view(np.int64)
        return found
