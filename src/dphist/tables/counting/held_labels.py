"""Labels of users, counted without the records that are not kept, which are found in arrays.

The rows are in a table of a private DuckDB, which counts the rows of each label. Users and labels
become numbers, which are streamed into arrays; DuckDB tells whether two labels have one number, or
two users of whom one may be above the bound. Then nothing here applies, as where rows are too many
for memory (docs/proofs/bounding.md, Lemma 10).
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray, WordArray
from dphist.tables.counting.duck_hashes import hash_known, numpy_knows
from dphist.tables.counting.user_records import Records, Removed, halves_of_hashes, remove_in_parts
from dphist.tables.engine.private_duckdb import memory_limit
from dphist.tables.engine.rows import DuckRows

ROW_BYTES = 60
"""About the memory of a row here, in bytes."""

SHARE = 4
"""Of the limit of DuckDB's memory, the part that arrays may take besides it."""

_FEW_ROWS = 1 << 18  # these always fit
_ROWS_AT_ONCE = 1 << 18
_FOUND = "dphist_found"


def count_in_arrays(rows: DuckRows, most: int, key: str) -> IntArray | None:
    """Bound each user to `most` records, then count the records of each label.

    Parameters
    ----------
    rows : a table with columns who and term, without nulls.
    most, key : maximum number of records of a user, and the key for the choice.

    Returns
    -------
    (labels,) int64, in any order, some perhaps 0; None if numbers do not tell users or labels
    apart, if rows are too many, or if NumPy cannot compute DuckDB's hashes.
    """
    connection = rows.connection
    number, _ = rows.number_of("term")
    if not numpy_knows(connection) or not _fit(int(rows.fetch(["count(*)"])[0][0])):
        return None
    labels = rows.group(["term"], "count(*) AS records", f"{number} AS number")
    records, numbers = labels.to_arrow(["records", "number"]).columns
    hashes = hash_known(numbers.to_numpy(), rows.bits_of("term"))
    known, counts = _by_number(hashes, records.to_numpy())
    if (known[1:] == known[:-1]).any():
        return None
    numbered = list(_numbers_of(rows))
    if sum(map(len, numbered)) != counts.sum():
        raise RuntimeError("rows are missing")
    threads = int(connection.execute("SELECT current_setting('threads')").fetchall()[0][0])
    halves = halves_of_hashes(key)
    with ThreadPoolExecutor(threads) as pool:
        removed = remove_in_parts(numbered, most, halves, pool, threads)
        if rows.bits_of("who") is None and not _are_single_users(rows, removed):
            return None
        for own, times in pool.map(_count_terms, removed):
            places = np.searchsorted(known, own)
            if (known[np.minimum(places, len(known) - 1)] != own).any():
                raise RuntimeError("labels have other numbers than before")
            counts[places] -= times
    return counts


def _fit(rows: int) -> bool:
    return rows <= _FEW_ROWS or rows * ROW_BYTES * SHARE <= memory_limit()  # which takes a while


def _by_number(numbers: WordArray, records: IntArray) -> tuple[WordArray, IntArray]:
    order = np.argsort(numbers)
    return numbers[order], records[order]


def _numbers_of(rows: DuckRows) -> Iterator[Records]:
    """Return the hashes of all rows, in any order."""
    columns = [f"{rows.number_of(name)[0]} AS {name}" for name in ("who", "term")]
    bits = [rows.bits_of(name) for name in ("who", "term")]
    for batch in rows.project(*columns).relation.to_arrow_reader(_ROWS_AT_ONCE):
        who, term = (column.to_numpy() for column in batch.columns)
        yield Records(hash_known(who, bits[0]), hash_known(term, bits[1]))


def _are_single_users(rows: DuckRows, removed: Sequence[Removed]) -> bool:
    """Whether no two users have one number, of the numbers with more records than the bound."""
    found = np.concatenate([np.zeros(0, np.uint64), *(part.users for part in removed)])
    rows.connection.from_arrow(pa.table({"number": found})).create_view(_FOUND, replace=True)
    above = f"{rows.number_of('who')[0]} IN (SELECT number FROM {_FOUND})"  # noqa: S608
    users = rows.where(above).group(["who"]).fetch(["count(*)"])[0][0]
    rows.connection.execute(f"DROP VIEW {_FOUND}")
    return bool(users == len(found))


def _count_terms(part: Removed) -> tuple[WordArray, IntArray]:
    """Return the terms of the records that are not kept, ascending, and how many there are."""
    terms, times = np.unique(part.terms, return_counts=True)
    return terms, times
