"""Tabular: released values, and plans, as tables of pandas, Polars and Arrow."""

from abc import abstractmethod
from typing import Any

import pyarrow as pa

from dphist.errors import DphistError, ParameterError
from dphist.shown import show_by

_NULLABLE = {
    **{f"int{bits}": f"Int{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"UInt{bits}" for bits in (8, 16, 32, 64)},
    "bool": "boolean",
}
"""The nullable types of pandas by the names of Arrow's types."""


def pandas_module() -> Any:
    """Return pandas, which is slow to import and may be missing.

    Raises
    ------
    DphistError
        If pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise _missing("pandas") from None
    return pandas


def pandas_frame(table: pa.Table) -> Any:
    """Return an Arrow table as a pandas dataframe; raise `DphistError` without pandas.

    Whole numbers and truth values beside a null have pandas' nullable types: by default Arrow
    makes floats of whole numbers, and 9007199254740993 becomes 9007199254740992.
    """
    pandas = pandas_module()  # Arrow would raise an error of its own, without the remedy
    # Dates that Python cannot hold, such as DuckDB's infinity, are pandas' timestamps.
    as_objects = not any(map(_is_beyond_python, table.columns))
    frame = table.to_pandas(date_as_object=as_objects)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and str(column.type) in _NULLABLE:
            kind = pandas.api.types.pandas_dtype(_NULLABLE[str(column.type)])
            frame[name] = column.to_pandas(types_mapper=lambda _, kind=kind: kind)
    return frame


def _is_beyond_python(column: pa.ChunkedArray) -> bool:
    """Whether a column of dates holds one that `datetime.date` cannot."""
    if not pa.types.is_date(column.type):
        return False
    try:
        column.to_pylist()
    except (OverflowError, ValueError):
        return True
    return False


def polars_frame(table: pa.Table) -> Any:
    """Return an Arrow table as a Polars dataframe; raise `DphistError` without Polars."""
    try:
        import polars
    except ImportError:
        raise _missing("polars") from None
    return polars.from_arrow(table)


def _missing(package: str) -> DphistError:
    return DphistError(
        f"to_{package} needs {package}: pip install {package}; to_arrow needs no further package"
    )


class Tabular:
    """A released value, or a plan, that is a table. Not secret."""

    __slots__ = ()

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return the table as an Arrow table."""

    def to_pandas(self) -> Any:
        """Return the table as a pandas dataframe; pandas must be installed."""
        return pandas_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """Return the table as a Polars dataframe; Polars must be installed."""
        return polars_frame(self.to_arrow())

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a card with the head of the table."""
        return str(show_by("html_of", self))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the table as an Arrow stream, for every library that reads such streams."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


class Released(Tabular):
    """A release or its value. Not secret."""

    __slots__ = ()


def refuse_released(data: object, name: str) -> None:
    """Refuse what is released, where a mechanism is given data as the parameter `name`."""
    if isinstance(data, Released):
        raise ParameterError(
            name,
            f"must be data, and this {type(data).__name__} is released already: computing from it "
            "costs nothing and needs no mechanism",
            "to try a mechanism on its numbers, make data of them with Profile.from_prevalences or "
            "LabelCounts.from_counts, or give an array of bins",
        )
