"""Partial: exact counts of one part of the users, made somewhere, to be merged with the others.

A table, or many files, may be too large for one machine, or may lie in several places. Each user
belongs to one part, by a rule that needs nothing but the user (`dphist.counting.bounding.bounds`).
Each part is bounded and counted by itself, and the counts of all parts are added. Since no user is
in two parts, the sums have the same bounds as the counts of the whole table."""

import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dphist.counting import LARGEST, redact_errors
from dphist.counting.bounding.bounds import (
    MOST_PARTS,
    NULL_LABELS,
    NULL_USERS,
    RULE,
    USER_TYPES,
    Cut,
)
from dphist.data.cells import check_most, make_cells
from dphist.data.clamp import Clamp, read_sums
from dphist.data.other_than import OTHER
from dphist.data.region_tree import RegionTree
from dphist.errors import DataError, InputFileError, ParameterError
from dphist.files import stage_outputs
from dphist.foreign import read_json
from dphist.privacy import PrivacyUnit

_FORMAT = 4  # 3 did not say beside which labels all others are one
_KEY = b"dphist partial"
_OWN = ("part", "users", "for_tests", "user_type")
"""What may differ between the parts of one table, or is compared by itself."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Partial:
    """Exact counts of one part of the users; secret, like the table they come from.

    Made by `partial` of `LabelCounts`, `Profile`, `RegionalProfile`, `BinnedCounts`, `KeyedCounts`
    and `GroupedCounts`, and added up by `merge` of the same class. It can be pickled, saved as a
    Parquet file, or sent as an Arrow table. It cannot be released by itself. With keys whose values
    are to be found, it has the labels of all rows that were kept: a line for each combination of a
    cell and labels. Of cells with sums it has a line for each combination of a cell and clamped
    values. Of regions it has a line for each label of each leaf.

    Attributes
    ----------
    head : mapping
        Kind, rule, part, number of parts, type of the users, names of columns, axes, keys or
        regions, and bounds; and the columns that are summed with their clamps, if there are any.
    table : Arrow table
        The counts, and sums.
    """

    head: Mapping[str, Any]
    table: pa.Table

    def __repr__(self) -> str:
        kind, part, parts = (self.head[name] for name in ("kind", "part", "parts"))
        return f"Partial({kind}, part {part} of {parts}; not shown)"

    def to_arrow(self) -> pa.Table:
        """Return the counts as an Arrow table with the head as its metadata; secret."""
        return self.table.replace_schema_metadata({_KEY: json.dumps(dict(self.head))})

    @classmethod
    def from_arrow(cls, table: Any) -> "Partial":
        """Return the partial of an Arrow table that `to_arrow` made.

        Raises
        ------
        DataError
            If it is none, or was made by another version of the rule.
        """
        unfit = no_part()

        def read() -> "Partial":
            table.validate(full=True)
            head = read_json(table.schema.metadata[_KEY].decode())
            if not _is_sound(head):
                raise unfit
            named, *others = table.column_names
            first, *numbers = table.columns
            sums = read_columns(head) if head["kind"] == "labels" else ()
            if others != ["count", *(f"v{place}" for place in range(len(sums)))]:
                raise unfit
            if any(each.type != pa.int64() or each.null_count for each in numbers):
                raise unfit
            if head["kind"] == "leaves" and not _are_terms(first, numbers[0]):
                raise unfit
            if _FIRST[head["kind"]][named] not in (None, first.type) or first.null_count:
                raise unfit
            # Without what other programs note of columns, such as that no value is missing.
            return cls(head, pa.table([first, *numbers], names=table.column_names))

        return redact_errors(read, unfit)

    def save(self, path: str | Path) -> None:
        """Write a Parquet file, whole or not at all, that its owner alone can read.

        The file holds exact counts. Keep it as secret as the table.

        Raises
        ------
        OutputFileError
        """
        content = io.BytesIO()
        pq.write_table(self.to_arrow(), content, compression="zstd", write_page_checksum=True)
        with stage_outputs() as outputs:
            outputs.write(path, content.getvalue(), private=True)

    @classmethod
    def load(cls, path: str | Path) -> "Partial":
        """Read a file that `save` wrote.

        Raises
        ------
        InputFileError
            If it is missing or no Parquet file.
        DataError
            If it is no partial.
        """
        unread = InputFileError(f"{path} could not be read: it must be a file of Partial.save")

        def read() -> pa.Table:
            return pq.read_table(path, partitioning=None, page_checksum_verification=True)

        return cls.from_arrow(redact_errors(read, unread))


_FIRST: dict[str, dict[str, pa.DataType | None]] = {
    "labels": {"label": None},
    "records": {"label": None},
    "bins": {"slot": pa.int64()},
    "cells": {"cell": pa.int64(), "term": pa.large_binary()},
    "leaves": {"term": pa.large_binary()},
}
"""The names that the first column of each kind may have, and its type, if it has one of its own.

