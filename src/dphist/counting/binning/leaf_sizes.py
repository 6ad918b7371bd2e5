"""From rows to how many labels have each count in each leaf of a public tree of regions.

A label in two leaves is two: what is counted is the pair of a row's leaf and its label, written as
bytes. So the pair, and which rows of a user are kept, are functions of the user's own rows and of
the tree alone. A row whose region is no leaf goes to the leaf that takes all others, or is left out
before users are bounded, or the table is refused after all rows were read. Rows that are left out,
as they have no user or one of another part, are not looked at: no engine refuses them.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, Unpack, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import IntArray
from dphist.counting.binning.key_grid import KeyColumn, ListedSearch, make_listed_search
from dphist.counting.bounding.bounds import (
    USER_TYPES,
    Bounds,
    Cut,
    bound_records,
    check_rows,
    check_users,
    draw_key,
)
from dphist.counting.bounding.problems import (
    MISSING_USERS,
    WORST,
    problem_expression,
    raise_problem,
)
from dphist.counting.bounding.profiles import check_sums, fetch_checked, sum_by, to_arrays
from dphist.counting.checks import LARGEST, check_total
from dphist.counting.engine.interruptible import interruptible
from dphist.counting.engine.private_duckdb import open_private_connection
from dphist.counting.engine.rows import Rows, format_bytes
from dphist.counting.reading.columns import (
    OBJECTS,
    UserType,
    Wanted,
    canonical_type,
    count_column,
    find_decoded_type,
    key_column,
    to_exact,
    type_of_users,
)
from dphist.counting.reading.gate import Reading, open_source
from dphist.counting.reading.source import Batches, Source, stream_rows
from dphist.counting.reading.spark import SparkSource
from dphist.errors import Argument, ColumnError, DataError, DphistError, phrase

T = TypeVar("T")
Run: TypeAlias = Callable[[Callable[[], Any]], Any]
Pairs: TypeAlias = tuple[IntArray, IntArray]
"""Counts, and how many labels have each."""

_FIRST = 10**9  # so that the number of each leaf has ten digits
_DIGITS = 10
_LONGEST = 20  # digits of a whole number that may be of 64 bits
_UNLISTED = (
    "has rows of regions that are no leaf of the tree, or without a region: name the leaf that "
    "takes all others with "
    + Argument("other")
    + ", list the missing leaves, or leave such rows out with "
    + Argument("unlisted", "drop")
)


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaves of a tree.

    Attributes
    ----------
    names : (k,) of the leaves, each different.
    other : place of the leaf that takes all rows of other regions; None if there is none.
    drop : whether rows of other regions are left out; otherwise they are refused.
    """

    names: tuple[str, ...]
    other: int | None = None
    drop: bool = False

    @property
    def refuse(self) -> bool:
        """Whether rows of other regions are refused."""
        return self.other is None and not self.drop


def count_in_leaves(
    frame: object,
    leaves: Leaves,
    *,
    label: str,
    count: str | None = None,
    **counting: Any,
) -> list[Pairs]:
    """Bound each user to `max_records` rows, then count the labels with each count in each leaf.

    Parameters
    ----------
    frame, label, count : as for `count_records` and `sum_counts`.
    counting : region, the column of regions: text or whole numbers, as the names of leaves; user,
        max_records, null_users, key and reading, as for `count_bounded_records`.

    Returns
    -------
    Pairs of counts and prevalences, (d,) int64, one for each leaf, also for those without rows.

    Raises
    ------
    ParameterError, ColumnError, DataError, InputFileError
        As for these. DataError also if a row has a region that is no leaf, or none, unless
        `leaves` says what becomes of it: the column is named, and nothing was counted.
    """
    found, source = _evaluate(
        frame, leaves, _fetch_prevalences, label=label, count=count, **counting
    )
    check_sums(found, label if count is None else count, "label")
    return _split(found, leaves, source.wall.problem)


def count_leaf_terms(
    frame: object,
    leaves: Leaves,
    *,
    user: str,
    cut: Cut,
    **counting: Any,
) -> tuple[pa.Table, UserType]:
    """Bound each user of a part to `max_records` rows, then count the labels of each leaf.

    Labels are text, integers, bytes or UUIDs, which all engines write alike.

    Parameters
    ----------
    cut : the part of the users that is counted.
    frame, leaves, user, counting : as for `count_in_leaves`, which raises the same.

    Returns
    -------
    counted : columns term, bytes of leaf and label, each once, and count, above 0; `sum_leaf_terms`
        reads it.
    label_type : type of the labels. Those of two types may be written alike.
    """
    found, source = _evaluate(frame, leaves, _fetch_terms, user=user, cut=cut, **counting)
    return found, cast(UserType, type_of_users(source.identity("term")))


