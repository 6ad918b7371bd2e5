"""From rows to how many labels have each count in each leaf of a public tree of regions.

A label in two leaves is two: what is counted is the pair of a row's leaf and its label, written as
bytes. So the pair, and which rows of a user are kept, are functions of the user's own rows and of
the tree alone. A row whose region is no leaf goes to the leaf that takes all others, or is left out
before users are bounded, or the table is refused after all rows were read.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import IntArray
from dphist.counting.binning.key_grid import KeyColumn, ListedSearch, make_listed_search
from dphist.counting.bounding.bounds import (
    WORST,
    Bounds,
    bound_records,
    check_rows,
    draw_key,
    problem_expression,
    raise_problem,
)
from dphist.counting.bounding.contributions import MISSING_USERS
from dphist.counting.bounding.profiles import check_sums, sum_by, to_arrays
from dphist.counting.checks import LARGEST, check_total
from dphist.counting.engine.interruptible import interruptible
from dphist.counting.engine.private_duckdb import open_private_connection
from dphist.counting.engine.rows import Rows, format_bytes
from dphist.counting.reading.columns import (
    OBJECTS,
    Wanted,
    canonical_type,
    count_column,
    find_decoded_type,
    key_column,
    to_exact,
)
from dphist.counting.reading.gate import Reading, open_source
from dphist.counting.reading.source import Batches, Source, stream_rows
from dphist.counting.reading.spark import SparkSource
from dphist.errors import Argument, ColumnError, DataError

Run: TypeAlias = Callable[[Callable[[], Any]], Any]

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


def count_in_leaves(
    frame: object,
    leaves: Leaves,
    *,
    region: str,
    label: str,
    count: str | None = None,
    user: str | None = None,
    max_records: int | None = None,
    null_users: str = "refuse",
    key: str | None = None,
    **reading: Unpack[Reading],
) -> list[tuple[IntArray, IntArray]]:
    """Bound each user to `max_records` rows, then count the labels with each count in each leaf.

    Parameters
    ----------
    region : column of regions: text or whole numbers, as the names of leaves.
    frame, label, count, user, max_records, null_users, key, reading
        As for `count_records`, `sum_counts` and `count_bounded_records`.

    Returns
    -------
    Pairs of counts and prevalences, (d,) int64, one for each leaf, also for those without rows.

    Raises
    ------
    ParameterError, ColumnError, DataError, InputFileError
        As for these. DataError also if a row has a region that is no leaf, or none, unless
        `leaves` says what becomes of it: the column is named, and nothing was counted.
    """
    place = key_column("place", region, "region")
    others = [] if count is None else [count_column("amount", count, "count")]
    others.append(key_column("term", label, "label"))
    if user is not None:
        others.append(key_column("who", user, "user"))
    with ExitStack() as stack:
        source = open_source(stack, frame, [place, *others], **reading)
        search = _make_search(leaves, place, source)
        unlisted: list[str] = []
        run: Run = source.run
        if isinstance(source, SparkSource):
            rows = _rows_in_spark(source, leaves, others)
            digits = f"CAST(substring(term, 1, {_DIGITS}) AS STRING)"
        else:
            connection = open_private_connection(stack, large=True)
            batches = _with_places(source.batches(), search, leaves, others, unlisted)
            rows = source.wall(lambda: stream_rows(connection, batches, source.wall))
            digits = f"substr(hex(term), 1, {2 * _DIGITS})"

            def run(call: Callable[[], Any]) -> Any:
                return interruptible(connection, lambda: source.run(call))

        checked = [*_check_places(source, place, leaves), *others]

        def count_kept() -> list[tuple[Any, ...]]:
            counted = _count_labels(rows, checked, max_records, null_users, key)
            counted = counted.project(f"{digits} AS place", "records", "problem")
            found = counted.group(["place", "records"], "count(*) AS prevalence", WORST)
            return found.fetch(["records", "prevalence", "problem", "place"])

        found = run(count_kept)
        if unlisted:
            raise DataError(f"column {region!r} " + _UNLISTED)
    worst = max((row[2] for row in found), default=None)
    missing = {**MISSING_USERS, "place": _UNLISTED}
    raise_problem(worst, checked, source.wall.problem, from_text=source.from_text, missing=missing)
    return _split(found, leaves, source, label if count is None else count)


def _count_labels(
    rows: Rows,
    wanted: Sequence[Wanted],
    max_records: int | None,
    null_users: str,
    key: str | None,
) -> Rows:
    """From rows of terms to (term, records, problem), one for each term."""
    roles = {column.role for column in wanted}
    if "who" in roles:
        bounds = Bounds(None, LARGEST, null_users)
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
    unlisted: list[str],
) -> Batches:
    """Yield batches whose terms are of leaf and label; note in `unlisted` where a row has none."""
    roles = [column.role for column in others]
    at = roles.index("term") + 1
    for batch in batches:
        places = search.find(batch.columns[0])
        if leaves.other is not None:
            places = np.where(places == 0, leaves.other + 1, places)
        inside = places > 0
        if not inside.all() and not leaves.drop:
            unlisted.append("a row")
        columns = list(batch.columns)
        columns[at] = _write_terms(np.maximum(places, 1), columns[at])
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


def _check_places(source: Source, place: Wanted, leaves: Leaves) -> list[Wanted]:
    """Return the column of places if the engine finds rows without one."""
    found = isinstance(source, SparkSource) and not leaves.drop and leaves.other is None
    return [place] if found else []


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


def _split(
    found: list[tuple[Any, ...]], leaves: Leaves, source: Source, name: str
) -> list[tuple[IntArray, IntArray]]:
    """Return the pairs of each leaf of (records, prevalence, problem, place)."""
    check_sums(found, name, "label")
    spark = isinstance(source, SparkSource)
    pairs: list[list[tuple[int, int]]] = [[] for _ in leaves.names]
    for records, prevalence, _, digits in found:
        place = int(digits if spark else bytes.fromhex(digits)) - _FIRST - 1
        if not 0 <= place < len(pairs):
            raise source.wall.problem
        if records > 0:
            pairs[place].append((records, prevalence))
    held = [to_arrays(own) for own in pairs]
    check_total(*(np.concatenate(each) for each in zip(*held, strict=True)))
    return held
