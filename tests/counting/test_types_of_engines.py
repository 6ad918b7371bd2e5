"""Every type of every installed engine has a decision, which holds with rows and without.

The lists below are compared with the types that the installed versions have. A type that a newer
version adds fails the test until somebody has decided about it here.
"""

import datetime as dt
from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from dphist.counting.binning.slots import Grid, bin_rows
from dphist.counting.reading import relations, spark
from dphist.counting.reading.columns import Use, Wanted
from dphist.counting.reading.gate import open_source
from dphist.errors import ColumnError

# What a column may be used for: a key (a label, user or node), a count, numbers, dates or moments
# to bin, or the texts of events.
WHOLE, NUMBER, TEXT, KEY = "key count numbers", "numbers", "key texts", "key"
DAY, MOMENT, NOTHING, ANYTHING = "key days moments", "key days moments", "", "any"
INSTANT = "key instants"
EVERYTHING = {"key", "count", "numbers", "days", "moments", "instants", "texts"}

# It has no timestamps in nanoseconds with a time zone, and no type of nulls.
DUCKDB_1 = int(duckdb.__version__.split(".")[0]) < 2

EDGES = {
    "numbers": np.array([0, 10]),
    "days": np.array(["2020-01-01", "2020-01-02"], "M8[D]"),
    "moments": np.array(["2020-01-01", "2020-01-02"], "M8[us]"),
    "instants": np.array(["2020-01-01", "2020-01-02"], "M8[us]"),
}


def uses_of(frame: Any) -> set[str]:
    """Return the uses for which column x of a table is accepted, and read to the end."""
    return {use for use in EVERYTHING if is_accepted(frame, use)}


def is_accepted(frame: Any, use: str) -> bool:
    try:
        if use in EDGES:
            bin_rows(frame, Grid(("x",), (EDGES[use],), ("UTC" if use == "instants" else None,)))
        else:
            wanted = {"key": Use.KEY, "count": Use.COUNT, "texts": Use.TEXTS}[use]
            with ExitStack() as stack:
                source = open_source(stack, frame, [Wanted("role", "x", wanted, "x")])
                source.run(lambda: list(source.batches()))
    except ColumnError:
        return False
    return True


def decided(uses: str) -> set[str]:
    return EVERYTHING if uses == ANYTHING else set(uses.split())


# --- DuckDB