A term is a cell together with the labels of keys whose values are to be found, or a leaf and label.
"""

_COLUMNS = {
    "labels": {"label", "user", "count"},
    "records": {"label", "user"},
    "bins": {"user", "count"},
    "cells": {"user", "count"},
    "leaves": {"label", "user", "region"},
}
"""The roles of the columns that each kind names; those of bins and cells are also in the axes and
keys."""


_OF_LEAVES = {
    *("format", "rule", "kind", "part", "parts", "user_type", "columns", "unit", "null_users"),
    *("regions", "other", "unlisted", "max_records", "label_type"),
}
"""What the head of a part of leaves has, and nothing else."""

_SUMMED = ("labels", "cells")
"""Kinds with sums: of labels beside the counts, of cells in their numbers, each with its values."""


def no_part() -> DataError:
    """Return the error for what is no part, or no longer."""
    return DataError(
        "the part was not made by Partial.to_arrow or Partial.save of this version: count it again "
        "with partial"
    )


def read_columns(head: Mapping[str, Any]) -> tuple[tuple[str, Clamp], ...]:
    """Return the columns that are summed, with their clamps.

    Raises
    ------
    DataError, KeyError, TypeError, and others
        If the head has none that this version writes.
    """
    try:
        return read_sums([(name, ends) for name, *ends in head["sums"]]) if "sums" in head else ()
    except ParameterError:
        raise no_part() from None


def write_columns(columns: Sequence[tuple[str, Clamp]], by_totals: bool = False) -> dict[str, Any]:
    """Return what a head says of columns that are summed; nothing without any.

    `by_totals` says whether users were counted by their totals of these columns.
    """
    found = [[name, *clamp.to_content()] for name, clamp in columns]
    return {"sums": found} | ({"users_by_totals": True} if by_totals else {}) if found else {}


def has_totals(head: Mapping[str, Any]) -> bool:
    """Whether users were counted by their totals."""
    return "users_by_totals" in head


def _is_sound(head: Any) -> bool:
    """Whether a head is one that this version makes, but for the axes of bins and keys of cells.

    Raises
    ------
    KeyError, TypeError, and others
        If it is not.
    """
    kind = head["kind"]
    return bool(
        (head["format"], head["rule"]) == (_FORMAT, RULE)
        and type(head["part"]) is type(head["parts"]) is int
        and 0 <= head["part"] < head["parts"] <= MOST_PARTS
        and head["user_type"] in USER_TYPES
        and head["columns"].keys() == _COLUMNS[kind]
        and ("sums" not in head or (kind in _SUMMED and read_columns(head)))
        and (kind == "labels" or not has_totals(head))
        and PrivacyUnit.from_content(head["unit"])
        and _ARE_BOUNDS[kind](head)
        and head["null_users"] in NULL_USERS
    )


def _are_record_bounds(head: Mapping[str, Any]) -> bool:
    return _is_bound(head["max_records"])


def _are_cell_bounds(head: Mapping[str, Any]) -> bool:
    return (
        _is_bound(head["max_rows"])
        and type(head["keys"]) is str
        and head["unlisted"] in ("error", "drop")
        and (head["one_row_per"] is None or type(head["one_row_per"]) is str)
    )


def _are_terms(terms: pa.ChunkedArray, counts: pa.ChunkedArray) -> bool:
    """Whether each term is there once, with one record or more."""
    return not len(terms) or bool(
        pc.min(counts).as_py() >= 1 and pc.count_distinct(terms).as_py() == len(terms)
    )


def _are_leaf_bounds(head: Mapping[str, Any]) -> bool:
    try:
        tree, other = RegionTree(head["regions"]), head["other"]
    except ParameterError:  # shows names
        raise no_part() from None
    return (
        head.keys() == _OF_LEAVES
        and _is_bound(head["max_records"])
        and tree.to_content() == head["regions"]
        and head["label_type"] in USER_TYPES
        and head["unlisted"] in ("error", "drop")
        and (other is None or (other in tree.leaf_names and head["unlisted"] == "error"))
    )


def _are_label_bounds(head: Mapping[str, Any]) -> bool:
    users, most = head["users"], head["users_by_labels"]
    users_are_sound, number = users is None, 0
    if most is not None:
        number = len(make_cells(check_most(most, head["max_labels"]), head["max_labels"]))
    if has_totals(head):
        if head["users_by_totals"] is not True or not read_columns(head):
            return False
        number += sum(len(clamp.starts) + 1 for _, clamp in read_columns(head))
    if number:
        whole = [each for each in users if type(each) is int and 0 <= each <= LARGEST]
        users_are_sound = len(whole) == len(users) == number
    return (
        (head["max_labels"] is None or _is_bound(head["max_labels"]))
        and _is_bound(head["max_count"])
        and head["null_labels"] in NULL_LABELS
        and type(head["for_tests"]) is bool
        and users_are_sound
        and (head["other_than"] is None or _is_list(head["other_than"]))
    )


def _is_list(value: Any) -> bool:
    """Whether these are the labels beside which all others are one, in order."""
    has_text = type(value) is list and all(type(each) is str for each in value)
    return has_text and value == sorted({*value} - {OTHER}) != []


def _is_bound(value: Any) -> bool:
    return type(value) is int and value >= 1


_ARE_BOUNDS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "labels": _are_label_bounds,
    "records": _are_record_bounds,
    "bins": _are_record_bounds,
    "cells": _are_cell_bounds,
    "leaves": _are_leaf_bounds,
}
"""Whether the bounds in a head are those of its kind."""


def make_partial(
    kind: str,
    cut: Cut,
    columns: Mapping[str, str | None],
    bounds: Mapping[str, Any],
    table: pa.Table,
) -> Partial:
    """Return the counts of a part, with a head that says what they are.

    Parameters
    ----------
    kind : "labels", "records", "bins", "cells" or "leaves".
    cut : which part, after the table was opened.
    columns : the names of the columns by role. Parts that were cut by different columns of users
        may share a person, who then adds to several of them.
    bounds : what all parts have alike, and the numbers of users.
    table : the counts.
    """
    head = {"format": _FORMAT, "rule": RULE, "kind": kind, "part": cut.part, "parts": cut.parts}
    head |= {"user_type": cut.user_type, "columns": dict(columns)}
    return Partial({**head, **bounds}, table)


_SAME = "columns, number of parts, bounds, unit and treatment of missing values"
_ALIKE = dict.fromkeys(_FIRST, _SAME) | {
    "labels": f"{_SAME}, and of labels that are not listed",
    "cells": "columns, keys and their values in the same order, number of parts, bounds, unit and "
    "treatment of values that no key lists",
    "leaves": "columns, type of labels, regions in the same order, number of parts, bounds, unit "
    "and treatment of missing values and of other regions",
}
"""What parts of each kind must have alike, for error messages."""


def as_it_is(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return all rows: the counts of a part are for its owner."""
    return batch


