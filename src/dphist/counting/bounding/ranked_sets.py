"""Who has which label, and the place of each label among those of its user.

Under one key each user keeps the labels that are kept where labels are only counted, and places are
those of docs/understand/proofs/bounding.md, Lemma 1: so the labels with a place up to a smaller
bound are those that this bound keeps. Many rows are ranked in arrays (Lemma 11). Others are pairs.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import AnyArray, IntArray, WordArray
from dphist.counting.bounding.bounds import Bounds, bound_users
from dphist.counting.bounding.held_pairs import (
    count_threads,
    hold_pairs,
    read_in_turns,
    users_differ,
)
from dphist.counting.bounding.ranking import keep_labels
from dphist.counting.bounding.stores import Sets, order_labels
from dphist.counting.bounding.user_parts import UserRows, as_words, stir
from dphist.counting.checks import LARGEST
from dphist.counting.engine.rows import DuckRows, Rows


def hold_sets(
    checked: Rows, users: bool, bounds: Bounds, key: str, kind: pa.DataType
) -> tuple[pa.Table | Sets | None, int]:
    """From checked rows to who has which label: many rows of users in arrays, others as pairs.

    Parameters
    ----------
    checked : who, term, amount, problem, as `bounds.check_rows` returns them.
    users : whether there is a column of users.
    kind : Arrow type of the labels.

    Returns
    -------
    sets : or columns who, term, amount, rank; None if there is a problem.
    problem : the largest problem of a row, or 0.
    """
    if users and bounds.null_users != "separate" and isinstance(checked, DuckRows):
        some = checked.where("amount > 0 OR problem > 0").project("who", "term", "problem")
        held = hold_pairs(some)
        if not held.is_few:
            most = LARGEST if bounds.max_labels is None else bounds.max_labels
            sets, worst = rank_sets(held, key, most, kind)
            if sets is not None or worst:
                return sets, worst
        checked = held.project("who", "term", "CAST(1 AS BIGINT) AS amount", "problem")
    bounded = bound_users(checked, bounds, key)
    rank = bounded.hash_columns(key) if users else "0"
    bounded = bounded.project("who", "term", "amount", "problem", f"{rank} AS rank")
    pairs = bounded.to_arrow(["who", "term", "amount", "problem", "rank"])
    return pairs.drop_columns(["problem"]), pc.max(pairs["problem"]).as_py() or 0


def rank_sets(rows: DuckRows, key: str, most: int, kind: pa.DataType) -> tuple[Sets | None, int]:
    """From (who, term, problem) to the labels that each user keeps.

    Parameters
    ----------
    rows, key, most : as for `held_pairs.bound_in_arrays`.
    kind : Arrow type of the labels; the engine may hold them as integers or bytes.

    Returns
    -------
    sets : those of the users; None if there is a problem, or no row, or two labels or two users
        have the same hash.
    problem : the largest problem of a row, or 0.
    """
    number, _ = rows.format_number("term")
    steps = ["count(*) AS records", "max(problem) AS problem", f"{number} AS label"]
    found = rows.group(["term"], *steps).to_arrow(["term", "records", "problem", "label"])
    worst = pc.max(found["problem"]).as_py() or 0
    if worst or not len(found):  # many rows may all be dropped
        return None, worst
    labels, order = order_labels(pa.concat_arrays(found["term"].chunks), kind)
    places = Places(as_words(found["label"].to_numpy())[order])
    if not (places.differ and users_differ(rows)):
        return None, 0
    members, lengths, own = _keep_ranked(rows, key, most, pc.sum(found["records"]).as_py(), places)
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    counts = np.bincount(members, minlength=len(labels))
    if not counts.all():  # of a label that no user keeps nothing may be seen
        labels = labels.filter(pa.array(counts > 0))
        members = (np.cumsum(counts > 0) - 1)[members]
    return Sets(labels, starts, members, np.zeros(len(labels), np.int64), own), 0


def _keep_ranked(
    rows: DuckRows, key: str, most: int, total: int, places: "Places"
) -> tuple[IntArray, IntArray, IntArray]:
    """Return members, lengths, each at least 1, and places of `Sets`.

    Threads write them where the rows of their part would be, and what users drop is closed up then:
    joining arrays of all parts would take the memory twice, and a tenth of the time.
    """
    members, ranked = np.empty(total, np.int64), np.empty(total, np.int64)
    lengths, seen, end = [np.zeros(0, np.int64)], 0, 0

    def count(pairs: UserRows) -> None:
        nonlocal seen
        seen += len(pairs)
        if seen > total:
            raise RuntimeError("there are more rows of users than before")

    threads = count_threads(rows)
    for parts in read_in_turns(rows, key, total, count):
        first = end

        def keep(own: UserRows, before: int, first: int = first) -> tuple[slice, IntArray]:
            terms, held, places_of_terms = keep_labels(own, most)
            where = slice(first + before, first + before + len(terms))
            members[where], ranked[where] = places.find(terms), places_of_terms
            return where, held[held > 0]

        for where, held in parts.each_from(keep, threads):
            kept = slice(end, end + where.stop - where.start)
            members[kept], ranked[kept] = members[where], ranked[where]
            lengths.append(held)
            end = kept.stop
    if seen != total:
        raise RuntimeError("rows of users are missing")
    for each in (members, ranked):
        each.resize(end, refcheck=False)  # in place; no part of it is held elsewhere
    return members, np.concatenate(lengths), ranked


class Places:
    """Finds the places of numbers in an array, as fast as memory is read.

    Numbers are stirred and sorted, and a table says where those with the same high bits start.

    Parameters
    ----------
    numbers : (k,) uint64

    Attributes
    ----------
    differ : whether no number is there twice.
    """

    __slots__ = ("_first", "_order", "_shift", "_sorted", "differ")

    def __init__(self, numbers: WordArray) -> None:
        stirred = stir(numbers)
        self._order = np.argsort(stirred)
        # The last one is a bound for the search, and no number's place.
        self._sorted = np.append(stirred[self._order], np.uint64(2**64 - 1))
        self.differ = bool((self._sorted[1:-1] != self._sorted[:-2]).all())
        bits = len(numbers).bit_length() + 1
        self._shift = np.uint64(64 - bits)
        heads = (self._sorted[:-1] >> self._shift).view(np.int64)
        ends = np.cumsum(np.bincount(heads, minlength=1 << bits))
        self._first = np.concatenate([[0], ends[:-1]])

    def find(self, wanted: AnyArray) -> IntArray:
        """Return the place of each number.

        Raises
        ------
        RuntimeError
            If a number is not there.
        """
        stirred = stir(wanted)
        at: IntArray = self._first[(stirred >> self._shift).view(np.int64)]
        left = np.flatnonzero(self._sorted[at] < stirred)
        while len(left):
            at[left] += 1
            left = left[self._sorted[at[left]] < stirred[left]]
        if at.max(initial=-1) >= len(self._order) or (self._sorted[at] != stirred).any():
            raise RuntimeError("labels have other numbers than before")
        found: IntArray = self._order[at]
        return found
