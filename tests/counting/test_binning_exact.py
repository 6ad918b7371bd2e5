"""Values are compared with edges as Python compares them, whatever the type."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dphist.counting.binning import edges as searching
from dphist.data.binned_counts import bin_counts
from tests.support.counting.plain_bins import assert_bins, python_bins


@pytest.mark.verify
@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), max_size=30),
    limits=st.lists(
        st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), min_size=2, max_size=9, unique=True
    ),
)
def test_integers_as_python_compares_them(values: list[int], limits: list[int]) -> None:
    limits.sort()
    found = bin_counts(pa.table({"x": pa.array(values, pa.int64())}), column="x", edges=limits)
    assert_bins(found, python_bins(values, limits))


@pytest.mark.verify
@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.floats() | st.integers(-5, 5).map(float), max_size=30),
    limits=st.lists(st.floats(allow_nan=False), min_size=2, max_size=9, unique=True)
    | st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=9, unique=True),
)
def test_floats_as_python_compares_them(values: list[float], limits: list[Any]) -> None:
    limits.sort()
    found = bin_counts(pa.table({"x": pa.array(values, pa.float64())}), column="x", edges=limits)
    assert_bins(found, python_bins(values, limits))


@pytest.mark.verify
@settings(max_examples=60, deadline=None)
@given(
    start=st.integers(-(2**63), 2**63 - 1),
    width=st.integers(1, 2**61),
    bins=st.integers(1, 9),
    values=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9),
    near=st.lists(st.integers(-2, 2), min_size=1),
)
def test_bins_of_one_width_are_those_of_their_edges(
    start: int, width: int, bins: int, values: list[int], near: list[int]
) -> None:
    limits = [start + i * width for i in range(bins + 1)]
    if limits[-1] >= 2**63:
        return
    close = [edge + by for edge in limits for by in near if -(2**63) <= edge + by < 2**63]
    table = pa.table({"x": pa.array(values + close, pa.int64())})
    found = bin_counts(table, column="x", start=start, stop=limits[-1], width=width)
    assert_bins(found, python_bins(values + close, limits))


@pytest.mark.verify
@settings(max_examples=60, deadline=None)
@given(
    digits=st.integers(0, 20),
    values=st.lists(st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-99, 99), max_size=20),
    limits=st.lists(st.integers(-9999, 9999), min_size=2, max_size=9, unique=True),
)
def test_decimals_as_python_compares_them(
    digits: int, values: list[int], limits: list[int]
) -> None:
    decimals = [Decimal((int(v < 0), tuple(map(int, str(abs(v)))), -digits)) for v in values]
    table = pa.table({"x": pa.array(decimals, pa.decimal128(38, digits))})
    floats = sorted(limit / 100 for limit in limits)
    found = bin_counts(table, column="x", edges=floats)
    assert_bins(found, python_bins(decimals, [Fraction(repr(edge)) for edge in floats]))


def test_edges_of_many_digits_are_converted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [-(2.0**127), -(2.0**100), -(2.0**64), -1.0, 0.0, 2.0**64, 2.0**100, 2.0**127, 1e300]
    values = [int(edge) + by for edge in limits[1:7] for by in (-1, 0, 1)]
    table = pa.table({"x": pa.array([Decimal(value) for value in values], pa.decimal128(38, 0))})
    for block in (1, 2, 3, len(limits)):
        monkeypatch.setattr(searching, "EDGES_AT_ONCE", block)
        assert_bins(bin_counts(table, column="x", edges=limits), python_bins(values, limits))


def test_a_wrong_comparison_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: values that equal an edge put into the bin below it."""
    monkeypatch.setattr(
        searching.WholeSearch, "_search", lambda self, v: np.searchsorted(self.keys, v, side="left")
    )
    found = bin_counts(pa.table({"x": [0, 1, 1, 5]}), column="x", edges=[0, 1, 5])
    assert (found.counts.tolist(), dict(found.outside)) != python_bins([0, 1, 1, 5], [0, 1, 5])
