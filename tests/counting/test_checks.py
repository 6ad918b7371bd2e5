"""Counts from Python, and totals."""

import array
import datetime
import enum
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dphist.counting
from dphist.counting import check_counts, check_total
from dphist.errors import DataError, ParameterError
from tests.support.refusal import NUMBER, SENTINEL, refused

LARGEST = 2**62 - 1


class Size(enum.IntEnum):
    LARGE = 5


@pytest.mark.parametrize(
    "values",
    [
        [5, 0, 3],
        (5, 0, 3),
        [Size.LARGE, np.int8(0), np.uint64(3)],
        array.array("q", [5, 0, 3]),
        np.array([5, 0, 3]),
        np.array([5, 0, 3], dtype=np.uint8),
        np.array([5, 0, 3], dtype=">i4"),
        np.array([5, 0, 3], dtype=object),
        np.array([3, 9, 0, 9, 5])[::-2],
        np.ma.array([5, 0, 3]),
        pd.Series([5, 0, 3]),
        pd.Series([5, 0, 3], index=[7, 8, 9], dtype="Int64"),
        pd.Series([5, 0, 3], dtype=pd.ArrowDtype(pa.int16())),
        pd.Index([5, 0, 3]),
        pl.Series([5, 0, 3]),
        pl.Series([5, 0, 3], dtype=pl.UInt64),
        pa.array([5, 0, 3]),
        pa.chunked_array([[5, 0], [3]]),
    ],
    ids=lambda values: type(values).__module__.split(".")[0],
)
def test_counts_are_read(values: Any) -> None:
    counts = check_counts(values, "counts")
    assert counts.dtype == np.int64
    assert counts.tolist() == [5, 0, 3]
    assert counts.flags.c_contiguous


def test_ranges_and_empty_sequences() -> None:
    assert check_counts(range(3), "counts").tolist() == [0, 1, 2]
    for empty in (
        [],
        (),
        range(0),
        np.array([]),
        np.empty(0, int),
        pl.Series([], dtype=pl.Int64),
        pd.Series([], dtype=object),
    ):
        counts = check_counts(empty, "counts")
        assert counts.dtype == np.int64
        assert counts.shape == (0,)


def test_a_copy_is_returned() -> None:
    given_counts = np.array([1, 2])
    check_counts(given_counts, "counts")[0] = 7
    assert given_counts.tolist() == [1, 2]


@given(st.lists(st.integers(0, LARGEST)))
def test_counts_are_kept_as_they_are(values: list[int]) -> None:
    assert check_counts(values, "counts").tolist() == values
    assert check_counts(np.array(values, dtype=np.uint64), "counts").tolist() == values


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series, pl.Series, pa.array])
def test_neighbours_straddling_the_bounds(make: Any) -> None:
    assert check_counts(make([0, LARGEST]), "n").tolist() == [0, LARGEST]
    with refused(DataError, "n must be at most 2**62 - 1"):
        check_counts(make([LARGEST + 1, NUMBER]), "n")
    with refused(DataError, "n must not be negative"):
        check_counts(make([-1, NUMBER]), "n")


@pytest.mark.parametrize(
    "values",
    [
        [NUMBER, 2**63],
        [NUMBER, 2**64],
        [NUMBER, 10**400],
        np.array([NUMBER, 2**64 - 1], dtype=np.uint64),
        np.array([NUMBER, 2**70], dtype=object),
        pl.Series([NUMBER, 2**63], dtype=pl.UInt64),
        pd.Series([NUMBER, 2**70], dtype=object),
        [1, NUMBER * 10**10],
        np.array([1, NUMBER * 10**10], dtype=np.uint64),
        np.array([1, NUMBER * 10**20], dtype=object),
    ],
)
def test_counts_beyond_int64_are_refused(values: Any) -> None:
    with refused(DataError, "n must be at most 2**62 - 1"):
        check_counts(values, "n")


