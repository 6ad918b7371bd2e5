"""Released values as tables of every library; what is not released becomes none by itself."""

import sys

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import dphist as dh
from dphist.errors import DphistError, UnsupportedError
from dphist.release.label_table import LabelTable
from dphist.release.tabular import Tabular
from tests.support.release.tables import BINNED, DAYS, LABELS, MECHANISM, RELEASES, STREAM

each = pytest.mark.parametrize("name", RELEASES)


@each
def test_the_same_columns_in_every_library(name) -> None:
    release, columns = RELEASES[name]
    arrow = release.to_arrow()
    assert arrow.column_names == columns
    assert list(release.to_pandas().columns) == columns
    assert release.to_polars().columns == columns
    values = [release] if name == "anonymized" else [release, release.value]
    for value in values:
        for read in (pa.table, pl.DataFrame, lambda v: duckdb.from_arrow(v).to_arrow_table()):
            found = read(value)
            assert list(getattr(found, "column_names", getattr(found, "columns", None))) == columns
            assert pa.table(found).num_rows == arrow.num_rows
        assert value.to_polars()["count"].to_list() == arrow["count"].to_pylist()


def test_a_histogram_has_its_dates_and_its_errors() -> None:
    release, _ = RELEASES["grid"]
    frame = release.to_polars()
    assert frame["start_day"].dtype == pl.Date
    assert frame["start_day"].to_list() == [
        *[DAYS["day"][0].date()] * 2,
        *[DAYS["day"][31].date()] * 2,
    ]
    assert frame["error"].to_list() == release.value.answers.bin_errors().ravel().tolist()
    assert frame["count"].to_list() == release.value.counts.ravel().tolist()
    assert frame.equals(release.value.to_polars())
    assert np.array_equal(release.to_pandas()["start_x"], [0, 30, 0, 30])


def test_an_anonymized_histogram_is_a_table() -> None:
    release, _ = RELEASES["anonymized"]
    for table in (release, release.value):
        assert table.to_arrow()["count"].to_pylist() == release.value.counts.tolist()
        assert table.to_pandas()["prevalence"].tolist() == release.value.prevalences.tolist()
        assert pl.DataFrame(table).equals(table.to_polars())


def test_data_are_no_table() -> None:
    for data in (dh.Profile.from_counts([3]), LABELS, BINNED):
        assert not isinstance(data, Tabular)
        for name in ("__arrow_c_stream__", "to_arrow", "to_pandas", "to_polars", "to_content"):
            assert not hasattr(data, name)


def test_running_counts_are_a_table() -> None:
    for found in (STREAM.to_polars(), pl.DataFrame(STREAM), pl.from_pandas(STREAM.to_pandas())):
        assert found.rows() == [(100, "tea", 61), (200, "tea", 118), (200, "milk", 73)]


@pytest.mark.parametrize("package", ["pandas", "polars"])
@pytest.mark.parametrize("table", [*(release for release, _ in RELEASES.values()), STREAM])
def test_a_missing_package_is_named_with_the_remedy(table, package, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for value in (table, getattr(table, "value", table)):
        with pytest.raises(DphistError, match=f"pip install {package}"):
            getattr(value, f"to_{package}")()


def test_labels_without_counts_are_a_table() -> None:
    table = LabelTable(pa.table({"label": pa.array(["a", None])}))
    assert pl.DataFrame(table).rows() == [("a",), (None,)]


def test_a_value_of_another_kind_says_so() -> None:
    class Number(int):
        pass

    release = dh.Release(Number(3), MECHANISM.guarantee, MECHANISM)
    for call in (release.to_arrow, release.to_pandas, release.to_polars):
        with pytest.raises(UnsupportedError, match="Number"):
            call()
