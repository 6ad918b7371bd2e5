"""How many records of each term are kept, where only users above the bound are ranked.

The rows are held, in memory or in a private DuckDB, and may be read several times. DuckDB numbers
users and terms: integers are their own numbers, and other values have their hashes. A user with at
most `most` records keeps all of them, so their order decides nothing; the records of others are
ranked in arrays (see `ranking`).

If several users, or several terms, have one hash, DuckDB numbers all values one by one, and
everything is counted again. Hashes of values decide which records are kept either way, so it does
not depend on these numbers (docs/understand/proofs/bounding.md, Lemma 10).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import AnyArray, IntArray, WordArray
from dphist.counting.bounding.held_pairs import users_differ
from dphist.counting.bounding.ranking import Half, drop_in_parts, drop_records, mix
from dphist.counting.bounding.user_parts import (
    PerhapsAbove,
    UserRows,
    as_words,
    count_places,
    find_places,
)
from dphist.counting.engine.private_duckdb import GIVEN, memory_limit
from dphist.counting.engine.rows import DuckRows

ROW_BYTES = 80
"""About what a row takes in arrays, in bytes."""

_ROWS_AT_ONCE = 1 << 18
_HELD, _NUMBERED = "held_rows", "numbered_rows"

# Of users and of terms.
_Halves: TypeAlias = tuple[Half, Half]


@dataclass(frozen=True, slots=True)
class _Terms:
    """Counts of terms.

    Attributes
    ----------
    counts : (t,) int64
    numbers : (t,) uint64, the number of each term, ascending; None if it is the term's place.
    """

    counts: IntArray
    numbers: WordArray | None

    def add(self, places: AnyArray) -> None:
        """Count one record more for each of some terms, given by their places."""
        counts = np.bincount(places.astype(np.int64), minlength=len(self.counts))
        np.add(self.counts, counts, out=self.counts)

    def take_off(self, terms: AnyArray) -> None:
        """Count one record less for each of `terms`, which are numbers."""
        if self.numbers is None:
            np.subtract.at(self.counts, terms.astype(np.int64), np.int64(1))
        elif len(terms):
            found, records = np.unique(terms, return_counts=True)
            places = np.minimum(self.numbers.searchsorted(found), len(self.numbers) - 1)
            if (self.numbers[places] != found).any():
                raise RuntimeError("terms have other numbers than before")
            self.counts[places] -= records


def count_marked(
    rows: DuckRows, most: int, key: str, terms: int | None = None, *, alone: bool = False
) -> tuple[IntArray, int]:
    """Evaluate marked rows once, and count the records kept of each term.

    Parameters
    ----------
    most, key, terms, alone : as for `count_kept`.

    Returns
    -------
    counts : (t,) int64, as `count_kept` returns them; none if a row has a problem.
    worst : the largest problem number, 0 without a problem.
    """
    if rows.is_few:
        found = _number_few(rows, "problem")
        worst = pc.max(found["problem"]).as_py() or 0
        held = rows
    else:
        size = rows.project("who", "term", "problem").create(_HELD)
        held = DuckRows(rows.connection, rows.connection.table(_HELD), size=size)
        worst = int(held.fetch(["max(problem)"])[0][0] or 0)
    if worst:
        return np.zeros(0, np.int64), worst
    if rows.is_few:
        return _count_few(found, most, _make_halves(rows, key), terms), 0
    return count_kept(held, most, key, terms, alone=alone), 0


def count_kept(
    rows: DuckRows,
    most: int,
    key: str,
    terms: int | None = None,
    copied: Sequence[UserRows] | None = None,
    *,
    alone: bool = False,
) -> IntArray:
    """Bound each user to `most` records, then count the records of each term.

    Parameters
    ----------
    rows : columns who and term, of a known size.
    most, key : maximum number of records of a user, and the key for the choice.
    terms : the number of terms, which are then the whole numbers from 0; None for other terms.
    copied : the numbers of all rows, if users are integers in memory: `DuckRows.format_number`.
    alone : whether there may be rows with a null `who`. Each is a user of its own, and kept.

    Returns
    -------
    (t,) int64
        For each term that occurs, in any order, or for each of the `terms`; some may be 0.
    """
    halves = _make_halves(rows, key)
    if rows.is_few and copied is None:
        few = _number_few(rows)
        if len(few) != rows.size:
            raise RuntimeError("rows are missing")
        return _count_few(few, most, halves, terms)
    found = _count(rows, most, halves, terms, copied, alone=alone)
    if found is None:
        numbered, halves = _number_one_by_one(rows, halves)
        found = _count(numbered, most, halves, terms, alone=alone)
        assert found is not None  # noqa: S101 - different values have different numbers
    return found


def _make_halves(rows: DuckRows, key: str) -> _Halves:
    """Return what is hashed of the numbers of users, and of terms, under a key."""
    user_half, term_half = (
        make_half(int(half, 16), integers=rows.format_number(name)[1])
        for name, half in (("who", key[:16]), ("term", key[16:]))
    )
    return user_half, term_half


def _number_few(rows: DuckRows, *others: str) -> pa.Table:
    """Return few rows, with the numbers of users and terms beside them, from one query."""
    (user, _), (term, _) = rows.format_number("who"), rows.format_number("term")
    return rows.to_arrow(["who", "term", f"{user} AS user", f"{term} AS label", *others])


def _count_few(few: pa.Table, most: int, halves: _Halves, terms: int | None) -> IntArray:
    """As `count_kept`, of rows with the numbers of their users and terms.

    Places in Arrow's dictionaries distinguish users and terms by their bytes, so that two of one
    number stay two. What is hashed is made of the numbers, as it is of many rows.
    """
    known = few["who"].is_valid().to_numpy()
    own = few.filter(known)
    (users, distinct), numbers = find_places(own["who"]), as_words(own["user"].to_numpy())
    user_half = partial(_look_up, halves[0], _numbers_at(users, numbers, len(distinct)))
    labels, term_half = as_words(few["label"].to_numpy()), halves[1]
    if terms is None:
        numbers = labels
        labels, values = find_places(few["term"])
        terms = len(values)
        term_half = partial(_look_up, halves[1], _numbers_at(labels, numbers, terms))
    dropped = drop_records(UserRows(users, labels[known]), most, user_half, term_half)
    return count_places(labels, terms) - count_places(dropped, terms)


def _numbers_at(places: WordArray, numbers: WordArray, size: int) -> WordArray:
    """Return the number of the value at each place."""
    found = np.zeros(size, np.uint64)
    found[places.view(np.int64)] = numbers
    return found


def make_half(half: int, *, integers: bool) -> Half:
    """Return what is hashed of numbers, which are integers or hashes, under half of a key."""
    word = np.uint64(half)

    def mix_with_key(numbers: AnyArray) -> WordArray:
        words = numbers.astype(np.uint64)
        return mix((mix(words) if integers else words) ^ word)

    return mix_with_key


def _count(
    rows: DuckRows,
    most: int,
    halves: _Halves,
    terms: int | None,
    copied: Sequence[UserRows] | None = None,
    *,
    alone: bool = False,
) -> IntArray | None:
    """As `count_kept`; None if two users, or two terms, have the same number."""
    connection = rows.connection
    threads = int(connection.execute("SELECT current_setting('threads')").fetchall()[0][0])
    found = _count_terms(rows) if terms is None else _Terms(np.zeros(terms, np.int64), None)
    if found is None:
        return None
    of_users, lacking = rows, 0
    if alone:
        of_users, lacking = rows.where("who IS NOT NULL"), _count_alone(rows, found)
    ranked, compared = 0, False
    for given in _in_turns(of_users) if copied is None else [copied]:
        ranked += sum(map(len, given))
        perhaps = PerhapsAbove([own.users for own in given], most, threads)
        dropped = drop_in_parts(given, perhaps, most, halves, threads)
        if any(map(len, dropped)) and not compared:
            compared = users_differ(of_users)
            if not compared:
                return None
        if terms is not None:
            for own in given:
                found.add(own.terms)
        for gone in dropped:
            found.take_off(gone)
    if ranked + lacking != rows.size:
        raise RuntimeError("rows are missing")
    return found.counts


def _count_alone(rows: DuckRows, found: _Terms) -> int:
    """Count the rows without a user, unless `_count_terms` did; return how many there are."""
    rows = rows.where("who IS NULL")
    if found.numbers is not None:
        return int(rows.fetch(["count(*)"])[0][0])
    alone = rows.group(["term"], "count(*) AS records").to_arrow(["term", "records"])
    terms, records = alone["term"].to_numpy(), alone["records"].to_numpy()
    found.counts[terms] += records
    return int(records.sum())


def _count_terms(rows: DuckRows) -> _Terms | None:
    """Count the rows of each term; None if two terms have the same number."""
    number, _ = rows.format_number("term")
    grouped = rows.group(["term"], f"{number} AS number", "count(*) AS records")
    found = grouped.to_arrow(["number", "records"])
    numbers, records = as_words(found["number"].to_numpy()), found["records"].to_numpy()
    order = np.argsort(numbers)
    numbers, records = numbers[order], records[order]
    if (numbers[1:] == numbers[:-1]).any():
        return None
    if records.sum() != rows.size:
        raise RuntimeError("rows are missing")
    return _Terms(records, numbers)


def _in_turns(rows: DuckRows) -> Iterator[list[UserRows]]:
    """Yield the numbers of all rows, of some users at a time if they do not fit into memory.

    The turn is a function of the user, so that the rows of a user are ranked together: those of
    one user must fit.
    """
    (user, _), (term, _) = rows.format_number("who"), rows.format_number("term")
    turns = _number_of_turns(rows.size or 0)
    for turn in range(turns):
        own = rows if turns == 1 else rows.where(f"hash(who) % {turns} = {turn}")
        batches = own.project(f"{user} AS who", f"{term} AS term").relation
        yield [
            UserRows(*(as_words(column.to_numpy()) for column in batch.columns))
            for batch in batches.to_arrow_reader(_ROWS_AT_ONCE)
        ]


def _number_of_turns(rows: int) -> int:
    if rows <= _ROWS_AT_ONCE:
        return 1
    return -(-rows * ROW_BYTES // memory_limit())


def _number_one_by_one(rows: DuckRows, halves: _Halves) -> tuple[DuckRows, _Halves]:
    """Return numbers in place of users and terms that are no integers, and what is hashed of these.

    Different values have different numbers. What is hashed is that of the values, as before.
    """
    connection, tables = rows.connection, []
    columns, found = [], []
    for name, half in zip(("who", "term"), halves, strict=True):
        number, exact = rows.format_number(name)
        if exact:
            columns.append(name)
            found.append(half)
            continue
        table = f"numbers_of_{name}"
        values = rows.group([name], f"{number} AS hashed")
        values.project(name, "hashed", "row_number() OVER () - 1 AS number").create(table)
        numbers, hashes = connection.sql(f"SELECT number, hashed FROM {table}").to_arrow_table()  # noqa: S608
        ordered = np.empty(len(numbers), np.uint64)
        ordered[numbers.to_numpy()] = hashes.to_numpy()
        tables.append(f"LEFT JOIN {table} USING ({name})")  # a null user has no number
        columns.append(f"{table}.number AS {name}")
        found.append(partial(_look_up, half, ordered))
    rows.given.create_view(GIVEN, replace=True)
    query = f"SELECT {', '.join(columns)} FROM {GIVEN} {' '.join(tables)}"  # noqa: S608
    connection.execute(f"CREATE TABLE {_NUMBERED} AS {query}")
    numbered = DuckRows(connection, connection.table(_NUMBERED), size=rows.size)
    return numbered, (found[0], found[1])


def _look_up(half: Half, hashes: WordArray, numbers: AnyArray) -> WordArray:
    """Return what is hashed of values that have these numbers."""
    return half(hashes[numbers.astype(np.int64)])
