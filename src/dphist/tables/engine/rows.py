"""Rows in DuckDB or in Spark, behind the three steps that bounding is made of.

A private DuckDB serves files, DuckDB's own relations, and every table that is Arrow in memory or
becomes it (pandas, Polars, PyArrow), so that the bounding of all of them is one piece of code.
Spark's rows stay in Spark. Both take the same SQL expressions, and a chain of steps is written
once; where their words differ, a method has the two.

Every chain is a straight line from one source, without a join or a union, and is evaluated once:
a source that gives other rows at a second look is never looked at twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import duckdb
import pyarrow as pa


class Rows(Protocol):
    """A table in an engine, with columns of plain lower-case names."""

    def project(self, *columns: str) -> "Rows":
        """Compute columns, each ``expression AS name`` or a name."""

    def where(self, condition: str) -> "Rows":
        """Keep the rows for which a condition is true."""

    def group(self, keys: Sequence[str], *aggregates: str) -> "Rows":
        """Reduce the rows of each combination of keys, nulls being equal to each other."""

    def ends(self) -> "Rows":
        """From one row (source, target, problem) an edge to two rows (term, problem)."""

    def total(self, column: str) -> str:
        """Return the expression of a sum of int64 that does not wrap."""

    def hashed(self, key: str, turn: str | None = None) -> str:
        """Return the expression of a hash, under a key of 32 hexadecimal digits, of who and term.

        Where `turn` names a column of whole numbers, of that as well.
        """

    def fetch(self, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Evaluate the table and return its rows, a short list of Python numbers."""

    def to_arrow(self, columns: Sequence[str]) -> pa.Table:
        """Evaluate the table and return columns of numbers, of many rows perhaps."""


@dataclass(frozen=True, slots=True)
class DuckRows:
    """Rows of a relation on a private DuckDB."""

    connection: duckdb.DuckDBPyConnection
    relation: duckdb.DuckDBPyRelation

    def project(self, *columns: str) -> "DuckRows":
        """Compute columns."""
        return self._with(self.relation.project(", ".join(columns)))

    def where(self, condition: str) -> "DuckRows":
        """Keep some rows."""
        return self._with(self.relation.filter(condition))

    def group(self, keys: Sequence[str], *aggregates: str) -> "DuckRows":
        """Reduce groups of rows."""
        grouped = ", ".join(keys)
        return self._with(self.relation.aggregate(", ".join([*keys, *aggregates]), grouped))

    def ends(self) -> "DuckRows":
        """Return two rows for each."""
        return self.project("unnest([source, target]) AS term", "problem")

    def total(self, column: str) -> str:
        """Return a sum, of 128 bits."""
        return f"sum({column})"

    def hashed(self, key: str, turn: str | None = None) -> str:
        """Return a hash of 64 bits.

        DuckDB's own hash, which knows no key, with the halves of the key mixed in between.
        """
        first, second = f"{int(key[:16], 16)}::UBIGINT", f"{int(key[16:], 16)}::UBIGINT"
        who, term = self._hashable("who"), self._hashable("term")
        mixed = f"hash(xor(hash(xor(hash({who}), {first})), hash(xor(hash({term}), {second}))))"
        return mixed if turn is None else f"hash(xor({mixed}, {turn}::UBIGINT))"

    def fetch(self, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Evaluate the table."""
        rows: list[tuple[Any, ...]] = self.relation.project(", ".join(columns)).fetchall()
        return rows

    def to_arrow(self, columns: Sequence[str]) -> pa.Table:
        """Evaluate the table."""
        return self.relation.project(", ".join(columns)).to_arrow_table()

    def _hashable(self, name: str) -> str:
        """Return the expression of a column as one whose hashes are spread.

        The hash of 128 bits is that of one half combined with that of the other: 0 and -1 share
        one, and so would labels of which a user could then never keep one alone.
        """
        kinds = dict(zip(self.relation.columns, self.relation.types, strict=True))
        return f"CAST({name} AS VARCHAR)" if kinds[name].id == "decimal" else name

    def _with(self, relation: duckdb.DuckDBPyRelation) -> "DuckRows":
        return DuckRows(self.connection, relation)


@dataclass(frozen=True, slots=True)
class SparkRows:
    """Rows of a PySpark dataframe; PySpark is imported only where there is one.

    Text has been made bytes, so that no collation of a caller's makes two labels one.
    """

    frame: Any

    def project(self, *columns: str) -> "SparkRows":
        """Compute columns."""
        return SparkRows(self.frame.selectExpr(*columns))

    def where(self, condition: str) -> "SparkRows":
        """Keep some rows."""
        return SparkRows(self.frame.where(condition))

    def group(self, keys: Sequence[str], *aggregates: str) -> "SparkRows":
        """Reduce groups of rows."""
        from pyspark.sql.functions import expr

        return SparkRows(self.frame.groupBy(*keys).agg(*map(expr, aggregates)))

    def ends(self) -> "SparkRows":
        """Return two rows for each."""
        return self.project("explode(array(source, target)) AS term", "problem")

    def total(self, column: str) -> str:
        """Return a sum, of 29 decimal digits."""
        return f"sum(CAST({column} AS DECIMAL(19, 0)))"

    def hashed(self, key: str, turn: str | None = None) -> str:
        """Return MD5 as hexadecimal digits: of the key, lengths in bytes, values, and turn."""
        kinds = dict(self.frame.dtypes)
        values = [_bytes_of(name, kinds[name]) for name in ("who", "term")]
        lengths = [f"CAST(concat(octet_length({value}), ':') AS BINARY)" for value in values]
        turned = [f"CAST(CAST({turn} AS STRING) AS BINARY)"] if turn else []
        parts = [f"CAST('{key}' AS BINARY)", *lengths, *values, *turned]
        # Spark's concat is null where a part is: rows without a user, whose place is not asked.
        return f"md5(concat({', '.join(parts)}))"

    def fetch(self, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Evaluate the table."""
        return [tuple(row) for row in self.frame.select(*columns).collect()]

    def to_arrow(self, columns: Sequence[str]) -> pa.Table:
        """Evaluate the table."""
        return self.frame.select(*columns).toArrow()


def _bytes_of(name: str, kind: str) -> str:
    """Return the expression of a Spark column as bytes that tell its values apart.

    A timestamp as text is the same twice where clocks are put back.
    """
    if kind == "binary":
        return name
    told = f"unix_micros({name})" if kind == "timestamp" else name
    return f"CAST(CAST({told} AS STRING) AS BINARY)"
