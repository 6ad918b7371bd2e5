"""Rows in DuckDB or in Spark, with the steps that bounding needs.

A private DuckDB processes files, DuckDB's own relations, and every table that is or becomes Arrow
(pandas, Polars, PyArrow), so that one piece of code bounds all of them. Spark's rows stay in Spark.
Both accept almost the same SQL expressions, so a chain of steps is written once. Methods provide
the expressions that differ.

Every chain starts from one source, has no join or union, and is evaluated once: a source that
returns other rows the second time is never read twice. Only rows with a `size`, which are held in
memory or in a table, are evaluated several times. What `SparkRows.beside` adds is given by dphist,
and never read from the source.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from dphist.counting.engine.private_duckdb import GIVEN, ExpectedRows

_INTEGERS = {
    *("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger"),
}  # that BIGINT holds
FEW_ROWS, FEW_BYTES = 1 << 16, 1 << 22
"""Rows in memory up to this number and size, in bytes, are counted in arrays and never spill."""

_DIGITS = 15  # hexadecimal digits of a hash that decide about a part


class Rows(Protocol):
    """A table in an engine, with columns of plain lower-case names."""

    def project(self, *columns: str) -> "Rows":
        """Compute columns, each ``expression AS name`` or a name."""

    def where(self, condition: str) -> "Rows":
        """Keep the rows for which a condition is true."""

    def group(self, keys: Sequence[str], *aggregates: str) -> "Rows":
        """Aggregate the rows of each combination of keys; nulls are equal.

        Without aggregates, each combination that occurs becomes a row.
        """

    def gather(self, key: str) -> "Rows":
        """Return the same rows, those of equal `key` in one place.

        It changes the cost alone: groups and windows by `key`, also with further columns, then need
        no rows of another worker.
        """

    def ends(self) -> "Rows":
        """Convert each row (source, target, problem), an edge, to two rows (term, problem)."""

    def total(self, column: str) -> str:
        """Return the expression of a sum of int64 that does not wrap."""

    def hash_columns(self, key: str, turn: str | None = None) -> str:
        """Return the expression of a hash, under a key of 32 hexadecimal digits, of who and term.

        If `turn` names a column of whole numbers, it is hashed as well.
        """

    def part(self, name: str, parts: int) -> str:
        """Return the expression of the part, from 0, of a column of text, bytes or integers.

        It is the same in every engine; null for a null.
        """

    def wide(self, expression: str) -> str:
        """Return the expression of a whole number in a type that holds up to 2**125."""

    def spin(self, hashed: str) -> str:
        """Return the expression of a whole number from 0 to 2**60 - 1 at least, of a hash."""

    def quotient(self, dividend: str, divisor: str) -> str:
        """Return the expression of the whole part of a quotient of two `wide` numbers, int64."""

    def fetch(self, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Evaluate the table and return its rows, a short list of Python numbers."""

    def to_arrow(self, columns: Sequence[str]) -> pa.Table:
        """Evaluate the table and return columns of numbers, possibly of many rows."""


