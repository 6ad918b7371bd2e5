"""Rows of users in arrays: some users at a time, and only those who may be above a bound."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

import numpy as np
import pyarrow as pa

from dphist.arrays import AnyArray, BoolArray, IntArray, WordArray
from dphist.counting.engine.threads import in_threads

_PART_ROWS = 1 << 16  # their arrays fit the cache of a processor
MOST_BITS = 16
"""Maximum number of high bits of `stir` that the users of a part have in common."""

_ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93))

# Of `PerhapsAbove`.
_BLOCK = 1 << 14  # arrays this small are not mapped each time
_ONE = np.int64(1)  # NumPy adds a number of the same type forty times as fast
_LEAST_BITS, _MOST_COUNTED_BITS = 4, 22
_MOST_THREADS = 4  # each has counts of its own

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class UserRows:
    """Rows of a user and a term.

    Attributes
    ----------
    users : (rows,) uint64, equal exactly if the users are.
    terms : (rows,) of an integer type, not negative, equal exactly if the terms are.
    ranks : (rows,) uint64, a function of the user and the term; None if nobody needs it.
    """

    users: WordArray
    terms: AnyArray
    ranks: WordArray | None = None

    def __len__(self) -> int:
        return len(self.users)

    def take(self, places: IntArray | BoolArray | slice) -> "UserRows":
        """Return some of the rows."""
        ranks = None if self.ranks is None else self.ranks[places]
        return UserRows(self.users[places], self.terms[places], ranks)

    @staticmethod
    def join(parts: "list[UserRows]") -> "UserRows":
        """Return the rows of all parts."""
        ranks = [part.ranks for part in parts if part.ranks is not None]
        return UserRows(
            np.concatenate([part.users for part in parts]),
            np.concatenate([part.terms for part in parts]),
            np.concatenate(ranks) if ranks else None,
        )


class UserParts:
    """Rows put into parts by their users, so that each part can be bounded by itself, in threads.

    Parameters
    ----------
    rows : about how many rows there will be; decides how large parts are, and nothing else.
    """

    __slots__ = ("_bits", "_parts")

    def __init__(self, rows: int) -> None:
        self._bits = min((rows // _PART_ROWS).bit_length(), MOST_BITS)
        self._parts: list[list[UserRows]] = [[] for _ in range(1 << self._bits)]

    def add(self, rows: UserRows) -> int:
        """Add rows; all rows of a user get into one part. Threads may add at the same time.

        Returns
        -------
        int, the number of rows
        """
        if not self._bits:
            self._parts[0].append(rows)
            return len(rows)
        part = (stir(rows.users) >> np.uint64(64 - self._bits)).astype(np.uint16)
        ordered = rows.take(np.argsort(part, kind="stable"))  # of 16 bits: sorted by counting
        ends = np.cumsum(np.bincount(part, minlength=len(self._parts))).tolist()
        for own, start, end in zip(self._parts, [0, *ends], ends, strict=False):
            if end > start:
                own.append(ordered.take(slice(start, end)))
        return len(rows)

    def each(self, work: Callable[[UserRows], T], threads: int) -> list[T]:
        """Return what `work` makes of the rows of each part that has any. Parts are used up."""
        return self.each_from(lambda own, _: work(own), threads)

    def each_from(self, work: Callable[[UserRows, int], T], threads: int) -> list[T]:
        """As `each`, where `work` is told how many rows the parts before its own have."""
        sizes = [sum(map(len, own)) for own in self._parts]
        given = [
            (own, end - size)
            for own, size, end in zip(self._parts, sizes, accumulate(sizes), strict=True)
            if own
        ]

        def work_on_pieces(part: tuple[list[UserRows], int]) -> T:
            own, before = part
            pieces = own.copy()
            own.clear()
            return work(UserRows.join(pieces), before)

        return in_threads(work_on_pieces, given, threads)


def find_places(column: pa.ChunkedArray) -> tuple[WordArray, pa.Array]:
    """Return a column as places among its distinct values, and these; by Arrow, for few rows."""
    if not len(column):
        return np.zeros(0, np.uint64), pa.array([], column.type)
    encoded = pa.concat_arrays(column.chunks).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.uint64), encoded.dictionary


def count_places(places: AnyArray, number: int) -> IntArray:
    """Return how often each of the places from 0 to `number` - 1 occurs."""
    found: IntArray = np.bincount(places.view(np.int64), minlength=number)
    return found


def as_words(numbers: AnyArray) -> WordArray:
    """Return integers of any type as 64 bits, those below 0 too; a copy unless they have 64."""
    if numbers.dtype == np.uint64:
        return numbers
    return numbers.astype(np.int64, copy=False).view(np.uint64)


def stir(users: WordArray) -> WordArray:
    """Return numbers whose high bits differ for close, or round, numbers; a bijection."""
    stirred = users * _ODD[0]
    stirred ^= stirred >> np.uint64(32)
    stirred *= _ODD[1]
    return stirred


class PerhapsAbove:
    """Finds all records of users above a bound, and some of others.

    Records are counted by some bits of their users. A user has at most as many records as there are
    with the same bits, so most users are known to stay within the bound without telling them apart.

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
        bits = min(max(rows.bit_length() - 2, _LEAST_BITS), _MOST_COUNTED_BITS)
        self._shift, self._mask = np.uint64(bits), np.uint64((1 << bits) - 1)

        def count_bits(first: int) -> IntArray:
            counts: IntArray = np.zeros(1 << bits, np.int64)
            for own in users[first::pieces]:
                for start in range(0, len(own), _BLOCK):
                    np.add.at(counts, self._take_bits(own[start : start + _BLOCK]), _ONE)
            return counts

        pieces = max(min(threads, len(users), _MOST_THREADS), 1)
        counts, *others = in_threads(count_bits, range(pieces), pieces)
        for each in others:
            counts += each
        self._many: BoolArray = counts > most
        self.records = int(counts[self._many].sum())

    def find(self, users: WordArray) -> IntArray:
        """Return the places of records of which the user is perhaps above the bound."""
        blocks = []
        for start in range(0, len(users), _BLOCK):
            found = np.flatnonzero(self._many[self._take_bits(users[start : start + _BLOCK])])
            found += start
            blocks.append(found)
        return np.concatenate(blocks) if blocks else np.zeros(0, np.int64)

    def _take_bits(self, users: WordArray) -> IntArray:
        """Return low bits, so that integers close to each other have different ones."""
        bits = users >> self._shift
        bits ^= users
        bits &= self._mask
        found: IntArray = bits.view(np.int64)
        return found
