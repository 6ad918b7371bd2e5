"""Counted labels in their engine, the three queries on them, and which labels each user has.

A table of counted labels is computed once and only read afterwards. So every query sees the same
counts, even if the source changes.
"""

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import BoolArray, IntArray
from dphist.counting.bounding.ranking import changes, find_places_of_ranks
from dphist.counting.checks import LARGEST, add_totals
from dphist.counting.engine.private_duckdb import MORE_ROOM
from dphist.counting.engine.redaction import redact_errors
from dphist.counting.engine.rows import DuckRows, Rows, SparkRows
from dphist.counting.engine.spark import call_spark, checkpoint, refuse_stopped
from dphist.counting.reading.columns import canonical_type, find_decoded_type, to_exact
from dphist.errors import DataError

# Maps a batch with columns label and count (int64, at least 1) to the released rows. It may change
# the counts.
Keep: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch]

T = TypeVar("T")

_ROWS_AT_ONCE = 1 << 18
_ROWS_OF_A_PIECE = 1 << 21  # labels that Spark sends at once
_FEW = 1 << 16  # labels, up to which they are held in this process, without a database


class Store(ABC):
    """Columns label and count (int64, at least 1), each label once.

    Attributes
    ----------
    schema : the types of label and count.
    with_sums : these, and an int64 for each sum. Queries return sums only where they are asked for,
        so that no code that knows of none releases any.
    """

    __slots__ = ("__weakref__", "schema", "with_sums")

    def __init__(self, kind: pa.DataType, sums: Sequence[str] = ()) -> None:
        self.schema = pa.schema({"label": kind, "count": pa.int64()})
        self.with_sums = pa.schema([*self.schema, *((name, pa.int64()) for name in sums)])

    def settle(self, stack: ExitStack) -> "Store":
        """Return the final store of the labels; `stack` closes what only counting needed."""
        stack.close()
        return self

    @abstractmethod
    def filter_batches(self, keep: Keep, *, sums: bool = False) -> pa.Table:
        """Return the rows that `keep` returns for each batch, of counts and, if asked, sums."""

    @abstractmethod
    def largest(self, number: int) -> pa.Table:
        """Return the first `number` rows by count, descending, then by label."""

    @abstractmethod
    def find_rows(self, labels: pa.Array, *, sums: bool = False) -> pa.Table:
        """Return the rows of the given labels that occur; `labels` has the store's type."""

    def _columns(self, sums: bool) -> pa.Schema:
        return self.with_sums if sums else self.schema


def hold_counts(
    rows: Rows | pa.Table,
    kind: pa.DataType,
    summed: Sequence[str] = (),
    sums: Sequence[str] = (),
) -> "tuple[ArrowStore | DuckStore | SparkStore, int, list[int]]":
    """Evaluate rows (term, records, problem, ...), once, and hold them.

    Parameters
    ----------
    rows : of DuckDB or Spark, or an Arrow table without further columns
    kind : Arrow type
        Type of the labels; the engine may hold them as integers or bytes.
    summed : further columns to sum over all rows.
    sums : further columns to hold beside the counts, not of an Arrow table.

    Returns
    -------
    store : the store that holds the rows
    worst : the largest problem number of a row; 0 if there are no rows
    sums : the sums of the columns `summed`
    """
    released = canonical_type(find_decoded_type(kind))
    if isinstance(rows, pa.Table):
        schema = pa.schema({"label": released, "count": pa.int64()})
        columns = [rows["term"].cast(released), rows["records"]]
        worst = pc.max(rows["problem"]).as_py() or 0
        return ArrowStore(pa.table(columns, schema=schema)), worst, []
    store: DuckStore | SparkStore
    if isinstance(rows, DuckRows):
        store = DuckStore(rows, released, summed, sums)
    else:
        assert isinstance(rows, SparkRows)  # noqa: S101 - there are no others
        store = SparkStore(rows, released, sums)
    worst, *found = store.aggregate(["max(problem)", *(f"sum({name})" for name in summed)])
    return store, worst, found


