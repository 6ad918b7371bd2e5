"""The same table gives the same pairs, whatever holds it."""

import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dphist import counting
from dphist.errors import ColumnError, DataError, ParameterError
from tests.support.counting.backends import (
    DAY,
    NOON,
    Backend,
    assert_pairs,
    every_backend,
    needing,
    pairs_of,
    text,
    whole,
)
from tests.support.refusal import NUMBER, SENTINEL, refused

LARGEST = 2**62 - 1


# No surrogates, which UTF-8 cannot hold; everything else, quotes and line ends included.
labels = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)


@every_backend
@settings(max_examples=8, deadline=None)
@given(
    rows=st.lists(
        st.sampled_from(
            ["", "a", "A", " a", "a ", "é", "é", 'q"q', "x,\ty", "1\n2", "007", "7", "NULL", "#"]
        )
        | labels
    )
)
@pytest.mark.quick(every=10)
def test_records_are_counted_as_python_counts_them(backend: Backend, rows: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=Path(tempfile.gettempdir()).parent) as folder:
        frame = backend.make(pa.table({"label": text(rows)}), Path(folder))
        result = counting.count_records(frame, label="label")
    assert_pairs(result, pairs_of(Counter(rows).values()))


@pytest.mark.quick("[pandas]", "[polars]", "[pyarrow]", "[duckdb]", "[csv]", every=5)
@every_backend
@settings(max_examples=8, deadline=None)
@given(
    rows=st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 5) | st.integers(0, 2**50)))
)
def test_counts_are_summed_as_python_sums_them(
    backend: Backend, rows: list[tuple[str, int]]
) -> None:
    sums: Counter[str] = Counter()
    for label, count in rows:
        sums[label] += count
    table = pa.table({"n": whole([row[1] for row in rows]), "term": text([row[0] for row in rows])})
    with tempfile.TemporaryDirectory(dir=Path(tempfile.gettempdir()).parent) as folder:
        result = counting.sum_counts(backend.make(table, Path(folder)), label="term", count="n")
    assert_pairs(result, pairs_of(sums.values()))


@pytest.mark.verify
@every_backend
def test_a_profile_is_merged_and_sorted(backend: Backend, tmp_path: Path) -> None:
    table = pa.table({"count": whole([8, 3, 8, 5, 0]), "prevalence": whole([2, 1, 4, 0, 0])})
    result = counting.read_profile(backend.make(table, tmp_path))
    assert_pairs(result, ([3, 8], [1, 6]))


@every_backend
@pytest.mark.quick(every=4)
def test_empty_tables_are_valid(backend: Backend, tmp_path: Path) -> None:
    table = pa.table({"label": text([]), "count": whole([]), "prevalence": whole([])})
    frame = backend.make(table, tmp_path)
    assert_pairs(counting.count_records(frame, label="label"), ([], []))
    assert_pairs(counting.sum_counts(frame, label="label", count="count"), ([], []))
    assert_pairs(counting.read_profile(frame), ([], []))


@pytest.mark.quick("-pyarrow]", "-duckdb]")
@every_backend
@pytest.mark.parametrize("name", ["problem", "a.b", 'a"b', "größe", "*", "^.*$"])
def test_column_names_do_not_collide_with_ours(backend: Backend, name: str, tmp_path: Path) -> None:
    other = "count" if name != "count" else "n"
    table = pa.table({name: text(["a", "b", "a"]), other: whole([1, 2, 3])})
    result = counting.sum_counts(backend.make(table, tmp_path), label=name, count=other)
    assert_pairs(result, ([2, 4], [1, 1]))


@pytest.mark.verify
@every_backend
def test_roles_may_have_each_others_names(backend: Backend, tmp_path: Path) -> None:
    table = pa.table({"count": text(["a", "b", "a"]), "label": whole([1, 2, 3])})
    result = counting.sum_counts(backend.make(table, tmp_path), label="count", count="label")
    assert_pairs(result, ([2, 4], [1, 1]))


@pytest.mark.quick("-pyarrow]", "-pandas]", "-duckdb]")
@needing("typed")
@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, 1]),
        pa.array(["x", "y", "x"]).dictionary_encode(),
        pa.array([True, False, True]),
        pa.array([DAY, DAY.replace(year=2021), DAY]),
        pa.array([NOON, NOON]),
        pa.array([b"\xff\x00", b"", b"\xff\x00"]),
        pa.array([Decimal("1.5"), Decimal("1.5"), Decimal("2.0")]),
    ],
    ids=["integers", "categories", "booleans", "dates", "times", "bytes", "decimals"],
)
def test_labels_of_other_types(backend: Backend, values: pa.Array, tmp_path: Path) -> None:
    result = counting.count_records(backend.make(pa.table({"key": values}), tmp_path), label="key")
    assert_pairs(result, pairs_of(Counter(values.to_pylist()).values()))


