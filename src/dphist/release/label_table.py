"""LabelTable: released labels, with released counts if the mechanism has them. Not secret."""

import re
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.counting.reading.columns import is_key_type
from dphist.release.document import read_whole_numbers
from dphist.release.released import Released


class LabelTable(Released):
    """Released labels, in the order of the release.

    Columns ``label`` and, where counts are released, ``count``. A null label in the last row
    says that fewer labels than wanted were found.
    """

    __slots__ = ("_table",)

    def __init__(self, table: pa.Table) -> None:
        self._table = table.combine_chunks()

    def __repr__(self) -> str:
        return f"LabelTable({len(self)} rows, columns {', '.join(self._table.column_names)})"

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelTable) and bool(self._table.equals(other._table))

    __hash__ = None  # type: ignore[assignment]

    @property
    def labels(self) -> list[Any]:
        """The labels; None for the row that marks that too few were found.

        Dates that Python cannot hold, such as DuckDB's infinity, are numbers: see `_as_json`.
        """
        labels = self._table["label"]
        try:
            return list(labels.to_pylist())
        except (OverflowError, ValueError):
            return _as_json(labels, labels.type)

    @property
    def texts(self) -> list[str | None]:
        """The labels as texts; bytes as hexadecimal digits."""
        labels = self._table["label"]
        if pa.types.is_binary(labels.type) or pa.types.is_large_binary(labels.type):
            return [None if label is None else label.hex() for label in labels.to_pylist()]
        return list(labels.cast(pa.string()).to_pylist())

    @property
    def counts(self) -> IntArray | None:
        """The released counts, (len,) int64, or None if only labels are released."""
        if "count" not in self._table.column_names:
            return None
        return np.asarray(self._table["count"].to_numpy(), np.int64)

    def to_arrow(self) -> pa.Table:
        """Return the table as an Arrow table."""
        return self._table

    def to_content(self) -> dict[str, Any]:
        """Return the table as a JSON object, for saving."""
        kind = self._table.schema.field("label").type
        content: dict[str, Any] = {
            "label_type": str(kind),
            "labels": _as_json(self._table["label"], kind),
        }
        counts = self.counts
        return content if counts is None else {**content, "counts": counts.tolist()}

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> "LabelTable":
        """Make a table from the result of `to_content`."""
        kind = _arrow_type(content["label_type"])
        columns = {"label": _read(content["labels"], kind)}
        if "counts" in content:
            columns["count"] = pa.array(read_whole_numbers(content["counts"]))
        return cls(pa.table(columns))


_WITH_ZONE = re.compile(r"timestamp\[(s|ms|us|ns), tz=(.+)\]")
_DECIMAL = re.compile(r"decimal128\((\d+), (-?\d+)\)")


def _arrow_type(name: str) -> pa.DataType:
    """Return the Arrow type with this name; ValueError if it is not a type of labels."""
    if zoned := _WITH_ZONE.fullmatch(name):
        return pa.timestamp(zoned[1], zoned[2])
    if decimal := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    kind = pa.type_for_alias(name)
    if not is_key_type(kind):
        raise ValueError("no type of labels")
    return kind


def _as_json(labels: pa.ChunkedArray, kind: pa.DataType) -> list[Any]:
    """Return labels as JSON values: bytes as hexadecimal digits, dates and decimals as text.

    Timestamps with a zone are in UTC. Where a date or timestamp is beyond what text can say, all
    are the numbers that Arrow holds for them.
    """
    if pa.types.is_binary(kind):
        return [None if label is None else label.hex() for label in labels.to_pylist()]
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind):
        return list(labels.to_pylist())
    said = labels.cast(_without_zone(kind))
    texts = said.cast(pa.string())
    try:
        if texts.cast(said.type).equals(said):
            return list(texts.to_pylist())
    except pa.ArrowInvalid:
        pass
    return list(labels.cast(_number_of(kind)).to_pylist())


def _read(labels: object, kind: pa.DataType) -> pa.Array:
    """Return labels that `_as_json` wrote; ValueError or TypeError if they are not such."""
    if not isinstance(labels, list):
        raise TypeError("labels are a list")
    types = set(map(type, labels)) - {type(None)}
    if pa.types.is_binary(kind):
        return pa.array([None if x is None else bytes.fromhex(x) for x in labels], kind)
    if types == {str}:
        return pa.array(labels, pa.string()).cast(_without_zone(kind)).cast(kind)
    if not types <= ({bool} if pa.types.is_boolean(kind) else {int}):  # Arrow makes 1 of 1.5
        raise TypeError("labels are of their type")
    return pa.array(labels, _number_of(kind)).cast(kind)


def _without_zone(kind: pa.DataType) -> pa.DataType:
    """Return the type of the same moments in UTC."""
    return pa.timestamp(kind.unit) if pa.types.is_timestamp(kind) else kind


def _number_of(kind: pa.DataType) -> pa.DataType:
    """Return the type of the numbers that Arrow holds for dates or timestamps."""
    if not pa.types.is_temporal(kind):
        return kind
    return pa.int32() if pa.types.is_date32(kind) else pa.int64()
