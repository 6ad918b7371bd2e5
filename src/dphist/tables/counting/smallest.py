"""Records of users above the bound, of which those with the smallest hashes are kept.

Records are numbers here: a word holds the number of a user and the code of a term. Records of one
user and term are alike, so words can be sorted, and no row needs to be known. Users are worked on
in blocks of rows that stay in the processor's cache (docs/understand/proofs/bounding.md, Lemma 10).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from dphist.arrays import IntArray, WordArray

# Maps the exclusive or of two halves of a hash, and turns, to hashes.
Mix: TypeAlias = Callable[[WordArray, IntArray], WordArray]

_ROWS_AT_ONCE = 1 << 19
_LARGEST = np.uint64(2**64 - 1)


@dataclass(frozen=True, slots=True)
class UsersAbove:
    """Users with more records than the bound, numbered from 0.

    Attributes
    ----------
    sizes : (u,) int64, the number of records of each.
    halves : (u,) uint64, what `DuckRows.halves` says of each.
    """

    sizes: IntArray
    halves: WordArray


def word_type(users: int, terms: int) -> tuple[type[np.unsignedinteger], int] | None:
    """Return the type of a word, and the number of bits of its term.

    Words of 32 bits are sorted in half the time. None if a word would need more than 64 bits.
    """
    shift = max(terms - 1, 1).bit_length()
    bits = shift + max(users - 1, 1).bit_length()
    if bits > 64:
        return None
    return (np.uint32 if bits <= 32 else np.uint64), shift


def removed_records(
    words: WordArray, shift: int, users: UsersAbove, terms: WordArray, most: int, mix: Mix
) -> IntArray:
    """Count the records of each term that are not kept.

    Parameters
    ----------
    words : (records,) uint32 or uint64, in any order; sorted in place
        The number of a user, followed by `shift` bits of a code of a term.
    users : the users of the records.
    terms : (t,) uint64, what `DuckRows.halves` says of each term.
    most : maximum number of records of a user.
    mix : makes hashes of the halves and turns.

    Returns
    -------
    (t,) int64

    Raises
    ------
    RuntimeError
        If a user has another number of records than `users` says. An engine mixed up rows.
    """
    words.sort()
    removed = np.zeros(len(terms), np.int64)
    starts = np.cumsum(users.sizes) - users.sizes
    for first, last in _blocks(starts, len(words)):
        sizes = users.sizes[first:last]
        block = words[starts[first] : starts[first] + sizes.sum()]
        numbers = np.repeat(np.arange(first, last), sizes)
        if len(numbers) != len(block) or (block >> block.dtype.type(shift) != numbers).any():
            raise RuntimeError("rows of users are missing")
        codes = (block & block.dtype.type((1 << shift) - 1)).astype(np.int64)
        halves = users.halves[numbers] ^ terms[codes]
        hashes = mix(halves, _turns(block))
        beyond = hashes_beyond(hashes, sizes, most)
        gone = codes[hashes >= np.repeat(beyond, sizes)]
        np.add.at(removed, gone, 1)
    return removed


def _blocks(starts: IntArray, rows: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of users that have about `_ROWS_AT_ONCE` rows, or one user."""
    cuts = np.searchsorted(starts, np.arange(0, rows, _ROWS_AT_ONCE))
    ends = [*sorted(set(cuts.tolist())), len(starts)]
    yield from ((first, last) for first, last in pairwise(ends) if first < last)


def _turns(words: WordArray) -> IntArray:
    """Return 1, 2, ... for the words of each run of equal words."""
    first = np.append(0, np.flatnonzero(words[1:] != words[:-1]) + 1)
    turns = np.arange(1, len(words) + 1)
    turns -= np.repeat(first, np.diff(first, append=len(words)))
    return turns


def hashes_beyond(hashes: WordArray, sizes: IntArray, most: int) -> WordArray:
    """Return the hash in place ``most + 1`` of each user.

    A record is kept if its hash is smaller, which is to say: if at most `most` records of its user
    have a hash up to its own. So of equal hashes all or none are kept.

    Parameters
    ----------
    hashes : (records,) uint64, of one user after the other.
    sizes : (u,) int64, the number of records of each; each more than `most`.

    Notes
    -----
    Users of about the same number of records become rows of a matrix, padded by the largest hash.
    It comes after all hashes of a user, or is equal to them.
    """
    widths = _rounded(sizes)
    starts = np.cumsum(sizes) - sizes
    beyond = np.empty(len(sizes), np.uint64)
    order = np.argsort(widths, kind="stable")
    ends = np.flatnonzero(np.diff(widths[order], append=-1)) + 1
    for own in np.split(order, ends[:-1]):
        width = int(widths[own[0]])
        columns = np.arange(width)
        matrix = hashes[np.minimum(starts[own, np.newaxis] + columns, len(hashes) - 1)]
        matrix[columns >= sizes[own, np.newaxis]] = _LARGEST
        matrix.partition(most, axis=1)
        beyond[own] = matrix[:, most]
    return beyond


def _rounded(sizes: IntArray) -> IntArray:
    """Round up by at most a quarter, so that few different numbers remain."""
    bits = np.floor(np.log2(sizes)).astype(np.int64)
    step = np.left_shift(1, np.maximum(bits - 2, 0))
    rounded: IntArray = -(-sizes // step) * step
    return rounded