@every_backend
@pytest.mark.quick(every=2)
def test_a_missing_label_is_refused(backend: Backend, tmp_path: Path) -> None:
    table = pa.table({"term": text([SENTINEL, None, SENTINEL]), "n": whole([1, NUMBER, 2])})
    frame = backend.make(table, tmp_path)
    with refused(DataError, "'term'", "drop them"):
        counting.count_records(frame, label="term")
    with refused(DataError, "'term'", "drop them"):
        counting.sum_counts(frame, label="term", count="n")


@needing("missing-counts")
@pytest.mark.quick(every=3)
def test_a_missing_count_is_refused(backend: Backend, tmp_path: Path) -> None:
    table = pa.table({"term": text([SENTINEL, "b"]), "n": whole([None, NUMBER])})
    with refused(DataError, "'n'", "drop them"):
        counting.sum_counts(backend.make(table, tmp_path), label="term", count="n")
    (tmp_path / "profile").mkdir()
    table = pa.table({"count": whole([NUMBER, 1]), "prevalence": whole([None, 1])})
    with refused(DataError, "'prevalence'", "drop them"):
        counting.read_profile(backend.make(table, tmp_path / "profile"))


@every_backend
@pytest.mark.parametrize("kind", [pa.int32(), pa.int64()], ids=str)
@pytest.mark.quick(every=3)
def test_a_negative_count_is_refused(backend: Backend, kind: pa.DataType, tmp_path: Path) -> None:
    table = pa.table({"term": text([SENTINEL, SENTINEL]), "n": whole([-NUMBER, NUMBER + 7], kind)})
    with refused(DataError, "'n'"):
        counting.sum_counts(backend.make(table, tmp_path), label="term", count="n")


@every_backend
@pytest.mark.parametrize("column", ["count", "prevalence"])
@pytest.mark.quick(every=3)
def test_a_negative_profile_is_refused(backend: Backend, column: str, tmp_path: Path) -> None:
    values = {"count": [NUMBER, 2], "prevalence": [1, 2], column: [-NUMBER, 2]}
    table = pa.table({name: whole(column) for name, column in values.items()})
    with refused(DataError, f"'{column}'"):
        counting.read_profile(backend.make(table, tmp_path))


@every_backend
@pytest.mark.quick(every=3)
def test_a_count_of_zero_in_a_profile_is_refused(backend: Backend, tmp_path: Path) -> None:
    table = pa.table({"count": whole([0, 3]), "prevalence": whole([NUMBER, 1])})
    with refused(DataError, "'count'", "at least 1"):
        counting.read_profile(backend.make(table, tmp_path))


@every_backend
@pytest.mark.quick(every=5)
def test_the_largest_count(backend: Backend, tmp_path: Path) -> None:
    below = pa.table({"term": text(["a", "b"]), "n": whole([LARGEST, 0])})
    assert_pairs(
        counting.sum_counts(backend.make(below, tmp_path), label="term", count="n"),
        ([LARGEST], [1]),
    )
    above = pa.table({"term": text([SENTINEL, "b"]), "n": whole([LARGEST + 1, 0])})
    with refused(DataError, "'n'", "2**62 - 1"):
        counting.sum_counts(backend.make(above, tmp_path), label="term", count="n")


@pytest.mark.quick(every=3)
@needing("uint64")
def test_a_count_beyond_int64_is_refused(backend: Backend, tmp_path: Path) -> None:
    table = pa.table({"term": text([SENTINEL, "b"]), "n": whole([2**64 - 1, 1], pa.uint64())})
    with refused(DataError, "'n'", "2**62 - 1"):
        counting.sum_counts(backend.make(table, tmp_path), label="term", count="n")


@pytest.mark.verify
@needing("uint64")
def test_counts_of_type_uint64(backend: Backend, tmp_path: Path) -> None:
    table = pa.table({"term": text(["a", "b"]), "n": whole([LARGEST - 5, 5], pa.uint64())})
    result = counting.sum_counts(backend.make(table, tmp_path), label="term", count="n")
    assert_pairs(result, ([5, LARGEST - 5], [1, 1]))


@every_backend
@pytest.mark.quick(every=3)
def test_narrow_sums_do_not_wrap(backend: Backend, tmp_path: Path) -> None:
    table = pa.table({"term": text(["a"] * 300), "n": whole([127] * 300, pa.int8())})
    result = counting.sum_counts(backend.make(table, tmp_path), label="term", count="n")
    assert_pairs(result, ([300 * 127], [1]))