@pytest.mark.parametrize(
    "values",
    [
        [NUMBER, None],
        [NUMBER, float("nan")],
        [NUMBER, np.nan],
        [NUMBER, pd.NA],
        np.array([NUMBER, np.nan]),
        np.array([NUMBER, None]),
        np.ma.array([NUMBER, 1], mask=[False, True]),
        pd.Series([NUMBER, None]),
        pd.Series([NUMBER, None], dtype="Int64"),
        pd.Series([NUMBER, None], dtype=pd.ArrowDtype(pa.int64())),
        pl.Series([NUMBER, None]),
        pa.array([NUMBER, None]),
        pa.chunked_array([[NUMBER, None]]),
        pa.nulls(2),
    ],
)
def test_missing_counts_are_refused(values: Any) -> None:
    with refused(DataError, "n must not have missing values", "drop"):
        check_counts(values, "n")


@pytest.mark.parametrize(
    "values",
    [
        [NUMBER, 1.0],
        [NUMBER, 1.5],
        [NUMBER, np.float32(1)],
        [NUMBER, float("inf")],
        [NUMBER, True],
        [NUMBER, np.True_],
        [NUMBER, SENTINEL],
        [SENTINEL],
        ["3"],
        [b"3"],
        [NUMBER, Decimal(3)],
        [NUMBER, Fraction(3)],
        [NUMBER, 1j],
        [NUMBER, datetime.date(2020, 1, 1)],
        [[NUMBER]],
        [NUMBER, [1]],
        np.array([float(NUMBER)]),
        np.array([True, False]),
        np.array([SENTINEL]),
        np.array([1j]),
        np.array([NUMBER], dtype="m8[s]"),
        np.array([NUMBER], dtype="M8[s]"),
        pd.Series([1.0, NUMBER]),
        pd.Series([True]),
        pd.Series([SENTINEL]),
        pd.Series(pd.Categorical([SENTINEL])),
        pl.Series([1.0, NUMBER]),
        pl.Series([True]),
        pl.Series([SENTINEL]),
        pa.array([SENTINEL]),
        pa.array([True]),
        pa.array([1.5, NUMBER]),
        pa.array([Decimal(3)]),
    ],
)
def test_what_is_no_integer_is_refused(values: Any) -> None:
    with refused(ParameterError, "n must", "cast to integers"):
        check_counts(values, "n")


@pytest.mark.parametrize(
    "values",
    [
        None,
        NUMBER,
        SENTINEL,
        SENTINEL.encode(),
        {SENTINEL: 1},
        {NUMBER},
        np.array(NUMBER),
        np.array([[NUMBER]]),
        pd.DataFrame({"a": [NUMBER]}),
        pl.DataFrame({"a": [NUMBER]}),
        pa.table({"a": [NUMBER]}),
        (value for value in [NUMBER]),
        object(),
    ],
)
def test_what_is_no_sequence_is_refused(values: Any) -> None:
    with refused(ParameterError, "n must be a one-dimensional sequence"):
        check_counts(values, "n")


@given(st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 2**62)), max_size=6))
def test_totals_are_exact(pairs: list[tuple[int, int]]) -> None:
    counts = np.array([pair[0] for pair in pairs], dtype=np.int64)
    prevalences = np.array([pair[1] for pair in pairs], dtype=np.int64)
    exact = sum(count * prevalence for count, prevalence in pairs)
    if exact <= LARGEST:
        assert check_total(counts, prevalences) == exact
    else:
        with refused(DataError, "2**62"):
            check_total(counts, prevalences)


@pytest.mark.parametrize("more", [0, 1])
def test_neighbours_straddling_the_largest_total(more: int) -> None:
    counts = np.array([1, 2**31, 2**31 - 2 + more])
    prevalences = np.array([1, 2**31 - 1, 1])
    if more:
        with refused(DataError, "2**62"):
            check_total(counts, prevalences)
    else:
        assert check_total(counts, prevalences) == LARGEST


def test_everything_public_is_there() -> None:
    assert len(set(dphist.counting.__all__)) == len(dphist.counting.__all__)
    assert all(hasattr(dphist.counting, name) for name in dphist.counting.__all__)
