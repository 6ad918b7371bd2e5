"""Dates that pandas or Polars made from public ends and a step, told from columns of a table.

`pd.date_range` returns an index with a frequency. `pl.date_range` returns an expression that names
no column, so its value cannot depend on any table, or with `eager=True` a Series that is called
"literal". Other indexes and Series may be columns of a table, and are not accepted as edges.
"""

from typing import Any

from dphist.arrays import AnyArray
from dphist.counting.engine.redaction import redact_errors
from dphist.errors import ParameterError

_PROBLEM = (
    "must be a range of dates or datetimes without columns: pd.date_range(start, stop, "
    "freq=...) or pl.date_range(start, stop, interval)"
)


def dates_of_range(edges: object) -> tuple[AnyArray, str | None] | None:
    """Return the dates of a range, and their time zone if they have one; None for anything else.

    Returns
    -------
    dates : (n,) datetime64, in UTC if they have a zone.

    Raises
    ------
    ParameterError
        If `edges` is an expression of Polars that is not such a range.
    """
    library, name = type(edges).__module__.partition(".")[0], type(edges).__name__
    found: Any = edges
    if (library, name) == ("pandas", "DatetimeIndex"):
        if found.freq is None or found.name is not None:
            return None
        if found.tz is None:
            return found.to_numpy(), None
        return found.tz_convert(None).to_numpy(), str(found.tz)
    if (library, name) == ("polars", "Expr"):
        return redact_errors(
            lambda: _of_polars(_evaluate(found)), ParameterError("edges", _PROBLEM)
        )
    if (library, name) == ("polars", "Series") and found.name == "literal":
        return _of_polars(found)
    return None


def _evaluate(expression: Any) -> Any:
    """Return the value of an expression, which fails if it names a column."""
    import polars

    return polars.select(expression).to_series()


def _of_polars(dates: Any) -> tuple[AnyArray, str | None] | None:
    kind = str(dates.dtype)
    if not kind.startswith("Date"):  # Date, or Datetime
        raise ParameterError("edges", _PROBLEM)
    zone = getattr(dates.dtype, "time_zone", None)
    if zone is None:
        return dates.to_numpy(), None
    return dates.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy(), zone
