"""Comparison: mechanisms side by side on data that were looked at."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from dphist.document.chart import Chart
from dphist.document.compared import Measure
from dphist.errors import ParameterError
from dphist.files import write_text
from dphist.lab.comparing.chart import error_chart
from dphist.lab.comparing.results import ComparedRow, LeftOut, Style, format_text
from dphist.release.release import VERSION
from dphist.release.tabular import Tabular
from dphist.shown import show_by

_WIDTH, _HEIGHT, _LINE = 5.5, 4.4, 0.25  # of a picture, and of a name above it, in inches


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Tabular):
    """Errors and times of mechanisms on the same data. Not private: see `NOTICE`.

    Attributes
    ----------
    kind : that of the data, by name, such as "anonymized".
    measures : what was measured, the most important first.
    rows : by measure and epsilon, the best mechanism first.
    left_out : cells that could not be measured, with the reason.
    facts : about the data, such as the number of records.
    stopped : why it ended: "all was measured", "the time was up" or "interrupted".
    seconds : how long it took.
    version : of dphist.
    """

    kind: str
    measures: tuple[Measure, ...]
    rows: tuple[ComparedRow, ...]
    left_out: tuple[LeftOut, ...]
    facts: Mapping[str, str]
    stopped: str
    seconds: float
    styles: tuple[Style, ...] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    version: str = VERSION

    def __repr__(self) -> str:
        left = f", {len(self.left_out)} left out" if self.left_out else ""
        return f"Comparison({self.kind!r}, {len(self.rows)} rows{left})"

    def __str__(self) -> str:
        return str(show_by("format_text", self))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ComparedRow]:
        return iter(self.rows)

    def of(self, measure: str | None = None) -> tuple[ComparedRow, ...]:
        """Return the rows of one measure (default: the first)."""
        return tuple(row for row in self.rows if row.measure == self.measure(measure).name)

    def measure(self, name: str | None = None) -> Measure:
        """Return a measure by name (default: the first)."""
        found = [one for one in self.measures if name in (None, one.name)]
        if not found:
            names = ", ".join(one.name for one in self.measures)
            raise ParameterError("measure", f"must be one of {names}")
        return found[0]

    def to_arrow(self) -> pa.Table:
        """Return the rows; epsilon is rounded to a float."""
        columns = {name: [getattr(row, name) for row in self.rows] for name in _COLUMNS}
        columns["epsilon"] = [float(row.epsilon) for row in self.rows]
        return pa.table(columns, schema=pa.schema(_COLUMNS))

    def to_csv(self, path: str | Path) -> None:
        """Write the rows to a CSV file, whole or not at all; its first lines begin with ``#``.

        It is a file that `dphist.compare(output=...)` goes on from.
        """
        write_text(path, format_text(self.rows, self.settings, self.left_out))

    def plot(self, measure: str | None = None) -> Any:
        """Draw the error against epsilon, and against the seconds of a release.

        Bars reach two standard errors to both sides.

        Parameters
        ----------
        measure : which of `measures` (default: the first).

        Returns
        -------
        (2,) array of matplotlib Axes; `axes[0].figure.savefig(...)` saves the picture.
        """
        from dphist.render.charts import draw_figure  # matplotlib is slow to import

        shown = self.measure(measure)
        charts = [self.error_chart(shown, by_time=by_time, given=True) for by_time in (False, True)]
        height = _HEIGHT + _LINE * len(charts[0].measured)
        return draw_figure(charts, {}, (_WIDTH, height), beside=True)

    def error_chart(self, measure: Measure, *, by_time: bool, given: bool = False) -> Chart:
        """Declare the errors of one of `measures`: see `dphist.lab.comparing.chart`."""
        place, rows = self.measures.index(measure), self.of(measure.name)
        return error_chart(measure, place, rows, self.styles, by_time=by_time, given=given)

    def write_report(self, path: str | Path) -> None:
        """Write a page with pictures and the table, for a browser. Not for publication."""
        show_by("write_page", self, path=path)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the pictures' data as a table."""
        return str(show_by("html_of", self))


_COLUMNS = {
    **dict.fromkeys(("mechanism", "given", "guarantee"), pa.string()),
    "epsilon": pa.float64(),
    **dict.fromkeys(("measure", "unit"), pa.string()),
    **dict.fromkeys(("error", "standard_error"), pa.float64()),
    "runs": pa.int64(),
    "seconds": pa.float64(),
}
