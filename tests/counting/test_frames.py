"""What is particular to one kind of dataframe."""

import datetime
import io
import uuid
from decimal import Decimal
from typing import Any

import duckdb
import narwhals
import narwhals.stable.v1
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dphist import counting
from dphist.errors import ColumnError, DataError, ParameterError
from tests.support.refusal import NUMBER, SENTINEL, refused

NOON = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)


def records(frame: object) -> tuple[list[int], list[int]]:
    counts, prevalences = counting.count_records(frame, label="label")
    return counts.tolist(), prevalences.tolist()


@pytest.mark.verify
@pytest.mark.parametrize(
    "values",
    [
        ["a", "b", "a"],
        [b"a", b"b", b"a"],
        [1, 2, 1],
        [2**80, 1, 2**80],
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)],
        [Decimal("1.5"), Decimal(2), Decimal("1.50")],
        [uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=1)],
        [True, False, True],
        [np.int8(1), np.int8(2), np.int8(1)],
        [
            NOON,
            NOON.replace(hour=11),
            NOON.astimezone(datetime.timezone(datetime.timedelta(hours=3))),
        ],
    ],
    ids=lambda values: type(values[0]).__name__,
)
def test_pandas_columns_of_objects(values: list[Any]) -> None:
    assert records(pd.DataFrame({"label": pd.Series(values, dtype=object)})) == ([1, 2], [1, 1])
    missing = pd.DataFrame({"label": pd.Series([*values, None], dtype=object)})
    with refused(DataError, "'label'", "drop"):
        records(missing)


KNOWN = ["a", datetime.date(2020, 1, 1), 1, True, Decimal("1.5"), b"a", uuid.UUID(int=1)]
UNKNOWN = [np.datetime64("2020-01-01"), np.timedelta64(5, "s"), 1.5, (1,)]


@pytest.mark.parametrize("one", [*KNOWN, *UNKNOWN], ids=repr)
@pytest.mark.parametrize("other", [*KNOWN, *UNKNOWN], ids=repr)
@pytest.mark.quick(every=7)
def test_objects_of_two_types_are_judged_one_by_one(one: Any, other: Any) -> None:
    """Whether two are one label, and whether they are accepted, must not hang on a third row."""
    for values in ([one, other], [one] * 200 + [other]):
        frame = pd.DataFrame({"label": pd.Series(values, dtype=object)})
        if any(value is bad for value in values for bad in UNKNOWN):
            with refused(ColumnError, "'label'", "cast"):
                records(frame)
        elif one is other:
            assert records(frame) == ([len(values)], [1])
        else:
            counts = sorted({1, len(values) - 1})
            assert records(frame) == (counts, [2 // len(counts)] * len(counts))


@pytest.mark.parametrize(
    "bad",
    [
        np.timedelta64(5, "s"),
        datetime.timedelta(5),
        datetime.time(5),
        1.5,
        [SENTINEL],
        {"a": SENTINEL},
        (SENTINEL,),
        1j,
        object(),
    ],
)
def test_pandas_objects_that_make_no_label(bad: Any) -> None:
    for values in (["a", bad], [bad, bad], [bad]):
        with refused(ColumnError, "'label'", "cast"):
            records(pd.DataFrame({"label": pd.Series(values, dtype=object)}))


def test_categories_that_do_not_occur() -> None:
    values = pd.Categorical(["a", "b", "a"], categories=["z", "a", "b", "y"])
    assert records(pd.DataFrame({"label": values})) == ([1, 2], [1, 1])
    kind = pl.Enum(["z", "a", "b", "y"])
    assert records(pl.DataFrame({"label": pl.Series(["a", "b", "a"], dtype=kind)})) == (
        [1, 2],
        [1, 1],
    )
    assert records(pl.DataFrame({"label": pl.Series(["a", "b", "a"], dtype=pl.Categorical)})) == (
        [1, 2],
        [1, 1],
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # Two chunks with dictionaries of their own.
        (
            pa.chunked_array(
                [pa.array(["a", "b"]).dictionary_encode(), pa.array(["b"]).dictionary_encode()]
            ),
            ([1, 2], [1, 1]),
        ),
        # One label twice in a dictionary.
        (
            pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", "a", "b"])),
            ([1, 2], [1, 1]),
        ),
        (pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["a", "b"])), ([1, 2], [1, 1])),
        (pa.array([b"a" * 16, b"a" * 16, b"b" * 16], pa.uuid()), ([1, 2], [1, 1])),
        (pa.array(["a", "a", "b"], pa.string_view()), ([1, 2], [1, 1])),
        (pa.array(["a", "a", "b"], pa.large_string()), ([1, 2], [1, 1])),
    ],
    ids=["chunks", "repeated", "runs", "uuid", "view", "large"],
)
def test_arrow_encodings(values: Any, expected: tuple[list[int], list[int]]) -> None:
    assert records(pa.table({"x": ["", "", ""], "label": values})) == expected


def test_an_arrow_dictionary_that_holds_null() -> None:
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([SENTINEL, None]))
    with refused(DataError, "'label'"):
        records(pa.table({"label": values}))


def test_integers_with_gaps_in_pandas() -> None:
    frame = pd.DataFrame({"label": ["a", "b"], "n": [NUMBER, None]})
    with refused(ColumnError, "'n'", "float", "missing values", "cast"):
        counting.sum_counts(frame, label="label", count="n")