@every_backend
@pytest.mark.parametrize("rows", [2, 4, 5, 8])
@pytest.mark.quick(every=7)
def test_wrapping_sums_are_refused(backend: Backend, rows: int, tmp_path: Path) -> None:
    # 4 and 8 times 2**62 - 1 wrap to small numbers that look sound.
    table = pa.table({"term": text([SENTINEL] * rows), "n": whole([LARGEST] * rows)})
    with refused(DataError, "'n'", "2**62"):
        counting.sum_counts(backend.make(table, tmp_path), label="term", count="n")


@every_backend
@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.quick(every=4)
def test_neighbours_straddling_the_largest_sum(backend: Backend, more: int, tmp_path: Path) -> None:
    table = pa.table({"term": text(["a", "a"]), "n": whole([2**61, 2**61 - 1 + more])})
    frame = backend.make(table, tmp_path)
    if more:
        with refused(DataError, "'n'", "2**62"):
            counting.sum_counts(frame, label="term", count="n")
    else:
        assert_pairs(counting.sum_counts(frame, label="term", count="n"), ([LARGEST], [1]))


@every_backend
@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.quick(every=3)
def test_neighbours_straddling_the_largest_total(
    backend: Backend, more: int, tmp_path: Path
) -> None:
    profile = pa.table(
        {"count": whole([2**31, 2**31 - 1 + more]), "prevalence": whole([2**31 - 1, 1])}
    )
    # 2**62 - 2**31 + 2**31 - 1 + more
    frame = backend.make(profile, tmp_path)
    if more:
        with refused(DataError, "2**62"):
            counting.read_profile(frame)
    else:
        assert counting.check_total(*counting.read_profile(frame)) == LARGEST


@every_backend
def test_a_missing_column_is_refused(backend: Backend, tmp_path: Path) -> None:
    frame = backend.make(pa.table({"here": text([SENTINEL]), "too": whole([NUMBER])}), tmp_path)
    listed = ["'here'", "'too'"] if "typed" in backend.capabilities else []
    with refused(ColumnError, "'gone'", *listed):
        counting.count_records(frame, label="gone")
    with refused(ColumnError, "'gone'", *listed):
        counting.sum_counts(frame, label="here", count="gone")
    with refused(ColumnError, "'count'", *listed):
        counting.read_profile(frame)


@needing("typed")
@pytest.mark.parametrize(
    "values",
    [pa.array([1.5, NUMBER]), pa.array([[NUMBER], [1]]), pa.array([{"a": NUMBER}, {"a": 2}])],
    ids=["float", "list", "struct"],
)
def test_labels_that_are_none_are_refused(
    backend: Backend, values: pa.Array, tmp_path: Path
) -> None:
    with refused(ColumnError, "'key'", "cast"):
        counting.count_records(backend.make(pa.table({"key": values}), tmp_path), label="key")


@needing("typed")
@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.0, NUMBER]),
        pa.array([True, False]),
        pa.array([SENTINEL, "1"]),
        pa.array([DAY, DAY]),
    ],
    ids=["float", "boolean", "text", "date"],
)
@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.quick(every=4)
def test_counts_that_are_none_are_refused(
    backend: Backend, values: pa.Array, rows: int, tmp_path: Path
) -> None:
    table = pa.table({"term": text(["a", "b"]), "n": values, "count": values, "prevalence": values})
    frame = backend.make(table.slice(0, rows), tmp_path)
    if rows == 0 and backend.name.startswith("pandas") and str(frame["n"].dtype) == "object":
        return  # objects without rows have no type to be refused
    with refused(ColumnError, "'n'", "integer"):
        counting.sum_counts(frame, label="term", count="n")
    with refused(ColumnError, "'count'", "integer"):
        counting.read_profile(frame)


@every_backend
@pytest.mark.quick(every=2)
def test_every_table_has_progress(backend: Backend, tmp_path: Path) -> None:
    seen: list[float] = []
    frame = backend.make(pa.table({"label": text(["a"])}), tmp_path)
    counting.count_records(frame, label="label", progress=seen.append)
    assert seen[-1] == 1
    assert seen == sorted(seen)
    with refused(ParameterError, "progress"):
        counting.count_records(frame, label="label", progress=3)  # type: ignore[arg-type]


@every_backend
def test_parameters_are_checked(backend: Backend, tmp_path: Path) -> None:
    frame = backend.make(pa.table({"label": text(["a"])}), tmp_path)
    with refused(ParameterError, "label"):
        counting.count_records(frame, label=0)  # type: ignore[arg-type]
    with refused(ParameterError, "label", "count"):
        counting.sum_counts(frame, label="label", count="label")
