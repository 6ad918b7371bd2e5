"""A table in each form that can be counted in parts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.counting.backends import csv_text
from tests.support.counting.contribution_engines import spark


def file(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "rows.parquet")
    return folder / "rows.parquet"


def text_file(table: pa.Table, folder: Path) -> Path:
    (folder / "rows.csv").write_bytes(csv_text(table))
    return folder / "rows.csv"


READERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "arrow": lambda table, _: table,
    "pandas": lambda table, _: table.to_pandas(),
    "pandas-arrow": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda table, _: pl.from_arrow(table),
    "polars-lazy": lambda table, _: pl.from_arrow(table).lazy(),
    "relation": lambda table, _: duckdb.connect().from_arrow(table),
    "parquet": file,
    "csv": text_file,
    "spark": lambda table, _: spark().createDataFrame(table),
}