def test_big_python_integers_in_pandas() -> None:
    frame = pd.DataFrame({"label": ["a", "b"], "n": pd.Series([2**70, 1], dtype=object)})
    with refused(DataError, "'n'", "2**62 - 1"):
        counting.sum_counts(frame, label="label", count="n")


def test_huge_integers_in_duckdb() -> None:
    sql = "SELECT unnest(['a', 'b']) AS label, unnest([{}, 1])::{} AS n"
    for kind in ("HUGEINT", "UHUGEINT"):
        relation = duckdb.connect().sql(sql.format(2**62 - 5, kind))
        counts, _ = counting.sum_counts(relation, label="label", count="n")
        assert counts.tolist() == [1, 2**62 - 5]
        with refused(DataError, "'n'", "2**62 - 1"):
            counting.sum_counts(
                duckdb.connect().sql(sql.format(2**100, kind)), label="label", count="n"
            )


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[SENTINEL, "x"]], columns=["label", "label"]),
        pa.table([[SENTINEL], ["x"]], names=["label", "label"]),
    ],
    ids=["pandas", "pyarrow"],
)
def test_columns_of_one_name(frame: object) -> None:
    with refused(ColumnError, "two columns with the same name"):
        records(frame)


def test_columns_of_one_name_in_duckdb() -> None:
    for names in ("label, 'x' AS label", "label, 'x' AS LABEL"):
        with refused(ColumnError, "'label'", "more than one"):
            records(duckdb.connect().sql(f"SELECT '{SENTINEL}' AS {names}"))
    assert records(duckdb.connect().sql("SELECT 'a' AS label, 1 AS x, 2 AS x")) == ([1], [1])


def test_names_that_are_no_text() -> None:
    with refused(ColumnError, "'label'", "the columns are: 3; names must be text"):
        records(pd.DataFrame([[SENTINEL]], columns=[3]))


def test_narwhals_frames_are_frames() -> None:
    frame = pl.DataFrame({"label": ["a", "a"]})
    for wrap in (narwhals.from_native, narwhals.stable.v1.from_native):
        assert records(wrap(frame)) == ([2], [1])
        assert records(wrap(frame.lazy())) == ([2], [1])


def test_a_series_is_no_frame() -> None:
    with refused(ParameterError, "frame"):
        records(pd.Series([SENTINEL], name="label"))


def test_a_lazy_polars_frame_is_evaluated_once() -> None:
    times = []

    def once(frame: pl.DataFrame) -> pl.DataFrame:
        times.append(1)
        return frame

    frame = pl.LazyFrame({"label": ["a", "a"], "n": [1, 2]}).map_batches(once)
    assert records(frame) == ([2], [1])
    counting.sum_counts(frame, label="label", count="n")
    assert len(times) == 2


def test_a_duckdb_relation_is_evaluated_once() -> None:
    times = []

    def tick(value: int) -> int:
        times.append(value)
        return value

    connection = duckdb.connect()
    connection.create_function("tick", tick, ["BIGINT"], "BIGINT", side_effects=True)
    relation = connection.sql("SELECT tick(i) AS label, 1 AS n FROM range(5) t(i)")
    assert records(relation) == ([1], [5])
    assert sorted(times) == [0, 1, 2, 3, 4]
    counting.sum_counts(relation, label="label", count="n")
    assert sorted(times) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_errors_of_polars_are_dropped() -> None:
    def fail(_: pl.DataFrame) -> pl.DataFrame:
        raise ValueError(SENTINEL)

    frame = pl.LazyFrame({"label": [SENTINEL]})
    with refused(DataError, "'label'"):
        records(frame.map_batches(fail))
    with refused(DataError, "'label'"):
        records(frame.with_columns(pl.col("label").cast(pl.Int64)))
    with refused(DataError, "'label'"):
        records(pl.scan_csv(f"/nowhere/{SENTINEL}.csv"))


def test_errors_of_duckdb_are_dropped() -> None:
    relation = duckdb.connect().sql(f"SELECT unnest(['1', '{SENTINEL}'])::INTEGER AS label")
    with refused(DataError, "'label'"):
        records(relation)
    connection = duckdb.connect()
    relation = connection.sql("SELECT 1 AS label")
    connection.close()
    with refused(DataError, "'label'"):
        records(relation)


def test_errors_of_numpy_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise np.exceptions.DTypePromotionError(SENTINEL)

    monkeypatch.setattr("dphist.counting.reading.frames._as_arrow", fail)
    with refused(DataError, "'label'"):
        records(pd.DataFrame({"label": [SENTINEL]}))


def test_whoever_asks_to_stop_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dphist.counting.reading.frames._as_arrow", interrupt)
    with pytest.raises(KeyboardInterrupt):
        records(pd.DataFrame({"label": ["a"]}))


EMPTY = [
    pd.read_csv(io.StringIO("label,n\n")),
    pl.DataFrame({"label": [], "n": []}),
    pa.table({"label": [], "n": []}),
]


@pytest.mark.parametrize("frame", EMPTY, ids=lambda frame: type(frame).__module__)
def test_without_rows_no_type_is_wrong(frame: object) -> None:
    """Readers of empty files guess types; zero rows with the right columns are valid."""
    for counts, prevalences in (
        counting.count_records(frame, label="label"),
        counting.sum_counts(frame, label="label", count="n"),
    ):
        assert counts.tolist() == prevalences.tolist() == []
    with refused(ColumnError, "'other'"):
        counting.count_records(frame, label="other")