@dataclass(frozen=True, slots=True)
class DuckRows:
    """Rows of a relation on a private DuckDB, after some steps.

    The steps are one query. DuckDB sees it when it is evaluated, or asked for its types, and not
    after each of ten steps: checking a query takes longer than counting a small table.

    Attributes
    ----------
    connection : the private DuckDB, which has no other rows that are given.
    given : relation before the steps.
    steps : query of the rows of `GIVEN`; empty without steps.
    size : number of rows before the steps, of a relation that gives the same rows each time it is
        evaluated, as a table in memory does; None for other relations.
    nbytes : about the size of the rows before the steps, in bytes, where `size` is known.
    spent : tables of the connection that nobody needs once the rows are in a table.
    expected : the number of rows before the steps, to compare with what DuckDB reads each time the
        rows are evaluated; None for a table of the connection itself.
    """

    connection: duckdb.DuckDBPyConnection
    given: duckdb.DuckDBPyRelation
    steps: str = ""
    size: int | None = None
    nbytes: int = 0
    spent: tuple[str, ...] = ()
    expected: ExpectedRows | None = None

    @property
    def relation(self) -> duckdb.DuckDBPyRelation:
        """The relation after the steps, unevaluated."""
        if not self.steps:
            return self.given
        self.given.create_view(GIVEN, replace=True)
        return self.connection.sql(self.steps)

    @property
    def is_few(self) -> bool:
        """Whether the rows are few, see `are_few`."""
        return self.size is not None and are_few(self.size, self.nbytes)

    def create(self, table: str) -> int:
        """Evaluate the rows into a table; what was given is no longer held.

        Returns
        -------
        The number of rows.
        """
        self.given.create_view(GIVEN, replace=True)
        query = f"CREATE TABLE {table} AS {self.steps or f'FROM {GIVEN}'}"
        found = self.connection.execute(query).fetchall()
        self._check_read()
        self.connection.execute(f"DROP VIEW {GIVEN}")
        return int(found[0][0])

    def create_last(self, table: str) -> None:
        """As `create`, after which the spent tables are dropped."""
        self.create(table)
        for name in self.spent:
            self.connection.execute(f"DROP TABLE {name}")

    def project(self, *columns: str) -> "DuckRows":
        """Compute columns."""
        return self._then(", ".join(columns))

    def where(self, condition: str) -> "DuckRows":
        """Keep some rows."""
        return self._then("*", f"WHERE {condition}")

    def group(self, keys: Sequence[str], *aggregates: str) -> "DuckRows":
        """Reduce groups of rows."""
        return self._then(", ".join([*keys, *aggregates]), f"GROUP BY {', '.join(keys)}")

    def gather(self, key: str) -> "DuckRows":
        """Return self."""
        return self

    def ends(self) -> "DuckRows":
        """Return two rows for each."""
        return self.project("unnest([source, target]) AS term", "problem")

    def total(self, column: str) -> str:
        """Return a sum, of 128 bits."""
        return f"sum({column})"

    def hash_columns(self, key: str, turn: str | None = None) -> str:
        """Return a hash of 64 bits.

        DuckDB's hash has no key, so the halves of the key are mixed in.
        """
        kinds = self._kinds()
        who, term = (
            f"hash(xor({_format_hash(name, kinds)}, {int(half, 16)}::UBIGINT))"
            for name, half in (("who", key[:16]), ("term", key[16:]))
        )
        hashed = f"hash(xor({who}, {term}))"
        return hashed if turn is None else f"hash(xor({hashed}, {turn}::UBIGINT))"

    def rank(self, key: str) -> str:
        """Return the hash, UBIGINT."""
        return f"CAST({self.hash_columns(key)} AS UBIGINT)"

    def format_number(self, name: str) -> tuple[str, bool]:
        """Return the expression of a number of 64 bits, a function of a column's value.

        The second value says whether different values have different numbers: the numbers of
        integers are themselves, those of other values their hashes.
        """
        kinds = self._kinds()
        if kinds[name].id == "ubigint":
            return name, True
        if kinds[name].id in _INTEGERS:
            return f"CAST({name} AS BIGINT)", True
        return _format_hash(name, kinds), False

    def lengths(self, *names: str) -> str:
        """Return the expression of the bytes that the text and the bytes in columns have in all."""
        kinds = self._kinds()
        measures = {"varchar": "strlen", "blob": "octet_length"}
        sums = [
            f"sum({measures[kinds[name].id]}({name}))"
            for name in names
            if kinds[name].id in measures
        ]
        # The first is an aggregate, so that there is one row, of whatever types the columns are.
        return " + ".join(f"coalesce({each}, 0)" for each in ["sum(0)", *sums])

    def part(self, name: str, parts: int) -> str:
        """Return a part, from the first 60 bits of MD5."""
        kinds = self._kinds()
        value = name if kinds[name].id == "blob" else f"CAST({name} AS VARCHAR)"
        return f"CAST('0x' || substr(md5({value}), 1, {_DIGITS}) AS BIGINT) % {parts}"

    def wide(self, expression: str) -> str:
        """Return a number of 128 bits."""
        return f"CAST({expression} AS HUGEINT)"

    def spin(self, hashed: str) -> str:
        """Return the hash itself, a number of 64 bits."""
        return self.wide(hashed)

    def quotient(self, dividend: str, divisor: str) -> str:
        """Return a whole quotient."""
        return f"CAST(({dividend}) // ({divisor}) AS BIGINT)"

    def fetch(self, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Evaluate the table."""
        rows: list[tuple[Any, ...]] = self.project(*columns).relation.fetchall()
        self._check_read()
        return rows

    def to_arrow(self, columns: Sequence[str]) -> pa.Table:
        """Evaluate the table."""
        found = self.project(*columns).relation.to_arrow_table()
        self._check_read()
        return found

    def _check_read(self) -> None:
        """Refuse rows of which DuckDB has not read all."""
        if self.expected is not None:
            self.expected.check(self.connection, self.given)

    def _kinds(self) -> dict[str, Any]:
        """Return the type of each column before the steps, which change that of no user or term."""
        return dict(zip(self.given.columns, self.given.types, strict=True))

    def _then(self, columns: str, clause: str = "") -> "DuckRows":
        """Return the rows after one more step."""
        before = f"({self.steps})" if self.steps else GIVEN
        steps = f"SELECT {columns} FROM {before} AS dphist_step {clause}"  # noqa: S608
        return replace(self, steps=steps)


def are_few(rows: int, nbytes: int) -> bool:
    """Whether rows in memory are so few that one query and arrays take less time than tables."""
    return rows <= FEW_ROWS and nbytes <= FEW_BYTES


def _format_hash(name: str, kinds: Mapping[str, Any]) -> str:
    """Return the expression of well-distributed hashes of a column.

    DuckDB combines the hashes of both halves of a 128-bit number, so that 0 and -1 collide, and a
    user could never keep only one of two such labels.
    """
    return f"hash(CAST({name} AS VARCHAR))" if kinds[name].id == "decimal" else f"hash({name})"


@dataclass(frozen=True, slots=True)
class SparkRows:
    """Rows of a PySpark dataframe; PySpark is imported only where there is one.

    Text is converted to bytes, so that no collation of a caller merges two labels.
    """

    frame: Any

    def project(self, *columns: str) -> "SparkRows":
        """Compute columns."""
        return SparkRows(self.frame.selectExpr(*columns))

    def beside(self, arrays: Mapping[str, pa.Array]) -> "SparkRows":
        """Add columns that hold the same array in every row, for one expression of the next step.

        An array must not depend on the rows. Each is a scalar subquery of a table of one row, which
        Spark evaluates once and puts in place of the name; each task gets its bytes. A constant in
        the text would be repeated in every description of the plan, and be sent to each task as an
        object for each element. A name used twice would be a column, copied into every row.
        No view or checkpoint is made. Through Connect, the server keeps a large table until the
        session ends, as it does all that `createDataFrame` sends, and once if it is sent again.
        """
        session = self.frame.sparkSession
        columns = []
        for name, array in arrays.items():
            single = pa.ListArray.from_arrays([0, len(array)], array)
            frame = session.createDataFrame(pa.table({name: single}))
            columns.append(frame.scalar().alias(name))
        return SparkRows(self.frame.select("*", *columns)) if columns else self

    def where(self, condition: str) -> "SparkRows":
        """Keep some rows."""
        return SparkRows(self.frame.where(condition))

    def group(self, keys: Sequence[str], *aggregates: str) -> "SparkRows":
        """Reduce groups of rows.

        With several keys, rows are gathered by the first one.
        """
        from pyspark.sql.functions import expr

        frame = self.gather(keys[0]).frame if len(keys) > 1 else self.frame
        if not aggregates:
            return SparkRows(frame.select(*keys).distinct())
        return SparkRows(frame.groupBy(*keys).agg(*map(expr, aggregates)))

    def gather(self, key: str) -> "SparkRows":
        """Send the rows to workers by `key` alone: one shuffle in place of one for each step."""
        return SparkRows(self.frame.repartition(key))

    def ends(self) -> "SparkRows":
        """Return two rows for each."""
        return self.project("explode(array(source, target)) AS term", "problem")

    def total(self, column: str) -> str:
        """Return a sum, of 29 decimal digits."""
        return f"sum(CAST({column} AS DECIMAL(19, 0)))"

    def hash_columns(self, key: str, turn: str | None = None) -> str:
        """Return MD5 as hexadecimal digits: of the key, lengths in bytes, values, and turn."""
        kinds = dict(self.frame.dtypes)
        values = [format_bytes(name, kinds[name]) for name in ("who", "term")]
        lengths = [f"CAST(concat(octet_length({value}), ':') AS BINARY)" for value in values]
        turned = [f"CAST(CAST({turn} AS STRING) AS BINARY)"] if turn else []
        parts = [f"CAST('{key}' AS BINARY)", *lengths, *values, *turned]
        # Spark's concat is null if a part is: for rows without a user, which need no hash.
        return f"md5(concat({', '.join(parts)}))"

    def part(self, name: str, parts: int) -> str:
        """Return a part, from the first 60 bits of MD5."""
        digits = f"substr(md5({format_bytes(name, dict(self.frame.dtypes)[name])}), 1, {_DIGITS})"
        return f"CAST(conv({digits}, 16, 10) AS BIGINT) % {parts}"

    def wide(self, expression: str) -> str:
        """Return a number of 38 decimal digits."""
        return f"CAST({expression} AS DECIMAL(38, 0))"

    def spin(self, hashed: str) -> str:
        """Return the first 60 bits of the hash, which is written in hexadecimal digits."""
        return self.wide(f"conv(substring({hashed}, 1, 15), 16, 10)")

    def quotient(self, dividend: str, divisor: str) -> str:
        """Return a whole quotient."""
        return f"CAST(({dividend}) div ({divisor}) AS BIGINT)"

    def fetch(self, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Evaluate the table."""
        return [tuple(row) for row in self.frame.select(*columns).collect()]

    def to_arrow(self, columns: Sequence[str]) -> pa.Table:
        """Evaluate the table."""
        return self.frame.select(*columns).toArrow()


def format_bytes(name: str, kind: str) -> str:
    """Return the expression of a Spark column as bytes that distinguish its values.

    The text of a timestamp is ambiguous when clocks are set back.
    """
    if kind == "binary":
        return name
    told = f"unix_micros({name})" if kind == "timestamp" else name
    return f"CAST(CAST({told} AS STRING) AS BINARY)"
