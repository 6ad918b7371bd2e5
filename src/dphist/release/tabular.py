"""Tabular: released values, and plans, as tables of pandas, Polars and Arrow."""

from abc import abstractmethod
from typing import Any

import pyarrow as pa

from dphist.errors import DphistError
from dphist.shown import shown_by


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
    """Return an Arrow table as a pandas dataframe; raise `DphistError` without pandas."""
    pandas_module()  # Arrow would raise an error of its own, without the remedy
    return table.to_pandas()


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
        return str(shown_by("html_of", self))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the table as an Arrow stream, for every library that reads such streams."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)
