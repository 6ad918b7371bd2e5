"""What an engine says of a column's type is believed from a closed list only.

Polars has a column of Python objects, which reaches Arrow as their addresses: equal labels would be
as many as there are objects, and of one user as many as there are rows.
"""

import datetime as dt
import uuid
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.reading import frames
from dphist.counting.reading.columns import Use, Wanted
from dphist.errors import ColumnError
from tests.support.refusal import refused

ONE = uuid.UUID(int=5)
NOT_COMPARED = {
    "uuid": pl.DataFrame({"x": [ONE, ONE]}),
    "object": pl.DataFrame({"x": pl.Series(["a", "a"], dtype=pl.Object)}),
    "time": pl.DataFrame({"x": [dt.time(1), dt.time(2)]}),
    "duration": pl.DataFrame({"x": [dt.timedelta(1), dt.timedelta(2)]}),
    "struct": pl.DataFrame({"x": [{"a": 1}, {"a": 2}]}),
    "list": pl.DataFrame({"x": [[1], [2]]}),
    "list of objects": pl.DataFrame({"x": [[1.5], [2.0]]}),
    "float": pl.DataFrame({"x": [1.0, 2.0]}),
    "128 bits": pl.DataFrame({"x": [1, 2]}, schema={"x": pl.Int128}),
}
ROW = pl.Series("n", [1, 2])


@pytest.mark.parametrize(
    "wrap", [lambda f: f, lambda f: f.lazy(), nw.from_native], ids=["eager", "lazy", "narwhals"]
)
@pytest.mark.parametrize("name", NOT_COMPARED)
def test_columns_of_polars_that_have_no_exact_equality_are_refused(name: str, wrap: Any) -> None:
    frame = wrap(NOT_COMPARED[name].with_columns(ROW))
    for call in (
        lambda: dh.Profile.from_table(frame, label="x"),
        lambda: dh.Profile.from_table(frame, label="n", user="x", max_records=1),
        lambda: dh.Profile.from_edges(frame, source="x", target="n"),
        lambda: dh.LabelCounts.from_table(frame, label="x"),
        lambda: dh.LabelCounts.from_table(frame, label="n", user="x", max_labels=1),
        lambda: dh.bin_counts(frame, column="n", edges=[0, 5], user="x", max_records=1),
    ):
        with refused(ColumnError, "'x'"):
            call()


def test_the_list_of_polars_types_is_closed() -> None:
    """Of all types that Polars has, those that are compared are these."""
    served = set()
    for kind in vars(pl.datatypes).values():
        if isinstance(kind, type) and issubclass(kind, pl.DataType):
            found = frames._kind_of_polars(kind() if kind is pl.Decimal else kind)
            if found != frames.UNFIT:
                served.add(kind.__name__)
    assert served <= frames._POLARS | {"List", "Array"}
    assert {"String", "Int64", "Binary", "Date"} <= served


def test_objects_behind_a_schema_of_bytes_are_refused() -> None:
    """Polars lets a function promise one type and bring another, where it is told not to look."""
    who, what = [ONE, ONE, ONE], ["a", "a", "a"]
    brought = pl.DataFrame({"u": pl.Series(who, dtype=pl.Object), "l": what})
    promised = pl.DataFrame({"u": [b"1", b"1", b"1"], "l": what}).lazy()
    frame = promised.map_batches(
        lambda _: brought, schema={"u": pl.Binary, "l": pl.String}, validate_output_schema=False
    )
    for call in (
        lambda: dh.LabelCounts.from_table(frame, label="l", user="u", max_labels=1),
        lambda: dh.Profile.from_table(frame, label="l", user="u", max_records=1),
    ):
        with pytest.raises((ColumnError, dh.DataError), match="'u'"):
            call()


@pytest.mark.parametrize("evaluated", [pa.array([b"a", b"b"]), pa.array([1.5, 2.5])])
def test_rows_of_another_type_than_the_schema_s_are_refused(evaluated: Any) -> None:
    """A lazy engine may have promised text, and bring what compares in another way."""
    wanted = [Wanted("label", "x", Use.KEY, "label")]
    frame = nw.from_native(pl.LazyFrame({"x": ["a", "b"]}))
    source = frames.ArrowSource(
        None,
        wanted,
        [frames._find_type(frame, 0)],
        lambda: pa.table({"x": evaluated}),
        frames.Wall(frames.engine_failure(wanted)),
    )
    with refused(ColumnError, "'x'", "schema"):
        list(source.batches())
