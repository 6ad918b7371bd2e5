"""RangeHistogram: released bins of an ordered domain, and answers to range queries."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dphist.arrays import AnyArray, FloatArray, NumberArray
from dphist.counting import LARGEST
from dphist.data.axis.axis import Axis
from dphist.errors import ParameterError, UnsupportedError
from dphist.release.document import read_numbers
from dphist.release.range_histogram.answers import (
    Answers,
    PartAnswers,
    part_of_axes,
    part_of_bins,
)
from dphist.release.range_histogram.bin_numbers import BinNumbers
from dphist.release.range_histogram.boxes import checked_boxes, places_of
from dphist.release.range_histogram.exchange import Exchanged
from dphist.release.released import Released
from dphist.release.tabular import pandas_module
from dphist.shown import shown_by

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RangeHistogram(Exchanged, Released):
    """A released histogram over one or more ordered axes. Not secret.

    Attributes
    ----------
    bins : (bins,) or (a, b, ...) int64 or float64
        Estimates of the records in each bin. Whole numbers, except for plain least squares.
    axes : tuple of Axis
        The public edges; those of `BinNumbers`, 0, 1, 2, ..., if the data have none.
    outside : mapping of str to int
        Released counts of records in no bin, if the data have them: ``below``, ``above`` and
        ``null``; for several axes ``outside`` and ``null``.

    answers : object that answers ranges, or None for a histogram made by hand.

    Notes
    -----
    All methods are post-processing and cost nothing.
    """

    bins: NumberArray
    axes: tuple[Axis, ...] = ()
    outside: Mapping[str, int] = field(default_factory=dict)
    answers: Answers | None = None

    def __post_init__(self) -> None:
        self.bins.flags.writeable = False
        if not self.axes:
            object.__setattr__(self, "axes", tuple(map(BinNumbers, self.bins.shape)))

    def __repr__(self) -> str:
        size = " x ".join(f"{size:,}" for size in self.bins.shape)
        return f"RangeHistogram({size} bins)"

    def count(self, lo: Any, hi: Any) -> Any:
        """Return the number of records in bins `lo`, ..., `hi` - 1, or from one edge to another.

        Parameters
        ----------
        lo, hi : int or arrays of int; for several axes tuples of these, one for each axis
            ``0 <= lo <= hi <= bins``, half-open. Dates, datetimes and ISO text are edges of an
            axis of times: ``count("2024-01-01", "2024-02-01")``. For edges that are numbers,
            `between` does the same.

        Returns
        -------
        int or float, or an array of int64 or float64, records.

        Raises
        ------
        ParameterError
            If `lo` or `hi` is out of range, or is no edge.
        """
        return self._asked("count", lo, hi)

    def error(self, lo: Any, hi: Any) -> Any:
        """Return the standard error of `count(lo, hi)`, in records, known from the mechanism.

        1.96 standard errors to either side of the count are a 95 % interval for each single range.
        For least squares the error is exact. For nonnegative estimates it is the error before
        they were made nonnegative, which on sparse data is larger than the true one. For an
        adaptive tree, 1.96 standard errors reach the farther end of `interval`.

        Parameters
        ----------
        lo, hi
            As for `count`.

        Returns
        -------
        float or array of float64, records.
        """
        return self._asked("error", lo, hi)

    def interval(self, lo: Any, hi: Any) -> tuple[Any, Any]:
        """Return a 95 % interval for the true `count(lo, hi)`, for each single range.

        For most mechanisms it is 1.96 standard errors to either side, cut at 0, or at the count if
        that is negative. For an adaptive tree it assumes nothing about how records are spread: it
        reaches from 1.96 standard errors below the minimum that the noisy counts imply for the
        range to 1.96 above the maximum. The count need not be in its middle.

        Parameters
        ----------
        lo, hi
            As for `count`.

        Returns
        -------
        low, high : float, or arrays of float64, records.
        """
        low, high = self._asked("interval", lo, hi)
        return low, high

    def between(self, start: Any, stop: Any) -> tuple[Any, Any]:
        """Return the places of the bins from one edge to another: arguments for `count`.

        Parameters
        ----------
        start, stop : values that edges have, or arrays of them; for several axes tuples of these.

        Returns
        -------
        lo, hi : int, or arrays of int64; for several axes tuples of these.

        Raises
        ------
        ParameterError
            If a value is not equal to an edge.
        UnsupportedError
            If the data have no edges.

        >>> ages = RangeHistogram(np.array([3, 4]), (Axis.from_edges([0, 18, 65], "age"),))
        >>> ages.between(18, 65)
        (1, 2)
        """
        if not self.has_edges:
            raise UnsupportedError("the histogram has no edges: give the places of bins")
        if len(self.axes) == 1:
            return self.axes[0].positions(start), self.axes[0].positions(stop)
        for name, end in (("start", start), ("stop", stop)):
            if not isinstance(end, tuple | list) or len(end) != len(self.axes):
                many = f"one entry for each of {len(self.axes)} axes"
                raise ParameterError(name, f"must be a tuple with {many}")
        ends = [
            tuple(axis.positions(value) for axis, value in zip(self.axes, end, strict=True))
            for end in (start, stop)
        ]
        return ends[0], ends[1]

    def marginal(self, *axes: str | int) -> "RangeHistogram":
        """Return the histogram over some of the axes, in the order given; the others are summed.

        Parameters
        ----------
        axes : names or numbers of the axes to keep; at least one.

        Returns
        -------
        RangeHistogram
            Its errors and intervals are those that the mechanism gives for the same records. Of
            records in no bin it has no counts, as they are known for all axes together only.

        Raises
        ------
        ParameterError
            If there is no such axis, or one is named twice.
        """
        kept = tuple(self._number_of(axis) for axis in axes)
        if not kept or len(set(kept)) < len(kept):
            raise ParameterError("axes", "must name at least one axis, and each once")
        return self._part(kept, (0,) * self.bins.ndim, self.bins.shape)

    def slice(self, lo: Any, hi: Any, axis: str | int = 0) -> "RangeHistogram":
        """Return the histogram of the bins `lo`, ..., `hi` - 1 of an axis, with all other axes.

        Parameters
        ----------
        lo, hi : as for `count`, for this axis; at least one bin.
        axis : name or number of the axis (default: the first).

        Returns
        -------
        RangeHistogram
            As for `marginal`.

        Raises
        ------
        ParameterError
            If there is no such axis, or `lo` and `hi` are not the ends of some bins.
        """
        number = self._number_of(axis)
        size = self.bins.shape[number]
        ends = self._places(number, lo, "lo"), self._places(number, hi, "hi")
        low, high, single = checked_boxes((size,), *ends)
        if not single or not low[0][0] < high[0][0]:
            raise ParameterError(("lo", "hi"), "must be the ends of at least one bin")
        start, stop = [0] * self.bins.ndim, list(self.bins.shape)
        start[number], stop[number] = int(low[0][0]), int(high[0][0])
        return self._part(tuple(range(self.bins.ndim)), tuple(start), tuple(stop))

    def _part(
        self, kept: tuple[int, ...], start: tuple[int, ...], stop: tuple[int, ...]
    ) -> "RangeHistogram":
        axes = part_of_axes(self.axes, kept, start, stop) if self.has_edges else ()
        if self.answers is None:
            return RangeHistogram(part_of_bins(self.bins, kept, start, stop), axes)
        answers = PartAnswers(self.answers, kept, start, stop)
        return RangeHistogram(answers.bins(), axes, {}, answers)

    def _number_of(self, axis: str | int) -> int:
        """Return the number of an axis that is given by its name or number."""
        names = [self.axis_name(number) for number in range(self.bins.ndim)]
        if isinstance(axis, str) and names.count(axis) == 1:
            return names.index(axis)
        if not isinstance(axis, str | bool) and axis in range(self.bins.ndim):
            return int(axis)
        listed = ", ".join(map(repr, names))
        raise ParameterError(
            "axis", f"must be the name or number of an axis; the names are {listed}"
        )

    def _places(self, axis: int, end: Any, name: str) -> Any:
        """Return places of bins for places, or for edges of times."""
        return places_of(end, self.axes[axis] if self.has_edges else None, name)

    def _asked(self, what: str, lo: Any, hi: Any) -> Any:
        if self.answers is None:
            raise UnsupportedError("the histogram was made by hand; release one with a mechanism")
        if self.bins.ndim == 1:
            lo, hi = self._places(0, lo, "lo"), self._places(0, hi, "hi")
        else:
            lo, hi = (self._all_places(end, name) for end, name in ((lo, "lo"), (hi, "hi")))
        low, high, single = checked_boxes(self.bins.shape, lo, hi)
        found = getattr(self.answers, what)([e.ravel() for e in low], [e.ravel() for e in high])
        many = found if isinstance(found, tuple) else (found,)
        shaped = [one[0].item() if single else one.reshape(low[0].shape) for one in many]
        return tuple(shaped) if isinstance(found, tuple) else shaped[0]

    def cdf(self) -> FloatArray:
        """Return the share of records below each edge of the single axis, from 0 to 1.

        Returns
        -------
        (bins + 1,) float64, nondecreasing; all NaN if the estimates have no records.

        Raises
        ------
        UnsupportedError
            If there are several axes.
        """
        bins = len(self._line())
        if self.answers is None:
            sums = np.append(0.0, np.cumsum(self.bins))
        else:
            sums = self.count(0, np.arange(bins + 1)).astype(np.float64)
        below = np.maximum.accumulate(np.maximum(sums, 0))
        with np.errstate(invalid="ignore"):
            share: FloatArray = below / below[-1]
        return share

    def quantile(self, q: Any) -> Any:
        """Return the value below which a share `q` of the records lies, for a single axis.

        Parameters
        ----------
        q : number or array of numbers, from 0 to 1.

        Returns
        -------
        A value, or an array of them, in the unit of the edges (numbers, dates, times) or, for data
        without edges, in bins; interpolated linearly within a bin. NaN or NaT if the estimates
        have no records. For edges with a time zone, datetimes of that zone, in an array of objects.

        Raises
        ------
        ParameterError
            If `q` is not from 0 to 1.
        UnsupportedError
            If there are several axes.
        """
        asked = np.asarray(q, np.float64)
        if not ((asked >= 0) & (asked <= 1)).all():
            raise ParameterError("q", "must be from 0 to 1")
        share = self.cdf()
        if np.isnan(share[-1]):
            places = np.full(asked.shape, np.nan)
        else:
            # The smallest value with that share: in the bin before the first edge that has it.
            stop = np.searchsorted(share, asked, side="left")
            start = np.maximum(stop - 1, 0)
            inside = (asked - share[start]) / np.where(stop > 0, share[stop] - share[start], 1)
            places = start + inside
        found = self.axes[0].at(places)
        return found[()] if asked.ndim == 0 else found

    def _all_places(self, end: Any, name: str) -> Any:
        if not isinstance(end, tuple | list) or len(end) != self.bins.ndim:
            return end  # refused where boxes are checked
        return tuple(self._places(axis, part, name) for axis, part in enumerate(end))

    def to_pandas(self) -> "pd.DataFrame":
        """Return a row for each bin: start, stop, count and standard error.

        Columns are ``start, stop, count, error``; for several axes, a start and a stop of each,
        ``start_x, stop_x, ...``, by the columns' names or numbers. Times keep their time zone.
        """
        pandas = pandas_module()

        def with_zone(edges: AnyArray, zone: str) -> Any:
            return pandas.Series(edges).dt.tz_localize("UTC").dt.tz_convert(zone)

        frame: pd.DataFrame = pandas.DataFrame(self._columns(with_zone))
        return frame

    def to_arrow(self) -> pa.Table:
        """Return the columns of `to_pandas` as an Arrow table; dates are dates."""
        return pa.table(
            self._columns(lambda edges, zone: pa.array(edges).view(pa.timestamp("us", zone)))
        )

    def _columns(self, with_zone: Callable[[AnyArray, str], Any]) -> dict[str, Any]:
        """Return the columns; `with_zone` makes one of instants in UTC and the name of a zone."""
        grid = np.indices(self.bins.shape).reshape(self.bins.ndim, -1)
        columns: dict[str, Any] = {}
        for axis, places in enumerate(grid):
            edges, zone = self.edges[axis], self.axes[axis].zone
            suffix = "" if self.bins.ndim == 1 else f"_{self.axis_name(axis)}"
            for name, found in (("start", edges[places]), ("stop", edges[places + 1])):
                columns[f"{name}{suffix}"] = found if zone is None else with_zone(found, zone)
        columns["count"] = self.bins.ravel()
        if self.answers is not None:
            columns["error"] = self.answers.bin_errors().ravel()
        return columns

    def plot(
        self, ax: "Axes | None" = None, *, color: str | None = None, label: str | None = None
    ) -> "Axes":
        """Draw the bins of one axis as steps with a 95 % band, or those of two axes as a map.

        It is the chart of a page: neighboring bins are drawn together where there are many, and of
        a long axis the part that holds nearly all records. Axes that hold a plot are extended.

        Parameters
        ----------
        ax : where to draw (default: new axes).
        color : of the steps and their band, as matplotlib reads it.
        label : of the steps in a legend (default: "Released").

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        UnsupportedError
            If there are more than two axes.
        """
        axes: Axes = shown_by("plot_value", self, ax=ax, color=color, label=label)
        return axes

    @property
    def has_edges(self) -> bool:
        """Whether the data have edges; without them, bins are known by their numbers alone."""
        return not isinstance(self.axes[0], BinNumbers)

    @property
    def edges(self) -> list[AnyArray]:
        """Return the edges of each axis, (bins + 1,); by default whole numbers from 0.

        Those of an axis with a time zone are in UTC; its `local_edges` are what clocks show.
        """
        return [axis.edges for axis in self.axes]

    def axis_name(self, axis: int) -> str:
        """Return the column's name, or the axis' number."""
        name = self.axes[axis].name
        return str(axis) if name is None else name

    def _line(self) -> NumberArray:
        if self.bins.ndim != 1:
            raise UnsupportedError("a histogram of several axes has no cdf and no quantiles")
        return self.bins

    def inferred_again(self, decoded: "RangeHistogram") -> "RangeHistogram":
        """Return what was decoded from noisy counts, with the axes and outside counts of this."""
        return replace(decoded, axes=self.axes, outside=self.outside)

    def completed(self, decoded: "RangeHistogram") -> "RangeHistogram":
        """Return this histogram with what answers ranges, as decoded from its noisy counts."""
        if decoded.bins.shape != self.bins.shape:
            raise ValueError("the bins are not those of the noisy counts")
        return replace(self, answers=decoded.answers)

    def to_content(self) -> dict[str, Any]:
        """Return a JSON object for saving."""
        return {
            "bins": self.bins.tolist(),
            "axes": [axis.to_content() for axis in self.axes] if self.has_edges else None,
            "outside": dict(self.outside),
        }

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> "RangeHistogram":
        """Make a histogram from the result of `to_content`; ValueError or TypeError otherwise."""
        bins = read_numbers(content["bins"])
        if bins.size == 0 or not (np.abs(bins) < LARGEST).all():
            raise ValueError("bins are numbers below 2**62")
        saved = content["axes"]
        axes = () if saved is None else tuple(map(Axis.from_content, saved))
        if saved is not None and tuple(axis.bins for axis in axes) != bins.shape:
            raise ValueError("the axes do not have as many bins")
        outside = content["outside"]
        names = ("below", "above", "null") if bins.ndim == 1 else ("outside", "null")
        if outside and sorted(outside) != sorted(names):
            raise ValueError("outside counts are of no known kind")
        if not all(type(count) is int and count >= 0 for count in outside.values()):
            raise ValueError("outside counts are whole numbers, none negative")
        return cls(bins, axes, {name: outside[name] for name in names if outside})
