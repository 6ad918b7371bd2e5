"""Tabular: released values, and plans, as tables of pandas, Polars and Arrow."""

from abc import abstractmethod
from typing import Any

import pyarrow as pa

from dphist.shown import shown_by


class Tabular:
    """A released value, or a plan, that is a table. Not secret."""

    __slots__ = ()

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return the table as an Arrow table."""

    def to_pandas(self) -> Any:
        """Return the table as a pandas dataframe; pandas must be installed."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return the table as a Polars dataframe; Polars must be installed."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a card with the head of the table."""
        return str(shown_by("html_of", self))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the table as an Arrow stream, for every library that reads such streams."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)
