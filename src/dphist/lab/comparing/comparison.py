"""Comparison: mechanisms side by side on data that were looked at."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from dphist.atomic_files import write_text
from dphist.document.compared import Measure
from dphist.errors import ParameterError
from dphist.release.release import VERSION
from dphist.release.tabular import Tabular

_WIDTH, _HEIGHT, _LINE = 11, 4.4, 0.25  # of a picture, and of a name above it, in inches
NOTICE = "Made by looking at the data, without privacy: do not publish it if the data are secret."


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """What was measured of a mechanism at one epsilon.

    Attributes
    ----------
    mechanism : its name.
    given : what of the data it was given in advance.
    guarantee : in a word or two.
    epsilon : exact.
    measure, unit : what the error is, such as "sorted L1 error" in "records".
    error : mean over the runs, or the root of the mean of squares.
    standard_error : of `error`; None of a single run.
    runs : number of releases.
    seconds : median time of a release.
    parameters : those of the mechanism beside epsilon, as text.
    """

    mechanism: str
    given: str
    guarantee: str
    epsilon: Fraction
    measure: str
    unit: str
    error: float
    standard_error: float | None
    runs: int
    seconds: float
    parameters: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A cell without a result, and why."""

    mechanism: str
    epsilon: Fraction
    reason: str


@dataclass(frozen=True, slots=True)
class Style:
    """How a mechanism is drawn; what the caller put beside published ones stands out."""

    name: str
    told: str
    color: str
    dashed: bool = False
    stands_out: bool = False


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
        from dphist.lab.comparing.document import document_of
        from dphist.render.text import text

        return text(document_of(self)).rstrip()

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
        columns = {
            name: pa.array([getattr(row, name) for row in self.rows], kind)
            for name, kind in _COLUMNS.items()
            if name != "epsilon"
        }
        epsilons = pa.array([float(row.epsilon) for row in self.rows], pa.float64())
        return pa.table({name: columns.get(name, epsilons) for name in _COLUMNS})

    def to_csv(self, path: str | Path) -> None:
        """Write the rows to a CSV file, whole or not at all; its first lines begin with ``#``.

        It is a file that `dphist.compare(output=...)` goes on from.
        """
        from dphist.lab.comparing.results_file import text_of

        write_text(path, text_of(self.rows, self.settings, self.left_out))

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
        from dphist.lab.comparing.charts import error_chart
        from dphist.render.charts import draw_charts, drawing_of  # matplotlib is slow to import

        shown = self.measure(measure)
        charts = [
            error_chart(self, shown, by_time=by_time, given=True) for by_time in (False, True)
        ]
        height = _HEIGHT + _LINE * len(charts[0].measured)
        return draw_charts([drawing_of(chart, {}) for chart in charts], _WIDTH, height)

    def write_report(self, path: str | Path) -> None:
        """Write a page with pictures and the table, for a browser. Not for publication."""
        from dphist.lab.comparing.document import document_of
        from dphist.render.html import page

        write_text(path, page(document_of(self)))

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the pictures' data as a table."""
        from dphist.lab.comparing.document import document_of
        from dphist.render.card import card

        return card(document_of(self)).html()


_COLUMNS = {
    **dict.fromkeys(("mechanism", "given", "guarantee"), pa.string()),
    "epsilon": pa.float64(),
    **dict.fromkeys(("measure", "unit"), pa.string()),
    **dict.fromkeys(("error", "standard_error"), pa.float64()),
    "runs": pa.int64(),
    "seconds": pa.float64(),
}
