"""Rows put into parts by their users, so that each part can be bounded by itself, in threads."""

from collections.abc import Callable
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from dphist.arrays import AnyArray, BoolArray, IntArray, WordArray
from dphist.tables.engine.threads import in_threads

_PART_ROWS = 1 << 16  # the arrays of so many rows fit the cache of a processor
MOST_BITS = 16
"""Maximum number of high bits of `stir` that the users of a part have in common."""

_ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93))

S = TypeVar("S", bound="UserRows")
T = TypeVar("T")


class UserRows(Protocol):
    """Rows, each with the number of a user."""

    @property
    def users(self) -> WordArray:
        """The users; equal numbers exactly if users are equal."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def take(self, places: IntArray | slice) -> Self:
        """Return some of the rows."""


class UserParts(Generic[S]):
    """Rows put into parts by their users.

    Parameters
    ----------
    rows : about how many rows there will be; decides how large parts are, and nothing else.
    are_hashes : whether the high bits of users differ, as those of `stir` do.
    """

    __slots__ = ("_are_hashes", "_bits", "_parts")

    def __init__(self, rows: int, *, are_hashes: bool = False) -> None:
        self._are_hashes = are_hashes
        self._bits = min((rows // _PART_ROWS).bit_length(), MOST_BITS)
        self._parts: list[list[S]] = [[] for _ in range(1 << self._bits)]

    def add(self, rows: S) -> int:
        """Add rows; all rows of a user get into one part. Threads may add at the same time.

        Returns
        -------
        int, the number of rows
        """
        if not self._bits:
            self._parts[0].append(rows)
            return len(rows)
        users = rows.users if self._are_hashes else stir(rows.users)
        part = (users >> np.uint64(64 - self._bits)).astype(np.uint16)
        ordered = rows.take(np.argsort(part, kind="stable"))  # of 16 bits: sorted by counting
        ends = np.cumsum(np.bincount(part, minlength=len(self._parts))).tolist()
        for own, start, end in zip(self._parts, [0, *ends], ends, strict=False):
            if end > start:
                own.append(ordered.take(slice(start, end)))
        return len(rows)

    def each(self, work: Callable[[list[S]], T], threads: int) -> list[T]:
        """Return what `work` makes of each part that has rows, in pieces. Parts are used up."""

        def worked(own: list[S]) -> T:
            pieces = own.copy()
            own.clear()
            return work(pieces)

        return in_threads(worked, filter(None, self._parts), threads)


def stir(users: WordArray) -> WordArray:
    """Return numbers whose high bits differ for close, or round, numbers; a bijection."""
    stirred = users * _ODD[0]
    stirred ^= stirred >> np.uint64(32)
    stirred *= _ODD[1]
    return stirred


def changes(words: AnyArray) -> BoolArray:
    """Return which numbers differ from the one before; the first does."""
    changed = np.empty(len(words), np.bool_)
    changed[:1] = True
    np.not_equal(words[1:], words[:-1], out=changed[1:])
    return changed


def whole_groups(chosen: BoolArray, new_group: BoolArray) -> BoolArray:
    """Return which rows are in a group that has a chosen row."""
    groups = np.cumsum(new_group) - 1
    found = np.zeros(groups[-1] + 1, np.bool_)
    found[groups[chosen]] = True
    rows: BoolArray = found[groups]
    return rows
