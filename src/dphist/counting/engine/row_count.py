"""Whether DuckDB has read all rows that it was given.

An engine promises to return every row of a file or table. A record that it cannot read has made it
end early without an error, so the promise is compared with a number of our own: the records counted
in a text file, the rows in the footer of a Parquet file, the rows of a frame. Rows without a label
or user are left out by the query itself, so the number is that of the scan, from the profile that
DuckDB keeps of its last query. Filters stay above scans (see `private_duckdb`).
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import duckdb

from dphist.errors import DphistError

_SCAN = "TABLE_SCAN"
_TYPES = "type", "operator_type"  # in DuckDB 2, and before
_ROWS = "intermediate_rows", "operator_cardinality"


@dataclass(frozen=True, slots=True)
class ExpectedRows:
    """The number of rows that a relation has to give.

    Attributes
    ----------
    number : function
        Called after the rows were read; None if they were not read to their end.
    problem : the error for another number. It says nothing about the rows.
    repeatable : whether the relation can be evaluated again.
    """

    number: Callable[[], int | None]
    problem: DphistError
    repeatable: bool

    def check(
        self, connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation
    ) -> None:
        """Raise `problem` unless the last query of a connection read all rows of a relation."""
        read = _rows_read(connection)
        if not read and self.repeatable:
            # No scan is known: the plan has none, or this version of DuckDB profiles otherwise.
            # Of a Parquet file this says nothing new: DuckDB takes the number from the footer.
            read = [int(relation.aggregate("count(*)").fetchall()[0][0])]
        expected = self.number()
        if expected is None or any(number != expected for number in read):
            raise self.problem


def _rows_read(connection: duckdb.DuckDBPyConnection) -> list[int]:
    """Return how many rows each scan in the last query of a connection gave, where it is known."""
    try:
        profile = json.loads(connection.get_profiling_information(format="json"))
    except (duckdb.Error, ValueError):
        return []
    return [int(rows) for rows in _scans(profile)]


def _scans(profile: Any) -> Iterator[int]:
    """Yield the number of rows of each scan in a profile, or in a part of it."""
    if isinstance(profile, list):
        for part in profile:
            yield from _scans(part)
    elif isinstance(profile, dict):
        if any(profile.get(name) == _SCAN for name in _TYPES):
            yield from (profile[name] for name in _ROWS if name in profile)
        for name in ("operator", "children"):
            yield from _scans(profile.get(name))