class ArrowStore(Store):
    """Counted labels as an Arrow table, for few labels.

    Queries are at least 3 times faster than in DuckDB, and no database stays open. The rows are
    sorted by label, so that tests with a seed repeat.
    """

    __slots__ = ("_table",)

    def __init__(self, table: pa.Table) -> None:
        super().__init__(table.schema.field("label").type, table.column_names[2:])
        self._table = table.sort_by("label")

    def filter_batches(self, keep: Keep, *, sums: bool = False) -> pa.Table:
        """Return the rows that `keep` returns for each batch."""
        schema = self._columns(sums)
        batches = self._table.select(schema.names).to_batches(max_chunksize=_ROWS_AT_ONCE)
        return _to_table(map(keep, batches), schema)

    def largest(self, number: int) -> pa.Table:
        """Return the first rows."""
        order = [("count", "descending"), ("label", "ascending")]
        return self._table.select(self.schema.names).sort_by(order).slice(0, number)

    def find_rows(self, labels: pa.Array, *, sums: bool = False) -> pa.Table:
        """Return the rows of some labels."""
        table = self._table.select(self._columns(sums).names)
        return table.filter(pc.is_in(table["label"], labels))


class DuckStore(Store):
    """Counted labels in a private DuckDB, in memory; many labels spill to disk."""

    __slots__ = ("_as_integers", "_connection")

    def __init__(
        self,
        rows: DuckRows,
        kind: pa.DataType,
        summed: Sequence[str],
        sums: Sequence[str] = (),
    ) -> None:
        super().__init__(kind, sums)
        self._connection = rows.connection
        columns = ['term AS "label"', 'records AS "count"', "problem", *summed, *sums]
        rows.project(*columns).create_last("counted")
        # Streamed timestamps are integers; timestamps from a file have DuckDB's types.
        held_as = self._connection.sql('SELECT "label" FROM counted LIMIT 0').types[0].id
        self._as_integers = held_as == "bigint" and not pa.types.is_integer(kind)

    def aggregate(self, aggregates: Sequence[str]) -> list[int]:
        """Return aggregates over all rows; 0 if there are no rows."""
        query = f"SELECT {', '.join(aggregates)} FROM counted"  # noqa: S608
        return [int(found or 0) for found in self._connection.sql(query).fetchall()[0]]

    def settle(self, stack: ExitStack) -> Store:
        """Return the final store of the labels; `stack` closes the database and its folder.

        Few labels move to Arrow, and the database is closed at once. Otherwise it is closed when
        this store is no longer referenced.
        """
        with stack:
            few = self._table(f"LIMIT {_FEW + 1}", sums=True)
            if len(few) <= _FEW:
                return ArrowStore(few)
            weakref.finalize(self, stack.pop_all().close)
        return self

    def filter_batches(self, keep: Keep, *, sums: bool = False) -> pa.Table:
        """Return the rows that `keep` returns for each batch."""
        schema = self._columns(sums)
        return _to_table(map(keep, self._batches("", schema)), schema)

    def largest(self, number: int) -> pa.Table:
        """Return the first rows: one query, which keeps no more than `number` in memory."""
        if number == 0:  # DuckDB 1.5.0 fails at ORDER BY with LIMIT 0
            return self.schema.empty_table()
        return self._table(f'ORDER BY "count" DESC, "label" ASC LIMIT {number}')

    def find_rows(self, labels: pa.Array, *, sums: bool = False) -> pa.Table:
        """Return the rows of some labels."""
        wanted = pa.table({"label": to_exact(labels) if self._as_integers else labels})
        return self._table("WHERE label IN (SELECT label FROM wanted)", wanted, sums=sums)

    def _table(
        self, clause: str, wanted: pa.Table | None = None, *, sums: bool = False
    ) -> pa.Table:
        schema = self._columns(sums)
        return _to_table(self._batches(clause, schema, wanted), schema)

    def _batches(
        self, clause: str, schema: pa.Schema, wanted: pa.Table | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Evaluate a query batch by batch, on a separate cursor, so that queries may overlap."""
        failure = _engine_failure()

        def begin() -> Iterator[pa.RecordBatch]:
            cursor = self._connection.cursor()
            if wanted is not None:
                cursor.register("wanted", wanted)
            columns = ", ".join(f'"{name}"' for name in schema.names)
            query = f"SELECT {columns} FROM counted {clause}"  # noqa: S608
            return iter(cursor.sql(query).to_arrow_reader(_ROWS_AT_ONCE))

        reader = redact_errors(begin, failure)
        while (batch := redact_errors(lambda: next(reader, None), failure)) is not None:
            labels = batch.column(0).cast(schema.field("label").type)
            yield pa.RecordBatch.from_arrays([labels, *batch.columns[1:]], schema=schema)


class SparkStore(Store):
    """Counted labels in Spark.

    An eager local checkpoint holds them, which Spark drops when nothing refers to it. Unlike a
    cached table it has no lineage. A lost executor
    can make a later query fail, but it can never repeat the bounding from a source that may have
    changed. While the checkpoint is computed, a lost task is repeated under the same key; it makes
    the same choice of labels if the source returns the same rows.

    Spark runs plain SQL on them, so its workers need no Python. Text labels are held, compared and
    sorted as bytes, and converted back to text on output.
    """

    __slots__ = ("_checkpoint", "_frame")

    def __init__(self, rows: SparkRows, kind: pa.DataType, sums: Sequence[str] = ()) -> None:
        super().__init__(kind, sums)
        self._checkpoint = checkpoint(rows.frame)
        columns = ["term AS label", "records AS `count`", *sums]
        self._frame = self._checkpoint.selectExpr(*columns)

    def aggregate(self, aggregates: Sequence[str]) -> list[int]:
        """Return aggregates over all rows; 0 if there are no rows."""
        return [int(found or 0) for found in self._checkpoint.selectExpr(*aggregates).collect()[0]]

    def filter_batches(self, keep: Keep, *, sums: bool = False) -> pa.Table:
        """Return the rows that `keep` returns for each batch; it runs in this process.

        Spark sends the counts here, piece by piece, and `keep` draws noise when a piece is
        complete. So a task that Spark repeats sends the same counts again and draws no noise. Only
        one piece at a time is held besides the rows kept. Pieces are cut by a hash of the label, so
        each label is in one.
        """
        schema = self._columns(sums)
        labels = self._ask(self._checkpoint.count)
        pieces = -(-labels // _ROWS_OF_A_PIECE)
        kept: list[pa.RecordBatch] = []
        for piece in range(pieces):
            found = self._table(partial(self._piece, piece, pieces), schema).combine_chunks()
            kept += map(keep, found.to_batches(max_chunksize=_ROWS_AT_ONCE))
        return _to_table(kept, schema)

    def largest(self, number: int) -> pa.Table:
        """Return the first rows: one query."""
        frame = self._frame
        return self._table(
            lambda: frame.orderBy(frame["count"].desc(), frame["label"].asc()).limit(number),
            self.schema,
        )

    def find_rows(self, labels: pa.Array, *, sums: bool = False) -> pa.Table:
        """Return the rows of some labels."""

        def find_listed() -> Any:
            kinds = self._frame.select("label").schema
            text = pa.types.is_string(labels.type)
            wanted = pa.table({"label": labels.cast(pa.binary()) if text else labels})
            listed = self._frame.sparkSession.createDataFrame(wanted, kinds)
            return self._frame.join(listed, "label", "left_semi")

        return self._table(find_listed, self._columns(sums))

    def _piece(self, piece: int, pieces: int) -> Any:
        if pieces == 1:
            return self._frame
        return self._frame.where(f"pmod(hash(label), {pieces}) = {piece}")

    def _table(self, derive: Callable[[], Any], schema: pa.Schema) -> pa.Table:
        def evaluate() -> pa.Table:
            found = derive().select(*schema.names).toArrow()
            if pa.types.is_string(self.schema.field("label").type):
                found = found.set_column(0, "label", found["label"].cast(pa.string()))
            return found.cast(schema)

        return self._ask(evaluate)

    def _ask(self, ask: Callable[[], T]) -> T:
        """Return the answer of Spark to a query, without its messages; Ctrl-C cancels its jobs."""
        session = self._checkpoint.sparkSession
        stopped = (
            "the Spark session that holds the counted labels was stopped, so nothing was released: "
            "count them again in a session that runs"
        )
        refuse_stopped(session, DataError(stopped))
        return call_spark(session, lambda: redact_errors(ask, _engine_failure()))


def _to_table(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches(list(batches), schema)


def _engine_failure() -> DataError:
    return DataError(
        "the engine that holds the counted labels could not answer, so nothing was released: count "
        "them again; if memory or disk ran out, " + MORE_ROOM
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sets:
    """The labels of each user, bounded. Secret, and never shown.

    Attributes
    ----------
    labels : (k,) Arrow array, ascending, each label once.
    starts : (users + 1,) int64; user i has the labels from starts[i] to starts[i + 1].
    members : (pairs,) int64, places in `labels`; a user has no label twice.
    singles : (k,) int64, users of each label who have this label alone and are not in `members`:
        rows that are users of their own.
    places : (pairs,) int64, by the key of the counts: those up to a smaller bound are the labels
        that the user would keep with this bound (docs/understand/proofs/bounding.md, Lemma 1).
    totals, totals_alone : for each column that is summed, (pairs,) int64, the clamped total of each
        pair about the center, in steps, and (k,) int64, the sums of those of `singles`.
    """

    labels: pa.Array
    starts: IntArray
    members: IntArray
    singles: IntArray
    places: IntArray
    totals: tuple[IntArray, ...] = ()
    totals_alone: tuple[IntArray, ...] = ()

    def counts(self) -> pa.Table:
        """Return the number of users of each label, and sums: columns label, count, v0, ..."""
        users = np.bincount(self.members, minlength=len(self.labels)) + self.singles
        columns = {"label": self.labels, "count": pa.array(users, pa.int64())}
        return pa.table(columns | self.sum_totals(np.ones(len(self.members), bool)))

    def sum_totals(self, kept: BoolArray) -> dict[str, pa.Array]:
        """Return the sums of each label over some pairs, and all users of this label alone.

        Parameters
        ----------
        kept : (pairs,) which pairs count.
        """
        found = {}
        for place, held in enumerate(zip(self.totals, self.totals_alone, strict=True)):
            sums = add_totals(self.members[kept], held[0][kept], len(self.labels)) + held[1]
            found[f"v{place}"] = pa.array(np.clip(sums, -LARGEST, LARGEST))
        return found


def make_sets(pairs: pa.Table, kind: pa.DataType) -> Sets:
    """Return sets from pairs of a user and a label.

    Values are told apart by their bytes, as the engine told them apart: numbers take the place of
    equal bytes only.

    Parameters
    ----------
    pairs : columns who, term, amount, rank, as `bound_pairs` returns them, and those of totals.
    kind : Arrow type of the labels; the engine may hold them as integers or bytes.
    """
    places, held = _encode(pairs["term"])
    labels, order = order_labels(held, kind)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    members = rank[places]
    alone = pairs["who"].is_null().to_numpy()
    singles = np.zeros(len(order), np.int64)
    np.add.at(singles, members[alone], pairs["amount"].to_numpy()[alone])
    users, distinct = _encode(pairs["who"].filter(pc.invert(pairs["who"].is_null())))
    drawn = pairs["rank"] if len(pairs) else pa.array([], pairs["rank"].type)  # for PyArrow 19.0.1
    ranks = pc.rank(drawn, tiebreaker="dense").to_numpy()[~alone]  # Spark's are text
    ordered = np.lexsort((ranks, users))
    users, ranks = users[ordered], ranks[ordered]
    lengths = np.bincount(users, minlength=len(distinct))
    starts = np.zeros(len(distinct) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    own = find_places_of_ranks(lengths, changes(users) | changes(ranks))
    totals, of_alone = [], []
    for name in pairs.column_names[4:]:
        values = pairs[name].to_numpy()
        totals.append(values[~alone][ordered])
        of_alone.append(add_totals(members[alone], values[alone], len(order)))
    more = tuple(totals), tuple(of_alone)
    return Sets(labels, starts, members[~alone][ordered], singles, own, *more)


def _encode(column: pa.ChunkedArray) -> tuple[IntArray, pa.Array]:
    """Return a column as places in an array of its distinct values, and this array."""
    if not len(column):
        return np.zeros(0, np.int64), pa.array([], column.type)
    encoded = column.dictionary_encode()
    distinct = encoded.chunk(0).dictionary
    # Arrow gives all pieces one dictionary; to join equal ones took most of the time.
    if not all(piece.dictionary.equals(distinct) for piece in encoded.chunks):
        encoded = encoded.unify_dictionaries()
        distinct = encoded.chunk(0).dictionary
    places = [piece.indices.to_numpy() for piece in encoded.chunks]
    return np.concatenate(places).astype(np.int64), distinct


def order_labels(held: pa.Array, kind: pa.DataType) -> tuple[pa.Array, IntArray]:
    """Return values of the engine as labels of a type, ascending, and their places before."""
    labels = _as_labels(held, canonical_type(find_decoded_type(kind)))
    order = pc.sort_indices(pa.table({"label": labels}), sort_keys=[("label", "ascending")])
    return labels.take(order), order.to_numpy().astype(np.int64)


def _as_labels(held: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values of the engine as labels; Spark holds text as bytes."""
    if pa.types.is_string(kind) and not pa.types.is_string(held.type):
        held = held.cast(pa.string())
    return held.cast(kind)