DUCKDB = {
    **{name: (f"7::{name}", WHOLE) for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")},
    **{name: (f"7::{name}", WHOLE) for name in ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")},
    "HUGEINT": ("7::HUGEINT", "count numbers"),
    "UHUGEINT": ("7::UHUGEINT", "count"),
    "BIGNUM": ("7::BIGNUM", NOTHING),
    "BOOLEAN": ("true", KEY),
    "DECIMAL": ("1.5::DECIMAL(5, 2)", "key numbers"),
    "FLOAT": ("1.5::FLOAT", NUMBER),
    "DOUBLE": ("1.5::DOUBLE", NUMBER),
    "VARCHAR": ("'a'", TEXT),
    "ENUM": ("'a'::ENUM('a', 'b')", TEXT),
    "BLOB": ("'a'::BLOB", KEY),
    "BIT": ("'1'::BIT", NOTHING),
    "UUID": ("'00000000-0000-0000-0000-000000000005'::UUID", KEY),
    "DATE": ("'2020-01-01'::DATE", "key days"),
    "TIME": ("'12:00:00'::TIME", NOTHING),
    "TIME_NS": ("'12:00:00'::TIME_NS", NOTHING),
    "TIME WITH TIME ZONE": ("'12:00:00+01'::TIMETZ", NOTHING),
    **{
        name: (f"'2020-01-01 12:00:00'::{name}", MOMENT)
        for name in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
    },
    "TIMESTAMPTZ_NS": ("'2020-01-01 12:00:00'::TIMESTAMPTZ_NS", INSTANT),
    "TIMESTAMP WITH TIME ZONE": ("'2020-01-01 12:00:00+00'::TIMESTAMPTZ", INSTANT),
    "INTERVAL": ("INTERVAL '1' DAY", NOTHING),
    "NULL": ("NULL", ANYTHING),
    "LIST": ("[1]", NOTHING),
    "ARRAY": ("[1]::INTEGER[1]", NOTHING),
    "MAP": ("MAP {'a': 1}", NOTHING),
    "STRUCT": ("{'a': 1}", NOTHING),
    "TUPLE": ("row(1, 2)", NOTHING),
    "UNION": ("union_value(a := 1)", NOTHING),
    "VARIANT": ("7::VARIANT", NOTHING),
    "GEOMETRY": ("'POINT(1 1)'::GEOMETRY", NOTHING),
    "TYPE": ("get_type(1)", NOTHING),
}


def types_of_duckdb() -> list[str]:
    found = duckdb.connect().sql("SELECT DISTINCT logical_type FROM duckdb_types()").fetchall()
    return sorted(name for (name,) in found)


def test_each_type_of_duckdb_is_listed() -> None:
    assert set(types_of_duckdb()) <= set(DUCKDB)


@pytest.mark.long(every=2)
@pytest.mark.quick("TZ_NS", "UUID", "HUGEINT", "INTERVAL", "NULL")
@pytest.mark.parametrize("name", types_of_duckdb())
def test_each_type_of_duckdb_is_decided(name: str) -> None:
    value, uses = DUCKDB[name]
    expected = decided(uses)
    if name == "NULL" and DUCKDB_1:
        expected = decided(WHOLE)
    connection = duckdb.connect()
    for rows in ("range(2)", "range(0)"):
        relation = connection.sql(f"SELECT {value} AS x FROM {rows}")  # noqa: S608
        assert uses_of(relation) == expected, rows


def test_names_that_duckdb_does_not_have_are_not_listed() -> None:
    """Those of older versions are, such as `sqlnull`."""
    there = types_of_duckdb()
    values = ", ".join(value for name, (value, _) in DUCKDB.items() if name in there)
    ids = {kind.id for kind in duckdb.connect().sql(f"SELECT {values}").types}
    names = {*relations._KINDS, *relations._AS_TEXT, *relations._WIDE}
    assert names - ids <= {"null", '"null"', "sqlnull", "timestamptz_ns"}


# --- Arrow

AT = dt.datetime(2020, 1, 1, 12)
UUID = pa.array([bytes(16)], pa.binary(16))


def array_of(value: Any, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array([value]).dictionary_encode()
    if pa.types.is_run_end_encoded(kind):
        return pa.RunEndEncodedArray.from_arrays([1], pa.array([value]))
    if pa.types.is_union(kind):
        types, values = pa.array([0], pa.int8()), [pa.array([value])]
        if kind.mode == "sparse":
            return pa.UnionArray.from_sparse(types, values)
        return pa.UnionArray.from_dense(types, pa.array([0], pa.int32()), values)
    return pa.array([value], kind)


ARROW: dict[str, tuple[Any, pa.DataType, str]] = {
    "NA": (None, pa.null(), ANYTHING),
    "BOOL": (True, pa.bool_(), KEY),
    **{f"INT{bits}": (7, getattr(pa, f"int{bits}")(), WHOLE) for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}": (7, getattr(pa, f"uint{bits}")(), WHOLE) for bits in (8, 16, 32, 64)},
    "HALF_FLOAT": (np.float16(1.5), pa.float16(), NUMBER),
    "FLOAT": (1.5, pa.float32(), NUMBER),
    "DOUBLE": (1.5, pa.float64(), NUMBER),
    **{
        f"DECIMAL{bits}": (Decimal("1.5"), getattr(pa, f"decimal{bits}")(5, 2), "key numbers")
        for bits in (32, 64, 128)
    },
    "DECIMAL32 of tens": (Decimal(0), pa.decimal32(5, -1), NUMBER),
    "DECIMAL256": (Decimal("1.5"), pa.decimal256(5, 2), KEY),
    "DECIMAL256 of 39 digits": (Decimal("1.5"), pa.decimal256(39, 2), NOTHING),
    "STRING": ("a", pa.string(), TEXT),
    "LARGE_STRING": ("a", pa.large_string(), TEXT),
    "STRING_VIEW": ("a", pa.string_view(), TEXT),
    "BINARY": (b"a", pa.binary(), KEY),
    "LARGE_BINARY": (b"a", pa.large_binary(), KEY),
    "BINARY_VIEW": (b"a", pa.binary_view(), KEY),
    "FIXED_SIZE_BINARY": (b"a", pa.binary(1), KEY),
    "DATE32": (AT.date(), pa.date32(), "key days"),
    "DATE64": (AT.date(), pa.date64(), "key days"),
    "TIMESTAMP": (AT, pa.timestamp("ns"), MOMENT),
    **{f"TIMESTAMP in {unit}": (AT, pa.timestamp(unit), MOMENT) for unit in ("s", "ms", "us")},
    "TIMESTAMP with a zone": (AT, pa.timestamp("ns", "Europe/Zurich"), INSTANT),
    "TIMESTAMP with no zone known": (AT, pa.timestamp("us", "Mars/Phobos"), "instants"),
    "TIME32": (AT.time(), pa.time32("s"), NOTHING),
    "TIME64": (AT.time(), pa.time64("us"), NOTHING),
    "DURATION": (dt.timedelta(1), pa.duration("us"), NOTHING),
    "INTERVAL_MONTH_DAY_NANO": ((1, 2, 3), pa.month_day_nano_interval(), NOTHING),
    "DICTIONARY": ("a", pa.dictionary(pa.int32(), pa.string()), TEXT),
    "DICTIONARY of integers": (7, pa.dictionary(pa.int32(), pa.int64()), WHOLE),
    "RUN_END_ENCODED": ("a", pa.run_end_encoded(pa.int32(), pa.string()), TEXT),
    "LIST": (["a"], pa.list_(pa.string()), "texts"),
    "LIST of integers": ([7], pa.list_(pa.int64()), NOTHING),
    "LARGE_LIST": (["a"], pa.large_list(pa.string()), "texts"),
    "LIST_VIEW": (["a"], pa.list_view(pa.string()), "texts"),
    "LARGE_LIST_VIEW": (["a"], pa.large_list_view(pa.string()), "texts"),
    "FIXED_SIZE_LIST": (["a"], pa.list_(pa.string(), 1), "texts"),
    "MAP": ([("a", 1)], pa.map_(pa.string(), pa.int64()), NOTHING),
    "STRUCT": ({"a": 1}, pa.struct({"a": pa.int64()}), NOTHING),
    "STRUCT of nothing": ({}, pa.struct([]), NOTHING),
    "SPARSE_UNION": (7, pa.sparse_union([pa.field("a", pa.int64())]), NOTHING),
    "DENSE_UNION": (7, pa.dense_union([pa.field("a", pa.int64())]), NOTHING),
}
# Types that Arrow has in C++ alone.
NOT_IN_PYTHON = {"INTERVAL_MONTHS", "INTERVAL_DAY_TIME"}

EXTENSIONS: dict[str, tuple[pa.Array, str]] = {
    "UuidType": (pa.ExtensionArray.from_storage(pa.uuid(), UUID), KEY),
    "JsonType": (pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1"])), TEXT),
    "Bool8Type": (
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8())),
        "key count",
    ),
    "OpaqueType": (
        pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "type", "vendor"), pa.array([1])),
        NOTHING,
    ),
    "FixedShapeTensorType": (
        pa.ExtensionArray.from_storage(
            pa.fixed_shape_tensor(pa.int64(), [1]), pa.array([[1]], pa.list_(pa.int64(), 1))
        ),
        NOTHING,
    ),
}
# Bases of types that somebody else defines: `test_extension_types_of_others_are_refused`.
OF_OTHERS = {"ExtensionType", "PyExtensionType", "UnknownExtensionType"}

