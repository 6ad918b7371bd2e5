"""Small public tables in each engine that is installed."""

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import pyarrow as pa

Frame = Callable[[pa.Table], Any]


def _pandas(table: pa.Table) -> Any:
    return table.to_pandas()


def _polars(table: pa.Table) -> Any:
    return importlib.import_module("polars").from_arrow(table)


def _arrow(table: pa.Table) -> Any:
    return table


def _duckdb(table: pa.Table) -> Any:
    return importlib.import_module("duckdb").connect().from_arrow(table)


def _spark(table: pa.Table) -> Any:
    sql = importlib.import_module("pyspark.sql")
    session = sql.SparkSession.builder.getOrCreate()
    kinds = {"string": "string", "int64": "bigint", "double": "double"}
    schema = ", ".join(f"{item.name} {kinds[str(item.type)]}" for item in table.schema)
    return session.createDataFrame([tuple(row.values()) for row in table.to_pylist()], schema)


_ENGINES: dict[str, tuple[str, Frame]] = {
    "pandas": ("pandas", _pandas),
    "polars": ("polars", _polars),
    "arrow": ("pyarrow", _arrow),
    "duckdb": ("duckdb", _duckdb),
    "spark": ("pyspark", _spark),
}
SLOW = ("spark",)
"""Engines that take seconds to start."""


def engines(*, slow: bool = False) -> dict[str, Frame]:
    """Return the engines that are installed: each makes a table of its own from one of Arrow."""
    return {
        name: make
        for name, (package, make) in _ENGINES.items()
        if importlib.util.find_spec(package) and (slow or name not in SLOW)
    }
