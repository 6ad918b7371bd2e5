"""Which records of users above the bound are not kept, some users at a time.

Users and terms are numbers here. Those of users are DuckDB's hashes, which are different for
different integers. A user with at most `most` records keeps all of them. The records of others are
ordered by user and term, and numbered by their turns; then the hashes of user, term and turn decide
(docs/understand/proofs/bounding.md, Lemma 10).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from dphist.arrays import AnyArray, BoolArray, IntArray, WordArray
from dphist.tables.counting.duck_hashes import hash_known, mix
from dphist.tables.counting.radix import order_by
from dphist.tables.counting.smallest import hashes_beyond
from dphist.tables.counting.users.parts import UserParts, changes, stir, whole_groups
from dphist.tables.counting.users.sizes import PerhapsAbove
from dphist.tables.engine.threads import in_threads

# The records of a part are ordered by some bits of the user, and among these by some of the term.
# The first bits are those that all users of a part have in common.
_SKIPPED_BITS, _USER_BITS = 8, 24

# Returns what `DuckRows.halves` says of users, or of terms.
Half: TypeAlias = Callable[[AnyArray], WordArray]


@dataclass(frozen=True, slots=True)
class Records:
    """Records of a user and a term.

    Attributes
    ----------
    users : (records,) uint64, DuckDB's hashes of the users.
    terms : (records,) of an integer type, not negative, equal exactly if the terms are.
    places : (records,) int32, where the records were; None if nobody needs that.
    """

    users: WordArray
    terms: AnyArray
    places: AnyArray | None = None

    def __len__(self) -> int:
        return len(self.users)

    def take(self, places: IntArray | BoolArray | slice) -> "Records":
        """Return some of the records."""
        kept = None if self.places is None else self.places[places]
        return Records(self.users[places], self.terms[places], kept)

    @staticmethod
    def joined(parts: "list[Records]") -> "Records":
        """Return the records of all parts."""
        places = [part.places for part in parts if part.places is not None]
        return Records(
            np.concatenate([part.users for part in parts]),
            np.concatenate([part.terms for part in parts]),
            np.concatenate(places) if places else None,
        )


@dataclass(frozen=True, slots=True)
class Removed:
    """What is not kept of some users.

    Attributes
    ----------
    terms : the term of each record that is not kept.
    sizes : the number of records of each user above the bound.
    places : the places of all records of these users, user by user, if they have places.
    """

    terms: AnyArray
    sizes: IntArray
    places: AnyArray | None = None


def remove_in_parts(
    given: Sequence[Records],
    bits: int | None,
    most: int,
    halves: tuple[Half, Half],
    threads: int,
) -> list[Removed]:
    """Find the records that are not kept, of all records, in threads.

    Parameters
    ----------
    given : records, with users who are integers in place of hashes if there are `bits`.
    bits : the number of bits of the type of users who are integers, or None.
    most, halves : as for `remove_beyond`.
    threads : how many may work.
    """
    perhaps = PerhapsAbove([records.users for records in given], most, threads)
    parts: UserParts[Records] = UserParts(perhaps.records, are_hashes=True)

    def add(records: Records) -> int:
        found = records.take(perhaps.find(records.users))
        return parts.add(replace(found, users=hash_known(found.users, bits)))

    if sum(in_threads(add, given, threads)) != perhaps.records:
        raise RuntimeError("records of users are missing")
    return parts.each(lambda own: remove_beyond(Records.joined(own), most, *halves), threads)


def remove_beyond(records: Records, most: int, user_half: Half, term_half: Half) -> Removed:
    """Find the records that are not kept, of all records of some users.

    Parameters
    ----------
    most : maximum number of records of a user.
    user_half, term_half : what is hashed of users and terms; see `DuckRows.hashed`.
    """
    records = _ordered(records)
    starts = np.flatnonzero(changes(records.users))
    sizes = np.diff(starts, append=len(records))
    above = sizes > most
    if not above.all():
        records = records.take(np.repeat(above, sizes))
        sizes = sizes[above]
        starts = np.cumsum(sizes) - sizes
    if not len(records):
        return Removed(records.terms, sizes, records.places)
    hashes = np.repeat(user_half(records.users[starts]), sizes)
    hashes ^= term_half(records.terms)
    hashes = mix(hashes)
    hashes ^= _turns(records).view(np.uint64)
    hashes = mix(hashes)
    gone = hashes >= np.repeat(hashes_beyond(hashes, sizes, most), sizes)
    return Removed(records.terms[gone], sizes, records.places)


def halves_of_hashes(key: str) -> tuple[Half, Half]:
    """Return what is hashed of users, and of terms, given by DuckDB's hashes of them."""
    first, second = (np.uint64(int(half, 16)) for half in (key[:16], key[16:]))
    return (lambda users: mix(users ^ first)), (lambda terms: mix(terms ^ second))


def _ordered(records: Records) -> Records:
    """Return the records ordered by user and, among those of a user, by term, in any order of both.

    Users that agree in the bits of the order are a group. Where a group has several users, or a
    user's terms agree in their bits, all records of the group are sorted by user and term.
    """
    terms, bits = _bits_of(records.terms)
    keys = records.users << np.uint64(_SKIPPED_BITS)
    keys >>= np.uint64(64 - _USER_BITS)
    keys <<= np.uint64(bits)
    keys |= terms
    order = order_by(keys, _USER_BITS + bits)
    keys, ordered = keys[order], records.take(order)
    groups = keys >> np.uint64(bits)
    new_group = changes(groups)
    alike = changes(ordered.users) & ~new_group
    alike |= changes(ordered.terms) & ~changes(keys)
    if not alike.any():
        return ordered
    exact = np.flatnonzero(whole_groups(alike, new_group))
    mixed = ordered.take(exact)
    # By group first: then the sorted records of a group take the places that the group has.
    order[exact] = order[exact][np.lexsort((mixed.terms, mixed.users, groups[exact]))]
    return records.take(order)


def _bits_of(terms: AnyArray) -> tuple[WordArray, int]:
    """Return some bits of each term, and how many: 8 or 24."""
    words = terms.astype(np.uint64)
    largest = words.max(initial=0)
    if largest < 1 << 24:
        return words, 8 if largest < 1 << 8 else 24
    words = stir(words)
    words >>= np.uint64(40)
    return words, 24


def _turns(records: Records) -> IntArray:
    """Return 1, 2, ... for the records of each user and term, which stand together."""
    first = np.flatnonzero(changes(records.users) | changes(records.terms))
    turns = np.arange(1, len(records) + 1)
    turns -= np.repeat(first, np.diff(first, append=len(records)))
    return turns