def sum_leaf_terms(table: pa.Table, leaves: Leaves) -> list[Pairs]:
    """Return what `count_in_leaves` does, of the terms of all parts together.

    Raises
    ------
    DataError
        If there are 2**62 records or more, or a term has no leaf.
    """
    wanted = [count_column("amount", "count", "count"), key_column("term", "term", "label")]

    def count_kept(rows: Rows) -> Rows:
        checked = rows.project("term", "amount", f"{problem_expression(wanted)} AS problem")
        return _count_prevalences(sum_by(checked, "term", "amount"))

    found = fetch_checked(table, wanted, count_kept, _PREVALENCES)
    check_sums(found, "count", "label")
    no_leaf = DataError(phrase("{parts} must hold labels of their leaves: count them again"))
    return _split(found, leaves, no_leaf)


_PREVALENCES = ("records", "prevalence", "problem", "place")


def _count_prevalences(counted: Rows) -> Rows:
    """From (term, records, problem), one for each term, to `_PREVALENCES`; place is in digits."""
    place = f"substr(hex(term), 1, {2 * _DIGITS}) AS place"
    places = counted.project(place, "records", "problem")
    return places.group(["place", "records"], "count(*) AS prevalence", WORST)


def _fetch_prevalences(counted: Rows) -> tuple[list[tuple[Any, ...]], int]:
    """Return the `_PREVALENCES` of counted labels; and the worst problem."""
    found = _count_prevalences(counted).fetch(_PREVALENCES)
    return found, max((row[2] for row in found), default=0)


def _fetch_terms(counted: Rows) -> tuple[pa.Table, int]:
    """Return the terms with their counts; and the worst problem."""
    found = counted.to_arrow(["term", "records", "problem"])
    columns = [found["term"].cast(pa.large_binary()), found["records"].cast(pa.int64())]
    table = pa.table(columns, names=["term", "count"])
    return table.filter(pc.is_valid(table["term"])), pc.max(found["problem"]).as_py() or 0


def _evaluate(
    frame: object,
    leaves: Leaves,
    fetch: Callable[[Rows], tuple[T, int]],
    *,
    region: str,
    label: str,
    count: str | None = None,
    user: str | None = None,
    max_records: int | None = None,
    null_users: str = "refuse",
    key: str | None = None,
    cut: Cut | None = None,
    **reading: Unpack[Reading],
) -> tuple[T, Source]:
    """Return what `fetch` gets of rows of (term, records, problem), and where they came from.

    `fetch` is called once, and also returns the worst problem.
    """
    in_parts = cut is not None
    place = key_column("place", region, "region")
    others = [] if count is None else [count_column("amount", count, "count")]
    others.append(key_column("term", label, "label", only_text=in_parts))
    if user is not None:
        others.append(key_column("who", user, "user", only_text=in_parts))
    with ExitStack() as stack:
        source = open_source(stack, frame, [place, *others], **reading)
        search = _make_search(leaves, place, source)
        check_users(source, cut)
        _check_labels(source, cut)
        run: Run = source.run
        if isinstance(source, SparkSource):
            rows = _rows_in_spark(source, leaves, others)
        else:
            connection = open_private_connection(stack, large=True)
            batches = _with_places(source.batches(), search, leaves, others)
            rows = source.wall(lambda: stream_rows(connection, batches, source.wall))

            def run(call: Callable[[], Any]) -> Any:
                return interruptible(connection, lambda: source.run(call))

        checked = [place, *others] if leaves.refuse else others
        bounds = Bounds(None, LARGEST, null_users, cut=cut)
        found, worst = run(lambda: fetch(_count_labels(rows, checked, max_records, bounds, key)))
    missing = {**MISSING_USERS, "place": _UNLISTED}
    raise_problem(worst, checked, source.wall.problem, from_text=source.from_text, missing=missing)
    return found, source


def _check_labels(source: Source, cut: Cut | None) -> None:
    """Refuse labels of a part whose bytes could differ from engine to engine.

    Raises
    ------
    ColumnError
    """
    if cut is not None and type_of_users(source.identity("term")) not in USER_TYPES:
        raise ColumnError(
            f"column {source.names['term']!r} must hold text, integers, bytes or UUIDs where a "
            "table is cut by its users: cast it to text"
        )


def _count_labels(
    rows: Rows,
    wanted: Sequence[Wanted],
    max_records: int | None,
    bounds: Bounds,
    key: str | None,
) -> Rows:
    """From rows of terms to (term, records, problem), one for each term."""
    roles = {column.role for column in wanted}
    if "who" in roles:
        checked = check_rows(rows, wanted, bounds)
        kept = bound_records(checked, min(max_records or 0, LARGEST), key or draw_key())
        return kept.group(["term"], "count(*) AS records", WORST)
    problem = f"{problem_expression(wanted)} AS problem"
    if "amount" in roles:
        return sum_by(rows.project("term", "amount", problem), "term", "amount")
    return rows.project("term", problem).group(["term"], "count(*) AS records", WORST)


