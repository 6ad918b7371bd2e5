"""The backends of the conformance suite, declared in one place.

A backend turns a PyArrow table into what a user would pass. To add one, add an entry.
"""

import datetime
import gzip
import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

# What a backend can hold beyond text labels and int64 counts.
# "typed": columns keep their types (a text file holds text); "uint64": unsigned 64-bit
# integers (Spark has none); "missing-counts": integers with gaps (NumPy has none).
ALL = frozenset({"typed", "uint64", "missing-counts"})
TEXT = frozenset({"missing-counts"})
_CONNECTION = duckdb.connect()
_NULLABLE = {
    pa.int64(): pd.Int64Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.int8(): pd.Int8Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.bool_(): pd.BooleanDtype(),
    pa.string(): pd.StringDtype(),
}


@dataclass(frozen=True)
class Backend:
    """One way to pass a table.

    `make` gets a table and an empty folder; `capabilities` are the column types that
    arrive as such.
    """

    name: str
    make: Callable[[pa.Table, Path], Any]
    capabilities: frozenset[str] = field(default=ALL)


def csv_text(table: pa.Table, delimiter: str = ",") -> bytes:
    """Quoted text, so that the empty label and the missing label differ."""
    sink = io.BytesIO()
    pyarrow.csv.write_csv(table, sink, pyarrow.csv.WriteOptions(delimiter=delimiter))
    return sink.getvalue()


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def gzipped(content: bytes) -> bytes:
    """Compressed the same at any time, as a test is named after it."""
    return gzip.compress(content, mtime=0)


def zstd(content: bytes) -> bytes:
    return pa.Codec("zstd").compress(content).to_pybytes()


def _parquet(table: pa.Table, folder: Path) -> str:
    path = folder / "table.parquet"
    pyarrow.parquet.write_table(table, path)
    return str(path)


BACKENDS = [
    Backend("pandas", lambda t, _: t.to_pandas(), ALL - {"missing-counts"}),
    Backend("pandas-nullable", lambda t, _: t.to_pandas(types_mapper=_NULLABLE.get)),
    Backend("pandas-arrow", lambda t, _: t.to_pandas(types_mapper=pd.ArrowDtype)),
    Backend("polars", lambda t, _: pl.from_arrow(t)),
    Backend("polars-lazy", lambda t, _: pl.from_arrow(t).lazy()),
    Backend("pyarrow", lambda t, _: t),
    Backend("duckdb", lambda t, _: _CONNECTION.from_arrow(t)),
    Backend("csv", lambda t, d: written(d, "t.csv", csv_text(t)), TEXT),
    Backend(
        "csv.gz",
        lambda t, d: written(d, "t.csv.gz", gzipped(csv_text(t))),
        TEXT,
    ),
    Backend("parquet", _parquet),
]


DAY = datetime.date(2020, 1, 1)
NOON = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
every_backend = pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)


def needing(*capabilities: str) -> Any:
    """Parametrise over the backends that have these capabilities."""
    able = [backend for backend in BACKENDS if backend.capabilities >= set(capabilities)]
    return pytest.mark.parametrize("backend", able, ids=lambda backend: backend.name)


def pairs_of(counts: Any) -> tuple[list[int], list[int]]:
    """The pairs a plain Python program finds, zeros dropped."""
    found = sorted(Counter(count for count in counts if count).items())
    return [count for count, _ in found], [prevalence for _, prevalence in found]


def assert_pairs(result: tuple[Any, Any], expected: tuple[list[int], list[int]]) -> None:
    for array, values in zip(result, expected, strict=True):
        assert array.dtype == np.int64
        assert array.shape == (len(values),)
        assert array.tolist() == values


def text(values: list[str | None]) -> pa.Array:
    return pa.array(values, pa.string())


def whole(values: list[int | None], kind: pa.DataType | None = None) -> pa.Array:
    return pa.array(values, kind or pa.int64())
