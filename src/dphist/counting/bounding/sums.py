"""Sums of values beside the counts of labels: each user's total of a label is clamped.

Values become whole steps row by row (`steps`), in this process or in Spark. From there on
everything is whole numbers. Which labels a user keeps is decided as it is without sums, and depends
on no value.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack, cast

import pyarrow as pa
import pyarrow.compute as pc

from dphist.counting.bounding.bounds import (
    Bounds,
    check_users,
    columns_of_users,
    draw_key,
    format_clamped_sum,
    keep_labels,
    mark_problems,
    select_marked,
)
from dphist.counting.bounding.contributions import check_pairs, describe_columns
from dphist.counting.bounding.other_labels import Run, check_text, map_batches, open_rows
from dphist.counting.bounding.problems import MISSING_ROWS, WORST, raise_problem
from dphist.counting.bounding.spark_steps import snap_in_spark
from dphist.counting.bounding.steps import NO_NUMBERS, Summed, UnreadableText, check_kind, snap
from dphist.counting.bounding.stores import Store, hold_counts
from dphist.counting.checks import LARGEST
from dphist.counting.engine.interruptible import interruptible
from dphist.counting.engine.private_duckdb import open_private_connection
from dphist.counting.engine.rows import Rows, SparkRows
from dphist.counting.reading.columns import Use, Wanted
from dphist.counting.reading.gate import Reading, open_source
from dphist.counting.reading.source import Batches, Source, stream_rows
from dphist.counting.reading.spark import SparkSource
from dphist.errors import DataError


def count_with_sums(
    frame: object,
    names: Mapping[str, str],
    bounds: Bounds,
    summed: Sequence[Summed],
    *,
    key: str | None = None,
    **reading: Unpack[Reading],
) -> tuple[Store, tuple[int, ...] | None]:
    """Count labels as `count_labels` does, and sum columns of values for each.

    Parameters
    ----------
    frame, names, bounds, key, reading
        As for `count_labels`.
    summed : the columns of values.

    Returns
    -------
    store : the labels with their counts and, named ``v0``, ``v1`` and so on, the sums of the
        clamped totals about their centers, in steps, from -(2**62 - 1) to 2**62 - 1.
    users : as from `count_labels`; then, for each column with `Summed.starts`, the number of users
        in each cell of totals. Counted are the totals of labels that a user keeps.

    Raises
    ------
    ParameterError, ColumnError, InputFileError, DataError
        As from `count_labels`; also if a column of values holds no numbers, or a value is missing
        or no number.
    """
    roles = dict(zip(_roles(summed), summed, strict=True))
    cells = columns_of_users(bounds) + [name for names in _name_cells(roles) for name in names]
    with ExitStack() as stack:

        def hold(kept: Rows, kind: pa.DataType, _: str) -> tuple[Any, int]:
            store, worst, users = hold_counts(_add(kept, roles, cells), kind, cells, [*roles])
            return (store, users), worst

        store, users = _evaluate(stack, frame, names, bounds, roles, key, reading, hold)
        return store.settle(stack.pop_all()), tuple(users) or None


def hold_with_sums(
    frame: object,
    names: Mapping[str, str],
    bounds: Bounds,
    summed: Sequence[Summed],
    *,
    key: str | None = None,
    **reading: Unpack[Reading],
) -> tuple[pa.Table, pa.DataType]:
    """Bound each user as `count_with_sums` does, and return who has which label, with totals.

    Returns
    -------
    pairs : columns as those of `bound_pairs`; then, named ``v0`` and so on, the clamped totals
        about their centers, in steps; of rows without a user, the sums of these.
    kind : Arrow type of the labels.
    """
    check_pairs(bounds)
    roles = dict(zip(_roles(summed), summed, strict=True))
    own = bounds if "user" in names else replace(bounds, max_labels=None)

    def hold(kept: Rows, kind: pa.DataType, salt: str) -> tuple[Any, int]:
        rank = kept.hash_columns(salt) if "user" in names else "0"
        columns = ["who", "term", "amount", "problem"]
        rows = kept.project(*columns, f"{rank} AS rank", *roles)
        pairs = rows.to_arrow([*columns, "rank", *roles])
        return (pairs.drop_columns(["problem"]), kind), pc.max(pairs["problem"]).as_py() or 0

    with ExitStack() as stack:
        found: tuple[pa.Table, pa.DataType] = _evaluate(
            stack, frame, names, own, roles, key, reading, hold
        )
        return found


def _evaluate(
    stack: ExitStack,
    frame: object,
    names: Mapping[str, str],
    bounds: Bounds,
    roles: Mapping[str, Summed],
    key: str | None,
    reading: Reading,
    hold: Callable[[Rows, pa.DataType, str], tuple[Any, int]],
) -> Any:
    """Return what `hold` makes of the labels that users keep, the type of labels and the key.

    `hold` also returns the largest problem of a row.
    """
    columns = describe_columns(names, cut=bounds.cut)
    values = [Wanted(role, each.name, Use.VALUE, "sums") for role, each in roles.items()]
    wanted = [*values, *columns]
    source = open_source(stack, frame, wanted, **reading)
    check_users(source, bounds.cut)
    snapping, salt = _Snapping(source, roles), key or draw_key()
    rows, run = snapping.open_rows(stack, bounds.other_than)
    found, worst = run(
        lambda: hold(_bound(rows(), wanted, bounds, roles, salt), source.kinds["term"], salt)
    )
    snapping.check()
    raise_problem(
        worst, wanted, source.wall.problem, from_text=source.from_text, missing=MISSING_ROWS
    )
    return found


def add_sums(table: Any, number: int) -> Store:
    """Add the counts and sums of labels that were counted in parts; see `count_with_sums`.

    Parameters
    ----------
    table : columns label, count and, for each sum, ``v0`` and so on, whole numbers.
    number : number of sums.
    """
    summed = [Summed(f"v{place}", Fraction(1), -LARGEST, LARGEST, 0) for place in range(number)]
    names = {"label": "label", "count": "count"}
    return count_with_sums(table, names, Bounds(None, LARGEST), summed)[0]


def _roles(summed: Sequence[Summed]) -> list[str]:
    return [f"v{place}" for place in range(len(summed))]


@dataclass(slots=True)
class _Snapping:
    """Values as steps: in Spark, or batch by batch.

    Attributes
    ----------
    unreadable : the first column with text that is no number; empty if there is none.
    """

    source: Source
    roles: Mapping[str, Summed]
    unreadable: str = ""

    def open_rows(
        self, stack: ExitStack, other_than: Sequence[str] | None
    ) -> tuple[Callable[[], Rows], Run]:
        """Return what makes the rows, with whole steps in place of values, and what evaluates them.

        Raises
        ------
        ColumnError
            If a column of values holds no numbers.
        """
        source = self.source
        if isinstance(source, SparkSource):
            named, run = open_rows(stack, source, other_than)
            others = [role for role in source.names if role not in self.roles]
            snapped = snap_in_spark(cast("SparkRows", named), self.roles, source.kinds, others)
            return lambda: snapped, run
        for role, each in self.roles.items():
            if not source.is_text(role):
                check_kind(source.kinds[role], each.name)
        connection = open_private_connection(stack, large=True)
        batches = self.batches()
        if other_than is not None:
            check_text(source)
            batches = map_batches(batches, other_than)
        return (
            lambda: stream_rows(connection, batches, source.wall),
            lambda call: interruptible(connection, lambda: source.run(call)),
        )

    def batches(self) -> Batches:
        """Yield the rows of the source, with whole steps in place of values."""
        for batch in self.source.batches():
            columns = list(batch.columns)
            for place, (role, each) in enumerate(self.roles.items()):
                columns[place] = self._snap(columns[place], each, self.source.is_text(role))
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def _snap(self, values: pa.Array, each: Summed, text: bool) -> pa.Array:
        try:
            return snap(values, each.step, text=text)
        except UnreadableText:
            self.unreadable = self.unreadable or each.name
        return pa.array([0] * len(values), pa.int64())

    def check(self) -> None:
        """Raise the error for text that is no number."""
        if self.unreadable:
            raise DataError(f"column {self.unreadable!r} {NO_NUMBERS}")


def _bound(
    rows: Rows, wanted: Sequence[Wanted], bounds: Bounds, roles: Mapping[str, Summed], key: str
) -> Rows:
    """From the caller's rows to the labels that each user keeps, with the totals of each.

    A row without a user is a user of its own, so its own value is clamped; of others the total of
    the label is, after all of the user's rows of it were added.
    """
    marked = mark_problems(rows, wanted, bounds, *roles)
    values = (
        f"CASE WHEN problem > 0 OR amount = 0 AND who IS NULL THEN 0 "
        f"WHEN who IS NULL THEN {each.clamp(role)} ELSE {role} END AS {role}"
        for role, each in roles.items()
    )
    rows = select_marked(marked, bounds, *values)
    most = f"CASE WHEN who IS NULL THEN {LARGEST} ELSE {bounds.max_count} END"
    totals = (
        f"CAST(CASE WHEN who IS NULL THEN {_clamp_sum(rows.total(role))} "
        f"ELSE {each.clamp(rows.total(role))} END AS BIGINT) AS {role}"
        for role, each in roles.items()
    )
    # In this order, which `keep_labels` returns rows of users above the bound in.
    counted = [role for role, each in roles.items() if each.starts]
    whole = (f"CAST({_clamp_sum(rows.total(role))} AS BIGINT) AS {role}_whole" for role in counted)
    amounts = format_clamped_sum(rows, most, "amount")
    rows = rows.group(["who", "term"], amounts, *totals, *whole, WORST)
    rows = rows.where("amount > 0 OR problem > 0")
    own = ["amount", *roles, *(f"{role}_whole" for role in counted)]
    kept = keep_labels(rows, bounds, key, own)
    return _count_users(kept, bounds, roles) if counted else kept


def _name_cells(roles: Mapping[str, Summed]) -> list[list[str]]:
    """Return the names of the columns that count users by their totals, for each column."""
    return [
        [f"{role}_users_{cell}" for cell in range(len(each.starts) + 1)] if each.starts else []
        for role, each in roles.items()
    ]


def _count_users(rows: Rows, bounds: Bounds, roles: Mapping[str, Summed]) -> Rows:
    """Add the columns of `_name_cells` to the labels that users keep, of each with its whole total.

    A user is counted at one of the labels that they keep, in the cell of the total that is farthest
    outside of the clamp: so in one cell of each column, by the user's own rows.
    """
    others = ["who", "term", "amount", "problem", *roles, *columns_of_users(bounds)]
    own = "OVER (PARTITION BY who)"
    ends = (
        f"{name}({role}_whole) {own} AS {role}_{end}"
        for role, each in roles.items()
        for name, end in (("min", "least"), ("max", "most"))
        if each.starts
    )
    turn = "row_number() OVER (PARTITION BY who ORDER BY term) AS turn"
    rows = rows.project(*others, *ends, turn)
    farthest = (
        f"{each.find_farthest(f'{role}_least', f'{role}_most')} AS {role}_farthest"
        for role, each in roles.items()
        if each.starts
    )
    rows = rows.project(*others, "turn", *farthest)
    cells = []
    for (role, each), names in zip(roles.items(), _name_cells(roles), strict=True):
        for name, first, end in zip(
            names, (None, *each.starts), (*each.starts, None), strict=False
        ):
            within = ["who IS NOT NULL", "turn = 1"]
            within += [] if first is None else [f"{role}_farthest >= {first}"]
            within += [] if end is None else [f"{role}_farthest < {end}"]
            counted = f"CASE WHEN {' AND '.join(within)} THEN CAST(1 AS BIGINT) ELSE 0 END"
            cells.append(f"{counted} AS {name}")
    return rows.project(*others, *cells)


def _add(rows: Rows, roles: Mapping[str, Summed], cells: Sequence[str]) -> Rows:
    """From the labels that each user keeps to (term, records, problem, sums)."""
    sums = (f"CAST({_clamp_sum(rows.total(role))} AS BIGINT) AS {role}" for role in roles)
    records = format_clamped_sum(rows, str(LARGEST), "records")
    users = (f"{rows.total(name)} AS {name}" for name in cells)
    rows = rows.group(["term"], records, WORST, *sums, *users)
    return rows.where("records > 0 OR problem > 0")


def _clamp_sum(total: str) -> str:
    """Return the expression of a sum that is clamped, so that it never wraps."""
    return f"least(greatest({total}, {-LARGEST}), {LARGEST})"