ARRAYS = {name: (array_of(value, kind), uses) for name, (value, kind, uses) in ARROW.items()}
ARRAYS |= EXTENSIONS


def subclasses(kind: Any) -> Iterator[Any]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def test_each_type_of_arrow_is_listed() -> None:
    there = {name.removeprefix("Type_") for name in dir(pa.lib) if name.startswith("Type_")}
    assert there - NOT_IN_PYTHON <= set(ARROW)
    classes = {each.__name__ for each in subclasses(pa.BaseExtensionType)}
    own = {name for name in classes if hasattr(pa, name)} - OF_OTHERS
    assert own <= set(EXTENSIONS)


quick_arrays = pytest.mark.quick("Uuid", "Opaque", "TIMESTAMP with", "of 39 digits", "of nothing")


@quick_arrays
@pytest.mark.parametrize("name", ARRAYS)
def test_each_type_of_arrow_is_decided(name: str) -> None:
    values, uses = ARRAYS[name]
    for table in (pa.table({"x": values}), pa.table({"x": values[:0]})):
        assert uses_of(table) == decided(uses), len(table)


class Span(pa.ExtensionType):  # type: ignore[misc]
    """A type of somebody else's: which of its values are equal is for them to say."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "somebody.span")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, content: bytes) -> "Span":
        return cls()


def test_extension_types_of_others_are_refused() -> None:
    values = pa.ExtensionArray.from_storage(Span(), pa.array([1]))
    assert uses_of(pa.table({"x": values})) == set()


# --- Parquet: a file is decided like the same table in memory

# What a file does not know of a type, it cannot decide: durations, for example, are integers.
IN_FILES = {
    "DURATION": WHOLE,
    "Bool8Type": WHOLE,
    "OpaqueType": WHOLE,
    "DECIMAL256": "key numbers",
    "TIMESTAMP with no zone known": INSTANT,
}
# By Arrow into Parquet: at all, or before version 20.
NOT_WRITTEN = {
    *("DECIMAL32", "DECIMAL64", "DECIMAL32 of tens", "STRING_VIEW", "BINARY_VIEW", "LIST_VIEW"),
    *("INTERVAL_MONTH_DAY_NANO", "RUN_END_ENCODED", "SPARSE_UNION", "DENSE_UNION"),
    *("LARGE_LIST_VIEW", "STRUCT of nothing"),
}


@pytest.mark.long(every=4)
@quick_arrays
@pytest.mark.parametrize("name", ARRAYS)
def test_each_type_in_parquet_is_decided(name: str, tmp_path: Path) -> None:
    values, uses = ARRAYS[name]
    expected = decided(IN_FILES.get(name, uses))
    if DUCKDB_1:
        expected = {"NA": decided(WHOLE), "TIMESTAMP with a zone": set()}.get(name, expected)
    for number, held in enumerate((values, values[:0])):
        path = tmp_path / f"{number}.parquet"
        try:
            pq.write_table(pa.table({"x": held}), path)
        except (pa.ArrowNotImplementedError, OSError):
            assert name in NOT_WRITTEN
        else:
            assert uses_of(path) == expected, len(held)


@pytest.mark.parametrize("old", [False, True])
def test_timestamps_in_files_are_never_rounded(old: bool, tmp_path: Path) -> None:
    """Users and labels a nanosecond apart are two, or refused; bins hold what lies in them."""
    moments = [-1001, -1000, -1, 0, 1, 999, 1000]
    column = pa.array(moments, pa.int64()).cast(pa.timestamp("ns", None if old else "UTC"))
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": column}), path, use_deprecated_int96_timestamps=old)
    if is_accepted(path, "key"):
        assert dh.Profile.from_table(path, label="x").sorted_counts().tolist() == [1] * 7
    if is_accepted(path, "moments" if old else "instants"):
        edges = np.array([-1, 0, 1], "M8[us]")
        slots = bin_rows(path, Grid(("x",), (edges,), (None if old else "UTC",)))
        assert slots.tolist() == [1, 2, 3, 1, 0]


# --- Polars

POLARS: dict[str, tuple[Any, Any, str]] = {
    **{name: (getattr(pl, name), 7, WHOLE) for name in ("Int8", "Int16", "Int32", "Int64")},
    **{name: (getattr(pl, name), 7, WHOLE) for name in ("UInt8", "UInt16", "UInt32", "UInt64")},
    **{name: (getattr(pl, name), 7, NOTHING) for name in ("Int128", "UInt128")},
    **{name: (getattr(pl, name), 1.5, NUMBER) for name in ("Float16", "Float32", "Float64")},
    "Decimal": (pl.Decimal(5, 2), Decimal("1.5"), "key numbers"),
    "Boolean": (pl.Boolean, True, KEY),
    "String": (pl.String, "a", TEXT),
    "Categorical": (pl.Categorical, "a", TEXT),
    "Enum": (pl.Enum(["a"]), "a", TEXT),
    "Binary": (pl.Binary, b"a", KEY),
    "Date": (pl.Date, AT.date(), "key days"),
    "Datetime": (pl.Datetime("ns", "Europe/Zurich"), AT.replace(tzinfo=dt.UTC), INSTANT),
    "Time": (pl.Time, AT.time(), NOTHING),
    "Duration": (pl.Duration, dt.timedelta(1), NOTHING),
    "List": (pl.List(pl.String), ["a"], "texts"),
    "Array": (pl.Array(pl.String, 1), ["a"], "texts"),
    "Struct": (pl.Struct({"a": pl.Int64}), {"a": 1}, NOTHING),
    **({"Map": (pl.Map(pl.String, pl.Int64), {"a": 1}, NOTHING)} if hasattr(pl, "Map") else {}),
    "Null": (pl.Null, None, ANYTHING),
    "Object": (pl.Object, object(), NOTHING),
}
# Bases, and types that no column has.
ABSTRACT = {
    *("BaseExtension", "Extension", "FloatType", "IntegerType", "NestedType", "NumericType"),
    *("ObjectType", "SignedIntegerType", "TemporalType", "UnsignedIntegerType", "Unknown"),
}


def types_of_polars() -> list[str]:
    return sorted({each.__name__ for each in subclasses(pl.DataType)} - ABSTRACT)


def test_each_type_of_polars_is_listed() -> None:
    assert set(types_of_polars()) <= set(POLARS)


@pytest.mark.quick("Object", "Int128", "Datetime")
@pytest.mark.parametrize("name", types_of_polars())
def test_each_type_of_polars_is_decided(name: str) -> None:
    kind, value, uses = POLARS[name]
    frame = pl.DataFrame({"x": pl.Series([value], dtype=kind)})
    for table in (frame, frame[:0], frame.lazy(), frame[:0].lazy()):
        assert uses_of(table) == decided(uses)


# --- pandas

ZONED = pd.Timestamp("2020-01-01 12:00", tz="Europe/Zurich")
PANDAS: dict[str, tuple[Any, str]] = {
    **{f"{sign}Int{bits}Dtype": ([7], WHOLE) for sign in ("", "U") for bits in (8, 16, 32, 64)},
    **{f"Float{bits}Dtype": ([1.5], NUMBER) for bits in (32, 64)},
    "BooleanDtype": ([True], KEY),
    "StringDtype": (["a"], TEXT),
    "ArrowDtype": (pd.Series(["a"], dtype=pd.ArrowDtype(pa.string())), TEXT),
    "CategoricalDtype": (["a"], TEXT),
    "DatetimeTZDtype": (pd.Series([ZONED]), INSTANT),
    "PeriodDtype": (pd.Series([pd.Period("2020-01")]), NOTHING),
    "IntervalDtype": (pd.Series([pd.Interval(0, 1)]), NOTHING),
    "SparseDtype": (pd.Series([1], dtype=pd.SparseDtype("int64")), NOTHING),
    **{f"numpy {name}": (np.array([7], name), WHOLE) for name in ("int8", "int64", "uint64")},
    **{f"numpy {name}": (np.array([1.5], name), NUMBER) for name in ("f2", "f4", "f8")},
    "numpy longdouble": (np.array([1.5], np.longdouble), NOTHING),
    "numpy bool": (np.array([True]), KEY),
    "numpy complex": (np.array([1j]), NOTHING),
    "numpy datetime64": (np.array(["2020-01-01"], "M8[ns]"), MOMENT),
    "numpy timedelta64": (np.array([1], "m8[s]"), NOTHING),
    "categories of integers": (pd.Series(pd.Categorical([7])), WHOLE),
}
BASES = {
    *("BaseMaskedDtype", "FloatingDtype", "IntegerDtype", "NumericDtype", "NumpyEADtype"),
    *("PandasExtensionDtype", "StorageExtensionDtype"),
}


def test_each_type_of_pandas_is_listed() -> None:
    there = {
        each.__name__
        for each in subclasses(pd.api.extensions.ExtensionDtype)
        if each.__module__.split(".")[0] == "pandas"
    }
    assert there - BASES <= set(PANDAS)


@pytest.mark.quick("PeriodDtype", "longdouble", "DatetimeTZ")
@pytest.mark.parametrize("name", PANDAS)
def test_each_type_of_pandas_is_decided(name: str) -> None:
    values, uses = PANDAS[name]
    if isinstance(values, list):
        values = pd.Series(values, dtype=getattr(pd, name)())
    frame = pd.DataFrame({"x": values})
    assert uses_of(frame) == decided(uses)
    # pandas has no other type for labels of events that are all missing than floats.
    empty = {"texts"} if getattr(frame["x"].dtype, "kind", "") == "f" else set()
    assert uses_of(frame[:0]) == decided(uses) | empty


# --- Spark, whose types need no session

SPARK = {
    *("binary", "boolean", "byte", "char", "date", "decimal", "double", "float", "integer", "long"),
    *("short", "string", "timestamp", "timestamp_ntz", "varchar", "void"),
}
NOT_SPARK = {
    *("array", "daytimeinterval", "geography", "geometry", "interval", "map", "struct", "time"),
    *("userdefinedtype", "variant", "yearmonthinterval", "timestamp_nanos"),
}
SPARK_BASES = {
    *("ansiinterval", "anytime", "atomic", "datetime", "fractional", "integral", "numeric"),
    "spatial",
}


def test_each_type_of_spark_is_decided() -> None:
    from pyspark.sql import types

    names = {
        each.typeName() for each in subclasses(types.DataType) if each is not types.StructField
    }
    assert names - SPARK_BASES <= SPARK | NOT_SPARK
    assert {*spark._KINDS, "decimal"} == SPARK