def _make_search(leaves: Leaves, place: Wanted, source: Source) -> ListedSearch:
    """Return the search for the leaf of a region; refuse a column of an unsuitable type.

    A column of whole numbers has the leaves whose names are these numbers.
    """
    kind = find_decoded_type(source.kinds[place.role])
    names: tuple[str | int, ...] = leaves.names
    if pa.types.is_integer(kind) and not source.from_text:
        if not all(map(_is_whole, leaves.names)):
            raise ColumnError(
                f"column {place.name!r} must hold text, as the names of leaves are no whole "
                "numbers: cast it to text"
            )
        names = tuple(map(int, leaves.names))
    elif not (source.from_text or kind is OBJECTS or canonical_type(kind) == pa.string()):
        raise ColumnError(
            f"column {place.name!r} must hold text or whole numbers, as the names of leaves are: "
            "cast it to text"
        )
    return make_listed_search(KeyColumn(place.name, names), kind, source.from_text)


def _is_whole(name: str) -> bool:
    """Whether a name is how a whole number of 64 bits is written."""
    digits = name.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < _LONGEST):
        return False
    return str(int(name)) == name and -(2**63) <= int(name) < 2**63


def _with_places(
    batches: Batches,
    search: ListedSearch,
    leaves: Leaves,
    others: Sequence[Wanted],
) -> Batches:
    """Yield batches whose terms are of leaf and label.

    Rows without a leaf are left out, or have no `place` where they are refused.
    """
    roles = [column.role for column in others]
    at = roles.index("term") + 1
    for batch in batches:
        places = search.find(batch.columns[0])
        if leaves.other is not None:
            places = np.where(places == 0, leaves.other + 1, places)
        inside = places > 0
        columns = list(batch.columns)
        columns[at] = _write_terms(np.maximum(places, 1), columns[at])
        if leaves.refuse:
            columns[0] = pa.array(places, mask=~inside)
            yield pa.RecordBatch.from_arrays(columns, names=["place", *roles])
        else:
            found = pa.RecordBatch.from_arrays(columns[1:], names=roles)
            yield found if inside.all() else found.filter(pa.array(inside))


def _write_terms(places: IntArray, labels: pa.Array) -> pa.Array:
    """Return leaf and label of each row as bytes: ten digits, then the label; null without one."""
    digits = pa.array(_FIRST + places).cast(pa.large_string()).cast(pa.large_binary())
    if pa.types.is_dictionary(labels.type):
        labels = labels.dictionary_decode()
    exact = to_exact(labels)
    if canonical_type(exact.type) != pa.binary():
        exact = exact.cast(pa.large_string())
    empty = pa.scalar(b"", pa.large_binary())
    return pc.binary_join_element_wise(digits, exact.cast(pa.large_binary()), empty)


def _rows_in_spark(source: SparkSource, leaves: Leaves, others: Sequence[Wanted]) -> Rows:
    """Return rows whose terms are of leaf and label, with the place of the leaf, null without."""
    text = not pa.types.is_integer(source.kinds["place"])
    values = pa.array([name.encode() for name in leaves.names], pa.binary())
    if not text:
        values = pa.array(map(int, leaves.names), pa.int64())
    found = source.rows().beside({"listed": values})
    kinds = dict(found.frame.dtypes)
    label = format_bytes("term", kinds["term"])
    at = f"array_position(listed, CAST(place AS {'BINARY' if text else 'BIGINT'}))"
    # A value that is not listed has the place 0, and no value has none.
    last = "NULL" if leaves.other is None else str(leaves.other + 1)
    kept = [column.role for column in others if column.role != "term"]
    found = found.project(f"coalesce({at}, 0) AS place", f"{label} AS term", *kept)
    found = found.project(
        f"CASE WHEN place > 0 THEN CAST(place AS BIGINT) ELSE {last} END AS place", "term", *kept
    )
    if leaves.drop:
        found = found.where("place IS NOT NULL")
    digits = f"CAST(CAST({_FIRST} + coalesce(place, 1) AS STRING) AS BINARY)"
    return found.project("place", f"concat({digits}, term) AS term", *kept)


def _split(found: list[tuple[Any, ...]], leaves: Leaves, unfit: DphistError) -> list[Pairs]:
    """Return the pairs of each leaf of (records, prevalence, problem, place).

    If a place is that of no leaf, `unfit` is raised.
    """
    pairs: list[list[tuple[int, int]]] = [[] for _ in leaves.names]
    for records, prevalence, _, written in found:
        digits = bytes.fromhex(written)
        place = int(digits) - _FIRST - 1 if digits.isdigit() and len(digits) == _DIGITS else -1
        if not 0 <= place < len(pairs):
            raise unfit
        if records > 0:
            pairs[place].append((records, prevalence))
    held = [to_arrays(own) for own in pairs]
    check_total(*(np.concatenate(each) for each in zip(*held, strict=True)))
    return held
