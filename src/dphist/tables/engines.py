"""Rows in DuckDB or in Spark, behind the three steps that bounding is made of.

DuckDB serves its own relations, files, and every table that is Arrow in memory or becomes it
(pandas, Polars, PyArrow): it reads Arrow's buffers in this process without copying them, and the
bounding of all of them is one piece of code. Spark's rows stay in Spark. Both take the same SQL
expressions, so a chain of steps is written once; where their words differ, a method has the two.

Every chain is a straight line from one source, without a join or a union, and is evaluated once:
a source that gives other rows at a second look is never looked at twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import duckdb


class Rows(Protocol):
    """A table in an engine, with columns of plain lower-case names."""

    def project(self, *columns: str) -> "Rows":
        """Compute columns, each ``expression AS name`` or a name."""

    def where(self, condition: str) -> "Rows":
        """Keep the rows for which a condition is true."""

    def group(self, keys: Sequence[str], *aggregates: str) -> "Rows":
        """Reduce the rows of each combination of keys, nulls being equal to each other."""

    def total(self, column: str) -> str:
        """Return the expression of a sum of int64 that does not wrap."""

    def hashed(self, key: str, columns: Sequence[str], turn: str | None = None) -> str:
        """Return the expression of a hash, in 128 bits, of `key` and the values of `columns`.

        What is hashed is the key, the length of each value in bytes, the values as text, and the
        whole number `turn`: no two rows of different values hash the same bytes.
        """

    def fetch(self, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Evaluate the table and return its rows, a short list of Python numbers."""


@dataclass(frozen=True, slots=True)
class DuckRows:
    """Rows of a DuckDB relation."""

    relation: duckdb.DuckDBPyRelation

    def project(self, *columns: str) -> "DuckRows":
        """Compute columns."""
        return DuckRows(self.relation.project(", ".join(columns)))

    def where(self, condition: str) -> "DuckRows":
        """Keep some rows."""
        return DuckRows(self.relation.filter(condition))

    def group(self, keys: Sequence[str], *aggregates: str) -> "DuckRows":
        """Reduce groups of rows."""
        grouped = ", ".join(keys)
        return DuckRows(self.relation.aggregate(", ".join([*keys, *aggregates]), grouped))

    def total(self, column: str) -> str:
        """Return a sum, of 128 bits."""
        return f"sum({column})"

    def hashed(self, key: str, columns: Sequence[str], turn: str | None = None) -> str:
        """Return a hash, of type UHUGEINT."""
        kinds = dict(zip(self.relation.columns, map(str, self.relation.types), strict=True))
        texts = [
            f"hex({name})" if kinds[name] == "BLOB" else f"CAST({name} AS VARCHAR)"
            for name in columns
        ]
        lengths = [f"strlen({text}), ':'" for text in texts]
        parts = [f"'{key}'", *lengths, *texts, *([turn] if turn else [])]
        return f"md5_number(concat({', '.join(parts)}))"

    def fetch(self, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Evaluate the table."""
        rows: list[tuple[Any, ...]] = self.relation.project(", ".join(columns)).fetchall()
        return rows


@dataclass(frozen=True, slots=True)
class SparkRows:
    """Rows of a PySpark dataframe; PySpark is imported only where there is one."""

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

    def total(self, column: str) -> str:
        """Return a sum, of 29 decimal digits."""
        return f"sum(CAST({column} AS DECIMAL(19, 0)))"

    def hashed(self, key: str, columns: Sequence[str], turn: str | None = None) -> str:
        """Return a hash, as hexadecimal digits."""
        kinds = dict(self.frame.dtypes)
        texts = [
            f"hex({name})" if kinds[name] == "binary" else f"CAST({name} AS STRING)"
            for name in columns
        ]
        lengths = [f"octet_length({text}), ':'" for text in texts]
        parts = [f"'{key}'", *lengths, *texts, *([turn] if turn else [])]
        # Unlike DuckDB's, Spark's concat is null where a part is: such rows are not ranked.
        return f"md5(concat({', '.join(parts)}))"

    def fetch(self, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Evaluate the table."""
        return [tuple(row) for row in self.frame.select(*columns).collect()]
