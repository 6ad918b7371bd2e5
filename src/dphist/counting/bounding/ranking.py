"""One ranker: the labels and the records of each user that lie beyond a bound, in arrays.

Users and terms are numbers here, different for different users and terms. Which numbers these are
decides nothing. What is kept of a user is a function of the ranks, or hashes, of this user's own
rows (docs/understand/proofs/bounding.md, Lemmas 10 and 11).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dphist.arrays import AnyArray, BoolArray, IntArray, WordArray
from dphist.counting.bounding.user_parts import MOST_BITS, PerhapsAbove, UserParts, UserRows, stir
from dphist.counting.engine.threads import in_threads

# Rows are ordered by some bits of the user, and among these by up to 24 of the rank or the term.
_RANK_BITS = 24

_LARGEST = np.uint64(2**64 - 1)

# The steps of `mix`: a shift and a product, twice, and a shift.
_SHIFT, _FACTOR = np.uint64(32), np.uint64(0xD6E8FEB86659FD93)

Half: TypeAlias = Callable[[AnyArray], WordArray]
"""From numbers of users, or of terms, to half of what is hashed of a record, in new arrays."""


def mix(words: WordArray) -> WordArray:
    """Return a hash of each word, a bijection; computed in place."""
    for _ in range(2):
        words ^= words >> _SHIFT
        words *= _FACTOR
    words ^= words >> _SHIFT
    return words


def drop_labels(rows: UserRows, most: int) -> tuple[AnyArray, IntArray]:
    """Return the labels of the rows that are dropped, and how many labels each user has.

    A label's place is the number of labels of its user with a rank up to its own. Of each label
    with a place up to `most`, one row is kept. All other rows are dropped.

    Parameters
    ----------
    rows : rows with ranks, in any order, all of each user; their terms are the labels.
    most : maximum number of labels of a user, at least 1.

    Returns
    -------
    dropped : (dropped,) from `rows.terms`, in any order.
    labels : (users,) int64, the number of labels of each user before any is dropped, at least 1.
    """
    ordered = _order_labels(rows, most)
    first, last, kept = ordered.first, ordered.last, ordered.kept
    ends = np.append(ordered.starts, len(rows))
    beyond = _repeat_turns(ends[kept] - ends[first], ends[last] - ends[kept])
    beyond |= ~ordered.new_label
    return ordered.terms[beyond], last - first


def keep_labels(rows: UserRows, most: int) -> tuple[AnyArray, IntArray, IntArray]:
    """Return the labels that users keep, by the rule of `drop_labels`, with their places.

    Parameters
    ----------
    rows, most : as for `drop_labels`.

    Returns
    -------
    kept : (kept,) from `rows.terms`, user by user, those of a user in the order of their places.
    labels : (users,) int64, the number of labels that each user keeps, in this order.
    places : (kept,) int64, from 1 to `most`.
    """
    ordered = _order_labels(rows, most)
    held = ordered.kept - ordered.first
    stays = ~_repeat_turns(held, ordered.last - ordered.kept)
    starts = ordered.starts[stays]
    places = find_places_of_ranks(held, ordered.new_rank[starts])
    return ordered.terms[starts], held, places


def find_places_of_ranks(lengths: IntArray, new_rank: BoolArray) -> IntArray:
    """Return the place of each label, the number of labels of its user with a rank up to its own.

    Parameters
    ----------
    lengths : (users,) int64, the number of labels of each user.
    new_rank : (labels,) bool, of labels ordered by user and rank, whether each is its user's first
        or has another rank than the one before.
    """
    runs = np.append(np.flatnonzero(new_rank), len(new_rank))
    ends = runs[1:] if new_rank.all() else np.repeat(runs[1:], np.diff(runs))
    places: IntArray = ends - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return places


@dataclass(frozen=True, slots=True)
class _OrderedLabels:
    """Rows ordered by user, by rank, and by label.

    Attributes
    ----------
    terms : (rows,) the label of each row.
    new_rank, new_label : (rows,) bool, whether a row is the first of a user and a rank, or label.
    starts : (labels,) int64, the first row of each label of each user.
    first, last, kept : (users,) int64, places in `starts`: a user's labels are from `first` to
        `last`, and of these the ones before `kept` are kept.
    """

    terms: AnyArray
    new_rank: BoolArray
    new_label: BoolArray
    starts: IntArray
    first: IntArray
    last: IntArray
    kept: IntArray


def _order_labels(rows: UserRows, most: int) -> _OrderedLabels:
    """Order rows with ranks; `drop_labels` says what is kept."""
    if not len(rows):
        none = np.zeros(0, np.int64)
        return _OrderedLabels(rows.terms, none > 0, none > 0, none, none, none, none)
    rows = _order_rows(rows)
    assert rows.ranks is not None  # noqa: S101 - the caller's promise
    new_user = changes(rows.users)
    new_rank = new_user | changes(rows.ranks)
    new_label = new_rank | changes(rows.terms)
    starts = np.flatnonzero(new_label)
    first = np.flatnonzero(new_user[starts])
    last = np.append(first[1:], len(starts))
    kept = np.minimum(first + most, last)
    # Labels of equal ranks have the largest of their places: if one is beyond, all are.
    tied = np.flatnonzero(kept < last)
    tied = tied[~new_rank[starts[kept[tied]]]]
    if len(tied):
        runs = np.flatnonzero(new_rank[starts])
        kept[tied] = runs[runs.searchsorted(kept[tied], "right") - 1]
    return _OrderedLabels(rows.terms, new_rank, new_label, starts, first, last, kept)


def _repeat_turns(before: IntArray, after: IntArray) -> BoolArray:
    """Return for each user False `before` times, then True `after` times."""
    lengths = np.stack([before, after], axis=1)
    return np.repeat(np.tile([False, True], len(before)), lengths.ravel())


def drop_in_parts(
    given: Sequence[UserRows],
    perhaps: PerhapsAbove,
    most: int,
    halves: tuple[Half, Half],
    threads: int,
) -> list[AnyArray]:
    """Return the terms of the records that are dropped, in pieces, some users at a time.

    Parameters
    ----------
    given : records, in any order, all of each user.
    perhaps : finds the users above the bound.
    most, halves : as for `drop_records`.
    threads : how many may work.
    """
    parts = UserParts(perhaps.records)

    def add(rows: UserRows) -> int:
        return parts.add(rows.take(perhaps.find(rows.users)))

    if sum(in_threads(add, given, threads)) != perhaps.records:
        raise RuntimeError("records of users are missing")
    return parts.each(lambda own: drop_records(own, most, *halves), threads)


def drop_records(rows: UserRows, most: int, user_half: Half, term_half: Half) -> AnyArray:
    """Return the terms of the records that are dropped, in any order.

    The records of a user and a term are alike, and numbered by turns. A record's place is the
    number of records of its user with a hash up to its own, the hash of user, term and turn.
    Records with a place up to `most` are kept.

    Parameters
    ----------
    rows : records in any order, all of each user.
    most : maximum number of records of a user.
    user_half, term_half : functions of the key, and of the user or the term.

    Returns
    -------
    (dropped,) from `rows.terms`
    """
    rows = _order_rows(rows)
    starts = np.flatnonzero(changes(rows.users))
    sizes = np.diff(starts, append=len(rows))
    above = sizes > most
    if not above.all():
        rows = rows.take(np.repeat(above, sizes))
        sizes = sizes[above]
        starts = np.cumsum(sizes) - sizes
    if not len(rows):
        return rows.terms
    hashes = np.repeat(user_half(rows.users[starts]), sizes)
    hashes ^= term_half(rows.terms)
    hashes = mix(hashes)
    hashes ^= _turns(rows).view(np.uint64)
    hashes = mix(hashes)
    gone: AnyArray = rows.terms[hashes >= np.repeat(hashes_beyond(hashes, sizes, most), sizes)]
    return gone


def _order_rows(rows: UserRows) -> UserRows:
    """Return the rows of each user together, ordered by rank, if there are any, and by term.

    Of users, and of terms without ranks, any order will do.

    Notes
    -----
    One word has some bits of a row's user, some of its rank or term, and the row's place: NumPy
    sorts words three times as fast as it finds their order. Users that agree in these bits are a
    group. Where a group has several users, or terms that agree in their bits, all its rows are
    sorted exactly.
    """
    small, bits = _take_bits(rows.terms) if rows.ranks is None else _high_bits(rows.ranks)
    place_bits = max(len(rows) - 1, 1).bit_length()
    keys = stir(rows.users)
    keys <<= np.uint64(MOST_BITS)  # bits that the rows of a part have in common
    keys >>= np.uint64(max(bits + place_bits, MOST_BITS))
    keys <<= np.uint64(bits)
    keys |= small
    keys <<= np.uint64(place_bits)
    keys |= np.arange(len(rows), dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64((1 << place_bits) - 1)).view(np.int64)
    keys >>= np.uint64(place_bits)
    ordered = rows.take(order)
    groups = keys >> np.uint64(bits)
    new_group = changes(groups)
    alike = changes(ordered.users) & ~new_group
    alike |= changes(ordered.terms) & ~changes(keys)
    if not alike.any():
        return ordered
    exact = np.flatnonzero(_whole_groups(alike, new_group))
    mixed = ordered.take(exact)
    within = [mixed.terms] if mixed.ranks is None else [mixed.terms, mixed.ranks]
    # By group first: then the sorted rows of a group take the places that the group has.
    order[exact] = order[exact][np.lexsort((*within, mixed.users, groups[exact]))]
    return rows.take(order)


def _take_bits(terms: AnyArray) -> tuple[WordArray, int]:
    """Return some bits of each term, and how many."""
    words = terms.astype(np.uint64)
    largest = int(words.max(initial=1))
    if largest < 1 << _RANK_BITS:
        return words, largest.bit_length()
    return _high_bits(stir(words))


def _high_bits(words: WordArray) -> tuple[WordArray, int]:
    return words >> np.uint64(64 - _RANK_BITS), _RANK_BITS


def changes(words: AnyArray) -> BoolArray:
    """Return which numbers differ from the one before; the first does."""
    changed = np.empty(len(words), np.bool_)
    changed[:1] = True
    np.not_equal(words[1:], words[:-1], out=changed[1:])
    return changed


def _whole_groups(chosen: BoolArray, new_group: BoolArray) -> BoolArray:
    """Return which rows are in a group that has a chosen row."""
    groups = np.cumsum(new_group) - 1
    found = np.zeros(groups[-1] + 1, np.bool_)
    found[groups[chosen]] = True
    rows: BoolArray = found[groups]
    return rows


def _turns(rows: UserRows) -> IntArray:
    """Return 1, 2, ... for the records of each user and term, which stand together."""
    first = np.flatnonzero(changes(rows.users) | changes(rows.terms))
    turns = np.arange(1, len(rows) + 1)
    turns -= np.repeat(first, np.diff(first, append=len(rows)))
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
    widths = _round_up(sizes)
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


def _round_up(sizes: IntArray) -> IntArray:
    """Round up by at most a quarter, so that few different numbers remain."""
    bits = np.floor(np.log2(sizes)).astype(np.int64)
    step = np.left_shift(1, np.maximum(bits - 2, 0))
    rounded: IntArray = -(-sizes // step) * step
    return rounded