def all_parts(kind: str, made_by: str, parts: Iterable[Any]) -> list[Partial]:
    """Return the parts of one table, each once, checked against each other.

    Parameters
    ----------
    kind : what must have been counted.
    made_by : the class that counts this, for error messages.
    parts : each a `Partial`, an Arrow table of one, or the path of a file.

    Raises
    ------
    ParameterError
        If there is none, one is no partial or of another kind, two are the same part, one is
        missing, or two were made with other columns or bounds, users or labels of another type, or
        another number of parts.
    InputFileError, DataError
        As for `Partial.load`.
    """
    if isinstance(parts, str | Path | Partial | pa.Table) or not isinstance(parts, Iterable):
        raise ParameterError("parts", "must be a list of partials, Arrow tables of them, or files")
    found = [_read_partial(each) for each in parts]
    if not found:
        raise ParameterError("parts", "must hold at least one part")
    if any(each.head["kind"] != kind for each in found):
        raise ParameterError("parts", f"must all be made by {made_by}.partial")
    first = found[0]
    for each in found[1:]:
        if _find_shared(each) != _find_shared(first):
            raise ParameterError(
                "parts",
                f"must all be counted with the same arguments: the same {_ALIKE[kind]}",
            )
        if each.head["user_type"] != first.head["user_type"]:
            raise ParameterError(
                "parts",
                "must have users of one type, as a person could otherwise be in two of them, "
                f"but the types are {each.head['user_type']} and {first.head['user_type']}",
                "cast the column of users to text, written alike in all parts",
            )
        if each.table.schema.types != first.table.schema.types:
            raise ParameterError("parts", "must have labels of one type", "cast them alike")
    times = Counter(each.head["part"] for each in found)
    for number in range(first.head["parts"]):
        if times[number] != 1:
            said = "is missing" if times[number] == 0 else "is there more than once"
            raise ParameterError("parts", f"must hold each part once: part {number} {said}")
    return found


def _find_shared(partial: Partial) -> dict[str, Any]:
    """Return what all parts of one table have alike."""
    unit = PrivacyUnit.from_content(partial.head["unit"])  # earlier versions wrote text
    return {name: value for name, value in partial.head.items() if name not in _OWN} | {
        "unit": unit
    }


def _read_partial(given: Any) -> Partial:
    if isinstance(given, Partial):  # a pickle may be of another version
        return Partial.from_arrow(given.to_arrow())
    if isinstance(given, str | Path):
        return Partial.load(given)
    if isinstance(given, pa.Table):
        return Partial.from_arrow(given)
    raise ParameterError("parts", "must be partials, Arrow tables of them, or paths of their files")
